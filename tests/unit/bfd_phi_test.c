// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A BFD packet that is lost is no reason for suspicion, and a dead session is found in good time: intervals
 * as FRR and BIRD jitter theirs (uniform over 75 to 100 % and 75 to 90 % of the interval, RFC 5880, 6.8.7),
 * from the first packet on, through the kernel's arithmetic into phi.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kphi/record.h>

#include "core/models.h"
#include "unit/random.h"

#define MS       1000000ULL
#define WINDOW   KPHI_WINDOW_DEFAULT
#define PACKETS  20000
#define INFANCY  8 /* a window of so few is no estimate yet */
#define SUSPECT  ((q32_t)8 << 32)
#define PERCENT  100
#define DETECTED 300 /* percent of the interval after which BFD itself says down */

static const struct sender {
	const char *name;
	uint32_t from, to; /* percent of the interval */
} senders[] = {{"FRR", 75, 100}, {"BIRD", 75, 90}};

static const uint64_t intervals[] = {10 * MS, 50 * MS, 300 * MS};

struct story {
	const struct sender *sender;
	uint64_t interval_ns;
	bool knows_local_rx;
	uint32_t pause; /* percent of the interval; 0: as it is by default */
};

struct worst {
	q32_t phi; /* just before an arrival */
	uint64_t infant_ns, grown_ns; /* silences at which a death is suspected */
	uint64_t lost;
};

static struct kphi_beat packet_of(const struct story *s, uint64_t now_ns)
{
	return (struct kphi_beat){
		.now_ns = now_ns,
		.type = KPHI_WIRE_BEAT,
		.decoder = KPHI_DECODER_BFD,
		.local_rx_ns = s->knows_local_rx ? s->interval_ns : 0,
		.bfd = {.discriminator = 1,
			.desired_tx_us = (uint32_t)(s->interval_ns / 1000),
			.state = KPHI_BFD_UP,
			.multiplier = 3},
	};
}

/* What is believed just before the packet that comes at now_ns. */
static void note_worst(struct worst *w, const struct kphi_record *r, const struct kphi_peer *peer,
		       uint64_t now_ns)
{
	uint64_t *found_ns = r->window.n < INFANCY ? &w->infant_ns : &w->grown_ns, death_ns;
	struct kphi_estimate e;
	q32_t phi;

	if (r->state != KPHI_UP || !estimate_from_window(&e, &r->window, peer, NULL))
		return;
	phi = estimate_phi(&e, now_ns - r->last_ns);
	death_ns = estimate_silence(&e, SUSPECT);
	w->phi = phi > w->phi ? phi : w->phi;
	*found_ns = death_ns > *found_ns ? death_ns : *found_ns;
}

/* One packet in `one_in` is lost (0: none), but no two in a row; with `which` only that one. */
static struct worst live(const struct story *s, uint64_t one_in, uint64_t which)
{
	static uint64_t ring[KPHI_RING_SIZE(WINDOW)];
	struct kphi_peer peer = {.pause_ns = s->interval_ns * s->pause / PERCENT,
				 .set = s->pause ? KPHI_SET_PAUSE : 0};
	struct kphi_record r = {.state = KPHI_WAITING};
	uint64_t random = one_in + which, now_ns = 1000 * MS, packets = which ? which + 2 : PACKETS;
	bool before = true;
	struct worst w = {.phi = 0};

	kphi_window_begin(&r.window, &peer);
	for (uint64_t i = 0; i < packets; i++) {
		uint64_t span = s->interval_ns * (s->sender->to - s->sender->from) / PERCENT;
		struct kphi_beat b;
		uint32_t notes;

		now_ns += s->interval_ns * s->sender->from / PERCENT + random_below(&random, span + 1);
		before = !before && (which ? i == which : one_in && !random_below(&random, one_in));
		w.lost += before;
		if (before)
			continue;
		note_worst(&w, &r, &peer, now_ns);
		b = packet_of(s, now_ns);
		assert_int_equal(kphi_record_take(&r, &peer, ring, WINDOW, &b, &notes), KPHI_COUNT_beat);
	}
	return w;
}

static double in_intervals(const struct story *s, uint64_t ns)
{
	return (double)ns / (double)s->interval_ns;
}

static void a_lost_packet_is_nothing_and_a_death_is_found(const struct story *s)
{
	struct worst calm = live(s, 0, 0), w = live(s, 50, 0);

	assert_int_equal(calm.lost, 0);
	assert_true(w.lost > PACKETS / 100);
	print_message(
		"# %-4s %3u ms%s%s: death after %.2f intervals (young: %.2f; with 2 %% lost: %.2f, worst "
		"phi before a packet %.2f); BFD itself: %.2f\n",
		s->sender->name, (unsigned)(s->interval_ns / MS), s->knows_local_rx ? ", local-rx known" : "",
		s->pause ? ", pause of one interval" : "", in_intervals(s, calm.grown_ns),
		in_intervals(s, calm.infant_ns), in_intervals(s, w.grown_ns),
		(double)w.phi / (double)(1ULL << 32), (double)DETECTED / PERCENT);
	assert_true(w.phi < SUSPECT);
	/* mean, pause and, for phi 8, 5.6 deviations of a tenth of the interval each; of a quarter in
	 * infancy */
	assert_in_range(calm.grown_ns, s->interval_ns * (s->pause ? 200 : 350) / PERCENT,
			s->interval_ns * (s->pause ? 260 : 460) / PERCENT);
	assert_true(calm.infant_ns <= s->interval_ns * (s->pause ? 350 : 550) / PERCENT);
	/* A loss is learned as the interval it is. */
	assert_in_range(w.grown_ns, calm.grown_ns, calm.grown_ns + s->interval_ns);
	/* The very first ones that can be missed, one at a time. */
	for (uint64_t which = 1; which < 40; which++) {
		w = live(s, 1, which);
		assert_int_equal(w.lost, 1);
		assert_true(w.phi < SUSPECT);
	}
}

static void every_sender_and_interval(uint32_t pause)
{
	for (size_t i = 0; i < sizeof(senders) / sizeof(*senders); i++)
		for (size_t k = 0; k < sizeof(intervals) / sizeof(*intervals); k++)
			for (int known = 0; known < 2; known++) {
				struct story s = {&senders[i], intervals[k], known, pause};

				a_lost_packet_is_nothing_and_a_death_is_found(&s);
			}
}

static void by_default(void **state)
{
	(void)state;
	every_sender_and_interval(0);
}

/* Faster than BFD's own timer, and still one packet may be lost. */
static void with_a_pause_of_one_interval(void **state)
{
	(void)state;
	every_sender_and_interval(PERCENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_default),
		cmocka_unit_test(with_a_pause_of_one_interval),
	};

	return cmocka_run_group_tests_name("bfd_phi", tests, NULL, NULL);
}
