/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One peer in detail: its facts as `kphi peer show` has them, phi over time, and its intervals. */
#ifndef KPHI_TOP_DETAIL_H
#define KPHI_TOP_DETAIL_H

#include "show/view.h"
#include "show/window.h"
#include "top/page.h"
#include "top/sample.h"

/* What was read of it at one look, to be laid out for whatever size the screen has. All zero: nothing yet. */
struct detail {
	uint32_t slot, generation;
	bool there; /* the peer still exists */
	char *facts; /* lines */
	char reason[VIEW_REASON];
	struct histogram histogram;
	uint32_t samples;
};

/* Reads it. One that is busy stays as it was; 0 or -ENOMEM. */
int detail_take(struct detail *d, const struct store *s, const struct top_look *look);
void detail_free(struct detail *d);

void detail_page(struct page *p, const struct detail *d, const struct top_model *m,
		 const struct top_look *look);

#endif
