// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Text as source and sink, and native beats through a capture: what comes through, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <zlib.h>

#include "unit/trace_flow.h"

/* --- text --- */

static void csv_is_read(void **state)
{
	struct flow f = {.options.interval_ns = S};

	(void)state;
	assert_int_equal(run_text(&f, FORMAT_CSV,
				  "peer,arrival_ns,sequence,sent_ns\n"
				  "db1,100,7,50\r\n"
				  "\n"
				  "\"rack 7, \"\"b\"\"\",18446744073709551615\n"
				  "db1,99,,\n"
				  "db1,101,18446744073709551615"),
			 0);
	assert_int_equal(got.count, 2);
	assert_string_equal(got.peers[0].name, "db1");
	assert_string_equal(got.peers[1].settings.name, "rack 7, \"b\"");
	assert_int_equal(got.peers[0].settings.interval_ns, S);
	assert_int_equal(got.n, 4);
	assert_int_equal(got.arrivals[0].beat.now_ns, 100);
	assert_int_equal(got.arrivals[0].beat.sequence, 7);
	assert_int_equal(got.arrivals[0].beat.sequence_bits, 64);
	assert_int_equal(got.arrivals[1].peer, 1);
	assert_true(got.arrivals[1].beat.now_ns == UINT64_MAX);
	assert_int_equal(got.arrivals[2].beat.now_ns, 99);
	assert_int_equal(got.arrivals[2].beat.sequence_bits, 0);
	assert_true(got.arrivals[3].beat.sequence == UINT64_MAX);
}

static void gaps_are_read(void **state)
{
	struct flow f = {.options.name = "pl0"};

	(void)state;
	assert_int_equal(run_text(&f, FORMAT_GAPS_US, "100124\n0\n0.001\n100.5"), 0);
	assert_int_equal(got.count, 1);
	assert_string_equal(got.peers[0].name, "pl0");
	assert_int_equal(got.n, 5);
	assert_int_equal(got.arrivals[0].beat.now_ns, FLOW_BASE_NS);
	assert_int_equal(got.arrivals[1].beat.now_ns, FLOW_BASE_NS + 100124000);
	assert_int_equal(got.arrivals[2].beat.now_ns, FLOW_BASE_NS + 100124000);
	assert_int_equal(got.arrivals[3].beat.now_ns, FLOW_BASE_NS + 100124001);
	assert_int_equal(got.arrivals[4].beat.now_ns, FLOW_BASE_NS + 100224501);
	assert_int_equal(run_text(&f, FORMAT_GAPS_MS, "9223372036854.775808\n"), 0); /* 2^63 ns */
	assert_true(got.arrivals[1].beat.now_ns == FLOW_BASE_NS + (1ULL << 63));
}

#define LINE "-----------------------------------------------------------------------"

static void cassandra_is_read(void **state)
{
	struct flow f = {.options.interval_ns = S};

	(void)state;
	assert_int_equal(run_text(&f, FORMAT_CASSANDRA,
				  LINE "/10.0.0.2:7000 : [1000000000, 1000000001, 0, 0]\n"
				       "host/10.0.0.3 : [500000000, 0, 600000000]\n" LINE),
			 0);
	assert_int_equal(got.count, 2);
	assert_string_equal(got.peers[0].name, "10.0.0.2:7000");
	assert_string_equal(got.peers[1].name, "host/10.0.0.3");
	assert_int_equal(got.n, 6);
	for (uint64_t i = 1; i < got.n; i++)
		assert_true(got.arrivals[i].beat.now_ns >= got.arrivals[i - 1].beat.now_ns);
	assert_int_equal(got.arrivals[2].peer, 1);
	assert_int_equal(got.arrivals[2].beat.now_ns, FLOW_BASE_NS + 500000000);
	assert_int_equal(got.arrivals[5].beat.now_ns, FLOW_BASE_NS + 2000000001);
}

static void what_is_no_text_of_ours(void **state)
{
	static const struct {
		enum trace_format from;
		const char *text, *expected;
	} cases[] = {
		{FORMAT_CSV, "db1", "line 1: no comma"},
		{FORMAT_CSV, "db1,1\ndb1,x\n", "line 2: arrival_ns: 'x' is not a whole number"},
		{FORMAT_CSV, "db1,-1\n", "line 1: arrival_ns: '-1' is not"},
		{FORMAT_CSV, "db1,18446744073709551616\n", "line 1: arrival_ns: "},
		{FORMAT_CSV, "db1,1,1.5\n", "line 1: sequence: "},
		{FORMAT_CSV, "db1,1,1,x\n", "line 1: sent_ns: "},
		{FORMAT_CSV, "db1,1,1,1,1\n", "line 1: more than 4 fields"},
		{FORMAT_CSV, ",1\n", "line 1: peer: "},
		{FORMAT_CSV, "\x01,1\n", "line 1: peer: "},
		{FORMAT_CSV, "\"db1,1\n", "line 1: the quotes of field 1"},
		{FORMAT_CSV, "\"db1\"x,1\n", "line 1: the quotes of field 1"},
		{FORMAT_GAPS_US, "1\n\nten\n", "line 3: 'ten' is no number of us"},
		{FORMAT_GAPS_US, "-1\n", "line 1: '-1' is no number of us"},
		{FORMAT_GAPS_MS, "1 2\n", "line 1: '1 2' is no number of ms"},
		{FORMAT_GAPS_MS, "0.0000001\n", "line 1: "}, /* less than a nanosecond */
		{FORMAT_GAPS_MS, "18446744072708\n9999\n", "line 2: all gaps up to here"},
		{FORMAT_CASSANDRA, LINE "/10.0.0.2 [1]\n", "line 1: no dump"},
		{FORMAT_CASSANDRA, LINE "/10.0.0.2 : [1, x]\n", "line 1: no interval at 'x]'"},
		{FORMAT_CASSANDRA, LINE "/10.0.0.2 : [1, 2\n", "line 1: no interval at '2'"},
		{FORMAT_CASSANDRA, LINE "/10.0.0.2 : [-1]\n", "line 1: no interval at '-1]'"},
		{FORMAT_CASSANDRA, LINE "/10.0.0.2 : [18446744073709551615]\n", "more than 2^64"},
		{FORMAT_CASSANDRA, LINE "/10.0.0.2 : [18446744073709551616]\n", "no interval at"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct flow f = {.options.name = "a"};

		if (run_text(&f, cases[i].from, cases[i].text) >= 0)
			fail_msg("taken: %s", cases[i].text);
		if (!strstr(f.why, cases[i].expected))
			fail_msg("\"%s\" rather than \"%s\"", f.why, cases[i].expected);
	}
}

static void long_lines_and_packed_ones(void **state)
{
	struct flow f = {.options.name = "a"};
	char *text = malloc(70000);
	uint8_t packed[1000];
	uLongf size = sizeof(packed);
	z_stream z = {.next_in = (Bytef *)text, .avail_in = 60000, .next_out = packed, .avail_out = size};

	(void)state;
	memset(text, '1', 70000);
	assert_int_equal(run_bytes(&f, FORMAT_GAPS_US, text, 70000), -EINVAL);
	assert_non_null(strstr(f.why, "line 1: it is longer than"));
	for (int i = 0; i < 70000; i += 2)
		text[i] = '\n';
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	size = z.total_out;
	deflateEnd(&z);
	assert_int_equal(run_bytes(&f, FORMAT_GAPS_US, packed, size), 0);
	assert_int_equal(got.n, 30001);
	for (size_t cut = 11; cut < size; cut++)
		assert_int_equal(run_bytes(&f, FORMAT_GAPS_US, packed, cut), -EIO);
	assert_non_null(strstr(f.why, "cannot be unpacked beyond line"));
	free(text);
}

/* --- through files --- */

/* A flow from a file to another one, which is not there yet. */
static struct flow convert(const char *from, enum trace_format from_format, const char *to,
			   enum trace_format to_format)
{
	struct flow f = {.from = from, .to = to};

	unlink(to);
	if (flow_run(&f, from_format, to_format))
		fail_msg("%s", f.why);
	flow_free(&f);
	return f;
}

static struct kphi_beat native_beat(uint64_t *random, uint64_t now_ns)
{
	return (struct kphi_beat){
		.now_ns = now_ns,
		.epoch = 1795992874,
		.sequence = random_magnitude(random, 64),
		.type = (uint8_t)(1 + random_below(random, 3)),
		.flags = (uint8_t)random_magnitude(random, 2),
		.native = 1,
		.sequence_bits = 64,
		.cluster_version = random_magnitude(random, 64),
		.load_average = (uint32_t)random_magnitude(random, 30),
		.available_capacity = (uint32_t)random_magnitude(random, 30),
	};
}

#define NATIVE 1000

/* What a native beat says of itself goes through a capture and comes back. */
static void native_beats_are_packets(void **state)
{
	struct trace_writer *w = new_trace();
	struct kphi_beat sent[NATIVE];
	uint64_t random = 13, now_ns = 123456789;
	char path[80], back[80];

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct trace_peer p = a_peer(i, S);

		assert_int_equal(trace_add_peer(w, &p), i);
	}
	for (uint32_t i = 0; i < NATIVE; i++) {
		now_ns += random_magnitude(&random, 33);
		sent[i] = native_beat(&random, now_ns);
		assert_int_equal(trace_write(w, i % 3, &sent[i]), 0);
	}
	assert_int_equal(trace_finish(w), 0);
	snprintf(path, sizeof(path), "%s/a.pcap", trace_directory);
	snprintf(back, sizeof(back), "%s/back.trace", trace_directory);
	convert(trace_path, FORMAT_TRACE, path, FORMAT_PCAP);
	convert(path, FORMAT_PCAP, back, FORMAT_TRACE); /* a file: convert() unlinks what was there */
	unlink(back);
	{
		struct flow f = {.from = path};

		assert_int_equal(run(&f, FORMAT_PCAP), 0);
		flow_free(&f);
	}
	unlink(path);
	assert_int_equal(got.count, 3);
	assert_int_equal(got.n, NATIVE);
	assert_string_equal(got.peers[2].name, "02000000-0000-0000-0000-000000000001");
	for (uint32_t i = 0; i < NATIVE; i++) {
		struct kphi_beat *b = &got.arrivals[i].beat;

		assert_int_equal(got.arrivals[i].peer, i % 3);
		assert_int_equal(b->epoch_limit, i < 3 ? b->now_ns / S + 86400 : b->epoch);
		b->now_ns -= 1795992874 * S - 123456789;
		b->epoch_limit = 0;
		sent[i].flags &= (uint8_t)~KPHI_WIRE_SIGNED; /* without the key there is no tag */
		assert_true(same_beat(b, &sent[i]));
	}
}

/* Times, names and sequence numbers go through CSV, and times alone through the others. */
static void text_goes_there_and_back(void **state)
{
	struct trace_writer *w = new_trace();
	uint64_t random = 19, now_ns = FLOW_BASE_NS, times[500];
	struct trace_peer p = a_peer(7, S);
	static const enum trace_format formats[] = {FORMAT_CSV, FORMAT_GAPS_US, FORMAT_GAPS_MS,
						    FORMAT_CASSANDRA};
	char path[80];

	(void)state;
	snprintf(p.settings.name, sizeof(p.settings.name), "a \"b\", c");
	assert_int_equal(trace_add_peer(w, &p), 0);
	for (uint32_t i = 0; i < 500; i++) {
		const struct kphi_beat b = {.now_ns = now_ns, .sequence = i, .sequence_bits = 16};

		times[i] = now_ns;
		assert_int_equal(trace_write(w, 0, &b), 0);
		now_ns += 1 + random_magnitude(&random, 40);
	}
	assert_int_equal(trace_finish(w), 0);
	snprintf(path, sizeof(path), "%s/a.txt", trace_directory);
	for (size_t k = 0; k < sizeof(formats) / sizeof(*formats); k++) {
		struct flow f = {.from = path, .options.name = "a \"b\", c"};

		convert(trace_path, FORMAT_TRACE, path, formats[k]);
		assert_int_equal(run(&f, formats[k]), 0);
		flow_free(&f);
		assert_int_equal(got.n, 500);
		assert_int_equal(got.count, 1);
		assert_string_equal(got.peers[0].name, "a \"b\", c");
		for (uint32_t i = 0; i < 500; i++) {
			assert_int_equal(got.arrivals[i].beat.now_ns, times[i]);
			if (formats[k] == FORMAT_CSV)
				assert_int_equal(got.arrivals[i].beat.sequence, i);
		}
	}
	unlink(path);
}

/* --- damage --- */

static void text_of_noise(void **state)
{
	static const char letters[] = "0123456789.,\"\n\r :[]-ab";
	static const enum trace_format formats[] = {FORMAT_CSV, FORMAT_GAPS_US, FORMAT_CASSANDRA};
	uint64_t random = 31;

	(void)state;
	for (int i = 0; i < 6000; i++) {
		struct flow f = {.options.name = "a"};
		char text[200];
		size_t size = random_below(&random, sizeof(text));

		for (size_t k = 0; k < size; k++)
			text[k] = letters[random_below(&random, sizeof(letters) - 1)];
		run_bytes(&f, formats[i % 3], text, size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(csv_is_read),
		cmocka_unit_test(gaps_are_read),
		cmocka_unit_test(cassandra_is_read),
		cmocka_unit_test(what_is_no_text_of_ours),
		cmocka_unit_test(long_lines_and_packed_ones),
		cmocka_unit_test(native_beats_are_packets),
		cmocka_unit_test(text_goes_there_and_back),
		cmocka_unit_test(text_of_noise),
	};

	return cmocka_run_group_tests_name("trace convert", tests, trace_room, trace_room_end);
}
