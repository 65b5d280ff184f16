// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From devices to peers: can this host hear one? */
#include <net/if.h>

#include "kernel/devices_state.h"

/* All devices of one number: two network namespaces may each have one. */
struct ears {
	bool known, open;
	enum event_cause deaf; /* if not open */
	uint64_t since_ns; /* if open: the earliest */
};

static void add_ear(struct ears *e, const struct device *v)
{
	enum event_cause deaf = device_deafness(v);

	e->known = true;
	if (deaf) {
		e->deaf = deaf;
		return;
	}
	if (!e->open || v->since_ns < e->since_ns)
		e->since_ns = v->since_ns;
	e->open = true;
}

/*
 * A device that is there, and that no link of ours is on: this host is deaf on it, whether this process saw
 * the link go or not. One that is no more says nothing: its successor has another number.
 */
static bool is_device(uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	return if_indextoname(ifindex, name);
}

static struct ears ears_at(const struct devices *d, uint32_t ifindex)
{
	struct ears e = {0};

	for (uint32_t i = 0; i < d->count; i++)
		if (d->list[i].ifindex == ifindex)
			add_ear(&e, &d->list[i]);
	for (uint32_t i = 0; !e.known && i < d->count; i++)
		if (device_has_alias(&d->list[i], ifindex))
			add_ear(&e, &d->list[i]);
	if (!e.known && is_device(ifindex))
		e = (struct ears){.known = true, .deaf = CAUSE_HOOK};
	return e;
}

/* A peer nobody has heard yet may be behind any device. */
static struct engine_hearing hearing_anything(const struct devices *d)
{
	struct engine_hearing h = {CAUSE_HOOK, 0};
	bool open = false;

	for (uint32_t i = 0; i < d->count; i++) {
		const struct device *v = &d->list[i];

		if (!v->pinned)
			continue;
		if (device_deafness(v)) {
			h.blind = open ? h.blind : device_deafness(v);
			continue;
		}
		open = true;
		h.blind = CAUSE_NONE;
		h.since_ns = v->since_ns > h.since_ns ? v->since_ns : h.since_ns;
	}
	return h;
}

static bool any_pinned(const struct devices *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		if (d->list[i].pinned)
			return true;
	return false;
}

/* As of its last beat: how long it has been silent must not change by which way it used to come. */
static bool lately_elsewhere(const struct kphi_record *r)
{
	return r->other_device &&
	       (!r->window.interval_ns || r->other_ns + DEVICES_LATELY * r->window.interval_ns >= r->last_ns);
}

static bool is_overdue(const struct kphi_record *r, uint64_t now_ns)
{
	return r->state == KPHI_WAITING || now_ns > r->last_ns + 2 * r->window.interval_ns;
}

struct engine_hearing devices_hearing(struct devices *d, const struct kphi_record *r, uint64_t now_ns)
{
	struct engine_hearing h = {CAUSE_NONE, 0};
	struct ears e, other;

	if (is_overdue(r, now_ns))
		devices_make_sure(d, now_ns);
	if (r->state == KPHI_WAITING || !any_pinned(d))
		return hearing_anything(d);
	e = ears_at(d, r->device);
	other = lately_elsewhere(r) ? ears_at(d, r->other_device) : e;
	if (!e.known || !other.known)
		return h;
	if (!e.open && !other.open)
		h.blind = e.deaf;
	else if (e.open && other.open)
		h.since_ns = e.since_ns < other.since_ns ? e.since_ns : other.since_ns;
	else
		h.since_ns = e.open ? e.since_ns : other.since_ns;
	return h;
}
