// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is shown of the daemon's verdict on a peer, and when there is none to show. */
#include "unit/render.h"

#include <stdio.h>

#include "show/verdict.h"

#define NOW  1000ULL
#define LIFE 7

static struct kphi_verdict verdicts[2];
static const struct store store = {.verdicts = verdicts};
static struct kphi_daemon daemon;

static struct view a_view(void)
{
	return (struct view){
		.slot = 1, .now_ns = NOW, .record = {.generation = 3, .epoch = 5}, .daemon = &daemon};
}

static int begin(void **state)
{
	(void)state;
	daemon = (struct kphi_daemon){.starts = LIFE, .consumers = 3};
	snprintf(daemon.consumer[0].name, KPHI_NAME_SIZE, "page");
	snprintf(daemon.consumer[1].name, KPHI_NAME_SIZE, "trial");
	snprintf(daemon.consumer[2].name, KPHI_NAME_SIZE, "failover");
	verdicts[1] = (struct kphi_verdict){.version = 2,
					    .valid_until_ns = NOW + 1,
					    .generation = 3,
					    .epoch = 5,
					    .state = KPHI_VERDICT_SUSPECT,
					    .cause = KPHI_BECAUSE_SILENCE,
					    .consumers = 1,
					    .shadows = 2,
					    .held = 4,
					    .life = LIFE};
	return 0;
}

static void say(struct out *o, const void *context)
{
	out_open_object(o, NULL);
	say_verdict(o, context, true);
	out_close_object(o);
}

static void say_row(struct out *o, const void *context)
{
	out_open_table(o, NULL);
	out_open_row(o);
	out_string(o, "name", "PEER", "db1");
	say_verdict(o, context, false);
	out_close_row(o);
	out_close_table(o);
}

static const char *const nothing =
	"{\"verdict\":null,\"verdict_cause\":null,\"suspected_by\":[],\"held_for\":[],"
	"\"shadow_suspected_by\":[]}\n";

static void a_verdict_is_shown(void **state)
{
	struct view v = a_view();

	(void)state;
	view_daemon(&v, &store, &daemon);
	assert_rendered(OUT_JSON, say, &v,
			"{\"verdict\":\"suspect\",\"verdict_cause\":\"silence\",\"suspected_by\":[\"page\"],"
			"\"held_for\":[\"failover\"],\"shadow_suspected_by\":[\"trial\"]}\n");
	assert_rendered(
		OUT_TEXT, say, &v,
		"verdict of kphi run: suspect\nbecause of: silence\nsuspected by: page\nheld for: failover\n"
		"suspected by the shadow: trial\n");
	assert_rendered(OUT_TEXT, say_row, &v, "PEER\ndb1\n");
}

/* Of one that is trusted there is nothing to say to people. */
static void trust_is_silent(void **state)
{
	struct view v = a_view();

	(void)state;
	verdicts[1].state = KPHI_VERDICT_TRUST;
	verdicts[1].cause = KPHI_BECAUSE_NOTHING;
	verdicts[1].consumers = verdicts[1].held = verdicts[1].shadows = 0;
	view_daemon(&v, &store, &daemon);
	assert_rendered(OUT_JSON, say, &v,
			"{\"verdict\":\"trust\",\"verdict_cause\":null,\"suspected_by\":[],\"held_for\":[],"
			"\"shadow_suspected_by\":[]}\n");
	assert_rendered(OUT_TEXT, say, &v, "");
}

static void assert_none(struct view v, const struct kphi_daemon *alive)
{
	view_daemon(&v, &store, alive);
	assert_null(v.daemon);
	assert_rendered(OUT_JSON, say, &v, nothing);
	assert_rendered(OUT_TEXT, say, &v, "");
}

/* Each time but one thing is wrong with the verdict that was shown above. */
static void what_is_void_is_not_shown(void **state)
{
	struct view v = a_view();

	(void)state;
	assert_none(v, NULL); /* no daemon is alive */
	v.now_ns++; /* it has not been refreshed */
	assert_none(v, &daemon);
	v = a_view();
	v.record.generation++; /* it was on another peer */
	assert_none(v, &daemon);
	v = a_view();
	v.record.epoch++; /* it was on the life before */
	assert_none(v, &daemon);
	daemon.starts++; /* it was of another daemon */
	assert_none(a_view(), &daemon);
	daemon.starts += (1ULL << 32) - 1; /* only the low word is in a verdict */
	v = a_view();
	view_daemon(&v, &store, &daemon);
	assert_ptr_equal(v.daemon, &daemon);
	verdicts[1].version++; /* it is being written */
	assert_none(a_view(), &daemon);
}

static void every_state_and_cause_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i <= KPHI_VERDICT_BLIND; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(verdict_state_name((uint8_t)i),
						verdict_state_name((uint8_t)k));
	assert_null(verdict_cause_name(KPHI_BECAUSE_NOTHING));
	for (int i = 1; i <= KPHI_BECAUSE_MUTE; i++)
		for (int k = 1; k < i; k++)
			assert_string_not_equal(verdict_cause_name((uint8_t)i),
						verdict_cause_name((uint8_t)k));
	/* Of a version that is not this one. */
	assert_string_equal(verdict_state_name(255), "unknown");
	assert_null(verdict_cause_name(255));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_verdict_is_shown, begin),
		cmocka_unit_test_setup(trust_is_silent, begin),
		cmocka_unit_test_setup(what_is_void_is_not_shown, begin),
		cmocka_unit_test_setup(every_state_and_cause_has_a_name, begin),
	};

	return cmocka_run_group_tests_name("show_verdict", tests, NULL, NULL);
}
