// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Drivers: what they refuse native XDP for, and what their settings do to heartbeats. The rules are the
 * drivers' own, read in their sources; a driver that has taken the program already is not argued with.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "doctor/judge.h"
#include "io/format.h"
#include "kernel/drivers.h"
#include "kernel/xdp_features.h"

#define NS_PER_US 1000ULL

static bool is(const struct device_facts *d, const char *driver)
{
	return !strcmp(d->nic.driver, driver);
}

static bool native_attached(const struct device_facts *d)
{
	return d->us.known && d->us.attached && d->us.alive && !strcmp(d->us.mode, "native");
}

int device_native(const struct device_facts *d, const struct host_facts *h, const char **source)
{
	const struct driver *known = driver_find(d->nic.driver);

	*source = "the driver says so";
	if (!d->features_error)
		return (d->features & XDP_FEATURE_BASIC) != 0;
	*source = "by table";
	return known ? h->kernel >= known->native : -1;
}

static bool takes_frags(const struct device_facts *d, const struct host_facts *h)
{
	const struct driver *known = driver_find(d->nic.driver);

	if (!h->features[HOST_XDP_FRAGS].there)
		return false;
	if (!d->features_error)
		return d->features & XDP_FEATURE_FRAGS;
	return known && known->frags && h->kernel >= known->frags;
}

static void native_xdp(struct findings *f, const struct device_facts *d, const struct host_facts *h)
{
	const char *source, *driver = *d->nic.driver ? d->nic.driver : "(unknown)";
	int native = device_native(d, h, &source);
	struct finding *finding;

	if (native > 0) {
		finding = finding_add(f, d->link.name, "native_xdp", FINDING_OK,
				      "driver %s has native XDP (%s)", driver, source);
	} else if (!native) {
		finding = finding_add(
			f, d->link.name, "native_xdp", FINDING_WARN,
			"driver %s has no native XDP, or not with its present settings (%s): beats are "
			"stamped later, after the kernel has built its own packet",
			driver, source);
		finding_remedy(finding, "kphi listens at tc then; a device below it may have native XDP");
	} else {
		finding = finding_add(
			f, d->link.name, "native_xdp", FINDING_UNKNOWN,
			"driver %s: this kernel does not tell (6.3 does), and it is in no table of ours",
			driver);
		finding_remedy(finding, "`kphi net attach dev %s` tries native XDP first", d->link.name);
	}
	finding_text(finding, "driver", d->nic.driver);
	finding_text(finding, "source", source);
	if (native >= 0)
		finding_bool(finding, "native", native);
}

static void mtu(struct findings *f, const struct device_facts *d, const struct host_facts *h)
{
	const struct driver *known = driver_find(d->nic.driver);
	bool frags = takes_frags(d, h);
	uint32_t limit = known ? frags ? known->mtu_frags : known->mtu : 0;
	struct finding *finding;

	if (native_attached(d))
		finding = finding_add(f, d->link.name, "mtu", FINDING_OK,
				      "MTU %u: native XDP is attached with it", d->link.mtu);
	else if (limit && h->page_size != 4096)
		finding = finding_add(f, d->link.name, "mtu", FINDING_UNKNOWN,
				      "MTU %u: what is known of driver %s is for pages of 4 KiB", d->link.mtu,
				      d->nic.driver);
	else if (limit && d->link.mtu > limit) {
		finding = finding_add(f, d->link.name, "mtu", FINDING_FAIL,
				      "MTU %u is above what driver %s takes with native XDP (%u)",
				      d->link.mtu, d->nic.driver, limit);
		finding_remedy(finding, "lower it with `ip link set %s mtu %u`; as it is, kphi listens at tc",
			       d->link.name, limit);
	} else
		finding = finding_add(f, d->link.name, "mtu", FINDING_OK, "MTU %u%s", d->link.mtu,
				      limit            ? ": within what the driver takes"
				      : known && frags ? ": the driver takes any, in several buffers"
						       : "; no limit of the driver's is known");
	finding_number(finding, "mtu", d->link.mtu);
	if (limit)
		finding_number(finding, "limit", limit);
	finding_bool(finding, "frags", frags);
}

/* --- channels --- */

static struct finding *channels_fail(struct findings *f, const struct device_facts *d, const char *why)
{
	return finding_add(f, d->link.name, "channels", FINDING_FAIL, "%s", why);
}

/* As many transmit queues again go to XDP. */
static struct finding *channels_halved(struct findings *f, const struct device_facts *d)
{
	const struct ethtool_facts *n = &d->nic;
	struct finding *finding;

	if (is(d, "ena") && n->channels.combined > n->channels_max.combined / 2) {
		finding = channels_fail(f, d,
					"ena takes native XDP only with at most half of its channels in use");
		finding_remedy(finding, "ethtool -L %s combined %u", d->link.name,
			       n->channels_max.combined / 2 ?: 1);
		return finding;
	}
	if (is(d, "gve") && (n->channels.rx != n->channels.tx || 2 * n->channels.tx > n->channels_max.tx)) {
		uint32_t half = n->channels_max.tx / 2 ?: 1;

		finding = channels_fail(
			f, d,
			"gve takes native XDP only with as many receive as transmit queues, and "
			"at most half of those there are");
		finding_remedy(finding, "ethtool -L %s rx %u tx %u", d->link.name, half, half);
		return finding;
	}
	return NULL;
}

static struct finding *channels_per_cpu(struct findings *f, const struct device_facts *d,
					const struct host_facts *h)
{
	uint32_t most =
		h->kernel >= KERNEL(5, 16) ? 128 : 64; /* of ixgbe's: 64 queues, later shared by two */
	const struct ethtool_facts *n = &d->nic;
	struct finding *finding;
	char why[160];

	if (is(d, "ixgbe") && h->cpus > most) {
		snprintf(why, sizeof(why),
			 "ixgbe takes native XDP on up to %u CPUs, and this host may have %u", most, h->cpus);
		finding = channels_fail(f, d, why);
		finding_remedy(finding, "boot with possible_cpus=%u; as it is, kphi listens at tc", most);
		return finding;
	}
	if (is(d, "virtio_net") && h->kernel < KERNEL(5, 13) &&
	    n->channels.combined + h->cpus > n->channels_max.combined) {
		finding = channels_fail(
			f, d,
			"virtio_net wants a transmit queue for each CPU beside those in use, and "
			"before Linux 5.13 refuses native XDP without");
		finding_remedy(
			finding,
			"give the device more queues on the host's side (`queues=`), or lower those in "
			"use with `ethtool -L %s combined N`",
			d->link.name);
		return finding;
	}
	return NULL;
}

static struct finding *channels_other(struct findings *f, const struct device_facts *d)
{
	const struct ethtool_facts *n = &d->nic;
	struct finding *finding;

	if (is(d, "bnxt_en") && !n->channels.combined) {
		finding = channels_fail(f, d, "bnxt_en takes native XDP only with combined channels");
		finding_remedy(finding, "ethtool -L %s rx 0 tx 0 combined N", d->link.name);
		return finding;
	}
	if (is(d, "veth") && d->cable_tx_queues > n->channels.rx) {
		finding = channels_fail(f, d,
					"fewer receive queues here than transmit queues at the other end");
		finding_remedy(finding, "even them out: `ethtool -L %s rx %u`", d->link.name,
			       d->cable_tx_queues);
		finding_number(finding, "cable_tx", d->cable_tx_queues);
		return finding;
	}
	return NULL;
}

static void channels(struct findings *f, const struct device_facts *d, const struct host_facts *h)
{
	const struct ethtool_facts *n = &d->nic;
	struct finding *finding = NULL;

	if (!native_attached(d)) {
		finding = n->has_channels ? channels_halved(f, d) : NULL;
		finding = finding ?: channels_per_cpu(f, d, h);
		finding = finding ?: n->has_channels ? channels_other(f, d) : NULL;
	}
	if (!finding && !n->has_channels) {
		finding_add(f, d->link.name, "channels", FINDING_OK, "the driver has none to set");
		return;
	}
	if (!finding)
		finding =
			finding_add(f, d->link.name, "channels", FINDING_OK,
				    "%u receive, %u transmit, %u combined: nothing stands against native XDP",
				    n->channels.rx, n->channels.tx, n->channels.combined);
	finding_number(finding, "rx", n->channels.rx);
	finding_number(finding, "tx", n->channels.tx);
	finding_number(finding, "combined", n->channels.combined);
	finding_number(finding, "max_combined", n->channels_max.combined);
	finding_number(finding, "cpus", h->cpus);
}

/* --- what the NIC does to packets before the program sees them --- */

/* Which of them a driver refuses native XDP with. */
static bool refuses(const struct device_facts *d)
{
	static const char *const lro[] = {"ixgbe", "hv_netvsc", "mlx5_core", "gve"};
	static const char *const gro_hw[] = {"mlx5_core", "gve"};

	for (size_t i = 0; d->nic.lro.on && i < sizeof(lro) / sizeof(*lro); i++)
		if (is(d, lro[i]))
			return true;
	for (size_t i = 0; d->nic.gro_hw.on && i < sizeof(gro_hw) / sizeof(*gro_hw); i++)
		if (is(d, gro_hw[i]))
			return true;
	return false;
}

/*
 * virtio_net switches them off by itself if the host lets it, and then they can be changed from here.
 * rx-checksum alone tells nothing: it is always fixed.
 */
static bool virtio_refuses(const struct device_facts *d)
{
	return is(d, "virtio_net") && d->nic.gro_hw.fixed && (d->nic.gro_hw.on || d->nic.rx_checksum.on);
}

static void receive_offloads(struct findings *f, const struct device_facts *d)
{
	const struct ethtool_facts *n = &d->nic;
	struct finding *finding;

	if (native_attached(d)) {
		finding = finding_add(f, d->link.name, "receive_offloads", FINDING_OK,
				      "native XDP is attached with them as they are");
	} else if (virtio_refuses(d)) {
		finding = finding_add(
			f, d->link.name, "receive_offloads", FINDING_FAIL,
			"virtio_net refuses native XDP: the hypervisor merges packets or leaves out their "
			"checksums (GRO_HW, guest checksum), and this host cannot tell it to stop");
		finding_remedy(finding,
			       "set guest_csum, guest_tso4, guest_tso6, guest_ecn and guest_ufo off (or "
			       "ctrl_guest_offloads on) on the hypervisor's side; as it is, kphi listens at "
			       "tc");
	} else if (refuses(d)) {
		finding = finding_add(f, d->link.name, "receive_offloads", FINDING_FAIL,
				      "driver %s refuses native XDP while LRO or GRO_HW is on", n->driver);
		finding_remedy(finding, "ethtool -K %s lro off rx-gro-hw off", d->link.name);
	} else {
		finding = finding_add(f, d->link.name, "receive_offloads", FINDING_OK,
				      n->lro.on || n->gro_hw.on
					      ? "LRO or GRO_HW is on; the driver is not known to refuse "
						"native XDP for it"
					      : "LRO and GRO_HW are off");
	}
	finding_bool(finding, "lro", n->lro.on);
	finding_bool(finding, "gro_hw", n->gro_hw.on);
	finding_bool(finding, "rx_checksum", n->rx_checksum.on);
}

static void coalescing(struct findings *f, const struct device_facts *d)
{
	const struct ethtool_facts *n = &d->nic;
	uint32_t usecs = n->adaptive && n->rx_usecs_high > n->rx_usecs ? n->rx_usecs_high : n->rx_usecs;
	char delay[FORMAT_SIZE], floor[FORMAT_SIZE];
	struct finding *finding;

	if (!n->has_coalescing) {
		finding_add(f, d->link.name, "coalescing", FINDING_OK, "the driver has none to set");
		return;
	}
	format_duration(usecs * NS_PER_US, delay);
	if (d->min_std_ns && usecs * NS_PER_US > d->min_std_ns / 10) {
		finding = finding_add(
			f, d->link.name, "coalescing", FINDING_WARN,
			"a packet may wait %s%s for its interrupt: more than a tenth of the smallest min-std "
			"here (%s, of %s), so the NIC sets the noise floor",
			delay, n->adaptive ? " (adaptive)" : "", format_duration(d->min_std_ns, floor),
			d->min_std_peer);
		finding_remedy(
			finding,
			"`ethtool -C %s adaptive-rx off rx-usecs 0`, or keep min-std above ten times that",
			d->link.name);
		finding_duration(finding, "min_std_ns", d->min_std_ns);
	} else if (!usecs) {
		finding = finding_add(f, d->link.name, "coalescing", FINDING_OK,
				      "no packet waits for its interrupt");
	} else {
		finding = finding_add(
			f, d->link.name, "coalescing", FINDING_OK,
			"a packet may wait %s%s for its interrupt: keep min-std above ten times that", delay,
			n->adaptive ? " (adaptive)" : "");
	}
	finding_duration(finding, "rx_delay_ns", usecs * NS_PER_US);
	finding_number(finding, "rx_usecs", n->rx_usecs);
	finding_number(finding, "rx_frames", n->rx_frames);
	finding_bool(finding, "adaptive", n->adaptive);
}

static void vlan_offload(struct findings *f, const struct device_facts *d)
{
	struct finding *finding;

	if (!d->nic.rx_vlan.on) {
		finding =
			finding_add(f, d->link.name, "vlan_offload", FINDING_OK,
				    "rxvlan is off: a VLAN tag is in the packet, and its id can be matched");
	} else if (!d->vlans) {
		finding = finding_add(f, d->link.name, "vlan_offload", FINDING_OK,
				      "rxvlan is on; there are no VLANs on top of this device");
	} else {
		finding = finding_add(
			f, d->link.name, "vlan_offload", FINDING_WARN,
			"rxvlan is on: the tag is stripped before XDP sees the packet, so beats of all %u "
			"VLANs look untagged, and a VLAN id cannot be matched",
			d->vlans);
		finding_remedy(finding, "`ethtool -K %s rxvlan off` if the id matters", d->link.name);
	}
	finding_bool(finding, "rxvlan", d->nic.rx_vlan.on);
	finding_number(finding, "vlans", d->vlans);
}

/* Softirq outranks every thread; a kernel thread of ordinary priority waits for its turn, and stamps after
 * that. */
static void threaded_napi(struct findings *f, const struct device_facts *d)
{
	struct finding *finding;

	if (d->threaded < 0)
		return;
	if (!d->threaded) {
		finding_add(f, d->link.name, "threaded_napi", FINDING_OK,
			    "packets are taken in by softirq, ahead of every thread");
		return;
	}
	finding = finding_add(
		f, d->link.name, "threaded_napi", FINDING_WARN,
		"packets are taken in by kernel threads (napi/%s-...), which wait for a CPU as other "
		"threads do: on a busy CPU beats are stamped late, and no tick of the guard tells",
		d->link.name);
	finding_remedy(finding,
		       "give them a real-time priority (`chrt -f -p 50 PID`, `pgrep napi/%s-`), or `echo 0 > "
		       "/sys/class/net/%s/threaded`",
		       d->link.name, d->link.name);
}

void judge_nic(struct findings *f, const struct device_facts *d, const struct host_facts *h)
{
	const char *source;

	native_xdp(f, d, h);
	if (device_native(d, h, &source)) {
		mtu(f, d, h);
		channels(f, d, h);
		receive_offloads(f, d);
	}
	coalescing(f, d);
	threaded_napi(f, d);
	vlan_offload(f, d);
}
