// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whose name a browser may know us by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "web/host_header.h"

static const struct {
	const char *value;
	bool is_ours;
} table[] = {
	{"127.0.0.1", true},
	{"127.0.0.1:7441", true},
	{"192.0.2.17:80", true},
	{"[::1]", true},
	{"[::1]:7441", true},
	{"[fe80::1%eth0]:7441", true},
	{"[::ffff:192.0.2.1]:1", true},
	{"localhost", true},
	{"LocalHost:7441", true},
	{"localhost.:7441", true},
	{"node7.example.org", true},
	{"NODE7.example.org:7441", true},
	{"node7", true},
	{"node7.:1", true},
	{"kphi.example.net", true},
	{"watch:9", true},
	{"", false},
	{":7441", false},
	{".", false},
	{"evil.example", false},
	{"evil.example:7441", false},
	{"localhost.evil.example", false},
	{"evil.localhost", false},
	{"node7.example.org.evil.example", false},
	{"node7.evil.example", false},
	{"node", false},
	{"example.org", false},
	{"kphi.example.ne", false},
	{"kphi.example.net, watch", false},
	{"watc", false},
	{"127.0.0.1.evil.example", false},
	{"127.0.0.1:evil", false},
	{"127.0.0.1:744100", false},
	{"127.1", false}, /* no browser sends it, and a name could look like it */
	{"2130706433", false},
	{"0x7f.0.0.1", false},
	{"::1", false},
	{"[::1", false},
	{"[::1]evil", false},
	{"[::1]:evil", false},
	{"[]", false},
	{"[evil]", false},
	{"[127.0.0.1]", false},
	{"localhost@evil.example", false},
	{"localhost/", false},
	{" localhost", false},
};

static void names_and_addresses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		bool got =
			host_header_is_ours(table[i].value, "node7.example.org", "kphi.example.net, watch");

		if (got != table[i].is_ours)
			print_error("%s\n", table[i].value);
		assert_int_equal(got, table[i].is_ours);
	}
}

/* HTTP/1.0 without it comes from no browser. */
static void none_is_fine(void **state)
{
	(void)state;
	assert_true(host_header_is_ours(NULL, "node7", NULL));
}

static void without_further_names(void **state)
{
	(void)state;
	assert_true(host_header_is_ours("node7", "node7", NULL));
	assert_false(host_header_is_ours("watch", "node7", NULL));
	assert_false(host_header_is_ours("watch", "node7", ""));
	assert_false(host_header_is_ours("watch", "", ",, ,"));
	assert_true(host_header_is_ours("watch", "", ",, ,watch"));
}

static void long_ones_are_refused(void **state)
{
	char name[1000];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_false(host_header_is_ours(name, "node7", NULL));
	assert_false(host_header_is_ours(name, name, name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_addresses),
		cmocka_unit_test(none_is_fine),
		cmocka_unit_test(without_further_names),
		cmocka_unit_test(long_ones_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
