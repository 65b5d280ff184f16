/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pictures of `kphi top`. */
#ifndef KPHI_TOP_DRAW_H
#define KPHI_TOP_DRAW_H

#include "top/detail.h"

struct picture {
	const struct top_model *model;
	const struct top_look *look;
	const struct detail *detail; /* NULL: the table */
	const char *missing; /* why there is no store, or NULL */
	uint64_t interval_ns;
	bool help, paused, editing;
	bool cursor_shown; /* a row is selected */
	uint32_t cursor, first; /* among the rows shown; first: at the top of the screen, or of the page */
};

/* Rows of the table that the screen has room for; lines of a page. At least 1. */
uint32_t draw_room(bool page);

/* Draws it. Returns how many lines the page has, 0 for the table. */
uint32_t draw(const struct picture *p);

#endif
