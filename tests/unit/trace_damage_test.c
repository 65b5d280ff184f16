// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Damaged traces: cut off anywhere, changed anywhere, or never a trace at all. Sanitizers look on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <kphi/window.h>

#include "unit/trace_bytes.h"

#define BLOCKS   4
#define PER      5
#define ARRIVALS (BLOCKS * PER)

/* Offsets of the blocks, and of the file's end. */
struct small {
	struct bytes file;
	size_t at[BLOCKS + 1];
};

static struct kphi_beat nth_beat(uint32_t n)
{
	uint64_t random = n + 1;

	return any_beat(&random);
}

/* Somebody's record, three intervals in its window. */
static void put_state(struct trace_writer *w)
{
	static uint64_t ring[KPHI_RING_SIZE(1000)];
	struct kphi_record record = {.state = KPHI_UP, .beats = 4};

	for (uint64_t i = 1; i <= 3; i++)
		kphi_window_add(&record.window, ring, 1000, kphi_ring_entry(i * 1000000, i));
	assert_int_equal(trace_write_state(w, 1, &record, ring), 0);
}

/* ARRIVALS arrivals of three peers in BLOCKS blocks, each of which has a state as well. */
static struct small small_trace(void)
{
	struct trace_writer *w = new_trace();
	struct small s = {.at = {trace_written(w)}};

	for (uint32_t i = 0; i < 3; i++) {
		struct trace_peer p = a_peer(i, 1000);

		assert_int_equal(trace_add_peer(w, &p), i);
	}
	for (uint32_t n = 0; n < ARRIVALS; n++) {
		struct kphi_beat b = nth_beat(n);

		assert_int_equal(trace_write(w, n % 3, &b), 0);
		if (n % PER == 2)
			put_state(w);
		if (n % PER == PER - 1 && n != ARRIVALS - 1) {
			assert_int_equal(trace_flush(w), 0);
			s.at[n / PER + 1] = trace_written(w);
		}
	}
	assert_int_equal(trace_finish(w), 0);
	s.file = file_bytes(trace_path);
	s.at[BLOCKS] = s.file.size;
	return s;
}

struct outcome {
	bool opened, ended;
	int error;
	uint32_t arrivals, states;
	uint64_t torn;
	char why[WHY_SIZE];
};

/* Reads to the end; what is read must be what was written, from the first arrival on. */
static struct outcome read_all(const void *bytes, size_t size)
{
	struct outcome o = {0};
	struct trace *t = trace_open_fd(bytes_fd(bytes, size), "it", o.why, sizeof(o.why));
	struct kphi_beat beat, expected;
	uint32_t peer;
	int got;

	if (!t)
		return o;
	o.opened = true;
	while ((got = trace_next_of_all(t, &peer, &beat)) > 0) {
		if (got == 2) {
			assert_int_equal(peer, 1);
			assert_int_equal(trace_state(t)->record.beats, 4);
			assert_int_equal(trace_state(t)->record.window.sum_ns, 6000000);
			assert_int_equal(o.arrivals % PER, 3);
			o.states++;
			continue;
		}
		expected = nth_beat(o.arrivals);
		assert_int_equal(peer, o.arrivals % 3);
		assert_true(same_beat(&beat, &expected));
		o.arrivals++;
	}
	assert_int_equal(trace_next(t, &peer, &beat), got);
	o.error = got;
	o.torn = trace_torn(t);
	o.ended = trace_ended(t);
	snprintf(o.why, sizeof(o.why), "%s", trace_why(t));
	trace_close(t);
	return o;
}

static void cut_off_anywhere(void **state)
{
	struct small s = small_trace();

	(void)state;
	for (size_t size = 0; size <= s.file.size; size++) {
		struct outcome o = read_all(s.file.at, size);
		uint32_t whole = 0;

		while (whole < BLOCKS && s.at[whole + 1] <= size)
			whole++;
		assert_int_equal(o.opened, size >= s.at[0]);
		if (!o.opened) {
			assert_non_null(strstr(o.why, size < 8 ? "it is no trace" : "it was cut off"));
			continue;
		}
		assert_int_equal(o.error, 0);
		assert_int_equal(o.arrivals, PER * whole);
		assert_int_equal(o.states, whole);
		assert_int_equal(o.torn, size - s.at[whole]);
		assert_int_equal(o.ended, size == s.file.size);
	}
	free(s.file.at);
}

/* Of the last block: it is torn off. Of any other: that is said, with the place. */
static void each_bit(void **state)
{
	struct small s = small_trace();

	(void)state;
	for (size_t bit = s.at[0] * 8; bit < s.file.size * 8; bit++) {
		struct outcome o;
		uint32_t block = 0;
		char place[64];

		while (s.at[block + 1] <= bit / 8)
			block++;
		s.file.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		o = read_all(s.file.at, s.file.size);
		s.file.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(o.opened);
		assert_int_equal(o.arrivals, block * PER);
		snprintf(place, sizeof(place), "damaged at byte %zu, ", s.at[block]);
		if (block == BLOCKS - 1) {
			assert_int_equal(o.error, 0);
			assert_int_equal(o.torn, s.file.size - s.at[block]);
		} else {
			assert_int_equal(o.error, -EBADMSG);
			assert_non_null(strstr(o.why, place));
		}
	}
	for (size_t bit = 0; bit < s.at[0] * 8; bit++) {
		s.file.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(read_all(s.file.at, s.file.size).opened);
		s.file.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(s.file.at);
}

/* What a power failure leaves: the file is as long as it was to be, and its end is zeros, or noise. */
static void a_tail_of_anything(void **state)
{
	struct small s = small_trace();
	uint8_t *longer = calloc(1, s.at[2] + 100000);
	uint64_t random = 3;
	struct outcome o;

	(void)state;
	memcpy(longer, s.file.at, s.at[2] + 20);
	for (int i = 0; i < 2; i++) {
		o = read_all(longer, s.at[2] + 100000);
		assert_int_equal(o.error, 0);
		assert_int_equal(o.arrivals, 2 * PER);
		assert_int_equal(o.torn, 100000);
		for (size_t k = 0; k < 100000; k++)
			longer[s.at[2] + k] = (uint8_t)random_bits(&random);
	}
	free(longer);
	free(s.file.at);
}

static void a_part_is_missing(void **state)
{
	struct small s = small_trace();
	uint8_t *shorter = malloc(s.file.size);
	struct outcome o;

	(void)state;
	memcpy(shorter, s.file.at, s.at[1]);
	memcpy(shorter + s.at[1], s.file.at + s.at[2], s.file.size - s.at[2]);
	o = read_all(shorter, s.file.size - (s.at[2] - s.at[1]));
	assert_int_equal(o.error, -EBADMSG);
	assert_int_equal(o.arrivals, PER);
	assert_non_null(strstr(o.why, "it: a part is missing: block 2 follows 0 at byte "));
	free(shorter);
	free(s.file.at);
}

/* --- whole, but made by nobody --- */

static void absurd_heads(void **state)
{
	static const struct {
		struct trace_head head;
		const char *expected; /* NULL: it is fine */
	} cases[] = {
		{HEAD, NULL},
		{{.magic = "\x89KPHIT\n", .version = 1, .size = 48}, "it is no trace"},
		{{.magic = TRACE_MAGIC, .version = 0, .size = 48},
		 "version 0, and this kphi knows those up to"},
		{{.magic = TRACE_MAGIC, .version = 1, .size = 48}, NULL},
		{{.magic = TRACE_MAGIC, .version = TRACE_VERSION + 1, .size = 48},
		 "version 3, and this kphi knows those up to 2"},
		{{.magic = TRACE_MAGIC, .version = 1, .size = 0}, "its head is damaged"},
		{{.magic = TRACE_MAGIC, .version = 1, .size = 47}, "its head is damaged"},
		{{.magic = TRACE_MAGIC, .version = 1, .size = 49}, "it was cut off within the 49 bytes"},
		{{.magic = TRACE_MAGIC, .version = 1, .size = 65535}, "cut off within the 65535 bytes"},
	};
	uint8_t bytes[sizeof(struct trace_head)];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t size = put_head(bytes, cases[i].head);
		struct outcome o = read_all(bytes, size);

		assert_int_equal(o.opened, !cases[i].expected);
		if (cases[i].expected && !strstr(o.why, cases[i].expected))
			fail_msg("\"%s\" rather than \"%s\"", o.why, cases[i].expected);
	}
}

/* Blocks with absurd lengths and a checksum that fits are no blocks all the same. */
static void absurd_blocks(void **state)
{
	static const uint32_t lengths[] = {0, TRACE_BLOCK_MAX + 1, UINT32_MAX, UINT32_MAX - 31, 1U << 31};
	const struct trace_head head = HEAD;
	uint8_t bytes[256];

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t at = put_head(bytes, head);
		struct trace_block block = {.magic = htole32(TRACE_BLOCK_MAGIC),
					    .length = htole32(lengths[i])};
		struct outcome o;

		block.crc = (uint32_t)crc32(0, (const Bytef *)&block, offsetof(struct trace_block, crc));
		memcpy(bytes + at, &block, sizeof(block));
		o = read_all(bytes, at + sizeof(block));
		assert_int_equal(o.error, 0);
		assert_int_equal(o.torn, sizeof(block));
	}
}

static void absurd_entries(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		uint32_t arrivals;
		int error;
	} cases[] = {
		/* The peer described before them has number 0. */
		{"\x01\x00\x00\x00", 4, 1, 0},
		{"\x01\x00\x00\x00\x00\x00\x00", 7, 2, 0},
		{"\x01\x00\x00\x00", 4, 2, -EBADMSG}, /* fewer than the head says */
		{"\x01\x00\x00\x00", 4, 0, -EBADMSG}, /* more */
		{"\x00\x00\x00", 3, 1, -EBADMSG}, /* nobody is expected yet */
		{"\x01\x01\x00\x00", 4, 1, -EBADMSG}, /* there is no peer 1 */
		{"\x01\xff\xff\xff\xff\x0f\x00\x00", 8, 1, -EBADMSG},
		{"\x01\x80\x80\x80\x80\x10\x00\x00", 8, 1, -EBADMSG}, /* 2^32 */
		{"\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12, 1, -EBADMSG}, /* eleven bytes */
		{"\x01\x00\x00", 3, 1, -EBADMSG}, /* ends within the time */
		{"\x0d\x00\xff\xff\xff\xff\xff\xff\xff\xff", 10, 1, 0}, /* 2^63 back */
		{"\x03\x00\x00\x00\xff", 5, 1, -EBADMSG}, /* ends within the changes */
		{"\x03\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 15, 1, 0},
		{"\x03\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 15, 1, -EBADMSG},
		{"\x2c\x05", 2, 0, 0},
		{"\x2c", 1, 0, 0}, /* what is behind it is zero here; the next case's is not */
		{"\x2d\x05", 2, 0, -EBADMSG},
		{"\x3c", 1, 0, 0},
		{"\x4c", 1, 0, -EBADMSG},
		{"\xfc", 1, 0, -EBADMSG},
		{"\x1c\x00\x00", 3, 0, -EBADMSG}, /* no description at all */
		{"\x1c\x02\x00", 3, 0, -EBADMSG}, /* number 1 is missing */
		{"\x1c\x01\xff\xff\x7f", 5, 0, -EBADMSG},
		{"\x1c\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, 0, -EBADMSG},
	};
	uint8_t bytes[TRACE_ENTRY_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t size = put_peer(bytes, 0, "a");
		int error;

		memcpy(bytes + size, cases[i].bytes, cases[i].size);
		error = error_of(cases[i].arrivals, bytes, size + cases[i].size);
		if (error != cases[i].error && !(cases[i].size == 1 && bytes[size] == 0x2c))
			fail_msg("case %zu: %d rather than %d", i, error, cases[i].error);
	}
}

static void descriptions_do_not_change(void **state)
{
	uint8_t bytes[3 * TRACE_ENTRY_MAX];
	size_t size = put_peer(bytes, 0, "a");

	(void)state;
	assert_int_equal(error_of(0, bytes, size + put_peer(bytes + size, 0, "a")), 0);
	assert_int_equal(error_of(0, bytes, size + put_peer(bytes + size, 0, "b")), -EBADMSG);
	assert_int_equal(error_of(0, bytes, size + put_peer(bytes + size, 1, "b")), 0);
	assert_int_equal(error_of(0, bytes, size + put_peer(bytes + size, 2, "b")), -EBADMSG);
}

/* Each byte of a description changed to each value, and the description cut anywhere. */
static void descriptions_of_anything(void **state)
{
	struct trace_peer p = a_peer(1, 1000), got;
	uint8_t bytes[TRACE_ENTRY_MAX];
	size_t size = describe_put(bytes, &p);

	(void)state;
	assert_int_equal(describe_get(bytes, size, &got), 0);
	assert_memory_equal(&got, &p, sizeof(p));
	for (size_t i = 0; i < size; i++) {
		uint8_t was = bytes[i], *part = malloc(i + 1);

		for (int value = 0; value < 256; value++) {
			bytes[i] = (uint8_t)value;
			describe_get(bytes, size, &got);
		}
		bytes[i] = was;
		memcpy(part, bytes, i);
		assert_int_equal(describe_get(part, i, &got), -EBADMSG);
		free(part);
	}
	bytes[size] = 77; /* of a later version */
	assert_int_equal(describe_get(bytes, size + 1, &got), 0);
	assert_memory_equal(&got, &p, sizeof(p));
}

/* Entries of noise whose checksum is right. */
static void noise(void **state)
{
	uint8_t bytes[2048];
	uint64_t random = 23;
	int errors = 0, rounds = 10000;

	(void)state;
	for (int i = 0; i < rounds; i++) {
		size_t size = put_peer(bytes, 0, "a"), most = 1 + random_below(&random, 200);

		size += put_peer(bytes + size, 1, "b");
		for (size_t k = 0; k < most; k++)
			bytes[size + k] = (uint8_t)random_magnitude(&random, 8);
		errors += error_of((uint32_t)random_below(&random, 40), bytes, size + most) != 0;
	}
	assert_in_range(errors, 1, rounds);
}

/* Times that go backwards or leap by half of all there is come back as they were, into the window as well. */
static void times_of_all_kinds(void **state)
{
	static const uint64_t times[] = {0, UINT64_MAX, 1, 1ULL << 63, (1ULL << 63) - 1, 5, 4,
					 3, UINT64_MAX, 0, 7};
	const size_t n = sizeof(times) / sizeof(*times);
	struct trace_writer *w = new_trace();
	struct trace_peer p = a_peer(0, UINT64_MAX);
	struct kphi_beat beat = {.now_ns = 0};
	char why[WHY_SIZE];
	struct trace *t;
	uint32_t peer;

	(void)state;
	assert_int_equal(trace_add_peer(w, &p), 0);
	for (size_t i = 0; i < n * n; i++) {
		beat.now_ns = times[i % n] + times[i / n];
		assert_int_equal(trace_write(w, 0, &beat), 0);
	}
	assert_int_equal(trace_finish(w), 0);
	t = trace_open(trace_path, why, sizeof(why));
	assert_non_null(t);
	for (size_t i = 0; i < n * n; i++) {
		assert_int_equal(trace_next(t, &peer, &beat), 1);
		assert_int_equal(beat.now_ns, times[i % n] + times[i / n]);
	}
	trace_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_off_anywhere),
		cmocka_unit_test(each_bit),
		cmocka_unit_test(a_tail_of_anything),
		cmocka_unit_test(a_part_is_missing),
		cmocka_unit_test(absurd_heads),
		cmocka_unit_test(absurd_blocks),
		cmocka_unit_test(absurd_entries),
		cmocka_unit_test(descriptions_do_not_change),
		cmocka_unit_test(descriptions_of_anything),
		cmocka_unit_test(noise),
		cmocka_unit_test(times_of_all_kinds),
	};

	return cmocka_run_group_tests_name("trace damage", tests, trace_room, trace_room_end);
}
