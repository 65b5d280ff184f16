// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/callers.h"

#include <kphi/wire.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_SHARE 50 /* rounding moves a value by at most this part of it */

/* Ids are what an attacker likes them to be, so a look-up may take CALLERS_MAX steps, and no more. */
static uint32_t place_of(const uint8_t id[16])
{
	uint64_t half[2];

	memcpy(half, id, sizeof(half));
	return (uint32_t)(((half[0] ^ half[1]) * 0x9e3779b97f4a7c15ULL) >> 32) % CALLERS_PLACES;
}

/* NULL: there is no room for another one. */
static struct caller *find(struct callers *c, const struct kphi_stranger *s)
{
	uint32_t at = place_of(s->node_id);
	struct caller *caller;

	for (; c->place[at]; at = (at + 1) % CALLERS_PLACES) {
		caller = &c->caller[c->place[at] - 1];
		if (!memcmp(caller->last.node_id, s->node_id, sizeof(s->node_id)))
			return caller;
	}
	if (c->n == CALLERS_MAX)
		return NULL;
	caller = &c->caller[c->n++];
	c->place[at] = (uint16_t)c->n;
	caller->first_ns = s->now_ns;
	return caller;
}

static void note_source(struct caller *caller, const uint8_t source[16])
{
	for (uint8_t i = 0; i < caller->sources; i++)
		if (!memcmp(caller->source[i], source, sizeof(caller->source[i])))
			return;
	if (caller->sources < KPHI_SOURCES)
		memcpy(caller->source[caller->sources++], source, sizeof(caller->source[0]));
	else
		caller->more_sources = true;
}

/* By its numbers, because what comes two ways at once or got lost would bend a mere count of messages. */
static void note_beat(struct caller *caller, const struct kphi_stranger *s)
{
	if (!caller->beats || s->epoch > caller->epoch) {
		caller->beats = true;
		caller->epoch = s->epoch;
		caller->from_ns = caller->to_ns = s->now_ns;
		caller->from_sequence = caller->to_sequence = s->sequence;
	} else if (s->epoch == caller->epoch && s->sequence > caller->to_sequence &&
		   s->now_ns > caller->to_ns) {
		caller->to_ns = s->now_ns;
		caller->to_sequence = s->sequence;
	}
}

void callers_take(struct callers *c, const struct kphi_stranger *stranger)
{
	struct caller *caller = find(c, stranger);

	c->messages++;
	if (!caller) {
		c->not_kept++;
		return;
	}
	caller->last = *stranger;
	caller->messages++;
	note_source(caller, stranger->source);
	if (stranger->type == KPHI_WIRE_BEAT)
		note_beat(caller, stranger);
}

static int by_messages(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	if (x->messages != y->messages)
		return x->messages < y->messages ? 1 : -1;
	return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

void callers_sort(struct callers *c)
{
	qsort(c->caller, c->n, sizeof(*c->caller), by_messages);
}

uint64_t caller_interval_ns(const struct caller *caller)
{
	uint64_t beats = caller->to_sequence - caller->from_sequence;

	return beats ? (caller->to_ns - caller->from_ns + beats / 2) / beats : 0;
}

uint64_t callers_round_ns(uint64_t ns)
{
	for (uint64_t unit = 10000000000000000000ULL; unit > 1; unit /= 10) {
		uint64_t round = ns / unit * unit;

		if (ns % unit > unit / 2 && round <= UINT64_MAX - unit)
			round += unit;
		if (round && (round > ns ? round - ns : ns - round) <= ns / ROUND_SHARE)
			return round;
	}
	return ns;
}
