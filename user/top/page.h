/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines to be scrolled through: help, and one peer in detail. */
#ifndef KPHI_TOP_PAGE_H
#define KPHI_TOP_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_LINES 256

struct page {
	char *line[PAGE_LINES]; /* each as wide as the screen, ready for it */
	bool heading[PAGE_LINES];
	uint32_t lines, width;
	bool utf8;
};

void page_begin(struct page *p, uint32_t width, bool utf8);
void page_free(struct page *p);

/* Adds a line, cut to the page's width; further ones than PAGE_LINES are dropped. */
void page_add(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_heading(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds as many lines as the text needs, broken between words. */
void page_wrap(struct page *p, const char *text);

/* Adds the lines of both, side by side: as wide as they are, with two blanks between. */
void page_beside(struct page *p, const struct page *left, const struct page *right);

#endif
