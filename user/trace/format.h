/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace: the arrivals that one host took, in the order in which it took them, as a file that is only ever
 * appended to. docs/trace-format.md is this page at length. Every number is little-endian.
 *
 *   file     struct trace_head, then blocks
 *   block    struct trace_block, then `length` bytes of entries. Its CRC-32 (as of zlib) covers both, so that
 *            a block counts as a whole or not at all. What a crash leaves behind the last whole one is a torn
 *            tail: readers drop it, and say so.
 *   key      a block with TRACE_KEY begins from nothing: it and the blocks behind it describe all peers again
 *            and predict from no arrival before it. Other blocks go on from the one before them.
 *   entry    an arrival; a peer's description; its record as a whole, at the beginning and when it was reset;
 *            arrivals that the recorder lost; the end of the recording.
 *
 * An entry's first byte:
 *
 *   bit 0      arrival: it is not the peer that was expected: its number follows (varint)
 *   bit 1      arrival: what the message says, or how it came, has changed: see enum trace_change
 *   bits 2-3   width: 0, 1, 2: that many plus two bytes follow with the upper bits of the time, of which the
 *              four lowest are in bits 4-7. 3: bits 4-7 are an enum trace_entry; for an arrival, eight bytes
 *              follow with the whole time.
 *
 * So the beat of a steady peer takes 3 bytes if it comes within 0.5 ms of when it was expected, and 4 within
 * 134 ms. "Time" is the difference to what was expected, zigzag: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
 *
 *   expected time     the peer's last arrival plus its smoothed interval (trace_expect()); of a peer that was
 *                     not heard since the key, the last arrival of the trace
 *   expected peer     peers stand in a ring; expected is the one behind the one that arrived last. Who
 *                     arrives unexpectedly is moved there; who was expected twice in vain leaves the ring
 *                     until its next arrival.
 *   expected number   one more than the peer's last sequence number, or the same if it has none
 *   expected stalls   as the last arrival on the same CPU (modulo TRACE_CPUS) had them
 *   all the rest      as the peer's last arrival had it
 *
 * With bit 1, and behind the time, a byte of enum trace_change follows, and for each of its bits, lowest
 * first, the fields named there: zz is a zigzag varint of the difference to what was expected, xor a varint
 * of the difference by exclusive or, u8 and u16 the value itself.
 */
#ifndef KPHI_TRACE_FORMAT_H
#define KPHI_TRACE_FORMAT_H

#include <kphi/maps.h>
#include <kphi/record.h>

#define TRACE_MAGIC       "\x89KPHIT\r\n" /* 8 bytes: no text file begins so, and none that was sent as text */
#define TRACE_VERSION     2 /* 1 had no TRACE_STATE, and is read all the same */
#define TRACE_BLOCK_MAGIC 0x4b4c424bU /* "KBLK" */
#define TRACE_BLOCK_MAX   (128U << 10) /* bytes of entries; writers end a block long before */
#define TRACE_ENTRY_MAX   1024 /* no entry is longer */
#define TRACE_CPUS        64

struct trace_head {
	char magic[8];
	uint16_t version;
	uint16_t size; /* of this head: later versions may append */
	uint32_t window; /* intervals that the recorder's windows hold; 0: not known */
	uint64_t wall_ns; /* Unix time at monotonic_ns; 0: not known */
	uint64_t monotonic_ns; /* on the clock of the arrivals */
	uint64_t reserved;
	uint32_t reserved_too;
	uint32_t crc; /* of everything before it */
};
KPHI_ASSERT_SIZE(struct trace_head, 48);

enum trace_block_flag {
	TRACE_KEY = 1 << 0,
};

struct trace_block {
	uint32_t magic;
	uint32_t length; /* of the entries: 1 to TRACE_BLOCK_MAX */
	uint32_t number; /* 0, 1, 2, ... in the file */
	uint32_t flags; /* enum trace_block_flag, or'ed */
	uint32_t arrivals; /* among the entries */
	uint32_t reserved;
	uint32_t reserved_too;
	uint32_t crc; /* of this head up to here, then the entries */
};
KPHI_ASSERT_SIZE(struct trace_block, 32);

enum trace_entry {
	TRACE_ARRIVAL = 0,
	TRACE_PEER = 1, /* varint number, varint size, then the description: describe.c. A number has one
			   description for ever */
	TRACE_LOST = 2, /* varint: arrivals that the recorder lost since the last such entry */
	TRACE_END = 3, /* the recording was ended: a file without one was cut off */
	TRACE_STATE = 4, /* a part of what the peer's record was at this place: state.c. Varint number, varint
			    bytes in the parts behind this one, varint size, then the bytes. Parts follow each
			    other */
};

enum trace_change {
	TRACE_SEQUENCE = 1 << 0, /* zz sequence */
	TRACE_STALLS = 1 << 1, /* zz stalled_total_ns, stall_end_ns, stall_length_ns */
	TRACE_CPU = 1 << 2, /* u16 cpu; comes first, because stalls are expected by it */
	TRACE_SAYS_FIRST = 1 << 3, /* xor: cluster_version; or of BFD desired_tx_us << 32 | discriminator; or
				      speaker[0] */
	TRACE_SAYS_SECOND = 1 << 4, /* xor: load_average << 32 | available_capacity; or of BFD required_rx_us
				       << 32 | state << 24 | diagnostic << 16 | multiplier << 8 | flags; or
				       speaker[1] */
	TRACE_TYPE = 1 << 5, /* u8 type, flags */
	TRACE_EPOCH = 1 << 6, /* zz epoch, epoch_limit */
	TRACE_AFRESH = 1 << 7, /* comes first of all: u8 native, sequence_bits, decoder, any_source, varint
				  device, local_rx_ns. Everything else but time and stalls is then expected
				  to be 0 */
};

/* A peer as a trace knows it. `name` is settings.name. */
struct trace_peer {
	char name[KPHI_NAME_SIZE];
	struct kphi_peer settings;
	struct kphi_rule rule; /* all zero for native beats */
};

/* When the recording began, and with which windows. */
struct trace_start {
	uint64_t wall_ns; /* Unix time at monotonic_ns; 0: not known */
	uint64_t monotonic_ns;
	uint32_t window; /* intervals of the recorder's windows; 0: not known */
};

#endif
