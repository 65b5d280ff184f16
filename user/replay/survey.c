// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "replay/survey.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CPUS            (UINT16_MAX + 1UL)
#define FIRST_SLOT_NS   1000000ULL
#define SUB_BINS_BITS   5
#define MANTISSA_BITS   52
#define EXPONENT_OFFSET 1023
#define JUDGED_PEERS    1000 /* by so many windows a model's expectation is formed */
#define LEAST_CHANCE    1e-15 /* no trace is so long that anybody would look for less */

/* The bin is the exponent with the first bits of the mantissa behind it. */
static uint32_t bin_of(uint64_t silence_ns, uint64_t interval_ns)
{
	uint64_t zero = (uint64_t)(EXPONENT_OFFSET - SURVEY_OCTAVES_BELOW) << SUB_BINS_BITS, bits;
	double ratio = (double)silence_ns / (double)interval_ns;

	memcpy(&bits, &ratio, sizeof(bits));
	bits >>= MANTISSA_BITS - SUB_BINS_BITS;
	if (bits < zero)
		return 0;
	return bits - zero < SURVEY_BINS ? (uint32_t)(bits - zero) : SURVEY_BINS - 1;
}

const uint64_t *survey_bins(const struct survey *s, uint32_t peer)
{
	if (peer == SURVEY_ALL)
		return s->bins;
	return peer < s->peers_room ? s->peers[peer].bins : NULL;
}

double survey_edge(uint32_t bin)
{
	uint32_t sub = bin & ((1U << SUB_BINS_BITS) - 1);

	return ldexp(1 + ldexp(sub, -SUB_BINS_BITS), (int)(bin >> SUB_BINS_BITS) - SURVEY_OCTAVES_BELOW);
}

static bool make_room(struct survey *s, uint32_t peer)
{
	uint32_t room = s->peers_room ? s->peers_room : 64;
	struct survey_peer *peers;

	if (peer < s->peers_room)
		return true;
	while (room <= peer)
		room *= 2;
	peers = reallocarray(s->peers, room, sizeof(*peers));
	if (!peers) {
		s->no_memory = true;
		return false;
	}
	memset(peers + s->peers_room, 0, (room - s->peers_room) * sizeof(*peers));
	s->peers = peers;
	s->peers_room = room;
	return true;
}

/* gcc 12's analyzer loses sight of what is reached through a context, and calls it leaked. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

/* Bins of a peer's own. */
static void take_bin(struct survey *s, struct survey_peer *p, uint32_t bin)
{
	if (!p->bins)
		p->bins = calloc(SURVEY_BINS, sizeof(*p->bins));
	if (p->bins)
		p->bins[bin]++;
	else
		s->no_memory = true;
}

static void take_interval(void *context, uint32_t peer, const struct kphi_window *w, uint64_t silence_ns)
{
	struct survey *s = context;
	struct survey_peer *p;

	if (!make_room(s, peer))
		return;
	p = &s->peers[peer];
	p->intervals++;
	p->sum_ns += silence_ns;
	if (silence_ns > p->largest_ns)
		p->largest_ns = silence_ns;
	s->intervals++;
	s->sum_ns += silence_ns;
	if (!w->interval_ns)
		return;
	s->bins[bin_of(silence_ns, w->interval_ns)]++;
	if (peer < SURVEY_EACH_MAX)
		take_bin(s, p, bin_of(silence_ns, w->interval_ns));
}

static void join_slots(struct survey *s)
{
	for (uint32_t i = 0; i < SURVEY_SLOTS / 2; i++) {
		const struct survey_slot a = s->slots[2 * i], b = s->slots[2 * i + 1];

		s->slots[i] = (struct survey_slot){
			a.arrivals + b.arrivals,
			a.stalled_ns + b.stalled_ns,
			a.longest_ns > b.longest_ns ? a.longest_ns : b.longest_ns,
		};
	}
	memset(&s->slots[SURVEY_SLOTS / 2], 0, SURVEY_SLOTS / 2 * sizeof(*s->slots));
	s->slot_ns *= 2;
}

/* An arrival tells what its CPU has stalled since the one before it there. */
static void take_stall(struct survey *s, struct survey_slot *slot, const struct kphi_beat *b)
{
	uint64_t known = s->stalled[b->cpu], stalled = b->stalled_total_ns - known;

	s->stalled[b->cpu] = b->stalled_total_ns;
	/* The first one of a CPU tells of what was before the recording. */
	if (known == UINT64_MAX || !stalled || b->stalled_total_ns < known)
		return;
	s->stalls++;
	s->stalled_ns += stalled;
	slot->stalled_ns += stalled;
	if (stalled > slot->longest_ns)
		slot->longest_ns = stalled;
	if (stalled > s->longest_stall_ns)
		s->longest_stall_ns = stalled;
}

static void take_arrival(struct survey *s, const struct kphi_beat *b)
{
	struct survey_slot *slot;
	uint64_t age;

	if (!s->arrivals++)
		s->first_ns = b->now_ns;
	if (b->now_ns > s->last_ns)
		s->last_ns = b->now_ns;
	age = b->now_ns > s->first_ns ? b->now_ns - s->first_ns : 0;
	while (age / s->slot_ns >= SURVEY_SLOTS)
		join_slots(s);
	slot = &s->slots[age / s->slot_ns];
	slot->arrivals++;
	take_stall(s, slot, b);
}

/* --- the source, watched */

static int next(void *context, uint32_t *peer, struct kphi_beat *beat)
{
	struct survey *s = context;
	int got = s->source->next(s->source->context, peer, beat);

	if (got == 1)
		take_arrival(s, beat);
	return s->no_memory ? -ENOMEM : got;
}

static const struct kphi_peer *settings(void *context, uint32_t peer)
{
	const struct survey *s = context;

	return s->source->settings(s->source->context, peer);
}

static struct replay_state state(void *context)
{
	const struct survey *s = context;

	return s->source->state(s->source->context);
}

static uint64_t lost(void *context)
{
	const struct survey *s = context;

	return s->source->lost ? s->source->lost(s->source->context) : 0;
}

int survey_begin(struct survey *s, uint32_t window)
{
	*s = (struct survey){.slot_ns = FIRST_SLOT_NS, .default_settings = true};
	s->plan.window = window;
	s->plan.interval = take_interval;
	s->plan.context = s;
	s->replay = replay_new(&s->plan);
	s->stalled = malloc(CPUS * sizeof(*s->stalled));
	if (!s->replay || !s->stalled)
		return -ENOMEM;
	memset(s->stalled, 0xff, CPUS * sizeof(*s->stalled));
	return 0;
}

/* What only the end tells. */
static void conclude(struct survey *s)
{
	for (uint32_t i = 0; i < replay_peers(s->replay); i++) {
		const struct kphi_peer *peer;
		uint64_t interval_ns;

		if (!replay_heard(s->replay, i))
			continue;
		s->heard++;
		make_room(s, i);
		peer = replay_settings(s->replay, i);
		if (peer->set & (KPHI_SET_PAUSE | KPHI_SET_MIN_STD))
			s->default_settings = false;
		interval_ns = replay_record(s->replay, i)->window.interval_ns;
		if (!interval_ns)
			continue;
		if (!s->shortest_interval_ns || interval_ns < s->shortest_interval_ns)
			s->shortest_interval_ns = interval_ns;
		if (interval_ns > s->longest_interval_ns)
			s->longest_interval_ns = interval_ns;
	}
	s->lost = lost(s);
}

int survey_run(struct survey *s, const struct replay_source *source, uint64_t most)
{
	const struct replay_source watched = {
		.next = next, .state = state, .settings = settings, .lost = lost, .context = s};
	int got;

	s->source = source;
	got = replay_run(s->replay, &watched, most);
	if (!got)
		conclude(s);
	return got || !s->no_memory ? got : -ENOMEM;
}

void survey_end(struct survey *s)
{
	replay_free(s->replay);
	for (uint32_t i = 0; i < s->peers_room; i++)
		free(s->peers[i].bins);
	free(s->peers);
	free(s->stalled);
}

/* --- what a model expects */

/* P(a live peer is silent for longer). */
static double later(const struct kphi_estimate *e, double silence_ns)
{
	if (silence_ns >= 0x1p63)
		return 0;
	return pow(10, -(double)estimate_phi(e, (uint64_t)silence_ns) / (double)Q32_ONE);
}

/* False if it cannot be judged. */
static bool expect_peer(const struct survey *s, uint32_t number, uint8_t model,
			double later_of[SURVEY_BINS + 1])
{
	const struct kphi_window *w = &replay_record(s->replay, number)->window;
	struct kphi_peer peer = *replay_settings(s->replay, number);
	double weight = (double)s->peers[number].intervals, chance = 1;
	struct kphi_estimate e;

	peer.model = model;
	replay_tune(&peer, &(struct replay_tuning){.pause = true}, w);
	if (!estimate_from_window(&e, w, &peer, replay_ring(s->replay, number)))
		return false;
	for (uint32_t i = 0; i <= SURVEY_BINS && chance > LEAST_CHANCE; i++) {
		chance = later(&e, survey_edge(i) * (double)w->interval_ns);
		later_of[i] += weight * chance;
	}
	return true;
}

bool survey_expect(const struct survey *s, uint32_t peer, uint8_t model, double later_of[SURVEY_BINS + 1])
{
	uint32_t peers = replay_peers(s->replay), first = peer == SURVEY_ALL ? 0 : peer;
	uint32_t end = peer == SURVEY_ALL ? peers : peer + 1, step = 1 + (end - first) / JUDGED_PEERS;
	double weights = 0;

	memset(later_of, 0, (SURVEY_BINS + 1) * sizeof(*later_of));
	for (uint32_t i = first; i < end; i += step)
		if (replay_heard(s->replay, i) && s->peers[i].intervals && expect_peer(s, i, model, later_of))
			weights += (double)s->peers[i].intervals;
	for (uint32_t i = 0; i <= SURVEY_BINS && weights > 0; i++)
		later_of[i] /= weights;
	return weights > 0;
}
