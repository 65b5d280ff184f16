/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `kphi top` knows: a row for each peer with the phi of the last looks, which rows are to be seen and in
 * which order. Pure: whoever looks at the store fills the rows in.
 */
#ifndef KPHI_TOP_MODEL_H
#define KPHI_TOP_MODEL_H

#include <kphi/maps.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/phi.h"

#define TOP_HISTORY 256 /* looks remembered */
#define TOP_REASON  96 /* of a reason, as much as a line can bear */
#define TOP_FILTER  64

/* A phi as history keeps it: 1 to 240 is (byte - 1) / 8, the last one that or more. */
#define TOP_NOTHING   0 /* nobody looked, or it was not judged */
#define TOP_PHI_STEPS 8
#define TOP_PHI_LAST  240

enum top_state {
	TOP_SUSPECT,
	TOP_DOWN,
	TOP_HELD,
	TOP_BLIND,
	TOP_DEGRADED,
	TOP_UP,
	TOP_LEARNING,
	TOP_WAITING,
	TOP_LEFT,
	TOP_STATES,
};

struct top_row {
	char name[KPHI_NAME_SIZE], host[KPHI_NAME_SIZE];
	char reason[TOP_REASON];
	uint32_t slot, generation;
	enum top_state state;
	bool muted;
	bool judged; /* phi means something */
	bool numbered; /* lost and loss_ppm do */
	uint8_t model; /* enum kphi_model */
	q32_t phi;
	uint64_t silence_ns, mean_ns, stddev_ns;
	uint64_t suspect_in_ns; /* UINT64_MAX: never, or not judged */
	uint64_t beats, lost;
	uint32_t loss_ppm; /* lost, of those that this life has sent */
	uint32_t consumers, held; /* of the daemon, as bits: who suspects it, and who would */
};

enum top_sort {
	TOP_BY_PHI,
	TOP_BY_NAME,
	TOP_BY_HOST,
	TOP_BY_SILENCE,
	TOP_BY_MEAN,
	TOP_BY_LOSS,
	TOP_SORTS,
};

/* By enum top_sort, with a NULL at the end. */
extern const char *const top_sort_names[TOP_SORTS + 1];

struct top_past {
	uint8_t phi[TOP_HISTORY]; /* of look n at n % TOP_HISTORY */
};

struct top_model {
	uint32_t capacity; /* of the store */
	struct top_row *row; /* by slot, as are the pasts: what no peer uses is never touched */
	struct top_past *past;
	uint32_t *slot; /* of the peers, in the order of the store */
	uint32_t *shown; /* of those that the filter lets through, sorted */
	uint32_t peers, rows; /* in the one and in the other */
	uint64_t looks;
	uint64_t look_ns[TOP_HISTORY]; /* when */
	uint32_t count[TOP_STATES]; /* muted peers are in none of the states that accuse */
	bool any_host, any_consumer;
	enum top_sort sort;
	bool reverse;
	char filter[TOP_FILTER];
};

/* 0 or -ENOMEM; *m is all zero or was freed. Sort, direction and filter stay as they are. */
int model_open(struct top_model *m, uint32_t capacity);
void model_close(struct top_model *m);

/* One look at all peers: begin, a call for each peer in the order of slots, end. */
void model_begin(struct top_model *m, uint64_t now_ns);
void model_take(struct top_model *m, const struct top_row *row);
void model_end(struct top_model *m);

/* Applies filter, sort and direction anew. */
void model_arrange(struct top_model *m);

/* The name, host or state contains the filter; letters of ASCII count the same in either case. */
bool model_matches(const struct top_row *row, const char *filter);

/* Where the peer is among the rows shown, or -1. */
int64_t model_find(const struct top_model *m, uint32_t slot, uint32_t generation);

/* Phi of the row's last `n` looks, oldest first: TOP_NOTHING where there was none. n <= TOP_HISTORY. */
void model_past(const struct top_model *m, uint32_t slot, uint8_t *phi, uint32_t n);

/* When the oldest of the last n looks was, those alone that took place; 0 if there was none. */
uint64_t model_past_since_ns(const struct top_model *m, uint32_t n);

/* Somebody to act on among the rows shown: suspect or down, and not muted. */
bool model_accuses(const struct top_model *m);

const char *model_state_name(enum top_state state);

/* One letter that tells it as well, a capital if somebody should look. */
char model_state_letter(enum top_state state);

#endif
