/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Aligned columns of text. The cells are kept as one string of bytes until the table is printed, because only
 * then it is known how wide a column has to be.
 */
#ifndef KPHI_IO_TABLE_H
#define KPHI_IO_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct table;

struct table *table_new(void); /* NULL: no memory */
void table_free(struct table *table); /* NULL is fine */

/*
 * A cell of the present row, in the column of that title; the first use of a title adds the column. The first
 * cell that is not missing decides: a column of numbers is aligned to the right. Cells that follow each other
 * under one title share it, with a comma between them. A row without a cell for a column shows "-" there.
 */
enum table_cell { TABLE_STRING, TABLE_NUMBER, TABLE_MISSING };
void table_cell(struct table *table, const char *title, const char *text, enum table_cell kind);
void table_end_row(struct table *table);

bool table_is_empty(const struct table *table); /* nothing to print */

/* 0 or -ENOMEM; errors of `to` are left there for ferror(). */
int table_print(struct table *table, FILE *to, unsigned int indent);

#endif
