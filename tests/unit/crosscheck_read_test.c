// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What other detectors print is read as what it says; what is damaged or somebody else's is refused, with its
 * line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>

#include "io/format.h"
#include "unit/crosscheck_fixture.h"
#include "unit/random.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define MUTATIONS     4000

/* A claim as a line: NAME ADDRESS PORT STATE WORD PHI INCARNATION LINE, - for what is not there. */
static void describe(const struct claim *c, char *text, size_t size)
{
	char address[CLAIM_NAME] = "-";

	if (c->has_address)
		format_address(c->address, address);
	else if (*c->host)
		snprintf(address, sizeof(address), "%s", c->host);
	snprintf(text, size, "%s %s %u %s %s %s %s %u", c->name, address, c->port, claim_state_name(c->state),
		 c->word, *c->phi ? c->phi : "-", *c->incarnation ? c->incarnation : "-", c->line);
}

static void assert_claims(const struct claims *claims, const char *const *expected)
{
	char text[1024];
	uint32_t n = 0;

	for (; expected[n]; n++) {
		assert_true(n < claims->count);
		describe(&claims->claim[n], text, sizeof(text));
		assert_string_equal(text, expected[n]);
	}
	assert_int_equal(claims->count, n);
}

static void assert_fixture(const char *source, const char *name, const char *const *expected)
{
	struct claims claims;
	char why[WHY_SIZE];
	size_t size;
	char *text = fixture(name, &size);

	if (read_text(source, text, size, &claims, why))
		fail_msg("%s: %s", name, why);
	assert_claims(&claims, expected);
	claims_free(&claims);
	free(text);
}

static void assert_read(const char *source, const char *text, const char *const *expected)
{
	struct claims claims;
	char why[WHY_SIZE];

	if (read_text(source, text, strlen(text), &claims, why))
		fail_msg("%s: %s", source, why);
	assert_claims(&claims, expected);
	claims_free(&claims);
}

static void assert_refused(const char *source, const char *text, const char *expected)
{
	struct claims claims;
	char why[WHY_SIZE];

	if (read_text(source, text, strlen(text), &claims, why) != -EINVAL)
		fail_msg("%s took: %s", source, text);
	claims_free(&claims);
	if (!strstr(why, expected))
		fail_msg("%s: \"%s\" rather than \"%s\"", source, why, expected);
}

/* --- each source --- */

static void cassandra_test(void **state)
{
	static const char *const phis[] = {"10.0.0.2 10.0.0.2 0 up phi up to 8 0.42731844 - 2",
					   "10.0.0.3 10.0.0.3 0 suspect phi above 8 11.90216077 - 3",
					   "10.128.250.104 10.128.250.104 0 up phi up to 8 0.00000000 - 4",
					   NULL};
	static const char *const gossip[] = {"10.0.0.2 10.0.0.2 0 unknown NORMAL - 1764464601 1",
					     "10.0.0.3 10.0.0.3 0 left shutdown - 1764464611 10",
					     "db4.example fd00:10::4 7000 unknown NORMAL - 1764464621 15",
					     NULL};
	static const char *const edge[] = {"a a 0 up phi up to 8 8.00000000 - 2",
					   "b b 0 suspect phi above 8 8.00000001 - 3",
					   "10.0.0.4:7000 10.0.0.4 7000 up phi up to 8 0.5 - 4",
					   "0:0:0:0:0:0:0:1 ::1 0 unknown  - - 5", NULL};

	(void)state;
	assert_fixture("cassandra", "cassandra.txt", phis);
	assert_fixture("cassandra", "cassandra_gossip.txt", gossip);
	/* The threshold itself does not convict; a German server's decimals; a phi that is none. */
	assert_read("cassandra",
		    "Endpoint, Phi\na, 8.00000000\nb, 8.00000001\n10.0.0.4:7000, 0,5\n0:0:0:0:0:0:0:1, NaN\n",
		    edge);
}

/* Both outputs in either order: an endpoint that both name is one claim. */
static void cassandra_both_test(void **state)
{
	static const char *const files[] = {"cassandra.txt", "cassandra_gossip.txt"};
	char both[1 << 16], why[WHY_SIZE];
	struct claims claims;

	(void)state;
	for (int order = 0; order < 2; order++) {
		size_t first, second;
		char *a = fixture(files[order], &first), *b = fixture(files[!order], &second);
		uint32_t left = 0, up = 0;

		memcpy(both, a, first);
		both[first] = '\n';
		memcpy(both + first + 1, b, second);
		assert_int_equal(read_text("cassandra", both, first + 1 + second, &claims, why), 0);
		assert_int_equal(claims.count, 4);
		for (uint32_t i = 0; i < claims.count; i++) {
			const struct claim *c = &claims.claim[i];

			if (!strcmp(c->name, "10.0.0.2") && c->state == CLAIM_UP && *c->phi &&
			    *c->incarnation)
				up++;
			if (!strcmp(c->name, "10.0.0.3") && c->state == CLAIM_LEFT && *c->phi &&
			    *c->incarnation)
				left++;
		}
		assert_int_equal(up, 1);
		assert_int_equal(left, 1);
		claims_free(&claims);
		free(a);
		free(b);
	}
}

static void akka_test(void **state)
{
	static const char *const expected[] = {
		"akka://cluster@10.0.0.1:2551 10.0.0.1 2551 up Up - 1116964444 13",
		"akka://cluster@10.0.0.2:2551 10.0.0.2 2551 up WeaklyUp - -1116964445 14",
		"akka://cluster@10.0.0.3:2551 10.0.0.3 2551 suspect unreachable - 1116964446 15",
		"akka://cluster@db4.example:2551 db4.example 2551 left Exiting - 1116964447 16", NULL};
	static const char *const stranger[] = {"pekko://x@[fd00::1]:1 fd00::1 1 suspect unreachable - - 1",
					       NULL};

	(void)state;
	assert_fixture("akka", "akka.json", expected);
	assert_read(
		"akka",
		"{\"members\":[],\"unreachable\":[{\"node\":\"pekko://x@[fd00::1]:1\",\"observedBy\":[]}]}",
		stranger);
}

static void serf_test(void **state)
{
	static const char *const expected[] = {"pn1 10.0.0.1 7946 up alive - - 3",
					       "pn2 10.0.0.2 7946 down failed - - 15", NULL};
	static const char *const none[] = {NULL};

	(void)state;
	assert_fixture("serf", "serf.json", expected);
	assert_read("serf", "{\"members\": null}", none);
	assert_read("serf", " {\"members\": []}\n", none);
}

static void consul_test(void **state)
{
	static const char *const expected[] = {
		"db1 10.0.0.1 8301 up alive - - 1",     "db2 10.0.0.2 8301 down failed - - 2",
		"db3 fd00:10::3 8301 left left - - 3",  "db4 10.0.0.4 8301 up leaving - - 4",
		"db5 10.0.0.5 8301 unknown none - - 5", NULL};

	(void)state;
	assert_fixture("consul", "consul.json", expected);
}

static void frr_test(void **state)
{
	static const char *const expected[] = {"10.0.0.2%eth0 10.0.0.2 0 up up - 871037564 2",
					       "core3 fd00:10::3 0 down down - - 25",
					       "10.0.0.4%eth1 10.0.0.4 0 left down - 9 37",
					       "10.0.0.5 10.0.0.5 0 unknown shutdown - - 47", NULL};

	(void)state;
	assert_fixture("frr", "frr.json", expected);
}

static void bird_test(void **state)
{
	static const char *const expected[] = {"10.0.0.2%eth0 10.0.0.2 0 up Up - - 4",
					       "10.9.9.9 10.9.9.9 0 down Down - - 5",
					       "fd00:10::2%eth0 fd00:10::2 0 up Up - - 6", NULL};
	static const char *const two[] = {"fe80::1:2:3:4%eth0 fe80::1:2:3:4 0 unknown Init - - 3",
					  "10.0.0.9%eth1 10.0.0.9 0 unknown AdminDown - - 6", NULL};
	static const char *const none[] = {NULL};

	(void)state;
	assert_fixture("bird", "bird.txt", expected);
	assert_read("bird",
		    "bfd1:\nIP address  Interface  State  Since  Interval  Timeout\n"
		    "fe80::1:2:3:4 eth0 Init 2026-03-01 12:00:00.125 1.000 0.000\nbfd2:\n"
		    "IP address  Interface  State  Since  Interval  Timeout\n10.0.0.9 eth1 AdminDown "
		    "12:00:00 1.000 0.000\n",
		    two);
	assert_read("bird", "BIRD 2.0.12 ready.\nbfd1: is not up\n", none);
}

static void sentinel_test(void **state)
{
	static const char *const numbered[] = {
		"mymaster 10.0.0.1 6379 up master - 5343230ef5ababb0708d5e145b70e4edc1197b96 2",
		"10.0.0.2:6379 10.0.0.2 6379 up slave - 07f78e9ad268fdd7623576b668cba6b9dbca86e3 42", NULL};
	static const char *const none[] = {NULL};
	struct claims claims;
	char why[WHY_SIZE];
	size_t size;
	char *text = fixture("sentinel_raw.txt", &size);

	(void)state;
	assert_fixture("sentinel", "sentinel_numbered.txt", numbered);
	assert_int_equal(read_text("sentinel", text, size, &claims, why), 0);
	assert_int_equal(claims.count, 3);
	assert_string_equal(claims.claim[0].name, "mymaster");
	assert_int_equal(claims.claim[0].state, CLAIM_UP);
	assert_string_equal(claims.claim[1].word, "s_down,slave,disconnected");
	assert_int_equal(claims.claim[1].state, CLAIM_SUSPECT);
	assert_string_equal(claims.claim[2].word, "s_down,sentinel,disconnected");
	assert_int_equal(claims.claim[2].port, 26379);
	claims_free(&claims);
	free(text);
	assert_read("sentinel", "\n(empty array)\n", none);
}

/* An empty value is a line, too, and not the end. */
static void sentinel_empty_value_test(void **state)
{
	static const char *const expected[] = {"r 10.0.0.2 6379 up slave - - 2",
					       "s 10.0.0.3 0 down o_down - - 12", NULL};

	(void)state;
	assert_read("sentinel",
		    "name\nr\nip\n10.0.0.2\nport\n6379\nrunid\n\nflags\nslave\nname\ns\nip\n10.0.0."
		    "3\nflags\no_down\n",
		    expected);
}

static void jsonl_test(void **state)
{
	static const char *const expected[] = {
		"db1 10.0.0.1 0 up up 0.0123456789012345678 - 1", "db2 - 0 suspect suspect 9.1 - 2",
		"fd00:10::3 fd00:10::3 0 left left - - 4", "db1 - 0 down down - - 5", NULL};
	struct claims claims;
	char why[WHY_SIZE];
	size_t size;
	char *text = fixture("jsonl.jsonl", &size);

	(void)state;
	assert_fixture("jsonl", "jsonl.jsonl", expected);
	assert_int_equal(read_text("jsonl", text, size, &claims, why), 0);
	assert_true(claims.claim[0].time_ns == 1772366400250000000U);
	assert_true(claims.claim[1].time_ns == 1772366401500000000U);
	assert_true(claims.claim[2].time_ns == 1772366402000000000U);
	assert_true(claims.claim[3].time_ns == 0);
	assert_int_equal(claims_keep_last(&claims), 0);
	assert_int_equal(claims.count, 3);
	assert_string_equal(claims.claim[2].name, "db1");
	assert_int_equal(claims.claim[2].state, CLAIM_DOWN);
	claims_free(&claims);
	free(text);
}

/* --- what is refused --- */

static const struct {
	const char *source, *text, *expected;
} cases[] = {
	{"serf", "", "line 1: the JSON is cut off here"},
	{"serf", "[]", "line 1: the document is an array and not an object"},
	{"serf", "{}", "line 1: the object has no \"members\""},
	{"serf", "{\"members\": 7}", "\"members\" is no array"},
	{"serf", "{\"members\": [\n\n7]}", "line 3: object 1: it is a number"},
	{"serf", "{\"members\": [{}]}", "line 1: object 1: \"name\" is missing"},
	{"serf", "{\"members\": [{\"name\":\"\",\"addr\":\"1.2.3.4:5\",\"status\":\"alive\"}]}",
	 "\"name\" is empty"},
	{"serf",
	 "{\"members\": "
	 "[\n{\"name\":\"a\",\"addr\":\"1.2.3.4:5\",\"status\":\"alive\"},\n{\"name\":\"b\",\"addr\":"
	 "\"1.2.3.4:5\",\"status\":\"dead\"}]}",
	 "line 3: object 2: \"status\" is \"dead\""},
	{"serf", "{\"members\": [{\"name\":\"a\",\"addr\":\"1.2.3.4:70000\",\"status\":\"alive\"}]}",
	 "no address with a port"},
	{"serf", "{\"members\": [{\"name\":\"a\\u0000b\",\"addr\":\"1.2.3.4:7\",\"status\":\"alive\"}]}",
	 "has a zero in it"},
	{"serf", "{\"members\": []} x", "something follows its end"},
	{"serf", "Error connecting to Serf agent", "line 1: this is no JSON"},
	{"consul", "[{\"Name\":\"a\",\"Addr\":\"1.2.3.4\",\"Status\":5}]", "\"Status\" is none of"},
	{"consul", "[{\"Name\":\"a\",\"Addr\":\"1.2.3.4\",\"Status\":\"1\"}]", "\"Status\" is none of"},
	{"consul", "[{\"Name\":\"a\",\"Addr\":\"1.2.3.4\",\"Port\":0,\"Status\":1}]", "\"Port\" is no port"},
	{"akka", "{\"selfNode\":\"x\"}", "no \"members\""},
	{"akka", "{\"members\":[{\"node\":\"10.0.0.1:2551\",\"status\":\"Up\"}]}", "not akka://"},
	{"akka", "{\"members\":[{\"node\":\"akka://s@h:1\",\"status\":\"up\"}]}", "none of a member"},
	{"frr", "[{\"peer\":\"h\",\"status\":\"up\"}]", "which is no address"},
	{"frr", "[{\"peer\":\"10.0.0.1\",\"status\":\"UP\"}]", "none of bfdd's"},
	{"frr", "{}", "is an object and not an array"},
	{"bird", "hello", "line 1: before any table"},
	{"bird", "bfd1:\nIP address Interface\n10.0.0.1 eth0 Up\n", "line 3: no session"},
	{"bird", "IP address x\nx eth0 Up 1 2 3\n", "line 2: 'x' is no address"},
	{"bird", "IP address x\n10.0.0.1 eth0 Sideways 1 2 3\n", "is no state"},
	{"bird", "There is no BFD protocol running\n", "before any table"},
	{"cassandra", "hello\n", "line 1: this is neither"},
	{"cassandra", "Endpoint, Phi\nhello\n", "line 2: no line of ENDPOINT, PHI"},
	{"cassandra", "Endpoint, Phi\n10.0.0.1, high\n", "line 2: this is no phi"},
	{"cassandra", "Endpoint, Phi\n10.0.0.1, -1.0\n", "this is no phi"},
	{"cassandra", "  generation:1\n", "this is neither"},
	{"cassandra", "/10.0.0.1\n  nonsense\n", "line 2: no state"},
	{"cassandra", "nodetool: Failed to connect to '127.0.0.1:7199'\n", "line 1"},
	{"sentinel", "ERR No such master with that name\n\n", "redis-cli says"},
	{"sentinel", "(error) ERR x\n", "redis-cli says"},
	{"sentinel", "ip\n10.0.0.1\n", "begins with `name`"},
	{"sentinel", "name\nm\nip\n10.0.0.1\n", "line 2: the instance 'm' has no flags"},
	{"sentinel", "name\nm\nflags\nmaster\n", "has no ip"},
	{"sentinel", "name\nm\nflags\n", "line 3: the reply is cut off"},
	{"sentinel", "1) \"name\n", "line 1: a text that does not end"},
	{"jsonl", "{\"peer\":\"a\",\"state\":\"up\"}\n[]\n", "line 2: the document is an array"},
	{"jsonl", "{\"peer\":\"a\"}", "\"state\" is missing"},
	{"jsonl", "{\"state\":\"up\"}", "\"peer\" is missing"},
	{"jsonl", "{\"peer\":\"a\",\"state\":\"alive\"}", "\"state\" is \"alive\""},
	{"jsonl", "{\"peer\":\"a\",\"state\":\"up\",\"phi\":\"1\"}", "\"phi\" is no number"},
	{"jsonl", "{\"peer\":\"a\",\"state\":\"up\",\"phi\":-1}", "\"phi\" is no number"},
	{"jsonl", "{\"peer\":\"a\",\"state\":\"up\",\"address\":\"host\"}", "no IP address"},
	{"jsonl", "{\"peer\":\"a\",\"state\":\"up\",\"time\":1772366401000}", "neither RFC 3339 nor"},
	{"jsonl", "{\"peer\":\"a\",\"state\":\"up\",\"time\":\"2026-02-30T00:00:00Z\"}",
	 "neither RFC 3339 nor"},
	{"jsonl", "{\"peer\":\"a\",\"state\":\"up\",\"time\":\"2026-02-03T00:00:00\"}",
	 "neither RFC 3339 nor"},
	{"jsonl", "{\"peer\":\"a\",\"state\":\"up\",\"time\":\"2026-02-03T00:00:00+1:00\"}",
	 "neither RFC 3339 nor"},
	{"jsonl", "{\"peer\":\"a\",\"state\":\"up\",\"time\":true}", "\"time\" is true or false"},
};

static void refused_test(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_refused(cases[i].source, cases[i].text, cases[i].expected);
}

static void deep_and_long_test(void **state)
{
	char text[40000];
	size_t length = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		length += (size_t)sprintf(text + length, "[");
	assert_refused("consul", text, "more than 32 containers");
	length = (size_t)sprintf(text, "[{\"Addr\":\"1.2.3.4\",\"Status\":1,\"Name\":\"");
	memset(text + length, 'n', CLAIM_NAME);
	snprintf(text + length + CLAIM_NAME, 4, "\"}]");
	assert_refused("consul", text, "\"Name\" is longer than 255 bytes");
	memset(text, 'x', DOCUMENT_LINE);
	text[DOCUMENT_LINE] = '\0';
	assert_refused("bird", text, "16383 are the most");
}

/* More peers than anybody has are refused before they fill the memory. */
static void many_test(void **state)
{
	static const char line[] = "{\"peer\":\"a\",\"state\":\"up\"}\n";
	size_t size = (sizeof(line) - 1) * (CLAIMS_MAX + 1);
	char *text = malloc(size), why[WHY_SIZE];
	struct claims claims;

	(void)state;
	for (size_t i = 0; i <= CLAIMS_MAX; i++)
		memcpy(text + i * (sizeof(line) - 1), line, sizeof(line) - 1);
	assert_int_equal(read_text("jsonl", text, size, &claims, why), -E2BIG);
	assert_non_null(strstr(why, "line 131073: more than 131072 peers"));
	claims_free(&claims);
	free(text);
}

/* --- damage --- */

static const struct {
	const char *source, *file;
} fixtures[] = {
	{"cassandra", "cassandra.txt"},
	{"cassandra", "cassandra_gossip.txt"},
	{"akka", "akka.json"},
	{"serf", "serf.json"},
	{"consul", "consul.json"},
	{"frr", "frr.json"},
	{"bird", "bird.txt"},
	{"sentinel", "sentinel_raw.txt"},
	{"sentinel", "sentinel_numbered.txt"},
	{"jsonl", "jsonl.jsonl"},
};

/* Either refused, with a line, or read. */
static void assert_handled(const char *source, const char *text, size_t size, uint32_t most)
{
	struct claims claims;
	char why[WHY_SIZE];
	int err = read_text(source, text, size, &claims, why);

	assert_true(claims.count <= most);
	assert_true(err == 0 || err == -EINVAL);
	if (err)
		assert_memory_equal(why, "line ", 5);
	claims_free(&claims);
}

static uint32_t count_claims(const char *source, const char *text, size_t size)
{
	struct claims claims;
	char why[WHY_SIZE];
	uint32_t count;

	assert_int_equal(read_text(source, text, size, &claims, why), 0);
	count = claims.count;
	claims_free(&claims);
	return count;
}

static void truncated_test(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(fixtures); i++) {
		size_t size;
		char *text = fixture(fixtures[i].file, &size);
		uint32_t whole = count_claims(fixtures[i].source, text, size);

		for (size_t cut = 0; cut < size; cut++)
			assert_handled(fixtures[i].source, text, cut, whole);
		free(text);
	}
}

/* JSON that is cut anywhere before its end is never taken for a whole. */
static void truncated_json_test(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(fixtures); i++) {
		struct claims claims;
		char why[WHY_SIZE], *text;
		size_t size;

		if (source_of(fixtures[i].source)->frame.framing != FRAMING_JSON)
			continue;
		text = fixture(fixtures[i].file, &size);
		while (text[size - 1] == '\n')
			size--;
		for (size_t cut = 0; cut < size; cut++) {
			assert_int_equal(read_text(fixtures[i].source, text, cut, &claims, why), -EINVAL);
			claims_free(&claims);
		}
		free(text);
	}
}

static void mutated_test(void **state)
{
	static const char pieces[] = "{}[]\",:\\/%.)( \n\r\t\f\xff\x80"
				     "09azAZ\0-+";
	uint64_t random = 20260301;

	(void)state;
	for (size_t i = 0; i < LENGTH(fixtures); i++) {
		size_t size;
		char *text = fixture(fixtures[i].file, &size), *copy = malloc(size);

		for (int n = 0; n < MUTATIONS; n++) {
			uint64_t changes = 1 + random_below(&random, 4);

			memcpy(copy, text, size);
			while (changes--)
				copy[random_below(&random, size)] =
					pieces[random_below(&random, sizeof(pieces) - 1)];
			assert_handled(fixtures[i].source, copy, size, 1000);
		}
		free(text);
		free(copy);
	}
}

/* Nobody reads what another prints. */
static void foreign_test(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(fixtures); i++) {
		for (size_t k = 0; k < sources_count; k++) {
			struct claims claims;
			char why[WHY_SIZE], *text;
			size_t size;

			if (!strcmp(fixtures[i].source, sources[k].name))
				continue;
			text = fixture(fixtures[i].file, &size);
			if (read_text(sources[k].name, text, size, &claims, why) != -EINVAL)
				fail_msg("%s took %s", sources[k].name, fixtures[i].file);
			claims_free(&claims);
			free(text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cassandra_test),
		cmocka_unit_test(cassandra_both_test),
		cmocka_unit_test(akka_test),
		cmocka_unit_test(serf_test),
		cmocka_unit_test(consul_test),
		cmocka_unit_test(frr_test),
		cmocka_unit_test(bird_test),
		cmocka_unit_test(sentinel_test),
		cmocka_unit_test(sentinel_empty_value_test),
		cmocka_unit_test(jsonl_test),
		cmocka_unit_test(refused_test),
		cmocka_unit_test(deep_and_long_test),
		cmocka_unit_test(many_test),
		cmocka_unit_test(truncated_test),
		cmocka_unit_test(truncated_json_test),
		cmocka_unit_test(mutated_test),
		cmocka_unit_test(foreign_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
