// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the store knows: itself, its ticks, its counters, its peers. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "core/models.h"
#include "core/silence.h"
#include "doctor/survey.h"
#include "kernel/clock.h"
#include "kernel/groups.h"
#include "kernel/ports.h"

static void survey_ticks(struct store_facts *facts, const struct store *s, uint64_t now_ns)
{
	for (uint32_t cpu = 0; cpu < s->header->cpus; cpu++) {
		struct kphi_tick t = s->ticks[cpu]; /* for display only: need not be of one instant */
		bool dead = t.last_ns && now_ns > t.last_ns + SILENCE_OPEN_MAX_NS;

		facts->dead += dead;
		facts->ticking += t.last_ns && !dead;
		facts->stalled += !dead && silence_open_stall_ns(&t, now_ns);
		facts->migrated += t.last_ns && t.ticks && t.armed_cpu != cpu;
		facts->stalls += t.stalls;
		facts->stalled_total_ns += t.stalled_total_ns;
		if (t.worst_ns > facts->worst_gap_ns)
			facts->worst_gap_ns = t.worst_ns;
	}
}

static void survey_ports(struct survey *v)
{
	struct kphi_ports ports = {0};
	struct why unsaid;

	v->traffic.ports_known = !ports_read(&v->pin, &ports, &unsaid);
	for (uint32_t port = 1; v->traffic.ports_known && port < 65536; port++) {
		uint32_t bits = ports.bits[port];

		if (bits & KPHI_PORT_NATIVE && !v->traffic.native_ports++)
			v->traffic.native_port = (uint16_t)port;
		v->traffic.rule_ports += (bits & ~KPHI_PORT_NATIVE) != 0;
	}
}

void survey_store(struct survey *v, const char *root)
{
	struct store_facts *s = &v->store_facts;

	s->root_error = pin_open(&v->pin, root, false, &v->root_why);
	s->root = v->pin.root;
	s->root_reason = v->root_why.text;
	if (s->root_error)
		return;
	s->writable = !access(v->pin.root, W_OK);
	s->has_store = pin_has_store(&v->pin);
	if (!s->has_store) {
		pin_other_abi(&v->pin, s->other_abi);
		return;
	}
	s->readable = !store_open(&v->store, &v->pin, &v->store_why);
	s->reason = s->readable ? NULL : v->store_why.text;
	v->traffic.readable = s->readable;
	if (!s->readable)
		return;
	survey_ports(v);
}

void survey_counters(const struct survey *v, uint64_t count[KPHI_COUNTERS])
{
	for (int i = 0; v->store_facts.readable && i < KPHI_COUNTERS; i++)
		count[i] = store_count(&v->store, i);
}

/* --- multicast --- */

static const struct group_of {
	uint8_t protocol; /* IP protocol */
	uint16_t port; /* of UDP; 0: any */
	const char *name, *v4, *v6;
} groups[] = {
	{112, 0, "VRRP", "224.0.0.18", "ff02::12"},     {89, 0, "OSPF", "224.0.0.5", "ff02::5"},
	{103, 0, "PIM", "224.0.0.13", "ff02::d"},       {88, 0, "EIGRP", "224.0.0.10", "ff02::a"},
	{IPPROTO_UDP, 1985, "HSRP", "224.0.0.2", NULL},
};

/* The group that a peer's beats are sent to; NULL if they are not known to be sent to one. */
static const char *group_needed(const struct kphi_id *id, const char **protocol)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)id->bytes);

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (id->kind == KPHI_ID_NATIVE || groups[i].protocol != id->protocol ||
		    (groups[i].port && groups[i].port != id->port))
			continue;
		*protocol = groups[i].name;
		return v4 ? groups[i].v4 : groups[i].v6;
	}
	return NULL;
}

/* RFC 1112, 6.4 and RFC 2464, 7: how a group becomes an Ethernet address. */
static int joined(uint32_t ifindex, const char *address)
{
	uint8_t mac[6] = {0x33, 0x33}, bytes[16];

	if (inet_pton(AF_INET6, address, bytes) == 1) {
		memcpy(mac + 2, bytes + 12, 4);
		return group_joined(ifindex, mac);
	}
	inet_pton(AF_INET, address, bytes);
	memcpy(mac, (const uint8_t[]){0x01, 0x00, 0x5e, bytes[1] & 0x7f, bytes[2], bytes[3]}, 6);
	return group_joined(ifindex, mac);
}

static void want(struct device_facts *d, const char *address, const char *protocol, const char *peer,
		 bool heard)
{
	for (uint32_t i = 0; i < d->wanted_count; i++)
		if (!strcmp(d->wanted[i].address, address)) {
			d->wanted[i].heard |= heard;
			return;
		}
	if (d->wanted_count < WANTED_MAX)
		d->wanted[d->wanted_count++] = (struct wanted_group){protocol, address, peer,
								     joined(d->link.ifindex, address), heard};
}

/* --- peers --- */

static void peer_on_device(struct device_facts *d, const struct kphi_record *r, const struct kphi_peer *p,
			   const char *name)
{
	bool waiting = r->state == KPHI_WAITING;
	bool heard = !waiting && (r->device == d->link.ifindex || r->other_device == d->link.ifindex);
	uint64_t floor = effective_min_std_ns(&r->window, p);
	const char *protocol = NULL, *group = group_needed(&p->id, &protocol);

	if (!waiting && !heard)
		return;
	if (group)
		want(d, group, protocol, name, heard);
	if (!floor || (d->min_std_ns && d->min_std_ns <= floor))
		return;
	d->min_std_ns = floor;
	d->min_std_peer = name;
}

static void peer_of_store(struct traffic_facts *t, const struct kphi_record *r, const struct kphi_peer *p,
			  uint64_t now_ns)
{
	uint64_t interval = r->window.interval_ns ?: p->interval_ns;
	uint64_t ago = now_ns > r->last_ns ? now_ns - r->last_ns : 0;

	t->peers++;
	t->native_peers += p->id.kind == KPHI_ID_NATIVE;
	if (interval && (!t->least_interval_ns || interval < t->least_interval_ns))
		t->least_interval_ns = interval;
	if (r->state == KPHI_WAITING)
		return;
	if (!t->heard++ || ago < t->last_beat_ago_ns)
		t->last_beat_ago_ns = ago;
}

void survey_state(struct survey *v)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct kphi_record r;
	struct kphi_peer p;

	if (v->store_facts.readable)
		survey_ticks(&v->store_facts, &v->store, now_ns);
	for (uint32_t slot = 0; v->store_facts.readable && slot < v->store.header->peers; slot++) {
		if (v->store.records[slot].state == KPHI_FREE || store_read(&v->store, slot, &r, &p) ||
		    r.state == KPHI_FREE)
			continue;
		peer_of_store(&v->traffic, &r, &p, now_ns);
		/* Names stay in the store, which is mapped for as long as the facts are looked at. */
		for (uint32_t i = 0; i < v->devices_count; i++)
			if (v->devices[i].wanted)
				peer_on_device(&v->devices[i].facts, &r, &p, v->store.peers[slot].name);
	}
}
