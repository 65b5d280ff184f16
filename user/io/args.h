/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walking the words of a command line in bpftool's manner: keywords, each followed by its value. Everything
 * here that takes a `struct args` reports through fail(), with `where` in front.
 */
#ifndef KPHI_IO_ARGS_H
#define KPHI_IO_ARGS_H

#include <stddef.h>
#include <stdint.h>

struct args {
	int argc; /* words left */
	char **argv; /* the next one */
	const char *where; /* "peer add": who is reading */
};

/*
 * Which of `choices` the word means: the one it equals, or else the only one it begins. Its index, or -EINVAL
 * with the choices in `why` and, if the word looks like a slip, the nearest of them.
 */
int keyword_match(const char *word, const char *const *choices, size_t n, char *why, size_t size);

/* The next word, or NULL at the end, which is no error. */
const char *args_word(struct args *args);

/* The next word, which must be there: `what` says what it is ("a name"). NULL when it is missing, and said
 * so. */
const char *args_next(struct args *args, const char *what);

/* The next word, which must be one of `choices`: its index or -EINVAL. */
int args_choice(struct args *args, const char *const *choices, size_t n);

/* 0 if no word is left, else -EINVAL. */
int args_done(struct args *args);

/* Refuses a keyword given twice: bit `bit` (0 to 63) of `seen` remembers it. 0 or -EINVAL. */
int args_once(struct args *args, uint64_t *seen, unsigned int bit, const char *keyword);

#endif
