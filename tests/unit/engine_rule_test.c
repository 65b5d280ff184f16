// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The engine and peers that are rules: what their packets say takes the place of what a native sender says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/engine_host.h"

static struct engine *watching(uint8_t decoder, uint8_t any_source)
{
	struct engine_config config = config_of(1);
	struct engine *e = engine_new(&config, &callbacks, 1);
	struct kphi_record *r = &host.record[0];

	add_peer(0, SEC, 30);
	strcpy(host.peer[0].host, "rack 7");
	host.peer[0].id.kind = KPHI_ID_RULE;
	host.rule[0] = (struct kphi_rule){.decoder = decoder, .any_source = any_source};
	r->epoch = 0;
	if (decoder == KPHI_DECODER_BFD)
		r->bfd = (struct kphi_bfd){.discriminator = 1, .desired_tx_us = 1000000, .multiplier = 3};
	else
		r->speaker[1] = 1;
	engine_scan(e, BEGIN);
	return e;
}

static void another_interval_is_told(void **state)
{
	struct engine *e = watching(KPHI_DECODER_BFD, 0);
	struct kphi_record *r = &host.record[0];

	(void)state;
	r->bfd.required_rx_us = 5; /* that is another's rhythm */
	r->bfd.state = KPHI_BFD_UP;
	engine_look(e, 0, BEGIN + 1);
	assert_int_equal(host.events, 0);
	r->bfd.desired_tx_us = 50000;
	r->window.interval_ns = 300 * MS;
	engine_look(e, 0, BEGIN + 2);
	engine_look(e, 0, BEGIN + 3);
	assert_int_equal(host.events, 1);
	assert_int_equal(last()->type, EVENT_renegotiated);
	assert_int_equal(last()->interval_ns, 300 * MS);
	assert_string_equal(host.label, "rack 7");
	/* What this host requires is not known: what the sender desires is all there is to tell. */
	r->bfd.desired_tx_us = 10000;
	r->window.interval_ns = 0;
	engine_look(e, 0, BEGIN + 4);
	assert_int_equal(host.events, 2);
	assert_int_equal(last()->interval_ns, 10 * MS);
	engine_free(e);
}

/* A new life has its own interval, and that is no news of the old one; nor is a reset. */
static void a_new_life_renegotiates_nothing(void **state)
{
	struct engine *e = watching(KPHI_DECODER_BFD, 0);
	struct kphi_record *r = &host.record[0];

	(void)state;
	r->epoch = r->restarts = 1;
	r->bfd = (struct kphi_bfd){.discriminator = 2, .desired_tx_us = 50000, .multiplier = 3};
	engine_look(e, 0, BEGIN + 1);
	assert_int_equal(host.events, 1);
	assert_int_equal(last()->type, EVENT_restart);
	*r = (struct kphi_record){.state = KPHI_WAITING, .since_ns = BEGIN + 2};
	engine_look(e, 0, BEGIN + 2);
	*r = (struct kphi_record){.state = KPHI_UP, .last_ns = BEGIN + 3, .since_ns = BEGIN + 3};
	r->bfd = (struct kphi_bfd){.discriminator = 3, .desired_tx_us = 10000, .multiplier = 3};
	engine_look(e, 0, BEGIN + 3);
	assert_int_equal(host.events, 1);
	r->epoch = r->restarts = 1;
	engine_look(e, 0, BEGIN + 4);
	assert_int_equal(count(EVENT_restart), 2);
	engine_free(e);
}

static void another_speaker_is_told(void **state)
{
	struct engine *e = watching(KPHI_DECODER_NONE, 1);
	struct kphi_record *r = &host.record[0];

	(void)state;
	r->speaker[0] = 7;
	engine_look(e, 0, BEGIN + 1);
	engine_look(e, 0, BEGIN + 2);
	assert_int_equal(host.events, 1);
	assert_int_equal(last()->type, EVENT_handover);
	assert_true(last()->speaker[0] == 7 && last()->speaker[1] == 1);
	/* Where the rule names the source, it cannot be another. */
	host.rule[0].any_source = 0;
	r->speaker[0] = 8;
	engine_look(e, 0, BEGIN + 3);
	assert_int_equal(host.events, 1);
	engine_free(e);
}

/* The bytes of a native sender's last message are no speaker and no interval. */
static void natives_say_nothing_of_the_kind(void **state)
{
	struct engine *e = watching(KPHI_DECODER_NONE, 1);

	(void)state;
	engine_free(e);
	begin(NULL);
	e = watching(KPHI_DECODER_NONE, 1);
	host.peer[0].id.kind = KPHI_ID_NATIVE;
	host.record[0].load_average = 99;
	engine_look(e, 0, BEGIN + 1);
	host.record[0].load_average = 100;
	engine_look(e, 0, BEGIN + 2);
	assert_int_equal(host.events, 0);
	engine_free(e);
}

/* Whoever has no epoch is not told of one. */
static void wrong_sequence_numbers_are_told_as_such(void **state)
{
	struct engine *e = watching(KPHI_DECODER_NONE, 0);

	(void)state;
	host.record[0].stale_ns = BEGIN + SEC;
	live(e, BEGIN + 20 * SEC);
	assert_int_equal(host.events, 1);
	assert_int_equal(last()->type, EVENT_suspect);
	assert_non_null(strstr(host.detail, "sequence numbers do not follow each other"));
	assert_null(strstr(host.detail, "epoch"));
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(another_interval_is_told),
		TEST(a_new_life_renegotiates_nothing),
		TEST(another_speaker_is_told),
		TEST(natives_say_nothing_of_the_kind),
		TEST(wrong_sequence_numbers_are_told_as_such),
	};

	return cmocka_run_group_tests_name("engine_rule", tests, NULL, NULL);
}
