/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From facts to findings. Nothing here asks anybody anything: whoever calls has read the facts (survey.h), or
 * made them up (the tests).
 */
#ifndef KPHI_DOCTOR_JUDGE_H
#define KPHI_DOCTOR_JUDGE_H

#include <kphi/maps.h>
#include <net/if.h>

#include "doctor/findings.h"
#include "kernel/ethtool.h"
#include "kernel/host_facts.h"
#include "kernel/link_facts.h"
#include "kernel/occupants.h"

#define DOCTOR_HOST "host" /* the subject that is no device */

/* Kernel, permissions, clock. */
void judge_host(struct findings *f, const struct host_facts *host);

/* --- the store --- */

struct store_facts {
	const char *root;
	int root_error; /* of looking for it: 0, -ENOENT, -EINVAL (no bpffs), -EACCES */
	const char *root_reason; /* the sentence for that */
	bool has_store;
	char other_abi[16]; /* a store of another ABI is there; "" */
	const char *reason; /* it is there, and cannot be read; else NULL */
	bool writable; /* this process may pin there */
	bool readable; /* the rest means something */
	/* The guard's ticks, over all CPUs. */
	uint32_t ticking, stalled, dead, migrated; /* CPUs */
	uint64_t worst_gap_ns, stalls, stalled_total_ns;
};

void judge_store(struct findings *f, const struct store_facts *store, const struct host_facts *host);

/* --- one device --- */

struct wanted_group {
	const char *protocol; /* "VRRP" */
	const char *address; /* "224.0.0.18" */
	const char *peer; /* one that needs it */
	int joined; /* as group_joined() says */
	bool heard; /* a peer that needs it was heard on this device */
};

#define WANTED_MAX 8

/* How this store stands towards a device. `attached` means nothing unless it is known. */
struct device_attachment {
	bool known; /* pinned links are root's to list */
	bool attached, alive;
	const char *mode; /* "native", "generic", "tc" */
	uint32_t program_id;
};

struct device_facts {
	struct link_facts link;
	struct ethtool_facts nic;
	int features_error; /* as xdp_features_read() says */
	uint64_t features;
	int threaded; /* NAPI: its packets are taken in by kernel threads: 1, 0, or -1 if that cannot be told
		       */
	const char *master, *lower; /* names; "" if there is none, or it is elsewhere */
	uint32_t cable_tx_queues; /* veth: of the other end; 0: not to be seen */
	char xdp_name[64]; /* of the program on it; "?" */
	struct device_attachment us;
	struct occupants tc;
	uint64_t min_std_ns; /* the smallest of the peers heard on it; 0: none */
	const char *min_std_peer;
	struct wanted_group wanted[WANTED_MAX];
	uint32_t wanted_count;
	uint32_t vlans; /* VLAN sub-interfaces on top of it */
	uint64_t watched_ns, rx_packets; /* in that time; 0: was not watched */
};

void judge_device(struct findings *f, const struct device_facts *device, const struct host_facts *host);

/* A device that kphi was attached to, and that is no more. */
void judge_vanished(struct findings *f, const char *device);

/* The half of it that is about the NIC and its settings. */
void judge_nic(struct findings *f, const struct device_facts *device, const struct host_facts *host);

/* Has its driver native XDP? 1, 0, or -1 if that cannot be told; *source says how it was found out. */
int device_native(const struct device_facts *device, const struct host_facts *host, const char **source);

/* A device that exists in software only: nothing filters, coalesces or offloads before the kernel does. */
bool device_is_virtual(const struct device_facts *device);

/* --- does anything arrive? --- */

#define TUNNELS_SIZE 128

struct traffic_facts {
	bool readable; /* the store is; the counters and peers below mean something */
	int devices; /* attached, -1: cannot be told */
	bool ports_known;
	uint32_t native_ports, rule_ports; /* how many */
	uint16_t native_port; /* the first of them */
	uint32_t peers, heard; /* heard: ever, since they were added or reset */
	uint32_t native_peers; /* of all peers */
	uint64_t least_interval_ns; /* the shortest one configured or learned; 0: none is known */
	uint64_t last_beat_ago_ns; /* of any peer, if heard */
	uint64_t total[KPHI_COUNTERS], watched[KPHI_COUNTERS]; /* since the store was made; while watching */
	uint64_t watched_ns;
	uint64_t rx_packets; /* while watching, on the devices that are attached */
	char tunnels[TUNNELS_SIZE]; /* names of tunnel devices that are up and not attached, with commas */
};

void judge_traffic(struct findings *f, const struct traffic_facts *traffic);

/* "vxlan", "gre" ...: packets come out of it that are invisible below. */
bool kind_is_tunnel(const char *kind);

#endif
