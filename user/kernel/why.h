/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the kernel room explains itself: a negative errno for the program, and a sentence for the person that
 * says what was tried, on what, why it failed and what to do.
 */
#ifndef KPHI_KERNEL_WHY_H
#define KPHI_KERNEL_WHY_H

#include <stddef.h>

struct why {
	char text[1024];
};

/* Writes the sentence and returns `err`, so that a function can end with it. */
int why(struct why *w, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Adds to it. */
int why_also(struct why *w, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* "Permission denied" and so on for a negative errno; never NULL. */
const char *why_errno(int err);

/* The sentence for an errno of bpf(2) that has to do with what this process may do, or NULL if it is about
 * something else. */
const char *why_denied(int err);

/* The sentence for a pin of a store that cannot be opened; `what` it is, with a space before it, or "". */
int why_pin(struct why *w, int err, const char *path, const char *what);

#endif
