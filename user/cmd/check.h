/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kphi check: the parts of it. What the others say is read in user/check; this is our side, and the telling.
 */
#ifndef KPHI_CMD_CHECK_H
#define KPHI_CMD_CHECK_H

#include "check/match.h"
#include "check/source.h"
#include "check/verdict.h"
#include "cmd/session.h"
#include "kernel/devices.h"
#include "run/event_line.h"
#include "show/view.h"

/* The store as check looks at it. */
struct check_world {
	struct session session;
	struct devices *devices; /* NULL: links are root's to ask */
	struct match_peer *peer;
	uint32_t peers;
	struct match match;
	struct threshold threshold;
};

/* A stream of ours at one instant. `ours` points into the rest, so it stays where it is. */
struct check_seen {
	struct view view;
	char reason[VIEW_REASON];
	struct check_ours ours;
	uint64_t gone_ns; /* monotonic: when phi reached the threshold, or the goodbye came; 0: it is not gone
			   */
};

/* 0 or an enum kphi_exit, having said why; check_world_close() is owed in either case. */
int check_world_open(struct check_world *w, const struct kphi_cli *cli);
void check_world_close(struct check_world *w);

/* Who is watched now. Indices of before mean nothing any more. -ENOMEM: nobody. */
int check_world_load(struct check_world *w);

/* Looks at a stream of world's. False: it has been deleted. */
bool check_world_look(struct check_world *w, uint32_t slot, uint32_t generation, uint64_t now_ns,
		      struct check_seen *seen);

/* For those that are silent: is another stream of the same host among them that is on time? */
void check_find_audible(struct check_seen *seen, uint32_t count);

/* Wall-clock time of a monotonic one. */
uint64_t check_wall_ns(const struct event_clock *clock, uint64_t monotonic_ns);

/* What is known of both sides, as facts of the object or row that is open. Either may be NULL. */
void check_say(struct out *o, const struct check_seen *seen, const struct claim *claim, const char *called,
	       const struct event_clock *clock);

/* Where the text comes from: "standard input" or the file's name. */
struct check_input {
	const char *name;
	int fd;
};

/* Says that the text was refused, in `how` (fail or warn). */
void check_refuse(void (*how)(const char *format, ...) __attribute__((format(printf, 1, 2))),
		  const struct source *source, const struct check_input *input, const char *reason);

/* kphi check follow SOURCE. Returns an enum kphi_exit. */
int check_follow(struct kphi_cli *cli, const struct source *source, const struct check_input *input);

#endif
