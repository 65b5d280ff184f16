/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Foreign files, packed by gzip or not. */
#ifndef KPHI_TRACE_INPUT_H
#define KPHI_TRACE_INPUT_H

#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

#include "trace/flow.h"

#define INPUT_LINE 65536

struct input {
	gzFile file;
	uint64_t line; /* number of the last one, from 1 */
	char text[INPUT_LINE]; /* of the last line, without its end */
};

/* f->from, "-" being standard input. NULL after a sentence. */
struct input *input_open(struct flow *f);
void input_close(struct input *in); /* NULL is fine */

/* The next line: 1; 0 at the end; a negative errno after a sentence. Empty lines and a \r at the end are left
 * out. */
int input_line(struct flow *f, struct input *in);

/* A sentence that begins with the file's name and the line. Returns -EINVAL. */
int input_wrong(struct flow *f, const struct input *in, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same bytes as a stream, which closes `in` when it is closed. NULL: no memory. */
FILE *input_stream(struct input *in);

/* How much of the file was read, packed as it is. */
uint64_t input_taken(const struct input *in);

#endif
