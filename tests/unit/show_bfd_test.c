// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is told of a BFD speaker: RFC 5880's words, and what a BFD would conclude from the same packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "show/bfd.h"
#include "show/peer.h"
#include "unit/render.h"

#define MS  1000000ULL
#define SEC (1000 * MS)
#define NOW (100000 * SEC)

/* A session of 300 ms that is up, last heard 100 ms ago. */
static struct view a_view(void)
{
	struct view v = {
		.peer = {.name = "r1", .id = {.kind = KPHI_ID_RULE, .protocol = 17, .port = KPHI_BFD_PORT}},
		.rule = {.decoder = KPHI_DECODER_BFD},
		.record = {.state = KPHI_UP, .last_ns = NOW - 100 * MS, .since_ns = NOW - 500 * SEC},
		.opinion = {.state = PEER_UP, .judged = true},
		.now_ns = NOW,
		.is_rule = true,
	};

	v.record.bfd = (struct kphi_bfd){
		.discriminator = 1861567363,
		.desired_tx_us = 300000,
		.required_rx_us = 50000,
		.state = KPHI_BFD_UP,
		.multiplier = 3,
	};
	return v;
}

static void every_word_of_the_rfc(void **state)
{
	static const char *const diagnostics[] = {
		"no diagnostic",
		"control detection time expired",
		"echo function failed",
		"neighbor signaled session down",
		"forwarding plane reset",
		"path down",
		"concatenated path down",
		"administratively down",
		"reverse concatenated path down",
	};

	(void)state;
	assert_string_equal(bfd_state_name(0), "AdminDown");
	assert_string_equal(bfd_state_name(1), "Down");
	assert_string_equal(bfd_state_name(2), "Init");
	assert_string_equal(bfd_state_name(3), "Up");
	for (uint8_t i = 0; i < 9; i++)
		assert_string_equal(bfd_diagnostic_name(i), diagnostics[i]);
	for (uint8_t i = 9; i < 32; i++)
		assert_string_equal(bfd_diagnostic_name(i), "reserved");
}

/* FRR's documentation: 3 x max(300, 200) ms are 900. */
static void the_detection_time_is_the_rfc_s(void **state)
{
	struct kphi_bfd b = a_view().record.bfd;
	struct bfd_conclusion c;

	(void)state;
	c = bfd_conclude(&b, 200 * MS, 0);
	assert_true(c.detection_ns == 900 * MS && !c.is_lower_bound);
	c = bfd_conclude(&b, 400 * MS, 0);
	assert_true(c.detection_ns == 1200 * MS && !c.is_lower_bound);
	c = bfd_conclude(&b, 0, 0);
	assert_true(c.detection_ns == 900 * MS && c.is_lower_bound);
	b.multiplier = 255;
	b.desired_tx_us = UINT32_MAX;
	c = bfd_conclude(&b, 0, 0);
	assert_true(c.detection_ns == 255 * (uint64_t)UINT32_MAX * 1000);
}

static void a_silence_is_concluded_from(void **state)
{
	struct kphi_bfd b = a_view().record.bfd;
	struct bfd_conclusion c;

	(void)state;
	c = bfd_conclude(&b, 50 * MS, 900 * MS - 1);
	assert_true(c.verdict == BFD_HOLDS && c.left_ns == 1);
	c = bfd_conclude(&b, 50 * MS, 900 * MS);
	assert_true(c.verdict == BFD_IS_DOWN && c.past_ns == 0);
	c = bfd_conclude(&b, 50 * MS, 2 * SEC);
	assert_true(c.verdict == BFD_IS_DOWN && c.past_ns == 1100 * MS);
	/* A lower bound proves that it holds, and never that it does not. */
	c = bfd_conclude(&b, 0, 900 * MS - 1);
	assert_true(c.verdict == BFD_HOLDS && c.left_ns == 1);
	c = bfd_conclude(&b, 0, 2 * SEC);
	assert_true(c.verdict == BFD_MAY_BE_DOWN && c.past_ns == 1100 * MS);
}

/* Where there is no session, or it owes no packets, no silence ends it. */
static void nothing_is_concluded_of_no_session(void **state)
{
	struct kphi_bfd b = a_view().record.bfd;

	(void)state;
	b.state = KPHI_BFD_INIT;
	assert_int_equal(bfd_conclude(&b, 0, 2 * SEC).verdict, BFD_MAY_BE_DOWN);
	b.state = KPHI_BFD_DOWN;
	assert_int_equal(bfd_conclude(&b, 0, 2 * SEC).verdict, BFD_EXPECTS_NOTHING);
	b.state = KPHI_BFD_ADMIN_DOWN;
	assert_int_equal(bfd_conclude(&b, 0, 2 * SEC).verdict, BFD_EXPECTS_NOTHING);
	b.state = KPHI_BFD_UP;
	b.flags = KPHI_BFD_DEMAND;
	assert_int_equal(bfd_conclude(&b, 0, 2 * SEC).verdict, BFD_EXPECTS_NOTHING);
	b.flags = KPHI_BFD_AUTHENTICATED | KPHI_BFD_INDEPENDENT | KPHI_BFD_POLL | KPHI_BFD_FINAL;
	assert_int_equal(bfd_conclude(&b, 0, 2 * SEC).verdict, BFD_MAY_BE_DOWN);
}

/* --- sentences --- */

static void assert_explained(const struct view *v, const char *expected)
{
	char text[VIEW_REASON];

	view_explain(v, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void a_session_that_is_not_up_is_told(void **state)
{
	struct view v = a_view();

	(void)state;
	assert_explained(&v, "");
	v.record.bfd.state = KPHI_BFD_INIT;
	assert_explained(&v, "its BFD session is not up yet: it hears this end, and waits");
	v.record.bfd.state = KPHI_BFD_DOWN;
	assert_explained(&v, "its BFD session is down (no diagnostic)");
	v.record.bfd.diagnostic = 1;
	assert_explained(&v, "its BFD session is down (control detection time expired): it does not hear "
			     "this end, though this end hears it");
	v.record.bfd.diagnostic = 3;
	assert_explained(&v, "its BFD session is down (neighbor signaled session down): this end had told it "
			     "so");
}

/* Each packet of the other is a new life, and nothing is ever learned of either. */
static void two_sessions_of_one_source_are_told(void **state)
{
	struct view v = a_view();

	(void)state;
	v.record.beats = 15;
	v.record.restarts = 7;
	assert_explained(&v, "");
	v.record.restarts = 8;
	assert_explained(&v,
			 "its discriminator changes all the time: if its source has several sessions, give "
			 "each a peer with `discriminator`");
	v.record.beats = 16;
	assert_explained(&v, "");
}

static void a_goodbye_is_the_operator_s(void **state)
{
	struct view v = a_view();

	(void)state;
	v.record.state = KPHI_LEFT;
	v.record.since_ns = v.record.last_ns;
	v.record.bfd.state = KPHI_BFD_ADMIN_DOWN;
	v.record.bfd.diagnostic = 7;
	v.opinion = (struct opinion){.state = PEER_LEFT, .reason = REASON_LEFT};
	assert_explained(&v, "administratively down by its own operator, who said so 100ms ago");
	v.record.since_ns = NOW - 7200 * SEC;
	assert_explained(&v, "administratively down by its own operator for 2h00m, last said 100ms ago");
	v.opinion = (struct opinion){.state = PEER_WAITING, .reason = REASON_LEFT_EXPIRED};
	assert_explained(&v, "administratively down by its own operator for 2h00m, last said 100ms ago; a "
			     "goodbye is believed for an hour only");
	v.record.bfd.state = KPHI_BFD_UP;
	v.record.bfd.flags = KPHI_BFD_DEMAND;
	assert_explained(&v, "demand mode: packets need not come at intervals, so silence says nothing");
	v.opinion = (struct opinion){.state = PEER_LEFT, .reason = REASON_LEFT};
	assert_explained(&v, "demand mode: packets need not come at intervals, so silence says nothing");
}

/* The union holds something else then. */
static void who_speaks_no_bfd_is_not_read_as_such(void **state)
{
	struct view v = a_view();

	(void)state;
	assert_non_null(view_bfd(&v));
	assert_null(view_speaker(&v));
	v.record.state = KPHI_WAITING;
	assert_null(view_bfd(&v));
	v.record.state = KPHI_UP;
	v.rule.decoder = KPHI_DECODER_NONE;
	assert_null(view_bfd(&v));
	v.rule.decoder = KPHI_DECODER_BFD;
	v.is_rule = false;
	assert_null(view_bfd(&v));
}

/* --- the object --- */

static void say_one(struct out *o, const void *context)
{
	out_open_object(o, NULL);
	say_peer(o, context, SHOW_DETAIL); /* and no siblings */
	out_close_object(o);
}

/* Member `key` of "bfd", as JSON. */
static void assert_member(const struct view *v, const char *key, const char *expected)
{
	char *text = render(OUT_JSON, say_one, v);
	struct json_object *all = parsed(text), *bfd, *member;

	assert_true(json_object_object_get_ex(all, "bfd", &bfd));
	assert_true(json_object_object_get_ex(bfd, key, &member));
	assert_string_equal(json_object_to_json_string(member), expected);
	json_object_put(all);
	free(text);
}

static void json_has_it_all(void **state)
{
	struct view v = a_view();

	(void)state;
	assert_member(&v, "state", "\"Up\"");
	assert_member(&v, "diagnostic", "\"no diagnostic\"");
	assert_member(&v, "diagnostic_code", "0");
	assert_member(&v, "demand", "false");
	assert_member(&v, "multiplier", "3");
	assert_member(&v, "desired_min_tx_ns", "300000000");
	assert_member(&v, "required_min_rx_ns", "50000000");
	assert_member(&v, "local_rx_ns", "null");
	assert_member(&v, "discriminator", "1861567363");
	assert_member(&v, "detection_time_ns", "900000000");
	assert_member(&v, "detection_time_is_lower_bound", "true");
	assert_member(&v, "would_be_down", "false");
	assert_member(&v, "down_for_at_most_ns", "null");
	assert_member(&v, "conclusion", "\"up, for at least another 800ms if nothing arrives\"");
	v.rule.local_rx_ns = 500 * MS;
	assert_member(&v, "local_rx_ns", "500000000");
	assert_member(&v, "detection_time_is_lower_bound", "false");
	assert_member(&v, "conclusion", "\"up, for another 1.4s if nothing arrives\"");
	v.now_ns += 2 * SEC;
	assert_member(&v, "would_be_down", "true");
	assert_member(&v, "down_for_at_most_ns", "600000000");
	assert_member(&v, "conclusion", "\"down, for 600ms\"");
	v.rule.local_rx_ns = 0;
	assert_member(&v, "would_be_down", "null");
	assert_member(&v, "down_for_at_most_ns", "1200000000");
	assert_member(&v, "conclusion",
		      "\"maybe down, for 1.2s at the earliest: what this end requires is not known "
		      "(`local-rx`)\"");
}

/* Native senders have none, and neither has who was not heard. Their load is no BFD, and its bytes no load.
 */
static void json_has_nothing_made_up(void **state)
{
	struct view v = a_view();
	char *text;

	(void)state;
	text = render(OUT_JSON, say_one, &v);
	assert_non_null(strstr(text, "\"load_average\":null,\"available_capacity\":null,\"cluster_version\":"
				     "null"));
	assert_non_null(strstr(text, "\"lost\":null"));
	assert_non_null(strstr(text, "\"speaker\":null"));
	json_object_put(parsed(text));
	free(text);
	v.record.state = KPHI_WAITING;
	text = render(OUT_JSON, say_one, &v);
	assert_non_null(strstr(text, "\"bfd\":null"));
	free(text);
	v = a_view();
	v.is_rule = false;
	v.peer.id.kind = KPHI_ID_NATIVE;
	text = render(OUT_JSON, say_one, &v);
	assert_non_null(strstr(text, "\"bfd\":null"));
	assert_non_null(strstr(text, "\"cluster_version\":1288"));
	assert_non_null(strstr(text, "\"lost\":0"));
	free(text);
}

static void people_read_the_same(void **state)
{
	struct view v = a_view();
	char *text = render(OUT_TEXT, say_one, &v);

	(void)state;
	assert_non_null(strstr(text,
			       "BFD, as it said last:\n  session state: Up\n  diagnostic: no diagnostic\n"
			       "  detection multiplier: 3\n  desired min tx interval: 300ms\n"
			       "  required min rx interval: 50ms\n  discriminator: 1861567363\n"
			       "  detection time, at least: 900ms\n"
			       "  BFD would conclude: up, for at least another 800ms if nothing arrives\n"));
	assert_null(strstr(text, "load average"));
	assert_null(strstr(text, "epoch"));
	assert_null(strstr(text, "sequence"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_of_the_rfc),
		cmocka_unit_test(the_detection_time_is_the_rfc_s),
		cmocka_unit_test(a_silence_is_concluded_from),
		cmocka_unit_test(nothing_is_concluded_of_no_session),
		cmocka_unit_test(a_session_that_is_not_up_is_told),
		cmocka_unit_test(two_sessions_of_one_source_are_told),
		cmocka_unit_test(a_goodbye_is_the_operator_s),
		cmocka_unit_test(who_speaks_no_bfd_is_not_read_as_such),
		cmocka_unit_test(json_has_it_all),
		cmocka_unit_test(json_has_nothing_made_up),
		cmocka_unit_test(people_read_the_same),
	};

	return cmocka_run_group_tests_name("show_bfd", tests, NULL, NULL);
}
