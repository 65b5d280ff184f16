/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The native heartbeat as the host's own numbers, and as the 88 bytes of kphi/wire.h. Only this file pair
 * knows about byte order and float bits in user space.
 */
#ifndef KPHI_BEAT_WIRE_CODEC_H
#define KPHI_BEAT_WIRE_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "io/key_file.h"
#include "kphi/wire.h"

struct wire_message {
	enum kphi_wire_type type;
	uint16_t flags; /* enum kphi_wire_flag, or'ed */
	uint32_t key_id;
	uint8_t node_id[16];
	uint64_t epoch;
	uint64_t sequence;
	uint64_t timestamp_ms;
	float load_average;
	float available_capacity;
	uint64_t cluster_version;
	uint64_t ack_sequence;
	uint64_t tag;
};

/* Flags, key's number and tag are written as they are: wire_sign() sets them. */
void wire_encode(const struct wire_message *message, uint8_t bytes[sizeof(struct kphi_wire)]);

/* Signs an encoded message: flag, key's number and tag. */
void wire_sign(uint8_t bytes[sizeof(struct kphi_wire)], const struct key *key);

/*
 * Takes any number of bytes and any alignment. What follows the message is ignored, and so are flags and
 * reserved fields that this version does not know. 0, or what is wrong first:
 *   -EMSGSIZE         shorter than a message, or than the length it names; or that length is too small
 *   -EBADMSG          another magic
 *   -EPROTONOSUPPORT  another version
 *   -ENOMSG           no type of this version, or sequence 0, which no sender uses
 */
int wire_decode(const void *bytes, size_t size, struct wire_message *message);

#endif
