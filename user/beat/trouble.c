/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "beat/trouble.h"

#define SECOND_NS      1000000000ULL
#define NEW_REASON_NS  SECOND_NS
#define SAME_REASON_NS (60 * SECOND_NS)
#define OVER_NS        (10 * SECOND_NS)

enum trouble_news trouble_note(struct trouble *trouble, int error, uint64_t now_ns)
{
	uint64_t wait_ns = error == trouble->said_error ? SAME_REASON_NS : NEW_REASON_NS;

	if (!error) {
		if (!trouble->said_error || now_ns - trouble->failed_ns < OVER_NS)
			return TROUBLE_NOTHING;
		return TROUBLE_OVER;
	}
	trouble->errors++;
	trouble->unsaid++;
	trouble->error = error;
	trouble->failed_ns = now_ns;
	if (trouble->said_ns && now_ns - trouble->said_ns < wait_ns)
		return TROUBLE_NOTHING;
	return TROUBLE_FAILS;
}

void trouble_said(struct trouble *trouble, enum trouble_news news, uint64_t now_ns)
{
	trouble->said_error = news == TROUBLE_FAILS ? trouble->error : 0;
	trouble->said_ns = now_ns;
	trouble->unsaid = 0;
}
