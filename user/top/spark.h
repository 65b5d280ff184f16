/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Phi drawn with characters: eighths of a block in a UTF-8 locale, ASCII elsewhere. */
#ifndef KPHI_TOP_SPARK_H
#define KPHI_TOP_SPARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPARK_FULL      8 /* the phi from which on a sparkline is full: POLICY_SUSPECT */
#define SPARK_CELL      3 /* bytes of the longest character */
#define SPARK_SIZE(n)   ((n)*SPARK_CELL + 1)
#define SPARK_CHART_MAX 256 /* columns */

/*
 * One character for each of n values as struct top_past keeps them, of SPARK_SIZE(n) bytes. Its height is
 * phi, in steps of an eighth of SPARK_FULL; only what has reached that is a whole block. Nothing is a blank.
 */
char *spark_line(const uint8_t *phi, size_t n, bool utf8, char *text);

/*
 * One line of a chart, of `rows` lines in all, line 0 being the topmost: `top` is the phi (whole) that fills
 * the highest column. Of SPARK_SIZE(n) bytes.
 */
char *spark_chart_line(const uint8_t *phi, size_t n, uint32_t top, uint32_t row, uint32_t rows, bool utf8,
		       char *text);

/* The least top that shows all of them, and the threshold: SPARK_FULL, or the highest phi rounded up. */
uint32_t spark_chart_top(const uint8_t *phi, size_t n);

#endif
