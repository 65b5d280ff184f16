/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What another detector says about its peers, whoever it is: an adapter a source (source.h) turns their text
 * into a list of these.
 */
#ifndef KPHI_CHECK_CLAIM_H
#define KPHI_CHECK_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLAIM_NAME   256 /* with the terminating zero, as the next four */
#define CLAIM_WORD   32
#define CLAIM_NUMBER 64
#define CLAIM_SCALE  96
#define CLAIM_DETAIL 192
#define CLAIMS_MAX   (1U << 17) /* in one document: as many as the largest tested store has peers */

enum claim_state {
	CLAIM_UNKNOWN, /* they name the peer, but say nothing about its life */
	CLAIM_UP,
	CLAIM_SUSPECT,
	CLAIM_DOWN,
	CLAIM_LEFT, /* went on purpose */
};

struct claim {
	char name[CLAIM_NAME]; /* how they call the peer */
	char host[CLAIM_NAME]; /* another name of it, such as the host's in their address; or "" */
	bool has_address;
	uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t port; /* 0: not said */
	enum claim_state state;
	char word[CLAIM_WORD]; /* their own word for it: alive, s_down, Leaving; or "" */
	char phi[CLAIM_NUMBER]; /* exactly as they print it; or "" */
	char scale[CLAIM_SCALE]; /* what that phi measures, and when; "" with a phi: they do not say */
	char incarnation[CLAIM_NUMBER]; /* generation, uid, run id: what a restart changes; or "" */
	uint64_t time_ns; /* when they thought so, UTC since 1970; 0: not said */
	char detail[CLAIM_DETAIL]; /* more, in their words; or "" */
	bool itself; /* the node that tells */
	bool path; /* it is about a way to that address, and not about a host */
	uint32_t line; /* where it stands in the input, from 1 */
};

struct claims {
	struct claim *claim;
	uint32_t count, room;
};

/* An empty one at the end of the list: *claim. 0, -ENOMEM or -E2BIG, with a sentence. */
int claims_add(struct claims *claims, uint32_t line, struct claim **claim, char *why, size_t size);
void claims_free(struct claims *claims);

/* Copies `text` into a field of `size` bytes, cut short at a whole character if need be. */
void claim_put(char *field, size_t size, const char *text);

/* The same with a format, behind what is in the detail already and "; ". */
void claim_add_detail(struct claim *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * ADDRESS, ADDRESS:PORT, [IPV6]:PORT, HOST or HOST:PORT, an IPv6 zone (%eth0) being left out: fills in
 * address or host, and port. False if it is none of these.
 */
bool claim_set_endpoint(struct claim *c, const char *text);

/* ADDRESS%INTERFACE: several sessions may lead to one address. `interface` NULL or "": over several hops. */
void claim_name_session(struct claim *c, const char *address, const char *interface);

/* Of those of one name only the last stays: the others are history. -ENOMEM: all stay. */
int claims_keep_last(struct claims *claims);

/* A word of a source's own for the state of a peer. */
struct claim_word {
	const char *word;
	enum claim_state state;
};

/* Takes the word and its state from the table of `n`; false if it is not in there. */
bool claim_set_word(struct claim *c, const struct claim_word *words, size_t n, const char *word);

/* "unknown", "up", "suspect", "down", "left"; and back: -1 if there is no such word. */
const char *claim_state_name(enum claim_state state);
int claim_state_by_name(const char *name);

#endif
