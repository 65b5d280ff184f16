/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When to say that sending to one destination fails. Beats go out many times a second and a cable may stay
 * unplugged for hours, so: the first failure and a new reason at once (but no two lines within a second), the
 * same reason once a minute, and the end of it when ten seconds have passed without a failure.
 */
#ifndef KPHI_BEAT_TROUBLE_H
#define KPHI_BEAT_TROUBLE_H

#include <stdint.h>

struct trouble {
	uint64_t errors; /* in all */
	uint64_t unsaid; /* of these, since the last line */
	int error; /* errno of the latest one */
	int said_error; /* what the last line was about; 0 before the first and when it is over */
	uint64_t failed_ns; /* when the latest one was */
	uint64_t said_ns; /* when the last line was; 0 before the first */
};

enum trouble_news {
	TROUBLE_NOTHING, /* nothing to say now */
	TROUBLE_FAILS, /* say `error` and `unsaid` */
	TROUBLE_OVER, /* say that sending works again */
};

/* Notes how a send at `now_ns` ended, `error` being an errno or 0, and tells what is worth a line. */
enum trouble_news trouble_note(struct trouble *trouble, int error, uint64_t now_ns);

/* The line was written. Without this call it stays due. */
void trouble_said(struct trouble *trouble, enum trouble_news news, uint64_t now_ns);

#endif
