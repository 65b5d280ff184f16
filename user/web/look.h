/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All peers at one instant, as the heat map shows them: a byte each. docs/http.md says what they mean. */
#ifndef KPHI_WEB_LOOK_H
#define KPHI_WEB_LOOK_H

#include "show/view.h"
#include "web/history.h"

enum cell {
	CELL_NOTHING = 0,
	CELL_PHI = 1, /* of phi 0, and one more for each eighth ... */
	CELL_PHI_MAX = 240,
	CELL_NOT_JUDGED = 241,
	CELL_LEFT = 242,
	CELL_MUTED = 243,
	CELL_HELD = 244,
	CELL_BLIND = 245,
	CELL_DOWN = 246,
};

/* Of a peer that was judged, by view_daemon(), too. */
uint8_t cell_of(const struct view *v);

struct look_peer {
	uint32_t slot, generation;
};

struct look {
	uint64_t now_ns, realtime_ns; /* one instant by two clocks */
	uint64_t roster; /* rises whenever it has changed who is watched */
	uint32_t n, room;
	struct look_peer *peer; /* in the order of the slots */
	uint8_t *cell;
	uint32_t held, blind, suspect; /* so many */
	bool stalled; /* a CPU of this host, now */
	bool daemon_lives;
	struct kphi_daemon daemon; /* if it does */
	bool has_store;
	struct threshold threshold;
};

/* Numbers of rosters differ between two servers, one after the other, because they begin with the time. */
void look_init(struct look *l, uint64_t now_ns);
void look_free(struct look *l);

/* At everybody, and into the history. `s` NULL: there is no store, so nobody. 0 or -ENOMEM. */
int look_at_all(struct look *l, const struct store *s, struct history *h);

/* Into the history alone, and only at those whose past is kept. */
void look_for_history(struct look *l, const struct store *s, struct history *h);

#endif
