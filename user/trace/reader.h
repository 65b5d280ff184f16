/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading a trace, from one end to the other. Memory: a few blocks, and what is known of each peer.
 *
 * What was torn off is told from damage by what follows it: if no whole block does, it is a torn tail, and
 * the trace just ends before it; if one does, something in the middle was changed, and that is an error.
 */
#ifndef KPHI_TRACE_READER_H
#define KPHI_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/format.h"

struct trace; /* opened for reading */

/* NULL after a sentence in `why`. A pipe will do; "-" is standard input. `path` has to outlive it, for
 * sentences. */
struct trace *trace_open(const char *path, char *why, size_t size);

/* The same from a descriptor, which is closed with it (and if it fails). `name` has to outlive it. */
struct trace *trace_open_fd(int fd, const char *name, char *why, size_t size);

const struct trace_start *trace_start(const struct trace *t);

uint32_t trace_peers(const struct trace *t); /* known so far; peers may appear later in the stream */

/* `peer` is below trace_peers(). Valid, and in the same place, until the trace is closed. */
const struct trace_peer *trace_peer(const struct trace *t, uint32_t peer);

uint16_t trace_version(const struct trace *t); /* of the file */

/*
 * The next arrival in the order of the file: 1; 0 at the end, a torn tail included; -EBADMSG or another
 * negative errno, and again whenever it is asked, with a sentence in trace_why().
 */
int trace_next(struct trace *t, uint32_t *peer, struct kphi_beat *beat);

/* The record of a peer as a whole: what it is from here on, whatever the arrivals before have made of it. */
struct trace_state {
	struct kphi_record record; /* version and generation are 0 */
	const uint64_t
		*ring; /* KPHI_RING_SIZE(trace_start()->window) entries; those that do not count are zero */
};

/* The same, but states too, which are a 2; then trace_state() is the one, until the next call. */
int trace_next_of_all(struct trace *t, uint32_t *peer, struct kphi_beat *beat);
const struct trace_state *trace_state(const struct trace *t);

const char *trace_why(const struct trace *t);

uint64_t trace_lost(const struct trace *t); /* arrivals that the recorder had to drop, so far */
uint64_t trace_torn(const struct trace *t); /* bytes dropped at the end, once it was reached */
bool trace_ended(const struct trace *t); /* the recording was ended, not cut off; once the end was reached */
uint64_t trace_taken(const struct trace *t); /* bytes of the file that were read */
uint64_t trace_size(const struct trace *t); /* bytes that the file had when it was opened; 0: not known */

void trace_close(struct trace *t); /* NULL is fine */

#endif
