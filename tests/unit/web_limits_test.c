// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who is sent away, when, and for whom; on real sockets, because that is how it is done. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "web/limits.h"

#define S    1000000000ULL
#define MANY LIMITS_CONNECTIONS

static struct {
	struct limits limits;
	struct visitor *visitor[MANY];
	int far[MANY]; /* the other end of each */
	uint32_t n;
} room;

static int open_room(void **state)
{
	(void)state;
	room.limits = (struct limits){.connections = LIMITS_CONNECTIONS};
	room.n = 0;
	return 0;
}

static struct visitor *enter(uint64_t now_ns)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	room.far[room.n] = pair[1];
	room.visitor[room.n] = limits_enter(&room.limits, pair[0], now_ns);
	assert_non_null(room.visitor[room.n]);
	return room.visitor[room.n++];
}

/* Does the far end see its connection ended? */
static bool is_ended(uint32_t i)
{
	char byte;

	return recv(room.far[i], &byte, 1, MSG_DONTWAIT) == 0;
}

static int close_room(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < room.n; i++) {
		close(room.visitor[i]->fd);
		close(room.far[i]);
		limits_leave(&room.limits, room.visitor[i]);
	}
	assert_null(room.limits.first);
	assert_null(room.limits.last);
	assert_int_equal(room.limits.count, 0);
	assert_int_equal(room.limits.answers_bytes, 0);
	return 0;
}

static void a_request_has_a_deadline_however_busy_it_is(void **state)
{
	(void)state;
	enter(100 * S);
	limits_check(&room.limits, 100 * S + LIMITS_REQUEST_NS);
	assert_false(is_ended(0));
	limits_check(&room.limits, 100 * S + LIMITS_REQUEST_NS + 1);
	assert_true(is_ended(0));
	assert_int_equal(room.limits.sent_away, 1);
	limits_check(&room.limits, 1000 * S);
	assert_int_equal(room.limits.sent_away, 1);
}

static void an_answer_has_another_and_then_a_new_request_begins(void **state)
{
	struct visitor *v = enter(100 * S);

	(void)state;
	limits_answer(&room.limits, v, 1000, 105 * S);
	limits_check(&room.limits, 105 * S + LIMITS_ANSWER_NS);
	assert_false(is_ended(0));
	assert_int_equal(room.limits.answers_bytes, 1000);
	limits_answered(&room.limits, v, 150 * S);
	assert_int_equal(room.limits.answers_bytes, 0);
	limits_check(&room.limits, 150 * S + LIMITS_REQUEST_NS);
	assert_false(is_ended(0));
	limits_answer(&room.limits, v, 2000, 160 * S);
	limits_check(&room.limits, 160 * S + LIMITS_ANSWER_NS + 1);
	assert_true(is_ended(0));
	assert_int_equal(room.limits.answers_bytes, 0);
}

static void a_stream_may_last(void **state)
{
	(void)state;
	limits_stream(&room.limits, enter(100 * S), 101 * S);
	limits_check(&room.limits, 1000000 * S);
	assert_false(is_ended(0));
}

static void the_oldest_who_still_asks_makes_room(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MANY - LIMITS_RESERVE; i++)
		enter((100 + i) * S);
	limits_answer(&room.limits, room.visitor[0], 10, 1000 * S);
	limits_stream(&room.limits, room.visitor[1], 1000 * S);
	assert_int_equal(room.limits.sent_away, 0);
	enter(1001 * S);
	assert_int_equal(room.limits.sent_away, 1);
	assert_false(is_ended(0));
	assert_false(is_ended(1));
	assert_true(is_ended(2));
	assert_false(is_ended(3));
	/* He who has been answered begins again, and is now the youngest. */
	limits_answered(&room.limits, room.visitor[0], 1002 * S);
	enter(1003 * S);
	assert_true(is_ended(3));
	assert_false(is_ended(0));
	assert_int_equal(room.limits.count, MANY - LIMITS_RESERVE);
}

static void then_the_oldest_reader_does_and_a_stream_never(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MANY - LIMITS_RESERVE; i++) {
		struct visitor *v = enter(100 * S);

		if (i == 7)
			limits_stream(&room.limits, v, 101 * S);
		else
			limits_answer(&room.limits, v, 1, (1000 + i) * S);
	}
	enter(2000 * S);
	assert_int_equal(room.limits.sent_away, 1);
	assert_true(is_ended(0)); /* his answer began first */
	enter(2001 * S);
	assert_true(is_ended(MANY - LIMITS_RESERVE)); /* who asked last but one asks no more than that */
	assert_false(is_ended(7));
}

static void answers_that_wait_are_bounded_together(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		limits_answer(&room.limits, enter(100 * S), LIMITS_ANSWERS_BYTES / 8, (101 + i) * S);
	assert_int_equal(room.limits.sent_away, 2);
	assert_true(is_ended(0) && is_ended(1));
	assert_false(is_ended(2));
	assert_true(room.limits.answers_bytes <= LIMITS_ANSWERS_BYTES);
}

/* Of large answers several may be read at a time, whatever the bound is for small ones. */
static void large_answers_are_given(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LIMITS_ANSWERS; i++)
		limits_answer(&room.limits, enter(100 * S), 3 * (size_t)LIMITS_ANSWERS_BYTES, (101 + i) * S);
	assert_int_equal(room.limits.sent_away, 0);
	limits_answer(&room.limits, enter(100 * S), 3 * (size_t)LIMITS_ANSWERS_BYTES, 200 * S);
	assert_int_equal(room.limits.sent_away, 1);
	assert_true(is_ended(0));
	/* A small one finds them there, and is read first. */
	limits_answer(&room.limits, enter(100 * S), 1000, 201 * S);
	assert_false(is_ended(LIMITS_ANSWERS + 1));
}

/* Whoever goes is out of the count at once, though its owner closes it later. */
static void who_goes_does_nothing_more(void **state)
{
	struct visitor *v = enter(100 * S);

	(void)state;
	limits_send_away(&room.limits, v);
	limits_answer(&room.limits, v, 5000, 101 * S);
	limits_answered(&room.limits, v, 102 * S);
	limits_stream(&room.limits, v, 103 * S);
	limits_send_away(&room.limits, v);
	assert_int_equal(room.limits.answers_bytes, 0);
	assert_int_equal(room.limits.count, 0);
	assert_int_equal(room.limits.sent_away, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_room, close_room)
	const struct CMUnitTest tests[] = {
		TEST(a_request_has_a_deadline_however_busy_it_is),
		TEST(an_answer_has_another_and_then_a_new_request_begins),
		TEST(a_stream_may_last),
		TEST(the_oldest_who_still_asks_makes_room),
		TEST(then_the_oldest_reader_does_and_a_stream_never),
		TEST(answers_that_wait_are_bounded_together),
		TEST(large_answers_are_given),
		TEST(who_goes_does_nothing_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
