/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fencing token: (counter << 40) | n. The counter lives in a file and is raised, on disk, each time the
 * daemon starts and before it says anything, so that every token is above those of all earlier lives; n
 * counts the verdicts of this life.
 *
 * What it protects: whoever acts on a verdict and keeps the highest token seen can refuse a verdict that was
 * held up on its way. What it does not: it orders the verdicts of one host only, and it cannot keep a
 * suspected peer from going on; that is the fencing device's part.
 */
#ifndef KPHI_RUN_TOKEN_H
#define KPHI_RUN_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#define TOKEN_BITS 40

struct token {
	uint64_t last; /* handed out; its low 40 bits are n */
	int lock; /* held for as long as the daemon lives */
};

/*
 * Locks and raises the counter in DIRECTORY/token. `seen`: a token that was handed out earlier as far as
 * anybody remembers (the verdicts in the maps), 0 if nobody does; the counter rises above that one too,
 * should the file have been lost. 0, or a negative errno with a sentence in `why`: -EBUSY      another daemon
 * has this directory -EBADMSG    the file is not one that this function wrote whole; it is left as it is
 *   -EOVERFLOW  the counter has no room left (16 million starts)
 */
int token_open(struct token *t, const char *directory, uint64_t seen, char *why, size_t size);
void token_close(struct token *t);

/* The counter: how often a daemon has started, this time included. */
uint32_t token_starts(const struct token *t);

/* The next one; strictly rising. */
uint64_t token_next(struct token *t);

#endif
