/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Strings of unknown bytes on their way to a terminal. */
#ifndef KPHI_IO_UTF8_H
#define KPHI_IO_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The code point at the start of `bytes` and how many bytes it takes; 0 if they are no UTF-8: overlong, a
 * surrogate, beyond U+10FFFF, cut short (RFC 3629).
 */
size_t utf8_decode(const char *bytes, size_t size, uint32_t *code);

/* What must not reach a terminal: C0, DEL, C1, line separators and the marks that reverse the writing
 * direction. */
bool utf8_is_control(uint32_t code);

/* Space and what looks like it. */
bool utf8_is_blank(uint32_t code);

/* Columns on a terminal. Every invalid byte counts as one. */
size_t utf8_width(const char *bytes, size_t size);

/* A value is one word of a line: newlines and a blank at either end are escaped as well. Prose keeps them. */
enum utf8_escape { UTF8_VALUE, UTF8_PROSE };

/* Writes with control characters and invalid bytes as \xXX, a byte at a time. Returns the columns taken. */
size_t utf8_print(FILE *to, const char *bytes, size_t size, enum utf8_escape escape);

#endif
