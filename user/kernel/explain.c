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
#include "kernel/hook.h"
#include "kernel/link_facts.h"

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
			   "with `ip link set %s mtu %d`",
			   name, why_errno(err), d->mtu, d->driver, limit, name, limit);
	return why(w, err,
		   "%s: native XDP refused (%s): driver %s does not take it with MTU %d and the present "
		   "offloads. Try `ethtool -K %s lro off rx-gro-hw off` or a smaller MTU",
		   name, why_errno(err), *d->driver ? d->driver : "(unknown)", d->mtu, name);
}

static int explain_vlan(struct why *w, int err, const char *name)
{
	struct link_facts link;
	char parent[32] = "ITS-PARENT"; /* in another network namespace */

	if (!link_facts_of(if_nametoindex(name), &link) && link.lower && !link.lower_elsewhere)
		if_indextoname(link.lower, parent);
	return why(w, err,
		   "%s: a VLAN sub-interface has no native XDP. Attach to its parent device, which hears its "
		   "packets earlier: `kphi net attach dev %s`; kphi looks behind the tag, and a rule may ask "
		   "for `vlan %u`",
		   name, parent, link.vlan);
}

static int explain_unsupported(struct why *w, int err, const char *name, const struct device *d)
{
	if (!strcmp(d->driver, "802.1Q VLAN Support"))
		return explain_vlan(w, err, name);
	if (!strcmp(d->driver, "bridge"))
		return why(w, err, "%s: a bridge has no native XDP. Attach to its ports", name);
	if (!strcmp(d->driver, "bonding"))
		return why(w, err,
			   "%s: a bond has native XDP only if the drivers of all its ports have it, no port "
			   "has a program of its own, and its mode is balance-rr, active-backup, balance-xor "
			   "or 802.3ad",
			   name);
	if (!strcmp(d->driver, "virtio_net"))
		return why(w, err,
			   "%s: virtio_net refuses native XDP while receive offloads (LRO, GRO_HW, guest "
			   "checksum) are on. Switch them off on the host's side of the device",
			   name);
	return why(w, err, "%s: driver %s has no native XDP (or an offload such as LRO stands in its way)",
		   name, *d->driver ? d->driver : "(unknown)");
}

/* The errno is of the time of attaching, the occupant of now. */
static int explain_occupied(struct why *w, int err, const char *name)
{
	uint32_t id = hook_xdp_program(if_nametoindex(name));
	char program[64];

	if (!id)
		return why(
			w, err,
			"%s: another XDP program was on the device when kphi was attached, and has gone. For "
			"native XDP: `kphi net detach dev %s`, then attach again",
			name, name);
	explain_program(id, program, sizeof(program));
	return why(
		w, err,
		"%s: an XDP program that is not kphi's is attached already: id %u, name \"%s\". kphi leaves "
		"it alone (`bpftool net` shows it)",
		name, id, program);
}

static int explain_native(struct why *w, int err, const char *name, const struct device *d)
{
	switch (err) {
	case -EOPNOTSUPP:
		return explain_unsupported(w, err, name, d);
	case -EPROTONOSUPPORT:
		return why(w, err, "%s: its packets have no Ethernet header, with which XDP begins", name);
	case -ERANGE:
	case -EINVAL:
		return explain_size(w, err, name, d);
	case -ENOMEM:
		return why(
			w, err,
			"%s: driver %s has too few queues (or too little memory) for native XDP, which "
			"wants a transmit queue of its own per CPU. Change the channels with `ethtool -L %s "
			"combined N`",
			name, *d->driver ? d->driver : "(unknown)", name);
	case -ENOSPC:
		return why(w, err,
			   "%s: fewer receive queues here than transmit queues at the other end. Even them "
			   "out with `ethtool -L`",
			   name);
	default:
		return why(w, err,
			   "%s: native XDP refused: %s. `ip link show dev %s` and `dmesg` may say more", name,
			   why_errno(err), name);
	}
}

int explain_attach(struct why *w, int err, const char *name, enum attach_mode mode)
{
	struct device d = describe(name);

	if (why_denied(err))
		return why(w, err, "%s: attaching is refused: %s; %s", name, why_errno(err), why_denied(err));
	if (mode != ATTACH_TC && (err == -EBUSY || err == -EEXIST))
		return explain_occupied(w, err, name);
	if (mode == ATTACH_NATIVE)
		return explain_native(w, err, name, &d);
	if (mode == ATTACH_GENERIC)
		return why(w, err,
			   "%s: generic XDP refused: %s. `ip link show dev %s` and `dmesg` may say more",
			   name, why_errno(err), name);
	return why(
		w, err,
		"%s: neither TCX (Linux 6.6 or newer) nor a clsact filter (modules sch_ingress and cls_bpf) "
		"can be had: %s. `tc filter show dev %s ingress` and `dmesg` may say more",
		name, why_errno(err), name);
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
