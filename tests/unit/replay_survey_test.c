// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a survey finds in a stream that was made to have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "replay/survey.h"
#include "unit/random.h"
#include "unit/replay_stream.h"

#define MS  1000000ULL
#define SEC (1000 * MS)

static int survey(struct survey *s, struct stream *stream)
{
	struct replay_source source = {.next = stream_next,
				       .settings = stream_settings,
				       .lost = stream->n ? stream_lost : NULL,
				       .context = stream};

	stream->at = 0;
	assert_int_equal(survey_begin(s, 100), 0);
	return survey_run(s, &source, UINT64_MAX);
}

/* Two peers, one of which beats ten times slower; the host stalls three times. */
static void some_stream(struct stream *s, uint32_t n)
{
	uint64_t stalled = 5 * SEC; /* before the recording */

	s->settings[0].interval_ns = 100 * MS;
	s->settings[2].interval_ns = SEC;
	for (uint32_t i = 0; i < n; i++) {
		struct kphi_beat *b;

		if (i == 100 || i == 200 || i == 300)
			stalled += i * MS;
		b = stream_beat(s, 0, SEC + 100 * MS * i, i);
		b->stalled_total_ns = stalled;
		b->cpu = 3;
		if (i % 10 == 0)
			stream_beat(s, 2, SEC + 100 * MS * i, i / 10)->cpu = 1;
	}
	s->list[s->n - 1].lost = 7;
}

static void what_is_there_is_found(void **state)
{
	static struct survey s;
	struct stream stream = {0};
	uint64_t arrivals = 0, stalled = 0, longest = 0, of_peer[2] = {0};

	(void)state;
	some_stream(&stream, 1001);
	assert_int_equal(survey(&s, &stream), 0);
	assert_int_equal(s.heard, 2);
	assert_int_equal(s.arrivals, stream.n);
	assert_int_equal(s.lost, 7);
	assert_int_equal(s.last_ns - s.first_ns, 100 * SEC);
	assert_int_equal(s.shortest_interval_ns, 100 * MS);
	assert_int_equal(s.longest_interval_ns, SEC);
	assert_true(s.default_settings);
	assert_int_equal(s.stalls, 3);
	assert_int_equal(s.stalled_ns, 600 * MS);
	assert_int_equal(s.longest_stall_ns, 300 * MS);
	assert_int_equal(s.peers[0].intervals, 1000);
	assert_int_equal(s.peers[0].largest_ns, 100 * MS);
	/* Each peer's bins are its own, and all of them together are everybody's. */
	assert_null(survey_bins(&s, 1));
	for (uint32_t i = 0; i < SURVEY_BINS; i++) {
		assert_int_equal(survey_bins(&s, 0)[i] + survey_bins(&s, 2)[i],
				 survey_bins(&s, SURVEY_ALL)[i]);
		of_peer[0] += survey_bins(&s, 0)[i];
		of_peer[1] += survey_bins(&s, 2)[i];
	}
	assert_int_equal(of_peer[0], s.peers[0].intervals);
	assert_int_equal(of_peer[1], s.peers[2].intervals);
	/* The slots hold all of it, at places that are right. */
	for (uint32_t i = 0; i < SURVEY_SLOTS; i++) {
		arrivals += s.slots[i].arrivals;
		stalled += s.slots[i].stalled_ns;
		if (s.slots[i].longest_ns > longest)
			longest = s.slots[i].longest_ns;
	}
	assert_int_equal(arrivals, stream.n);
	assert_int_equal(stalled, 600 * MS);
	assert_int_equal(longest, 300 * MS);
	assert_int_equal(s.slots[30 * SEC / s.slot_ns].longest_ns, 300 * MS);
	assert_in_range(100 * SEC / s.slot_ns, SURVEY_SLOTS / 2, SURVEY_SLOTS - 1);
	survey_end(&s);
	stream_free(&stream);
}

/* An interval lies in the bin whose edges are around it. */
static void bins_hold_what_they_say(void **state)
{
	static struct survey s;
	uint64_t random = 5;

	(void)state;
	assert_true(survey_edge(0) == 0x1p-10);
	assert_true(survey_edge(SURVEY_BINS) == 0x1p22);
	for (int i = 0; i < 200; i++) {
		struct stream stream = {.settings = {{.interval_ns = SEC}}};
		uint64_t silence = 2 + random_magnitude(&random, 40);
		double x = (double)silence / (double)SEC;
		uint32_t bin = 0;

		stream_beat(&stream, 0, SEC, 1);
		stream_beat(&stream, 0, SEC + silence, 2);
		assert_int_equal(survey(&s, &stream), 0);
		while (bin < SURVEY_BINS && !s.bins[bin])
			bin++;
		assert_true(bin < SURVEY_BINS && s.bins[bin] == 1);
		assert_true(!bin || x >= survey_edge(bin));
		assert_true(x < survey_edge(bin + 1));
		survey_end(&s);
		stream_free(&stream);
	}
}

/* What a model expects is a distribution; of normal intervals the normal model expects what is there. */
static void models_expect_a_distribution(void **state)
{
	static struct survey s;
	static double later[SURVEY_BINS + 1], alone[SURVEY_BINS + 1];
	struct stream stream = {0};
	uint64_t random = 9, now = SEC;
	double distance = 0;

	(void)state;
	stream.settings[0].interval_ns = 100 * MS;
	for (uint32_t i = 0; i < 50000; i++) {
		uint64_t sum = 0;

		for (int k = 0; k < 12; k++) /* nearly normal: mean 100 ms, deviation 20 ms */
			sum += random_below(&random, 20 * MS);
		now += sum > 30 * MS ? sum - 20 * MS : MS;
		stream_beat(&stream, 0, now, i);
	}
	assert_int_equal(survey(&s, &stream), 0);
	for (int model = 0; model < KPHI_MODELS; model++) {
		assert_true(survey_expect(&s, SURVEY_ALL, (uint8_t)model, later));
		assert_true(later[0] > 0.98 && later[0] <= 1);
		assert_true(later[SURVEY_BINS] < 1e-6);
		for (uint32_t i = 0; i < SURVEY_BINS; i++) {
			double share = later[i] - later[i + 1];

			assert_true(share >= 0);
			if (model == KPHI_MODEL_NORMAL)
				distance += fabs(share - (double)s.bins[i] / (double)s.intervals);
		}
		/* Of the only peer there is as much to expect as of all. */
		assert_true(survey_expect(&s, 0, (uint8_t)model, alone));
		assert_memory_equal(alone, later, sizeof(later));
	}
	assert_true(distance < 0.3); /* of at most 2, after a window of a hundred */
	survey_end(&s);
	stream_free(&stream);
}

static void nothing_is_found_in_nothing(void **state)
{
	static struct survey s;
	static double later[SURVEY_BINS + 1];
	struct stream stream = {0};

	(void)state;
	assert_int_equal(survey(&s, &stream), 0);
	assert_int_equal(s.heard + s.arrivals + s.intervals + s.stalls, 0);
	assert_false(survey_expect(&s, SURVEY_ALL, KPHI_MODEL_NORMAL, later));
	assert_null(survey_bins(&s, 0));
	survey_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_found),
		cmocka_unit_test(bins_hold_what_they_say),
		cmocka_unit_test(models_expect_a_distribution),
		cmocka_unit_test(nothing_is_found_in_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
