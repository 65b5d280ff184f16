/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What fits where on a screen: columns of the table by their importance, and texts cut to a width. */
#ifndef KPHI_TOP_LAYOUT_H
#define KPHI_TOP_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_MODEL 11 /* the longest name of a model; anything narrower has the short form */

enum top_column {
	COLUMN_STATE,
	COLUMN_PEER,
	COLUMN_HOST,
	COLUMN_PHI,
	COLUMN_MODEL,
	COLUMN_HISTORY,
	COLUMN_SILENCE,
	COLUMN_IN,
	COLUMN_MEAN,
	COLUMN_STDDEV,
	COLUMN_LOSS,
	COLUMN_BEATS,
	COLUMN_CONSUMERS,
	COLUMN_REASON,
	COLUMNS,
};

struct layout {
	uint32_t width[COLUMNS]; /* 0: there is no room for it */
	uint32_t used; /* columns of the screen, gaps included */
};

/* What the table has to show beside what every peer has. */
struct layout_wish {
	uint32_t name, host; /* widest, in columns; host 0: nobody has a label */
	bool consumers; /* somebody is suspected by a consumer of the daemon */
};

/*
 * Columns with a blank between, for a screen `width` wide. Where the next most important one no longer fits,
 * none of the less important ones is taken either. State and model have a short form, which is 1 and 4 wide.
 */
struct layout layout_columns(uint32_t width, const struct layout_wish *wish);

/* What stands above a column that is so wide. */
const char *layout_title(enum top_column column, uint32_t width);

/* Is the column one of figures, which stand at its right edge? */
bool layout_is_number(enum top_column column);

/*
 * The text on exactly `width` columns: cut with an ellipsis (~ in ASCII), or filled up with blanks, on the
 * left if `right`. Control characters and what is no UTF-8 are escaped as everywhere (io/utf8.h), and so is,
 * unless `utf8`, everything beyond ASCII. The result is the caller's to free; NULL: no memory.
 */
char *layout_cell(const char *text, uint32_t width, bool right, bool utf8);

/* Joins the first of the n texts that fit, with two blanks between; NULL and "" are passed over. Cuts the
 * very first. */
char *layout_join(const char *const *texts, size_t n, uint32_t width, bool utf8);

/* How wide it is once it is escaped. */
uint32_t layout_width(const char *text, bool utf8);

#endif
