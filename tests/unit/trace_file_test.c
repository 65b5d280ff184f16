// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Traces: what was written is read back, all of it and in its order, in few bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>

#include "unit/trace_file.h"

#define PEERS 50
#define MS    1000000ULL
#define S     1000000000ULL

struct arrival {
	uint32_t peer;
	struct kphi_beat beat;
};

/* --- back and forth --- */

static void write_arrivals(struct trace_writer *w, const struct arrival *a, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(trace_write(w, a[i].peer, &a[i].beat), 0);
}

static void add_peers(struct trace_writer *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct trace_peer p = a_peer(i, i % 3 ? S : 0);

		assert_int_equal(trace_add_peer(w, &p), i);
	}
}

static struct trace *open_trace(void)
{
	char why[WHY_SIZE];
	struct trace *t = trace_open(trace_path, why, sizeof(why));

	if (!t)
		fail_msg("%s", why);
	return t;
}

static void assert_read_back(const struct arrival *a, size_t n)
{
	struct trace *t = open_trace();
	struct kphi_beat beat;
	uint32_t peer;

	for (size_t i = 0; i < n; i++) {
		if (trace_next(t, &peer, &beat) != 1)
			fail_msg("arrival %zu of %zu: %s", i, n, trace_why(t));
		assert_int_equal(peer, a[i].peer);
		if (!same_beat(&beat, &a[i].beat))
			fail_msg("arrival %zu is another", i);
	}
	assert_int_equal(trace_next(t, &peer, &beat), 0);
	assert_int_equal(trace_next(t, &peer, &beat), 0);
	assert_true(trace_ended(t));
	assert_int_equal(trace_torn(t), 0);
	assert_int_equal(trace_taken(t), trace_size(t));
	trace_close(t);
}

/* Beats of any bits, of many peers in any order; more than a key's worth of them. */
static void everything_comes_back(void **state)
{
	size_t n = 400000;
	struct arrival *a = calloc(n, sizeof(*a));
	struct kphi_beat last[PEERS];
	struct trace_writer *w = new_trace();
	uint64_t random = 5;

	(void)state;
	memset(last, 0, sizeof(last));
	for (size_t i = 0; i < n; i++) {
		a[i].peer = (uint32_t)random_below(&random, PEERS);
		a[i].beat = random_below(&random, 4) ? changed_beat(&random, &last[a[i].peer])
						     : any_beat(&random);
		last[a[i].peer] = a[i].beat;
	}
	add_peers(w, PEERS);
	write_arrivals(w, a, n);
	assert_true(trace_written(w) > (16 << 20));
	assert_int_equal(trace_finish(w), 0);
	assert_read_back(a, n);
	free(a);
}

/* Peers in a rhythm, some of which fall silent and return, some of which are late. */
static void rhythms_come_back(void **state)
{
	size_t n = 0, most = 200000;
	struct arrival *a = calloc(most, sizeof(*a));
	struct trace_writer *w = new_trace();
	uint64_t random = 7, now_ns = S;
	uint64_t sequence[PEERS] = {0};

	(void)state;
	while (n < most) {
		uint32_t peer = (uint32_t)(n % PEERS);

		if (random_below(&random, 8) == 0)
			peer = (uint32_t)random_below(&random, PEERS);
		if (peer % 7 == 0 && n / 20000 % 2)
			peer = 1;
		now_ns += random_below(&random, 20 * MS);
		a[n].peer = peer;
		a[n].beat = (struct kphi_beat){.now_ns = now_ns,
					       .sequence = sequence[peer]++ & 0xff,
					       .sequence_bits = 8,
					       .cpu = (uint16_t)random_below(&random, 3),
					       .type = KPHI_WIRE_BEAT,
					       .stalled_total_ns = n / 500,
					       .stall_end_ns = n / 500 * S};
		n++;
	}
	add_peers(w, PEERS);
	write_arrivals(w, a, n);
	assert_int_equal(trace_finish(w), 0);
	assert_read_back(a, n);
	free(a);
}

/* --- peers --- */

static void some_text(uint64_t *random, char *text, size_t size)
{
	size_t length = random_below(random, size);

	for (size_t i = 0; i < length; i++)
		text[i] = (char)('a' + random_below(random, 26));
}

static struct kphi_match some_match(uint64_t *random)
{
	return (struct kphi_match){random_magnitude(random, 64),
				   random_magnitude(random, 64),
				   (uint16_t)random_magnitude(random, 16),
				   (uint8_t)random_below(random, 9),
				   {0}};
}

static struct trace_peer some_peer(uint64_t *random)
{
	struct trace_peer p = {.settings = {
				       .id = {.kind = (uint8_t)random_magnitude(random, 8),
					      .protocol = (uint8_t)random_magnitude(random, 8),
					      .port = (uint16_t)random_magnitude(random, 16),
					      .device = (uint32_t)random_magnitude(random, 32),
					      .shape = (uint8_t)random_below(random, 16),
					      .match = {random_bits(random), random_magnitude(random, 64)}},
				       .added_ns = random_magnitude(random, 64),
				       .interval_ns = random_magnitude(random, 64),
				       .min_std_ns = random_magnitude(random, 64),
				       .pause_ns = random_magnitude(random, 64),
				       .max_interval_ns = random_magnitude(random, 64),
				       .model = (uint8_t)random_magnitude(random, 8),
				       .set = (uint8_t)random_magnitude(random, 8),
				       .watched = (uint8_t)random_below(random, 2),
				       .mute_until_ns = random_magnitude(random, 64),
			       }};

	some_text(random, p.settings.name, sizeof(p.settings.name));
	some_text(random, p.settings.host, sizeof(p.settings.host));
	some_text(random, p.settings.mute_reason, sizeof(p.settings.mute_reason));
	for (int i = 0; i < 16; i++)
		p.settings.id.bytes[i] = (uint8_t)random_bits(random);
	memcpy(p.name, p.settings.name, sizeof(p.name));
	p.rule = (struct kphi_rule){
		.match = {some_match(random), some_match(random)},
		.leave = some_match(random),
		.local_rx_ns = random_magnitude(random, 64),
		.sequence_offset = (uint16_t)random_magnitude(random, 16),
		.sequence_bits = (uint8_t)random_magnitude(random, 8),
		.sequence_little = (uint8_t)random_magnitude(random, 8),
		.vlan = (uint16_t)random_magnitude(random, 16),
		.min_ttl = (uint8_t)random_magnitude(random, 8),
		.decoder = (uint8_t)random_magnitude(random, 8),
		.any_source = (uint8_t)random_magnitude(random, 8),
		.preset = (uint8_t)random_magnitude(random, 8),
	};
	some_text(random, p.rule.device, sizeof(p.rule.device));
	return p;
}

/* Peers appear between arrivals; each is known before its first one. */
static void peers_come_back(void **state)
{
	struct trace_peer *peers = calloc(2000, sizeof(*peers));
	const struct kphi_beat beat = {.now_ns = 1};
	struct trace_writer *w = new_trace();
	struct kphi_beat got;
	uint64_t random = 9;
	struct trace *t;
	uint32_t peer;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		peers[i] = some_peer(&random);
		assert_int_equal(trace_add_peer(w, &peers[i]), i);
		assert_int_equal(trace_write(w, i, &beat), 0);
	}
	assert_int_equal(trace_write(w, 2000, &beat), -EINVAL);
	assert_int_equal(trace_finish(w), 0);
	t = open_trace();
	for (uint32_t i = 0; i < 2000; i++) {
		assert_int_equal(trace_next(t, &peer, &got), 1);
		assert_int_equal(peer, i);
		assert_int_equal(trace_peers(t), i + 1);
	}
	for (uint32_t i = 0; i < 2000; i++)
		assert_memory_equal(trace_peer(t, i), &peers[i], sizeof(peers[i]));
	trace_close(t);
	free(peers);
}

/* --- size --- */

static uint64_t draw(uint64_t *random, uint64_t width_ns)
{
	uint64_t sum = 0;

	for (int i = 0; i < 12; i++)
		sum += random_below(random, width_ns);
	return sum;
}

/* Bytes in a thousand arrivals of peers that beat each second, each at its place within it. */
static uint64_t size_of_a_thousand(uint32_t peers, uint64_t jitter_ns)
{
	struct trace_writer *w = new_trace();
	uint64_t random = 3, before, n = 0;

	add_peers(w, peers);
	before = trace_written(w);
	for (uint64_t round = 1; round <= 300; round++) {
		for (uint32_t i = 0; i < peers; i++, n++) {
			const struct kphi_beat beat = {
				.now_ns = round * S + i * (S / peers) + draw(&random, jitter_ns),
				.epoch = 1795992874,
				.epoch_limit = 1795992874,
				.sequence = round,
				.sequence_bits = 64,
				.native = 1,
				.type = KPHI_WIRE_BEAT,
				.device = 3,
			};

			assert_int_equal(trace_write(w, i, &beat), 0);
		}
	}
	before = (trace_written(w) - before) * 1000 / n;
	assert_int_equal(trace_finish(w), 0);
	print_message("%u peers: %" PRIu64 " bytes in 1000 arrivals\n", peers, before);
	return before;
}

/* The first arrivals are written out, so that 300 of a peer cannot have the very least. */
static void steady_peers_take_three_or_four_bytes(void **state)
{
	(void)state;
	assert_in_range(size_of_a_thousand(1, MS / 12), 3000, 3500);
	assert_in_range(size_of_a_thousand(1000, MS / 12), 3000, 3500);
	assert_in_range(size_of_a_thousand(20, 5 * MS), 3000, 4200);
}

/* --- the file --- */

static void what_is_there_stays(void **state)
{
	const struct trace_start start = {0};
	struct trace_writer *w = new_trace();
	char why[WHY_SIZE] = "";

	(void)state;
	assert_int_equal(trace_finish(w), 0);
	assert_null(trace_create(trace_path, &start, why, sizeof(why)));
	assert_non_null(strstr(why, "File exists. Remove it, or choose another name"));
	assert_null(trace_create("/no/such/place", &start, why, sizeof(why)));
	assert_non_null(strstr(why, "/no/such/place: cannot be written: No such file or directory"));
	w = trace_create("/dev/full", &start, why, sizeof(why));
	assert_non_null(w);
	assert_int_equal(trace_flush(w), -ENOSPC);
	assert_int_equal(trace_finish(w), -ENOSPC);
	assert_int_equal(trace_finish(NULL), 0);
}

static void starts_and_losses_are_kept(void **state)
{
	struct trace_writer *w = new_trace();
	const struct kphi_beat beat = {.now_ns = 5};
	struct kphi_beat got;
	struct trace *t;
	uint32_t peer;

	(void)state;
	add_peers(w, 1);
	assert_int_equal(trace_write(w, 0, &beat), 0);
	assert_int_equal(trace_write_lost(w, 0), 0);
	assert_int_equal(trace_write_lost(w, 1000), 0);
	assert_int_equal(trace_write(w, 0, &beat), 0);
	assert_int_equal(trace_write_lost(w, 1), 0);
	assert_int_equal(trace_finish(w), 0);
	t = open_trace();
	assert_int_equal(trace_start(t)->wall_ns, 1795992874000000000);
	assert_int_equal(trace_start(t)->monotonic_ns, 123456789);
	assert_int_equal(trace_start(t)->window, 1000);
	assert_int_equal(trace_next(t, &peer, &got), 1);
	assert_int_equal(trace_lost(t), 0);
	assert_int_equal(trace_next(t, &peer, &got), 1);
	assert_int_equal(trace_lost(t), 1000);
	assert_int_equal(trace_next(t, &peer, &got), 0);
	assert_int_equal(trace_lost(t), 1001);
	trace_close(t);
}

/* What was flushed is there for others, at once; and what a killed writer leaves has no end. */
static void flushed_is_readable(void **state)
{
	struct trace_writer *w = new_trace();
	struct kphi_beat beat = {.now_ns = 5};
	struct trace *t;
	uint32_t peer;

	(void)state;
	add_peers(w, 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(trace_write(w, 0, &beat), 0);
		assert_int_equal(trace_flush(w), 0);
	}
	assert_int_equal(trace_write(w, 0, &beat), 0);
	t = open_trace();
	for (int i = 0; i < 3; i++)
		assert_int_equal(trace_next(t, &peer, &beat), 1);
	assert_int_equal(trace_next(t, &peer, &beat), 0);
	assert_false(trace_ended(t));
	assert_int_equal(trace_torn(t), 0);
	trace_close(t);
	trace_abandon(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_comes_back),
		cmocka_unit_test(rhythms_come_back),
		cmocka_unit_test(peers_come_back),
		cmocka_unit_test(steady_peers_take_three_or_four_bytes),
		cmocka_unit_test(what_is_there_stays),
		cmocka_unit_test(starts_and_losses_are_kept),
		cmocka_unit_test(flushed_is_readable),
	};

	return cmocka_run_group_tests_name("trace file", tests, trace_room, trace_room_end);
}
