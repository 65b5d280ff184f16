// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Other formats as sources and sinks: what comes through, what is refused, and that no damage does harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <zlib.h>

#include "trace/flow.h"
#include "unit/trace_file.h"

#define S             1000000000ULL
#define ARRIVALS_MOST 4000

/* --- a sink that remembers --- */

struct got {
	struct trace_peer peers[16];
	uint32_t count;
	struct {
		uint32_t peer;
		struct kphi_beat beat;
	} arrivals[ARRIVALS_MOST];
	uint64_t n;
};

static struct got got;

static int got_begin(struct flow *f, const struct trace_start *start)
{
	(void)start;
	f->sink = &got;
	got.count = 0;
	got.n = 0;
	return 0;
}

static int got_peer(struct flow *f, uint32_t number, const struct trace_peer *peer)
{
	(void)f;
	assert_int_equal(number, got.count);
	assert_true(memchr(peer->name, '\0', sizeof(peer->name)) != NULL);
	if (got.count < 16)
		got.peers[got.count] = *peer;
	got.count++;
	return 0;
}

static int got_arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat)
{
	(void)f;
	assert_true(number < got.count);
	if (got.n < ARRIVALS_MOST) {
		got.arrivals[got.n].peer = number;
		got.arrivals[got.n].beat = *beat;
	}
	got.n++;
	return 0;
}

static const struct sink_kind remember = {got_begin, got_peer, got_arrival, NULL, NULL, NULL};

/* --- sources of known bytes --- */

static int run(struct flow *f, enum trace_format from)
{
	f->kind = &remember;
	return flow_source(f, from);
}

/* Reads the bytes as if they were a file. */
static int run_bytes(struct flow *f, enum trace_format from, const void *bytes, size_t size)
{
	char path[64];
	int fd = bytes_fd(bytes, size), err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	got.count = 0;
	got.n = 0;
	*f = (struct flow){.from = path, .options = f->options};
	err = run(f, from);
	close(fd);
	flow_free(f);
	return err;
}

static int run_text(struct flow *f, enum trace_format from, const char *text)
{
	return run_bytes(f, from, text, strlen(text));
}

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

/* --- captures made here --- */

/* A BFD packet in IPv4, from the first byte of the IP header. */
static const uint8_t bfd_packet[52] = {0x45, 0xc0, 0,    52,   0,  0,  0x40, 0,    255, 17, 0, 0,
				       10,   0,    0,    2,    10, 0,  0,    1, /* IPv4 */
				       0xc0, 0,    0x0e, 0xc8, 0,  32, 0,    0, /* UDP, to 3784 */
				       0x20, 0xc0, 3,    24,   0,  0,  0,    9,    0,   0,  0, 8,
				       0,    0,    0xc3, 0x50, 0,  0,  0xc3, 0x50, 0,   0,  0, 0};

struct link {
	int type;
	uint32_t size;
	uint8_t header[24];
};

static const struct link links[] = {
	{DLT_EN10MB, 14, {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0}},
	{DLT_EN10MB, 18, {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 5, 8, 0}},
	{DLT_LINUX_SLL, 16, {0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 2, 0, 0, 8, 0}},
	{DLT_LINUX_SLL2, 20, {8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 2, 0, 0}},
	{DLT_NULL, 4, {2, 0, 0, 0}},
	{DLT_LOOP, 4, {0, 0, 0, 2}},
	{DLT_RAW, 0, {0}},
};

/* A capture of `n` packets, 50 ms apart, on that link. */
static struct bytes capture_on(const struct link *link, uint32_t n)
{
	uint8_t frame[100];
	struct bytes b = {NULL, 0};
	char *text = NULL;
	FILE *to = open_memstream(&text, &b.size);
	pcap_t *p = pcap_open_dead_with_tstamp_precision(link->type, 65535, PCAP_TSTAMP_PRECISION_NANO);
	pcap_dumper_t *d = pcap_dump_fopen(p, to);
	struct pcap_pkthdr h = {.caplen = link->size + sizeof(bfd_packet)};

	h.len = h.caplen;
	memcpy(frame, link->header, link->size);
	memcpy(frame + link->size, bfd_packet, sizeof(bfd_packet));
	for (uint32_t i = 0; i < n; i++) {
		h.ts.tv_sec = 1795992874 + i / 20;
		h.ts.tv_usec = i % 20 * 50000000;
		pcap_dump((u_char *)d, &h, frame);
	}
	pcap_dump_close(d);
	pcap_close(p);
	b.at = (uint8_t *)text;
	return b;
}

static void every_link(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		struct bytes b = capture_on(&links[i], 30);
		struct flow f = {.from = NULL};

		assert_int_equal(run_bytes(&f, FORMAT_PCAP, b.at, b.size), 0);
		assert_int_equal(got.count, 1);
		assert_int_equal(got.n, 30);
		assert_string_equal(got.peers[0].name, "bfd 10.0.0.2");
		assert_int_equal(got.peers[0].rule.min_ttl, 255);
		assert_int_equal(got.arrivals[29].beat.now_ns, 1795992875 * S + 450000000);
		assert_int_equal(got.arrivals[29].beat.bfd.desired_tx_us, 50000);
		assert_int_equal(got.arrivals[29].beat.type, KPHI_WIRE_BEAT);
		free(b.at);
	}
}

/* A section, an interface with nanoseconds, and two packets. */
static void the_newer_format(void **state)
{
	uint8_t file[300] = {0}, *at = file;
	struct flow f = {.from = NULL};

	(void)state;
#define WORDS(...)                                                                                           \
	do {                                                                                                 \
		const uint32_t words[] = {__VA_ARGS__};                                                      \
		memcpy(at, words, sizeof(words));                                                            \
		at += sizeof(words);                                                                         \
	} while (0)
	WORDS(0x0a0d0d0a, 28, 0x1a2b3c4d, 1, UINT32_MAX, UINT32_MAX, 28);
	WORDS(1, 32, DLT_EN10MB, 0, 9 | 1 << 16, 9, 0, 32);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t ns = 1795992874 * S + i;

		WORDS(6, 32 + 68, 0, (uint32_t)(ns >> 32), (uint32_t)ns, 66, 66);
		memcpy(at, links[0].header, 14);
		memcpy(at + 14, bfd_packet, sizeof(bfd_packet));
		at += 68;
		WORDS(32 + 68);
	}
	assert_int_equal(run_bytes(&f, FORMAT_PCAP, file, (size_t)(at - file)), 0);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.arrivals[1].beat.now_ns, 1795992874 * S + 1);
}

/* What is nearly a beat is refused, and what is another's is foreign. */
static void which_packets(void **state)
{
	static const struct {
		size_t at; /* byte of the frame that is changed ... */
		uint8_t value; /* ... to this */
		struct rule_text rule;
		uint64_t arrivals, refused, foreign;
		const char *name;
	} cases[] = {
		{22, 255, {{0}, {0}}, 1, 0, 0, "bfd 10.0.0.2"},
		{22, 254, {{0}, {0}}, 0, 1, 0, NULL}, /* TTL */
		{42, 0x40, {{0}, {0}}, 0, 1, 0, NULL}, /* version */
		{37, 0xc9, {{0}, {0}}, 0, 0, 1, NULL}, /* port 3785 */
		{37, 0xc9, {{[RULE_PROTO] = "udp"}, {0}}, 1, 0, 0, "udp 10.0.0.2 port 3785"},
		{37, 0xc9, {{[RULE_PORT] = "3785"}, {0}}, 1, 0, 0, "udp 10.0.0.2 port 3785"},
		{37, 0xc9, {{[RULE_PORT] = "3786"}, {0}}, 0, 0, 1, NULL},
		{37, 0xc9, {{[RULE_FROM] = "10.0.0.2"}, {0}}, 1, 0, 0, "udp 10.0.0.2 port 3785"},
		{37, 0xc9, {{[RULE_FROM] = "10.0.0.3"}, {0}}, 0, 0, 1, NULL},
		{37, 0xc9, {{0}, {"1:c0/c0"}}, 1, 0, 0, "udp 10.0.0.2 port 3785"},
		{37, 0xc9, {{0}, {"1:40/c0"}}, 0, 0, 1, NULL},
		{37, 0xc8, {{[RULE_PROTO] = "bfd"}, {0}}, 1, 0, 0, "bfd 10.0.0.2"},
		{37, 0xc8, {{[RULE_PROTO] = "b", [RULE_DISCRIMINATOR] = "9"}, {0}}, 1, 0, 0, "bfd 10.0.0.2"},
		{37, 0xc8, {{[RULE_PROTO] = "b", [RULE_DISCRIMINATOR] = "8"}, {0}}, 0, 0, 1, NULL},
		{36, 0x12, {{[RULE_PROTO] = "bfd"}, {0}}, 0, 0, 1, NULL},
		{37, 0xc8, {{[RULE_PROTO] = "ip", [RULE_PROTOCOL] = "112"}, {0}}, 0, 0, 1, NULL},
		{23, 112, {{[RULE_PROTO] = "ip", [RULE_PROTOCOL] = "112"}, {0}}, 1, 0, 0, "ip 10.0.0.2"},
		{37, 0xc8, {{[RULE_PROTO] = "vrrp"}, {0}}, 0, 0, 1, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bytes b = capture_on(&links[0], 1);
		struct flow f = {.options.rule = cases[i].rule};

		b.at[24 + 16 + cases[i].at] = cases[i].value;
		if (run_bytes(&f, FORMAT_PCAP, b.at, b.size))
			fail_msg("case %zu: %s", i, f.why);
		if (f.arrivals != cases[i].arrivals || f.refused != cases[i].refused ||
		    f.foreign != cases[i].foreign)
			fail_msg("case %zu: %" PRIu64 " arrivals, %" PRIu64 " refused, %" PRIu64 " foreign",
				 i, f.arrivals, f.refused, f.foreign);
		if (cases[i].name)
			assert_string_equal(got.peers[0].name, cases[i].name);
		free(b.at);
	}
}

static void words_that_cannot_be(void **state)
{
	static const struct {
		struct rule_text rule;
		const char *expected;
	} cases[] = {
		{{{[RULE_PROTO] = "ospf"}, {0}}, "proto: 'ospf' is unknown"},
		{{{[RULE_PROTO] = "ip"}, {0}}, "proto: `proto ip` needs `protocol`"},
		{{{[RULE_PROTO] = "bfd", [RULE_PORT] = "1"}, {0}}, "port: `proto bfd` has the ports"},
		{{{[RULE_PROTO] = "bfd", [RULE_FROM] = "x"}, {0}}, "source: "},
		{{{[RULE_PROTO] = "vrrp", [RULE_VRID] = "256"}, {0}}, "vrid: "},
		{{{[RULE_PROTO] = "vrrp"}, {"0:01"}}, "match: "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct flow f = {.options.rule = cases[i].rule};

		assert_true(run_bytes(&f, FORMAT_PCAP, "", 0) < 0);
		if (!strstr(f.why, cases[i].expected))
			fail_msg("\"%s\" rather than \"%s\"", f.why, cases[i].expected);
	}
}

/* --- damage --- */

static void captures_cut_off_anywhere(void **state)
{
	struct bytes b = capture_on(&links[0], 3);

	(void)state;
	for (size_t size = 0; size < b.size; size++) {
		struct flow f = {.from = NULL};
		uint64_t whole = size < 24 ? 0 : (size - 24) / (16 + 66);
		int err = run_bytes(&f, FORMAT_PCAP, b.at, size);

		assert_int_equal(got.n, whole);
		assert_int_equal(err < 0, size < 24 || (!whole && size > 24));
		assert_true(err < 0 || f.cut_off == ((size - 24) % (16 + 66) != 0));
	}
	free(b.at);
}

static void captures_with_bits_flipped(void **state)
{
	struct bytes b = capture_on(&links[1], 3);
	uint64_t random = 29;

	(void)state;
	for (size_t bit = 0; bit < 8 * b.size; bit++) {
		struct flow f = {.options.rule.word[RULE_PROTO] = bit % 3 ? NULL : "udp"};

		b.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		run_bytes(&f, FORMAT_PCAP, b.at, b.size);
		b.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (int i = 0; i < 3000; i++) {
		struct flow f = {.from = NULL};
		uint8_t *copy = malloc(b.size);

		memcpy(copy, b.at, b.size);
		for (uint64_t n = random_below(&random, 20); n; n--)
			copy[random_below(&random, b.size)] = (uint8_t)random_bits(&random);
		run_bytes(&f, FORMAT_PCAP, copy, b.size);
		free(copy);
	}
	free(b.at);
}

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

/* --- captures of real daemons --- */

#define CAPTURES "../shared/pcap/own/"

struct expected {
	const char *file, *peer;
	uint64_t arrivals;
	uint64_t mean_us; /* 0: not asked for */
	struct rule_text rule;
};

/* Counts and means as tcpdump and awk had them. */
static const struct expected captures[] = {
	{"bfd-frr-300ms", "bfd 10.78.0.2", 201, 257600, {{0}, {0}}},
	{"bfd-frr-50ms", "bfd 10.78.0.1", 400, 43800, {{0}, {0}}},
	{"bfd-frr-10ms", "bfd 10.78.0.1", 399, 8950, {{0}, {0}}},
	{"bfd-bird-300ms", "bfd 10.78.0.2", 243, 247000, {{0}, {0}}},
	{"bfd-bird-50ms", "bfd 10.78.0.2", 400, 41300, {{0}, {0}}},
	{"bfd-bird-10ms", "bfd 10.78.0.1", 401, 8220, {{0}, {0}}},
	{"bfd-frr-ipv6-and-multihop-100ms", "bfd fd77::1", 76, 86500, {{0}, {0}}},
	{"bfd-frr-ipv6-and-multihop-100ms", "bfd 10.77.0.1 port 4784", 74, 88100, {{0}, {0}}},
	{"bfd-mixed-bird-frr-start-stop", "bfd 10.78.0.1", 102, 0, {{0}, {0}}},
	{"vrrp-v2-1s", "vrrp 51", 120, 1000360, {{0}, {0}}},
	{"vrrp-v3-100ms", "vrrp 51", 300, 100310, {{0}, {0}}},
	{"vrrp-v3-100ms-unicast-failover", "vrrp 51", 177, 0, {{0}, {0}}},
	{"corosync-knet-token1000", "corosync 10.77.0.2", 25, 600330, {{0}, {0}}},
	{"serf-lan", "memberlist 10.77.0.2", 58, 1018000, {{0}, {0}}},
	{"serf-encrypted", "memberlist 10.77.0.1", 53, 0, {{0}, {0}}},
	{"serf-join-fail", "memberlist 10.77.0.1", 61, 0, {{0}, {0}}},
	{"redis-sentinel-tcp", "ip 10.77.0.1", 60, 0, {{[RULE_PROTO] = "ip", [RULE_PROTOCOL] = "6"}, {0}}},
};

/* Within half a percent: the figures were rounded to three digits. */
static void assert_counted(const struct expected *e)
{
	uint64_t n = 0, first_ns = 0, last_ns = 0, mean_us;

	for (uint64_t i = 0; i < got.n; i++) {
		if (strcmp(got.peers[got.arrivals[i].peer].name, e->peer) != 0)
			continue;
		last_ns = got.arrivals[i].beat.now_ns;
		if (!n++)
			first_ns = last_ns;
	}
	assert_int_equal(n, e->arrivals);
	mean_us = n > 1 ? (last_ns - first_ns) / (n - 1) / 1000 : 0;
	if (e->mean_us)
		assert_in_range(mean_us, e->mean_us - e->mean_us / 200, e->mean_us + e->mean_us / 200);
}

static void a_real_capture(void **state)
{
	const struct expected *e = *state;
	char path[160];
	struct flow f = {.from = path, .options.rule = e->rule};

	snprintf(path, sizeof(path), CAPTURES "%s.pcap", e->file);
	if (access(path, R_OK) < 0) {
		print_message("%s is not there\n", path);
		skip();
	}
	if (run(&f, FORMAT_PCAP))
		fail_msg("%s", f.why);
	assert_int_equal(f.refused, 0);
	flow_free(&f);
	assert_counted(e);
}

/* Captures of others, some of which crashed somebody's parser: whatever comes of them, no harm does. */
static void captures_of_others(void **state)
{
	static const struct rule_text rules[] = {
		{{0}, {0}},
		{{[RULE_PROTO] = "udp"}, {0}},
		{{[RULE_PROTO] = "udp", [RULE_SEQUENCE] = "4:32", [RULE_LEAVE] = "0:00"}, {0}},
		{{[RULE_PROTO] = "ip", [RULE_PROTOCOL] = "1"}, {0}},
		{{[RULE_PROTO] = "vrrp"}, {0}},
		{{[RULE_PROTO] = "bfd"}, {0}},
	};
	uint64_t read = 0;
	glob_t found;

	(void)state;
	glob("../shared/pcap/public/*.pcap*", 0, NULL, &found);
	glob("../shared/pcap/public/*/*", GLOB_APPEND, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		for (size_t k = 0; k < sizeof(rules) / sizeof(*rules); k++) {
			struct flow f = {.from = found.gl_pathv[i], .options.rule = rules[k]};

			run(&f, FORMAT_PCAP);
			read += f.arrivals;
			flow_free(&f);
		}
	}
	if (!found.gl_pathc) {
		print_message("there are no captures in ../shared/pcap/public\n");
		globfree(&found);
		skip();
	}
	assert_true(read > 0);
	globfree(&found);
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
		cmocka_unit_test(every_link),
		cmocka_unit_test(the_newer_format),
		cmocka_unit_test(which_packets),
		cmocka_unit_test(words_that_cannot_be),
		cmocka_unit_test(captures_cut_off_anywhere),
		cmocka_unit_test(captures_with_bits_flipped),
		cmocka_unit_test(text_of_noise),
		cmocka_unit_test(captures_of_others),
	};
	const size_t n = sizeof(captures) / sizeof(*captures);
	struct CMUnitTest *real = calloc(n, sizeof(*real));
	int failed = cmocka_run_group_tests_name("trace convert", tests, trace_room, trace_room_end);

	for (size_t i = 0; real && i < n; i++) {
		real[i] = (struct CMUnitTest)cmocka_unit_test(a_real_capture);
		real[i].name = captures[i].file;
		real[i].initial_state = (void *)&captures[i];
	}
	failed += real ? _cmocka_run_group_tests("real captures", real, n, NULL, NULL) : 1;
	free(real);
	return failed;
}
