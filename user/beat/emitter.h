/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who beats, and the one way in which its messages are made and sent: by `kphi beat` from a loop of its own,
 * by <kphi.h> from the loop of the program that links it. Nothing here prints.
 */
#ifndef KPHI_BEAT_EMITTER_H
#define KPHI_BEAT_EMITTER_H

#include <stddef.h>
#include <stdint.h>

#include "beat/destinations.h"
#include "beat/vitals.h"
#include "beat/wire_codec.h"
#include "io/format.h"

#define EMITTER_FOLDER "/var/lib/kphi" /* of the epoch's file, unless another one is named */

struct emitter {
	struct wire_message message; /* the latest one; node_id, epoch and cluster_version stay */
	struct destinations destinations;
	struct vitals vitals;
	struct key key; /* id 0: nothing is signed */
	char state[sizeof(EMITTER_FOLDER "/epoch-") + UUID_SIZE]; /* the usual file */
	int lock_fd; /* holds the epoch's file; -1: no epoch was taken */
};

/* Nothing open, nothing sent, nobody it could be sent to: emitter_close() is allowed from here on. */
void emitter_init(struct emitter *e);

/* Sets message.node_id: to this one, or (NULL) to the host's own. 0, or -errno and says why. */
int emitter_identify(struct emitter *e, const uint8_t *id, char *why, size_t size);

/*
 * Takes the next epoch of message.node_id from the file (NULL: the usual one, then named by `state`), and
 * keeps the file locked. 0, or -errno as epoch_take() has it, and then says in `why` what to do about it.
 */
int emitter_claim(struct emitter *e, const char *path, uint64_t wall_s, char *why, size_t size);

/*
 * The next message of this epoch to every destination, with these wire flags (the one for signed is set
 * here). Never blocks, allocates nothing. 0, or -errno of the first destination that it could not be sent to;
 * the others had it all the same.
 */
int emitter_send(struct emitter *e, enum kphi_wire_type type, uint16_t flags, uint64_t now_ns);

/* A goodbye goes out three times, which takes 40 ms: UDP loses, and nothing follows that would make up for
 * it. */
void emitter_part(struct emitter *e, enum kphi_wire_type type, uint16_t flags);

/* Closes all, and wipes the key. */
void emitter_close(struct emitter *e);

uint64_t emitter_now_ns(void); /* CLOCK_MONOTONIC */

#endif
