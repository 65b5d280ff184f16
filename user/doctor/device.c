// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One device: what it is, who is on it, and what it lets through. */
#include <errno.h>
#include <inttypes.h>
#include <linux/if_link.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>

#include "doctor/judge.h"
#include "io/format.h"

static bool one_of(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

#define ONE_OF(word, list) one_of(word, list, sizeof(list) / sizeof(*(list)))

bool kind_is_tunnel(const char *kind)
{
	static const char *const tunnels[] = {"vxlan",  "geneve",    "gre",  "gretap", "ip6gre", "ip6gretap",
					      "erspan", "ip6erspan", "ipip", "sit",    "ip6tnl", "vti",
					      "vti6",   "wireguard", "tun",  "xfrm",   "bareudp"};

	return ONE_OF(kind, tunnels);
}

bool device_is_virtual(const struct device_facts *d)
{
	static const char *const virtual[] = {"veth", "bridge", "dummy", "netkit", "ifb"};

	return ONE_OF(d->link.kind, virtual) || kind_is_tunnel(d->link.kind);
}

/* --- the cable --- */

static void link_state(struct findings *f, const struct device_facts *d)
{
	struct finding *finding;

	if (!d->link.up) {
		finding = finding_add(f, d->link.name, "link", FINDING_FAIL,
				      "the device is set down: nothing is heard");
		finding_remedy(finding, "ip link set %s up", d->link.name);
	} else if (!d->link.carrier) {
		finding = finding_add(f, d->link.name, "link", FINDING_FAIL,
				      "the device has no carrier: nothing is heard");
		finding_remedy(finding, "look at the cable and the other end");
	} else if (d->nic.speed_mbps && !device_is_virtual(d)) {
		finding = finding_add(f, d->link.name, "link", FINDING_OK, "up, with carrier, %u Mbit/s",
				      d->nic.speed_mbps);
		finding_number(finding, "speed_mbps", d->nic.speed_mbps);
	} else {
		finding = finding_add(f, d->link.name, "link", FINDING_OK, "up, with carrier");
	}
	finding_bool(finding, "up", d->link.up);
	finding_bool(finding, "carrier", d->link.carrier);
}

/* --- what it is --- */

static const char *or_the(const char *name, const char *otherwise)
{
	return *name ? name : otherwise;
}

static struct finding *kind_foreign(struct findings *f, const struct device_facts *d)
{
	struct finding *finding = finding_add(f, d->link.name, "kind", FINDING_WARN,
					      "%s (link type %u): its packets begin neither with an Ethernet "
					      "header nor with IP, and kphi reads no others",
					      or_the(d->link.kind, "a device of another kind"), d->link.type);

	finding_remedy(finding, "let the beats come by another device");
	return finding;
}

/* Tunnels of IP, and whatever else has no use for addresses below it. */
static struct finding *kind_ip(struct findings *f, const struct device_facts *d)
{
	return finding_add(
		f, d->link.name, "kind", FINDING_OK,
		"%s: its packets begin with IP, without an Ethernet header, so kphi listens at tc%s",
		or_the(d->link.kind, "a device of another kind"),
		kind_is_tunnel(d->link.kind) && strcmp(d->link.kind, "tun") != 0
			? "; here is heard what came through the tunnel"
			: "");
}

static struct finding *kind_on_top(struct findings *f, const struct device_facts *d)
{
	static const char *const slices[] = {"macvlan", "macvtap", "ipvlan", "ipvtap"};
	const char *lower = or_the(d->lower, "the device below it");
	struct finding *finding = NULL;

	if (!strcmp(d->link.kind, "vlan")) {
		finding =
			finding_add(f, d->link.name, "kind", FINDING_WARN,
				    "VLAN %u of %s: a sub-interface has no native XDP", d->link.vlan, lower);
		finding_remedy(finding, "attach to %s: kphi looks behind the tag", lower);
	} else if (ONE_OF(d->link.kind, slices)) {
		finding = finding_add(f, d->link.name, "kind", FINDING_WARN, "%s on %s: it has no native XDP",
				      d->link.kind, lower);
		finding_remedy(finding, "attach to %s, which sees the beats of all that are on it", lower);
	} else if (kind_is_tunnel(d->link.kind) && strcmp(d->link.kind, "tun") != 0) {
		finding = finding_add(f, d->link.name, "kind", FINDING_OK,
				      "%s: here is heard what came through the tunnel, which is invisible on "
				      "the device that "
				      "the tunnel's own packets come by",
				      d->link.kind);
	}
	return finding;
}

static struct finding *kind_of_many(struct findings *f, const struct device_facts *d)
{
	const char *master = or_the(d->master, "its master");
	struct finding *finding = NULL;

	if (!strcmp(d->link.port_kind, "bond")) {
		finding = finding_add(f, d->link.name, "kind", FINDING_WARN,
				      "a port of bond %s: by this device comes only a part of the beats, and "
				      "after a failover "
				      "none or all",
				      master);
		finding_remedy(finding, "attach to %s", master);
		finding_text(finding, "master", d->master);
	} else if (!strcmp(d->link.kind, "bond")) {
		finding = finding_add(
			f, d->link.name, "kind", FINDING_OK,
			"a bond: native XDP on it runs on its ports, and needs every one of them to have it");
	} else if (!strcmp(d->link.kind, "bridge")) {
		finding = finding_add(f, d->link.name, "kind", FINDING_WARN, "a bridge has no native XDP");
		finding_remedy(finding,
			       "attach to its ports, by which packets come first; on the bridge kphi listens "
			       "at tc");
	} else if (!strcmp(d->link.kind, "team")) {
		finding = finding_add(f, d->link.name, "kind", FINDING_WARN, "a team has no native XDP");
		finding_remedy(finding, "attach to its ports; on the team kphi listens at tc");
	} else if (*d->link.port_kind) {
		finding = finding_add(
			f, d->link.name, "kind", FINDING_OK,
			"a port of %s %s: packets come by here first, so this is the place to listen",
			d->link.port_kind, master);
		finding_text(finding, "master", d->master);
	}
	return finding;
}

static void kind(struct findings *f, const struct device_facts *d)
{
	struct finding *finding = NULL;

	if (link_packets(d->link.type) == LINK_FOREIGN)
		finding = kind_foreign(f, d);
	else if (link_packets(d->link.type) == LINK_IP)
		finding = kind_ip(f, d);
	finding = finding ?: kind_of_many(f, d);
	finding = finding ?: kind_on_top(f, d);
	if (!finding)
		finding = finding_add(f, d->link.name, "kind", FINDING_OK, "%s",
				      d->link.type == ARPHRD_LOOPBACK ? "the loopback"
				      : *d->link.kind                 ? d->link.kind
								      : "a device of its own");
	finding_text(finding, "kind", d->link.kind);
}

/* --- who is on it --- */

static void hook_ours(struct findings *f, const struct device_facts *d, const struct host_facts *h)
{
	const char *source;
	struct finding *finding;

	if (!d->us.alive) {
		finding =
			finding_add(f, d->link.name, "hook", FINDING_FAIL,
				    "kphi's link is pinned, but its program was taken off: nothing is heard");
		finding_remedy(finding, "kphi net attach dev %s", d->link.name);
	} else if (!strcmp(d->us.mode, "generic")) {
		finding =
			finding_add(f, d->link.name, "hook", FINDING_WARN,
				    "kphi listens in generic mode: beats are stamped later and less evenly");
		if (device_native(d, h, &source) > 0)
			finding_remedy(finding,
				       "the driver has native XDP: `kphi net detach dev %s`, then attach it "
				       "again with `mode native`",
				       d->link.name);
	} else {
		finding = finding_add(f, d->link.name, "hook", FINDING_OK, "kphi listens, in %s mode",
				      d->us.mode);
	}
	finding_text(finding, "mode", d->us.mode);
	finding_number(finding, "program_id", d->us.program_id);
}

static void hook_theirs(struct findings *f, const struct device_facts *d)
{
	bool dispatcher = !strcmp(d->xdp_name, "xdp_dispatcher");
	char name[80] = "a program whose name only CAP_SYS_ADMIN can ask for";
	struct finding *finding;

	if (strcmp(d->xdp_name, "?") != 0)
		snprintf(name, sizeof(name), "\"%s\"%s", d->xdp_name, dispatcher ? " (libxdp's)" : "");
	if (!d->us.known) {
		finding = finding_add(
			f, d->link.name, "hook", FINDING_UNKNOWN,
			"XDP is taken by program %u, %s; only root can tell whether that is kphi's",
			d->link.xdp_program, name);
	} else if (d->link.xdp_mode == XDP_ATTACHED_MULTI) {
		finding = finding_add(
			f, d->link.name, "hook", FINDING_WARN,
			"several XDP programs that are not kphi's are on it, in more than one mode");
	} else {
		finding = finding_add(f, d->link.name, "hook", FINDING_WARN,
				      "XDP is taken by a program that is not kphi's: id %u, %s",
				      d->link.xdp_program, name);
	}
	if (d->us.known)
		finding_remedy(
			finding,
			"kphi leaves it alone and listens behind it, at tc, where only what it lets pass is "
			"heard; or have its owner detach it (`bpftool net` shows it)");
	finding_number(finding, "program_id", d->link.xdp_program);
	finding_text(finding, "program", d->xdp_name);
}

static void hook(struct findings *f, const struct device_facts *d, const struct host_facts *h)
{
	bool taken = d->link.xdp_mode != XDP_ATTACHED_NONE;
	struct finding *finding;

	if (d->us.known && d->us.attached) {
		hook_ours(f, d, h);
		if (!taken || d->link.xdp_program == d->us.program_id)
			return;
	}
	if (taken)
		hook_theirs(f, d);
	else {
		finding = finding_add(f, d->link.name, "hook", FINDING_OK, "free: no XDP program is on it");
		if (d->us.known && link_packets(d->link.type) != LINK_FOREIGN)
			finding_remedy(finding, "`kphi net attach dev %s` listens here", d->link.name);
	}
}

static void tc_hook(struct findings *f, const struct device_facts *d)
{
	char list[FINDING_TEXT - 64] = "";
	struct finding *finding;
	uint32_t others = 0;

	for (uint32_t i = 0; i < d->tc.n; i++) {
		const struct occupant *o = &d->tc.list[i];
		size_t length = strlen(list);

		if (d->us.known && d->us.attached && o->program_id == d->us.program_id)
			continue;
		others++;
		snprintf(list + length, sizeof(list) - length, "%s\"%s\" (%s, id %u)", length ? ", " : "",
			 o->name, o->hook, o->program_id);
	}
	if (others)
		finding = finding_add(f, d->link.name, "tc_hook", FINDING_OK,
				      "BPF programs of others at tc ingress, after XDP: %s", list);
	else if (d->tc.tcx_error == -EPERM)
		finding = finding_add(f, d->link.name, "tc_hook", FINDING_UNKNOWN,
				      "no clsact filter is there; TCX cannot be asked without CAP_NET_ADMIN");
	else
		finding = finding_add(f, d->link.name, "tc_hook", FINDING_OK,
				      "no BPF program of others is at tc ingress");
	finding_number(finding, "programs", others);
}

/* --- what it lets through --- */

static void group(struct findings *f, const struct device_facts *d, const struct wanted_group *w)
{
	struct finding *finding;

	if (w->joined > 0)
		finding =
			finding_add(f, d->link.name, "multicast", FINDING_OK,
				    "%s (%s, for %s) is received: joined", w->address, w->protocol, w->peer);
	else if (w->heard)
		finding = finding_add(f, d->link.name, "multicast", FINDING_OK,
				      "%s (%s, for %s) is received, though nobody has joined it", w->address,
				      w->protocol, w->peer);
	else if (d->link.promiscuous || d->link.all_multicast)
		finding = finding_add(f, d->link.name, "multicast", FINDING_OK,
				      "%s (%s, for %s) is received: the device takes every group", w->address,
				      w->protocol, w->peer);
	else if (w->joined < 0)
		finding = finding_add(f, d->link.name, "multicast", FINDING_UNKNOWN,
				      "cannot tell whether %s (%s, for %s) was joined", w->address,
				      w->protocol, w->peer);
	else if (device_is_virtual(d))
		finding = finding_add(f, d->link.name, "multicast", FINDING_OK,
				      "nobody has joined %s (%s, for %s), but a %s device filters nothing",
				      w->address, w->protocol, w->peer, d->link.kind);
	else {
		finding = finding_add(f, d->link.name, "multicast", FINDING_WARN,
				      "nobody has joined %s (%s), which %s sends to: the NIC may drop it "
				      "before XDP sees it",
				      w->address, w->protocol, w->peer);
		finding_remedy(finding,
			       "`ip address add %s dev %s autojoin`, or `ip link set %s allmulticast on`",
			       w->address, d->link.name, d->link.name);
	}
	finding_text(finding, "group", w->address);
	finding_bool(finding, "joined", w->joined > 0);
	finding_text(finding, "peer", w->peer);
}

static void multicast(struct findings *f, const struct device_facts *d)
{
	for (uint32_t i = 0; i < d->wanted_count; i++)
		group(f, d, &d->wanted[i]);
	if (!d->wanted_count)
		finding_add(f, d->link.name, "multicast", FINDING_OK, "no peer is known to need a group");
}

static void packets(struct findings *f, const struct device_facts *d)
{
	char time[FORMAT_SIZE];
	struct finding *finding;

	format_duration(d->watched_ns, time);
	if (!d->watched_ns)
		finding = finding_add(f, d->link.name, "packets", FINDING_OK,
				      "received %" PRIu64 " packets so far", d->link.rx_packets);
	else if (d->rx_packets)
		finding = finding_add(f, d->link.name, "packets", FINDING_OK,
				      "received %" PRIu64 " packets in %s", d->rx_packets, time);
	else {
		finding = finding_add(f, d->link.name, "packets", FINDING_WARN,
				      "received nothing at all in %s (%" PRIu64 " packets so far)", time,
				      d->link.rx_packets);
		finding_remedy(finding,
			       "look at the cable, the switch port and its VLAN, and whether anybody sends");
	}
	finding_number(finding, "rx_packets", d->link.rx_packets);
	finding_number(finding, "rx_dropped", d->link.rx_dropped);
	finding_number(finding, "rx_errors", d->link.rx_errors);
	finding_number(finding, "rx_packets_watched", d->rx_packets);
	finding_duration(finding, "watched_ns", d->watched_ns);
}

void judge_vanished(struct findings *f, const char *device)
{
	struct finding *finding = finding_add(f, device, "hook", FINDING_FAIL,
					      "kphi was attached to it, and the device has vanished");

	finding_remedy(finding, "`kphi net attach dev %s` when it is back, or `kphi net detach dev %s`",
		       device, device);
}

void judge_device(struct findings *f, const struct device_facts *d, const struct host_facts *h)
{
	link_state(f, d);
	kind(f, d);
	judge_nic(f, d, h);
	hook(f, d, h);
	tc_hook(f, d);
	multicast(f, d);
	packets(f, d);
}
