/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The terminal, by way of ncurses: taken over, written a line at a time, and given back as it was on every
 * way out, signals and crashes included.
 */
#ifndef KPHI_TOP_SCREEN_H
#define KPHI_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/why.h"

enum screen_style {
	STYLE_PLAIN,
	STYLE_HEAD,
	STYLE_TITLE, /* of the columns */
	STYLE_ALARM, /* suspect, down; a stall now */
	STYLE_WITHHELD, /* held, blind */
	STYLE_NOTICE, /* degraded, paused */
	STYLE_QUIET, /* nothing is expected of it */
	STYLES,
};

/* Standard input and output are a terminal. 0, or a negative errno with the sentence in `reason`. */
int screen_open(struct why *reason);
void screen_close(void);

bool screen_is_utf8(void); /* may more than ASCII be written? */
void screen_size(uint32_t *height, uint32_t *width);

/* A new picture: begin, any number of lines, show. What is not written is blank. */
void screen_begin(void);
void screen_line(uint32_t line, enum screen_style style, bool selected, const char *text);
void screen_show(void);

/* The cursor is seen behind so many columns of a line until the next picture. */
void screen_cursor(uint32_t line, uint32_t column);

/* Waits for keys until then (CLOCK_MONOTONIC), for a change of size or for the end; false: it is over. */
bool screen_wait(uint64_t until_ns);

/* The next key that has come, as wgetch() has it, or -1. */
int screen_key(void);

/* The signal that ended it, or 0. Raised anew once the screen is closed, it has its usual effect. */
int screen_signal(void);

#endif
