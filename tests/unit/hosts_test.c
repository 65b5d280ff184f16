// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Streams put together by their host, and what they say of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/hosts.h"
#include "unit/random.h"

static void hosts_come_as_they_appear(void **state)
{
	static const char *const labels[] = {"", "b", "a", "", "b", "c", "a", "", "b"};
	static const uint32_t expected[] = {0, 1, 4, 8, 2, 6, 3, 5, 7};
	struct host_stream streams[9];

	(void)state;
	for (uint32_t i = 0; i < 9; i++) {
		streams[i].slot = i;
		snprintf(streams[i].host, sizeof(streams[i].host), "%s", labels[i]);
	}
	hosts_arrange(streams, 9);
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(streams[i].slot, expected[i]);
	hosts_arrange(streams, 0);
}

/* Whatever the labels: nobody is lost, each host is in one piece, and pieces and their parts are in order. */
static void many_hosts(void **state)
{
	const uint32_t n = 100000;
	struct host_stream *streams = calloc(n, sizeof(*streams));
	bool *seen = calloc(n, sizeof(*seen));
	uint64_t random = 5;

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t label = random_below(&random, 30000);

		streams[i].slot = i;
		if (label)
			snprintf(streams[i].host, sizeof(streams[i].host), "host %u", (unsigned int)label);
	}
	hosts_arrange(streams, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct host_stream *here = &streams[i], *before = i ? here - 1 : NULL;

		assert_false(seen[here->slot]);
		seen[here->slot] = true;
		if (before && *here->host && !strcmp(here->host, before->host)) {
			assert_int_equal(here->place, before->place);
			assert_true(here->slot > before->slot);
		} else {
			assert_int_equal(here->place, here->slot);
			assert_true(!before || here->place > before->place);
		}
	}
	free(seen);
	free(streams);
}

static void assert_summary(const struct host_summary *s, const char *expected)
{
	char text[HOST_SUMMARY];

	assert_string_equal(host_summary_text(s, text), expected);
}

static void a_host_in_one_line(void **state)
{
	struct host_summary s = {0};

	(void)state;
	assert_summary(&s, "");
	host_summary_add(&s, "gossip", HOST_SILENT);
	assert_summary(&s, "silent by gossip");
	host_summary_add(&s, "bfd", HOST_AUDIBLE);
	assert_summary(&s, "audible by bfd, silent by gossip");
	host_summary_add(&s, "nic2", HOST_AUDIBLE);
	host_summary_add(&s, "vrrp", HOST_LEFT);
	host_summary_add(&s, "beat", HOST_DOWN);
	host_summary_add(&s, "new", HOST_UNHEARD);
	assert_summary(&s, "audible by bfd and nic2, silent by gossip, declared down by beat, left by vrrp, "
			   "not heard yet by new");
}

/* However many streams, and however long their names: there is room for what is said of them. */
static void a_host_of_many_streams(void **state)
{
	char name[KPHI_NAME_SIZE], text[HOST_SUMMARY];
	struct host_summary *s = calloc(1, sizeof(*s));

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int word = 0; word < HOST_WORDS; word++)
		for (int i = 0; i < 1000; i++)
			host_summary_add(s, name, (enum host_word)word);
	host_summary_text(s, text);
	assert_non_null(strstr(text, "not heard yet by"));
	assert_string_equal(text + strlen(text) - strlen(" and 992 more"), " and 992 more");
	s->count[HOST_UNHEARD] = UINT32_MAX;
	assert_true(strlen(host_summary_text(s, text)) < sizeof(text) - 1);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_come_as_they_appear),
		cmocka_unit_test(many_hosts),
		cmocka_unit_test(a_host_in_one_line),
		cmocka_unit_test(a_host_of_many_streams),
	};

	return cmocka_run_group_tests_name("hosts", tests, NULL, NULL);
}
