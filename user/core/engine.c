// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine's frame: its life, and one look at one peer from the reading to the next deadline. What a look
 * consists of is in engine_memory.c, _facts.c, _judge.c, _hold.c and _tell.c, in this order.
 */
#include <stdlib.h>

#include "core/engine_state.h"
#include "core/silence.h"

/* What follows from a configuration. */
static void adopt(struct engine *e, const struct engine_config *config)
{
	e->config = *config;
	if (e->config.consumers > ENGINE_CONSUMERS)
		e->config.consumers = ENGINE_CONSUMERS;
	e->shadows = 0;
	for (uint32_t i = 0; i < e->config.consumers; i++) {
		threshold_prepare(&e->threshold[i], e->config.consumer[i].suspect);
		if (e->config.consumer[i].shadow)
			e->shadows |= 1U << i;
	}
	e->count_until_ns = 0;
}

static struct suspicion *suspicions_new(uint32_t slots, uint32_t consumers)
{
	return calloc((size_t)slots * consumers + 1, sizeof(struct suspicion));
}

struct engine *engine_new(const struct engine_config *config, const struct engine_host *host, uint32_t slots)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->host = *host;
	e->slots = slots;
	e->recheck_ns = UINT64_MAX;
	adopt(e, config);
	e->slot = calloc((size_t)slots + 1, sizeof(*e->slot));
	e->suspicion = suspicions_new(slots, e->config.consumers);
	e->schedule = schedule_new(slots + 1);
	if (e->slot && e->suspicion && e->schedule)
		return e;
	engine_free(e);
	return NULL;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	schedule_free(e->schedule);
	free(e->slot);
	free(e->suspicion);
	free(e->cpu);
	free(e);
}

/* What the bits of the old consumers are among the new ones. */
static uint32_t renumber(uint32_t mask, const int map[ENGINE_CONSUMERS])
{
	uint32_t renumbered = 0;

	FOR_EACH_BIT(i, mask)
	{
		if (map[i] >= 0)
			renumbered |= 1U << map[i];
	}
	return renumbered;
}

bool engine_configure(struct engine *e, const struct engine_config *config, const int map[ENGINE_CONSUMERS],
		      uint64_t now_ns)
{
	uint32_t before = e->config.consumers;
	uint32_t after = config->consumers < ENGINE_CONSUMERS ? config->consumers : ENGINE_CONSUMERS;
	struct suspicion *moved = suspicions_new(e->slots, after);

	if (!moved)
		return false;
	for (uint32_t i = 0; i < e->used; i++) {
		struct slot *s = &e->slot[i];

		for (uint32_t c = 0; c < before; c++)
			if (map[c] >= 0)
				moved[(size_t)i * after + (uint32_t)map[c]] =
					e->suspicion[(size_t)i * before + c];
		s->suspects = renumber(s->suspects, map);
		s->stalled = renumber(s->stalled, map);
		s->correlated = renumber(s->correlated, map);
		s->published_mask = renumber(s->published_mask, map);
		s->flags |= SLOT_CONFIGURE;
	}
	free(e->suspicion);
	e->suspicion = moved;
	adopt(e, config);
	engine_scan(e, now_ns);
	return true;
}

/* --- one look --- */

/* stalled_total_ns as it was at a time of which only the ring of stalls still tells. */
static uint64_t stalled_by(const struct kphi_tick *t, uint64_t at_ns)
{
	uint64_t since = 0;

	for (uint32_t i = 0; i < KPHI_STALLS; i++) {
		const struct kphi_stall *s = &t->stall[i];

		if (s->end_ns > at_ns)
			since += s->length_ns < s->end_ns - at_ns ? s->length_ns : s->end_ns - at_ns;
	}
	return t->stalled_total_ns > since ? t->stalled_total_ns - since : 0;
}

/* A peer that has been heard, but not since we could hear it again: its silence begins there. */
static uint64_t discount_since_sight(struct look *l)
{
	struct kphi_record sighted = l->record;

	if (l->slot->sight_ns != l->hearing.since_ns) {
		l->slot->sight_ns = l->hearing.since_ns;
		l->slot->sight_stalled_ns = stalled_by(l->tick, l->hearing.since_ns);
	}
	sighted.last_ns = l->hearing.since_ns;
	sighted.stalled_copy_ns = l->slot->sight_stalled_ns;
	return silence_discount_ns(&sighted, l->tick, l->now_ns);
}

static void read_silence(struct look *l)
{
	const struct kphi_record *r = &l->record;
	uint64_t elapsed;

	l->from_ns = r->state == KPHI_WAITING ? r->since_ns : r->last_ns;
	l->discount_ns = 0;
	if (l->hearing.since_ns > l->from_ns) {
		l->from_ns = l->hearing.since_ns;
		if (r->state != KPHI_WAITING)
			l->discount_ns = discount_since_sight(l);
	} else if (r->state != KPHI_WAITING) {
		l->discount_ns = silence_discount_ns(r, l->tick, l->now_ns);
	}
	elapsed = l->now_ns > l->from_ns ? l->now_ns - l->from_ns : 0;
	l->silence_ns = elapsed - l->discount_ns;
}

/* All but the estimate; its ring, if there is one and it is asked for, in *ring. */
static bool read_slot(struct look *l, struct engine *e, uint32_t index, uint64_t now_ns,
		      const uint64_t **ring)
{
	l->e = e;
	l->slot = &e->slot[index];
	l->index = index;
	l->now_ns = now_ns;
	l->overdue = 0;
	l->token = 0;
	l->next_ns = UINT64_MAX;
	l->judged = false;
	if (!e->host.read(e->host.context, index, &l->record, &l->peer))
		return false;
	if (l->record.state == KPHI_FREE)
		return true;
	if (ring)
		*ring = l->peer.model == KPHI_MODEL_EMPIRICAL
				? e->host.ring(e->host.context, index, &l->record)
				: NULL;
	l->tick = e->host.tick(e->host.context, l->record.cpu);
	l->hearing = e->host.hearing(e->host.context, &l->record);
	l->rule = l->peer.id.kind == KPHI_ID_RULE ? e->host.rule(e->host.context, index) : NULL;
	l->muted = l->peer.mute_until_ns > now_ns;
	read_silence(l);
	return true;
}

bool look_read(struct look *l, struct engine *e, uint32_t index, uint64_t now_ns)
{
	const uint64_t *ring;

	if (!read_slot(l, e, index, now_ns, &ring))
		return false;
	if (l->record.state == KPHI_UP)
		l->judged = estimate_from_window(&l->estimate, &l->record.window, &l->peer, ring);
	return true;
}

bool look_glance(struct look *l, struct engine *e, uint32_t index, uint64_t now_ns)
{
	if (!read_slot(l, e, index, now_ns, NULL))
		return false;
	if (l->record.state == KPHI_UP)
		l->judged = estimate_moments(&l->estimate, &l->record.window, &l->peer);
	return true;
}

/*
 * Hints of the next beat, while somebody waits for one. peer.watched is the truth, so that a lost request is
 * repeated. A beat between our reading and the request gives no hint: look once more soon.
 */
static void look_watch(struct look *l, bool on)
{
	const struct engine_host *host = &l->e->host;

	if (on && !(l->slot->flags & SLOT_WATCHED))
		look_again_at(l, l->now_ns + ENGINE_BUSY_NS);
	if (on != !!l->peer.watched)
		host->watch(host->context, l->index, l->record.generation, on);
	l->slot->flags = (uint8_t)(on ? l->slot->flags | SLOT_WATCHED : l->slot->flags & ~SLOT_WATCHED);
}

static void look_settle(struct look *l)
{
	struct slot *s = l->slot;
	bool unsettled = s->suspects || look_held(l) || s->blind || (l->muted && l->overdue);

	look_watch(l, unsettled);
	if (unsettled == !!(s->flags & SLOT_UNSETTLED))
		return;
	s->flags ^= SLOT_UNSETTLED;
	if (unsettled)
		l->e->unsettled++;
	else
		l->e->unsettled--;
}

/* While a stall is open, silence stands still, and its deadline recedes as fast as it is approached. */
static void look_schedule(struct look *l)
{
	if (l->next_ns < l->now_ns + KPHI_TICK_NS && silence_open_stall_ns(l->tick, l->now_ns))
		l->next_ns = l->now_ns + KPHI_TICK_NS;
	if (l->next_ns <= l->now_ns)
		l->next_ns = l->now_ns + ENGINE_BUSY_NS;
	schedule_set(l->e->schedule, l->index, l->next_ns);
}

void engine_look(struct engine *e, uint32_t index, uint64_t now_ns)
{
	struct look l;

	if (index >= e->slots)
		return;
	if (!look_read(&l, e, index, now_ns)) {
		schedule_set(e->schedule, index, now_ns + ENGINE_BUSY_NS);
		return;
	}
	if (!look_remember(&l)) {
		schedule_set(e->schedule, index, UINT64_MAX);
		return;
	}
	look_facts(&l);
	look_judge(&l);
	look_settle(&l);
	tell_all(&l);
	l.slot->flags &= (uint8_t) ~(SLOT_RECALLED | SLOT_CONFIGURE);
	l.slot->looked_ns = now_ns;
	look_schedule(&l);
}

void engine_hint(struct engine *e, uint32_t index, uint64_t now_ns)
{
	struct slot *s;

	if (index >= e->slots)
		return;
	s = &e->slot[index];
	if (s->hinted_ns && now_ns - s->hinted_ns < ENGINE_HINT_NS) {
		schedule_hasten(e->schedule, index, s->hinted_ns + ENGINE_HINT_NS);
		return;
	}
	s->hinted_ns = now_ns;
	engine_look(e, index, now_ns);
}

void engine_scan(struct engine *e, uint64_t now_ns)
{
	e->scanning = true;
	for (uint32_t i = 0; i < e->slots; i++)
		engine_look(e, i, now_ns);
	e->scanning = false;
}

/* Spread over the second to come: after an outage of all, a look at each is longer than a deadline may wait.
 */
void engine_repair(struct engine *e, uint64_t now_ns)
{
	uint64_t nth = 0;

	for (uint32_t i = 0; nth < e->unsettled && i < e->used; i++)
		if (e->slot[i].flags & SLOT_UNSETTLED)
			schedule_hasten(e->schedule, i, now_ns + nth++ * ENGINE_REPAIR_NS / e->unsettled);
}

void engine_advance(struct engine *e, uint64_t now_ns)
{
	uint32_t index;

	while (schedule_take(e->schedule, now_ns, &index)) {
		if (index == e->slots)
			hold_recheck(e, now_ns);
		else
			engine_look(e, index, now_ns);
	}
}

uint64_t engine_next_ns(const struct engine *e)
{
	return schedule_next_ns(e->schedule);
}

uint32_t engine_unsettled(const struct engine *e)
{
	return e->unsettled;
}
