// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whom do they mean? By name, by host label, by address; and then every stream of that host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/match.h"
#include "io/parse.h"
#include "unit/random.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct match_peer peer(const char *name, const char *host, const char *address)
{
	struct match_peer p = {0};
	char ignored[1];

	claim_put(p.name, sizeof(p.name), name);
	claim_put(p.host, sizeof(p.host), host);
	p.has_address = address && !parse_address(address, p.address, ignored, sizeof(ignored));
	return p;
}

static struct claim claim(const char *name, const char *endpoint)
{
	struct claim c = {0};

	claim_put(c.name, sizeof(c.name), name);
	if (endpoint)
		assert_true(claim_set_endpoint(&c, endpoint));
	return c;
}

static void assert_found(struct match *m, const struct claim *c, const char *expected)
{
	char names[256] = "";
	uint32_t count;
	const uint32_t *found = match_claim(m, c, &count);

	for (uint32_t i = 0; i < count; i++)
		sprintf(names + strlen(names), "%s%s", i ? " " : "", m->peer[found[i]].name);
	assert_string_equal(names, expected);
}

static void assert_matched(struct match *m, const char *name, const char *endpoint, const char *expected)
{
	struct claim c = claim(name, endpoint);

	assert_found(m, &c, expected);
}

/* As FRR and BIRD say it of a session. */
static void assert_path(struct match *m, const char *address, const char *expected)
{
	struct claim c = claim(address, address);

	c.path = true;
	assert_found(m, &c, expected);
}

static void matching_test(void **state)
{
	struct match_peer peers[] = {
		peer("db1-bfd", "db1", "10.0.0.1"), peer("db1-gossip", "DB1", "10.1.0.1"),
		peer("db1-app", "db1", NULL),       peer("db2", "", "10.0.0.2"),
		peer("r3", "", "fd00::3"),          peer("r3b", "", "fd00::3"),
		peer("10.0.0.9", "", NULL),
	};
	struct match m;

	(void)state;
	assert_int_equal(match_begin(&m, peers, LENGTH(peers)), 0);
	assert_matched(&m, "db2", NULL, "db2");
	assert_matched(&m, "DB2", NULL, "db2");
	assert_matched(&m, "db1", NULL, "db1-bfd db1-gossip db1-app");
	assert_matched(&m, "other", "10.0.0.2:7946", "db2");
	assert_matched(&m, "other", "10.1.0.1", "db1-gossip db1-bfd db1-app");
	assert_matched(&m, "db1-app", "10.0.0.1", "db1-app db1-bfd db1-gossip");
	assert_matched(&m, "x", "[fd00::3]:1", "r3 r3b");
	assert_matched(&m, "akka://s@db2:1", "db2:1", "db2");
	assert_matched(&m, "10.0.0.9", NULL, "10.0.0.9");
	assert_matched(&m, "nobody", "10.0.0.77", "");
	assert_path(&m, "10.1.0.1", "db1-gossip");
	assert_path(&m, "fd00::3", "r3 r3b");
	assert_path(&m, "10.0.0.9", "10.0.0.9"); /* by name, for nobody comes from there */
	assert_matched(&m, "", NULL, "");
	match_end(&m);
}

static void nobody_test(void **state)
{
	struct match m;

	(void)state;
	assert_int_equal(match_begin(&m, NULL, 0), 0);
	assert_matched(&m, "db1", "10.0.0.1", "");
	match_end(&m);
}

/* The indices against a look at all of them. */
static bool is_direct(const struct match_peer *p, const struct claim *c)
{
	return !strcasecmp(p->name, c->name) || (*c->host && !strcasecmp(p->name, c->host)) ||
	       (*p->host && (!strcasecmp(p->host, c->name) || (*c->host && !strcasecmp(p->host, c->host)))) ||
	       (p->has_address && c->has_address && !memcmp(p->address, c->address, 16));
}

static void random_test(void **state)
{
	struct match_peer peers[40];
	uint64_t random = 11;

	(void)state;
	for (int n = 0; n < 2000; n++) {
		uint32_t count = (uint32_t)random_below(&random, LENGTH(peers)), found_count, wanted = 0;
		const uint32_t *found;
		struct claim c;
		struct match m;
		char name[16], address[32];

		for (uint32_t i = 0; i < count; i++) {
			char host[16] = "";

			sprintf(name, "%c%d", random_below(&random, 2) ? 'n' : 'N',
				(int)random_below(&random, 20));
			if (random_below(&random, 2))
				sprintf(host, "h%d", (int)random_below(&random, 6));
			sprintf(address, "10.0.0.%d", (int)random_below(&random, 20));
			peers[i] = peer(name, host, random_below(&random, 2) ? address : NULL);
		}
		assert_int_equal(match_begin(&m, peers, count), 0);
		sprintf(name, "%c%d", random_below(&random, 2) ? 'n' : 'h', (int)random_below(&random, 20));
		sprintf(address, "10.0.0.%d", (int)random_below(&random, 20));
		c = claim(name, random_below(&random, 2) ? address : NULL);
		found = match_claim(&m, &c, &found_count);
		for (uint32_t i = 0; i < count; i++) {
			bool direct = is_direct(&peers[i], &c), listed = false;

			for (uint32_t k = 0; k < count && !direct; k++)
				direct = *peers[i].host && !strcasecmp(peers[i].host, peers[k].host) &&
					 is_direct(&peers[k], &c);
			for (uint32_t k = 0; k < found_count; k++)
				listed |= found[k] == i;
			assert_int_equal(listed, direct);
			wanted += direct;
		}
		assert_int_equal(found_count, wanted);
		match_end(&m);
	}
}

static void endpoints_test(void **state)
{
	static const char *const wrong[] = {"",     "10.0.0.1:", "10.0.0.1:0",   "10.0.0.1:65536",
					    "[::1", "[::1]x",    "[10.0.0.1.2]", "[]:1",
					    ":1",   "1:2:3",     "::1::2",       "h:x"};
	struct claim c;

	(void)state;
	for (size_t i = 0; i < LENGTH(wrong); i++) {
		c = (struct claim){0};
		if (claim_set_endpoint(&c, wrong[i]))
			fail_msg("%s was taken", wrong[i]);
	}
	c = claim("x", "[fe80::1%eth0]:7946");
	assert_true(c.has_address);
	assert_int_equal(c.port, 7946);
	c = claim("x", "fe80::1%eth0");
	assert_true(c.has_address);
	assert_int_equal(c.port, 0);
	c = claim("x", "db1.example:2551");
	assert_false(c.has_address);
	assert_string_equal(c.host, "db1.example");
	assert_int_equal(c.port, 2551);
}

/* A name is cut between characters, never in one. */
static void put_test(void **state)
{
	char field[6];

	(void)state;
	claim_put(field, sizeof(field), "abcdefgh");
	assert_string_equal(field, "abcde");
	claim_put(field, sizeof(field), "abcd\xc3\xa4x");
	assert_string_equal(field, "abcd");
	claim_put(field, sizeof(field), "abc\xc3\xa4x");
	assert_string_equal(field, "abc\xc3\xa4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matching_test), cmocka_unit_test(nobody_test),
		cmocka_unit_test(random_test),   cmocka_unit_test(endpoints_test),
		cmocka_unit_test(put_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
