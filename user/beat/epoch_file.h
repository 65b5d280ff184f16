/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sender's restart counter on disk. Every start takes max(saved + 1, wall-clock seconds): the counter
 * orders two lives even when the clock was set back, the clock orders them even when the file was lost.
 *
 * The file is one line, `kphi epoch EPOCH node UUID`. It is replaced by rename, so a lock on it would belong
 * to a file that is gone; the lock is on PATH.lock, which stays for ever.
 */
#ifndef KPHI_BEAT_EPOCH_FILE_H
#define KPHI_BEAT_EPOCH_FILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Locks the file at `path` for this process, raises the epoch in it and waits until that is on disk. Returns
 * the lock's descriptor, which is to stay open for as long as the sender lives, and sets *epoch. Otherwise:
 *   -EBUSY      another sender holds the lock
 *   -EBADMSG    the file is not one that this function wrote whole; it is left as it is
 *   -EBADSLT    it is the file of another node
 *   -EOVERFLOW  no epoch is left above the saved one
 *   -errno      opening, writing or renaming failed
 */
int epoch_take(const char *path, const uint8_t node_id[16], uint64_t wall_s, uint64_t *epoch);

/* Such an error of `uuid`'s file as a sentence, with what to do about it. */
void epoch_explain(int err, const char *path, const char *uuid, char *why, size_t size);

#endif
