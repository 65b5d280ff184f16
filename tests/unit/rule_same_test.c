// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which rules are the same, and which only share their packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <net/if.h>

#include "unit/rule_words.h"

static void identities(void **state)
{
	static const char *const distinct[] = {
		"from 10.0.0.1 port 9",
		"from 10.0.0.2 port 9",
		"from 10.0.0.1 port 10",
		"from 10.0.0.1 port 9 match 0:01",
		"from 10.0.0.1 port 9 match 0:02",
		"from 10.0.0.1 port 9 match 1:02",
		"from 10.0.0.1 port 9 match 0:02/0f",
		"from 10.0.0.1 port 9 match 0:01 match 1:02",
		"from 10.0.0.1 port 9 dev eth0",
		"from 10.0.0.1 port 9 dev eth1",
		"from :: port 9 match 0:01",
		"proto udp port 9 match 0:01",
		"proto ip protocol 9 from 10.0.0.1",
		"proto vrrp vrid 1",
		"proto vrrp vrid 2",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(distinct); i++) {
		for (size_t k = 0; k < LENGTH(distinct); k++) {
			struct made a = make(distinct[i]), b = make(distinct[k]);
			int order = rule_compare_identity(&a.peer, &a.rule, &b.peer, &b.rule);
			int back = rule_compare_identity(&b.peer, &b.rule, &a.peer, &a.rule);

			assert_int_equal(!order, i == k);
			assert_int_equal(order > 0, back < 0);
		}
	}
}

/* The store's own numbers are nothing to it; all that is asked of a packet is. */
static void the_same_rule(void **state)
{
	struct made a = make("from 10.0.0.1 port 9 dev eth0"), b = a;
	struct made ttl = make("from 10.0.0.1 port 9 dev eth0 ttl 255");
	struct made sequence = make("from 10.0.0.1 port 9 dev eth0 sequence 0:16");

	(void)state;
	b.peer.id.shape = 3;
	b.peer.id.device = 17;
	b.peer.id.match[0] = 1;
	assert_true(rule_is_same(&a.peer, &a.rule, &b.peer, &b.rule));
	assert_int_equal(rule_compare_identity(&a.peer, &a.rule, &ttl.peer, &ttl.rule), 0);
	assert_false(rule_is_same(&a.peer, &a.rule, &ttl.peer, &ttl.rule));
	assert_false(rule_is_same(&a.peer, &a.rule, &sequence.peer, &sequence.rule));
}

static void devices_are_found_by_name(void **state)
{
	struct made here = make("from 10.0.0.1 port 9 dev lo"),
		    a = make("from 10.0.0.1 port 9 dev no-such-dev1");
	struct made b = make("from 10.0.0.1 port 9 dev no-such-dev2"), none = make("from 10.0.0.1 port 9");

	(void)state;
	assert_true(rule_find_device(&here.peer, &here.rule));
	assert_int_equal(here.peer.id.device, if_nametoindex("lo"));
	assert_true(rule_find_device(&none.peer, &none.rule));
	assert_int_equal(none.peer.id.device, 0);
	assert_false(rule_find_device(&a.peer, &a.rule));
	assert_false(rule_find_device(&b.peer, &b.rule));
	assert_true(a.peer.id.device > INT32_MAX);
	assert_int_not_equal(a.peer.id.device, b.peer.id.device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identities),
		cmocka_unit_test(the_same_rule),
		cmocka_unit_test(devices_are_found_by_name),
	};

	return cmocka_run_group_tests_name("rule_same", tests, NULL, NULL);
}
