/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose opinion it is: a line of a table each, with the adapter that reads what they print. */
#ifndef KPHI_CHECK_SOURCE_H
#define KPHI_CHECK_SOURCE_H

#include "check/claim.h"
#include "check/document.h"

struct source {
	const char *name; /* the word on the command line */
	const char *called; /* as in a sentence */
	const char *from; /* what prints it */
	struct frame frame;
	bool history; /* a document may name one peer several times: the last counts */
	bool whole; /* a document names everybody they know, so who is missing in the next is forgotten */

	/*
	 * Adds what the document says to the list. 0, or -EINVAL, -E2BIG or -ENOMEM with a sentence that
	 * begins with "line N: "; the list may then be half filled. Another text than the source's is
	 * refused.
	 */
	int (*read)(const struct document *d, struct claims *claims, char *why, size_t size);
};

extern const struct source sources[];
extern const size_t sources_count;

/* The adapters. */
int cassandra_read(const struct document *d, struct claims *claims, char *why, size_t size);
int akka_read(const struct document *d, struct claims *claims, char *why, size_t size);
int serf_read(const struct document *d, struct claims *claims, char *why, size_t size);
int consul_read(const struct document *d, struct claims *claims, char *why, size_t size);
int frr_read(const struct document *d, struct claims *claims, char *why, size_t size);
int bird_read(const struct document *d, struct claims *claims, char *why, size_t size);
int sentinel_read(const struct document *d, struct claims *claims, char *why, size_t size);
int jsonl_read(const struct document *d, struct claims *claims, char *why, size_t size);

/* Their headings, for struct frame. */
bool cassandra_heading(const char *line, size_t length);
bool bird_heading(const char *line, size_t length);

#endif
