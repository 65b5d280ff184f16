/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BFD control packets, written byte by byte as RFC 5880, 4.1 draws them. */
#ifndef KPHI_TESTS_BFD_H
#define KPHI_TESTS_BFD_H

#include "prog/packet.h"

enum {
	BFD_SIZE = 24,
	BFD_PORT = 3784,
	BFD_TTL = 255,
	BFD_ADMIN_DOWN = 0x00, /* the second byte: state, then P F C A D M */
	BFD_DOWN = 0x40,
	BFD_INIT = 0x80,
	BFD_UP = 0xc0,
	BFD_POLL = 0x20,
	BFD_FINAL = 0x10,
	BFD_INDEPENDENT = 0x08,
	BFD_AUTHENTICATED = 0x04,
	BFD_DEMAND = 0x02,
	BFD_MULTIPOINT = 0x01,
};

/* What differs from packet to packet; the multiplier is 3. */
struct bfd {
	uint8_t state; /* and flags */
	uint8_t diagnostic;
	uint32_t mine, yours;
	uint32_t desired_us, required_us;
};

/* An established session at 50 ms. */
static const struct bfd bfd_up = {BFD_UP, 0, 0x6ef54483, 0x33eefa7c, 50000, 50000};

static inline void bfd_write(uint8_t at[BFD_SIZE], const struct bfd *b)
{
	at[0] = (uint8_t)(1 << 5 | b->diagnostic);
	at[1] = b->state;
	at[2] = 3;
	at[3] = BFD_SIZE;
	put32(at + 4, b->mine);
	put32(at + 8, b->yours);
	put32(at + 12, b->desired_us);
	put32(at + 16, b->required_us);
	put32(at + 20, 0);
}

#endif
