/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing a trace. Memory: a block, and what is known of each peer. A process that dies loses at most what it
 * has not flushed; a host that dies, what its kernel has not yet written to disk.
 *
 * Once something fails, everything after it fails with the same error, and the file ends with its last whole
 * block.
 */
#ifndef KPHI_TRACE_WRITER_H
#define KPHI_TRACE_WRITER_H

#include <stddef.h>

#include "trace/format.h"

struct trace_writer;

/*
 * Opens a new file at `path` for writing: one that is there is left alone (EEXIST). Something other than a
 * file, such as a pipe, is opened as it is; "-" is standard output. -1 with errno set.
 */
int trace_new_fd(const char *path);

/*
 * A trace in a new file, as trace_new_fd() opens it, which stays empty until the first block is written. NULL
 * after a sentence in `why`.
 */
struct trace_writer *trace_create(const char *path, const struct trace_start *start, char *why, size_t size);

/*
 * Describes one more peer; `name` is taken from its settings. Returns the number by which arrivals name it,
 * or -ENOMEM, -ENOSPC (KPHI_PEERS_MAX are there already) or what writing failed with. A peer whose settings
 * change is another one, which may have the same name.
 */
int64_t trace_add_peer(struct trace_writer *w, const struct trace_peer *peer);

/* One arrival of a peer that was added. 0, or -EINVAL for any other, or what writing failed with. */
int trace_write(struct trace_writer *w, uint32_t peer, const struct kphi_beat *beat);

/*
 * The record of a peer as it is at this place, whatever it was before: how a recording begins of who was up
 * already, and what a reset is. `ring` has KPHI_RING_SIZE(start.window) entries. 0, or -EINVAL for a peer
 * that was not added or without start.window, or what writing failed with.
 */
int trace_write_state(struct trace_writer *w, uint32_t peer, const struct kphi_record *record,
		      const uint64_t *ring);

/* `n` arrivals could not be recorded here. 0 or what writing failed with. */
int trace_write_lost(struct trace_writer *w, uint64_t n);

/* Hands what was written so far, the head of the file at least, to the kernel: what comes later begins a new
 * block (of 32 bytes). 0 or -errno.
 */
int trace_flush(struct trace_writer *w);

uint64_t trace_written(const struct trace_writer *w); /* bytes of the file, what is not flushed included */

/* Ends the recording, waits until it is on disk, and frees `w`. 0, or what failed first. NULL is fine. */
int trace_finish(struct trace_writer *w);

/* Frees `w` and leaves a file as a crash would. NULL is fine. */
void trace_abandon(struct trace_writer *w);

#endif
