/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The event that tests of lines and of their readers say. Include after cmocka.h. */
#ifndef KPHI_TESTS_UNIT_SUSPICION_H
#define KPHI_TESTS_UNIT_SUSPICION_H

#include <string.h>

#include "core/event.h"

#define SECOND 1000000000ULL

static const struct event suspect = {
	.type = EVENT_suspect,
	.cause = CAUSE_SILENCE,
	.now_ns = 5 * SECOND,
	.slot = 3,
	.generation = 7,
	.epoch = 1700000000,
	.peer = "db1",
	.consumer = "page",
	.model = KPHI_MODEL_NORMAL,
	.judged = 1,
	.phi = 8 * Q32_ONE + Q32_ONE / 2,
	.threshold = 8 * Q32_ONE,
	.silence_ns = 812000000,
	.since_ns = 5 * SECOND,
	.token = (3ULL << 40) + 9,
};

static inline void assert_begins(const char *text, const char *with)
{
	assert_int_equal(strncmp(text, with, strlen(with)), 0);
}

#endif
