/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text that grows at its end, in room of a fixed size: what does not fit is cut off, and harms nothing. */
#ifndef KPHI_IO_TEXT_H
#define KPHI_IO_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct text {
	char *at; /* ends with a zero; the caller's */
	size_t size; /* of the room, with the zero; at least 1 */
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, with `between` in front unless the text is still empty. */
void text_join(struct text *t, const char *between, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void text_vjoin(struct text *t, const char *between, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

#endif
