// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/explain.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/drivers.h"
#include "kernel/ethtool.h"
#include "kernel/hook.h"
#include "kernel/link_facts.h"

struct device {
	struct link_facts link;
	struct ethtool_facts nic;
};

static void describe(const char *name, struct device *d)
{
	link_facts_of(if_nametoindex(name), &d->link);
	ethtool_read(name, &d->nic);
}

static const char *driver_of(const struct device *d)
{
	return *d->nic.driver ? d->nic.driver : "(unknown)";
}

static int explain_size(struct why *w, int err, const char *name, const struct device *d)
{
	const struct driver *known = driver_find(d->nic.driver);
	uint32_t limit = known ? known->mtu : 0;

	if (limit && d->link.mtu > limit)
		return why(w, err,
			   "%s: native XDP refused (%s): MTU %u is above what driver %s takes (%u). Lower it "
			   "with `ip link set %s mtu %u`",
			   name, why_errno(err), d->link.mtu, d->nic.driver, limit, name, limit);
	return why(w, err,
		   "%s: native XDP refused (%s): driver %s does not take it with MTU %u and the present "
		   "offloads. Try `ethtool -K %s lro off rx-gro-hw off` or a smaller MTU",
		   name, why_errno(err), driver_of(d), d->link.mtu, name);
}

static int explain_vlan(struct why *w, int err, const char *name, const struct link_facts *link)
{
	char parent[32] = "ITS-PARENT"; /* in another network namespace */

	if (link->lower && !link->lower_elsewhere)
		if_indextoname(link->lower, parent);
	return why(w, err,
		   "%s: a VLAN sub-interface has no native XDP. Attach to its parent device, which hears its "
		   "packets earlier: `kphi net attach dev %s`; kphi looks behind the tag, and a rule may ask "
		   "for `vlan %u`",
		   name, parent, link->vlan);
}

static int explain_unsupported(struct why *w, int err, const char *name, const struct device *d)
{
	if (!strcmp(d->nic.driver, "802.1Q VLAN Support"))
		return explain_vlan(w, err, name, &d->link);
	if (!strcmp(d->nic.driver, "bridge"))
		return why(w, err, "%s: a bridge has no native XDP. Attach to its ports", name);
	if (!strcmp(d->nic.driver, "bonding"))
		return why(w, err,
			   "%s: a bond has native XDP only if the drivers of all its ports have it, no port "
			   "has a program of its own, and its mode is balance-rr, active-backup, balance-xor "
			   "or 802.3ad",
			   name);
	if (!strcmp(d->nic.driver, "virtio_net"))
		return why(w, err,
			   "%s: virtio_net refuses native XDP while receive offloads (LRO, GRO_HW, guest "
			   "checksum) are on. Switch them off on the host's side of the device",
			   name);
	return why(w, err, "%s: driver %s has no native XDP (or an offload such as LRO stands in its way)",
		   name, driver_of(d));
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
			name, driver_of(d), name);
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
	struct device d;

	describe(name, &d);
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
