/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries to bytes and back: what is expected next, and how what came differs from it. Writer and reader
 * carry the same state from entry to entry; format.h says what the bytes mean.
 */
#ifndef KPHI_TRACE_CODEC_H
#define KPHI_TRACE_CODEC_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/format.h"

#define CODEC_NONE UINT32_MAX

/* A peer's place in the ring of who is expected after whom, and what is expected of it. */
struct codec_peer {
	struct kphi_beat beat; /* its last one */
	uint64_t interval_ns; /* smoothed; 0: not known */
	uint32_t before, after; /* in the ring */
	bool heard; /* since the key */
	bool in_ring;
	uint8_t vain; /* how often it was expected in vain since its last arrival */
};

struct codec_stalls {
	uint64_t total_ns, end_ns, length_ns;
};

struct codec {
	struct codec_peer *peers;
	uint32_t count, room;
	uint32_t last; /* peer of the last arrival; CODEC_NONE: none since the key */
	uint64_t last_ns;
	struct codec_stalls stalls[TRACE_CPUS];
};

void codec_init(struct codec *c);
void codec_free(struct codec *c);

/* One more peer, numbered count - 1, with the interval of its settings (0: to be learned). 0 or -ENOMEM. */
int codec_add(struct codec *c, uint64_t interval_ns);

/* At a key: nothing is expected. interval_ns of each peer is to be set again by codec_restart_peer(). */
void codec_restart(struct codec *c);
void codec_restart_peer(struct codec *c, uint32_t peer, uint64_t interval_ns);

/* Writes the arrival (peer < c->count) to `to`, which has room for TRACE_ENTRY_MAX bytes. Returns its length.
 */
size_t codec_put_arrival(struct codec *c, uint8_t *to, uint32_t peer, const struct kphi_beat *beat);

/*
 * Reads one entry at *at. TRACE_ENTRY_MAX bytes can be read there, whatever they are; the caller checks
 * afterwards that the entry ended before its block did. Returns an enum trace_entry with *at behind the entry
 * (TRACE_PEER and TRACE_LOST: behind its first byte), or -EBADMSG. Only for arrivals are *peer and *beat set.
 */
int codec_get(struct codec *c, const uint8_t **at, uint32_t *peer, struct kphi_beat *beat);

/* A varint: seven bits a byte, the lowest first, the highest bit of a byte says that more follow. */
uint8_t *codec_put_varint(uint8_t *to, uint64_t value);

/* False if it has more than 64 bits. At most ten bytes are read. */
bool codec_get_varint(const uint8_t **at, uint64_t *value);

uint64_t codec_zigzag(uint64_t difference);
uint64_t codec_unzigzag(uint64_t value);

/* A field of a struct of this host's order: where it is and how wide, 1 to 8 bytes. */
struct codec_field {
	uint16_t offset, size;
};

uint64_t codec_field(const void *structure, const struct codec_field *f);

/* False if the field has no room for it. */
bool codec_set_field(void *structure, const struct codec_field *f, uint64_t value);

/* What a message says, in two words; which fields those are depends on who says it. */
void codec_says(const struct kphi_beat *b, uint64_t word[2]);
void codec_set_says(struct kphi_beat *b, const uint64_t word[2]);

/* A description: at most TRACE_ENTRY_MAX - 16 bytes. Returns its length. */
size_t describe_put(uint8_t *to, const struct trace_peer *peer);

/* Back from exactly `size` bytes; what a later version has appended is ignored. 0 or -EBADMSG. */
int describe_get(const uint8_t *from, size_t size, struct trace_peer *peer);

#define STATE_MAX (512 + (KPHI_WINDOW_MAX + KPHI_RETUNE_RUN) * 13UL) /* bytes of any state */

/* A record: `ring` has KPHI_RING_SIZE(window) entries, of which those that count are written. Returns the
 * length.
 */
size_t state_put(uint8_t *to, const struct trace_peer *peer, const struct kphi_record *record,
		 const uint64_t *ring, uint32_t window);

/* Back from exactly `size` bytes: version and generation are 0. What of the ring does not count is left as it
 * is. 0 or -EBADMSG. */
int state_get(const uint8_t *from, size_t size, const struct trace_peer *peer, struct kphi_record *record,
	      uint64_t *ring, uint32_t window);

#endif
