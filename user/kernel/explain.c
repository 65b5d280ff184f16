// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/explain.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel/drivers.h"

struct device {
	char driver[32]; /* "" if it does not say */
	int mtu; /* 0 if it does not say */
};

static struct device describe(const char *name)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq request = {0};
	struct device d = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return d;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (!ioctl(fd, SIOCGIFMTU, &request))
		d.mtu = request.ifr_mtu;
	request.ifr_data = (char *)&info;
	if (!ioctl(fd, SIOCETHTOOL, &request))
		snprintf(d.driver, sizeof(d.driver), "%.31s", info.driver);
	close(fd);
	return d;
}

static int explain_size(struct why *w, int err, const char *name, const struct device *d)
{
	const struct driver *known = driver_find(d->driver);
	int limit = known ? (int)known->mtu : 0;

	if (limit && d->mtu > limit)
		return why(w, err,
			   "%s: native XDP refused (%s): MTU %d is above what driver %s takes (%d). Lower it "
			   "with `ip link set %s mtu "
			   "%d`, or use `mode generic`",
			   name, why_errno(err), d->mtu, d->driver, limit, name, limit);
	return why(w, err,
		   "%s: native XDP refused (%s): driver %s does not take it with MTU %d and the present "
		   "offloads. Try `ethtool -K "
		   "%s lro off rx-gro-hw off` or a smaller MTU, or use `mode generic`",
		   name, why_errno(err), *d->driver ? d->driver : "(unknown)", d->mtu, name);
}

static int explain_unsupported(struct why *w, int err, const char *name, const struct device *d)
{
	if (!strcmp(d->driver, "802.1Q VLAN Support"))
		return why(w, err,
			   "%s: a VLAN sub-interface has no native XDP. Attach to its parent device: kphi "
			   "looks behind the tag",
			   name);
	if (!strcmp(d->driver, "bridge"))
		return why(w, err,
			   "%s: a bridge has no native XDP. Attach to its ports, or use `mode generic`",
			   name);
	if (!strcmp(d->driver, "virtio_net"))
		return why(w, err,
			   "%s: virtio_net refuses native XDP while receive offloads (LRO, GRO_HW, guest "
			   "checksum) are on. Switch them off "
			   "on the host's side of the device, or use `mode generic`",
			   name);
	return why(w, err,
		   "%s: driver %s has no native XDP (or an offload such as LRO stands in its way). Use `mode "
		   "generic`",
		   name, *d->driver ? d->driver : "(unknown)");
}

int explain_attach(struct why *w, int err, const char *name, enum attach_mode mode)
{
	struct device d = describe(name);
	const char *kind = mode == ATTACH_NATIVE ? "native" : "generic";

	if (why_denied(err))
		return why(w, err, "%s: attaching is refused: %s; %s", name, why_errno(err), why_denied(err));
	switch (mode == ATTACH_NATIVE ? err : 0) {
	case -EOPNOTSUPP:
		return explain_unsupported(w, err, name, &d);
	case -ERANGE:
	case -EINVAL:
		return explain_size(w, err, name, &d);
	case -ENOMEM:
		return why(
			w, err,
			"%s: driver %s has too few queues (or too little memory) for native XDP, which wants "
			"a transmit queue of its own "
			"per CPU. Change the channels with `ethtool -L %s combined N`, or use `mode generic`",
			name, *d.driver ? d.driver : "(unknown)", name);
	case -ENOSPC:
		return why(w, err,
			   "%s: fewer receive queues here than transmit queues at the other end. Even them "
			   "out with `ethtool -L`, or use "
			   "`mode generic`",
			   name);
	default:
		break;
	}
	if (err == -EBUSY || err == -EEXIST)
		return why(w, err,
			   "%s: another XDP program holds the device (%s). kphi leaves it alone; `bpftool "
			   "net` shows it",
			   name, why_errno(err));
	return why(w, err, "%s: %s XDP refused: %s. `ip link show dev %s` and `dmesg` may say more", name,
		   kind, why_errno(err), name);
}

void explain_program(uint32_t id, char *name, size_t size)
{
	struct bpf_prog_info info = {0};
	uint32_t length = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	snprintf(name, size, "?");
	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &length))
		snprintf(name, size, "%s", info.name);
	if (fd >= 0)
		close(fd);
}
