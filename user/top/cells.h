/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a row says in each column, and what stands above the table. */
#ifndef KPHI_TOP_CELLS_H
#define KPHI_TOP_CELLS_H

#include "top/layout.h"
#include "top/sample.h"

/* Room for any cell. */
#define CELL_SIZE 512

/* The word that people read as its state: "muted" if nothing is to be concluded from it. */
const char *cell_state(const struct top_row *row);

/* The text of one column; `width` decides between the short form and the long. Returns `text`. */
char *cell_text(const struct top_model *m, const struct top_look *look, const struct top_row *row,
		enum top_column column, uint32_t width, bool utf8, char text[CELL_SIZE]);

/* Phi in seven columns at most. Returns `text`. */
char *cell_phi(const struct top_row *row, char text[CELL_SIZE]);

/* What the table has to show: the widest names among the rows from `first` on, so many of them. */
struct layout_wish cells_wish(const struct top_model *m, uint32_t first, uint32_t count, bool utf8);

/* The facts above the table, in order of importance: text each, "" for one that is missing. */
enum top_head { HEAD_SUSPECT, HEAD_HELD, HEAD_BLIND, HEAD_PEERS, HEAD_HOST, HEADS };
void cells_head(const struct top_model *m, const struct top_look *look, char head[HEADS][CELL_SIZE]);

/* "daemon 4711" or "no daemon". Returns `text`. */
char *cell_daemon(const struct top_look *look, char text[CELL_SIZE]);

#endif
