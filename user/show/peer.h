/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is said of peers, to people and to programs: the command line and the page say it with the same calls.
 */
#ifndef KPHI_SHOW_PEER_H
#define KPHI_SHOW_PEER_H

#include "io/output.h"
#include "show/view.h"

/* Where a peer is shown: in a table only what fits a line has a title. JSON is the same either way. */
enum show_place {
	SHOW_ROW,
	SHOW_HOST_ROW, /* a row of a table in which somebody has a host label */
	SHOW_DETAIL,
};

/* The facts of one peer, into an open object or row. In detail, say_siblings() is owed. */
void say_peer(struct out *o, const struct view *v, enum show_place place);

/* The settings in force, of which say_peer() says them, too. */
void say_settings(struct out *o, const struct view *v, bool detail);

/*
 * The table of all peers, the streams of each host together; `key` as out_open_table() takes it. *suspect:
 * somebody is to be suspected; *busy: so many were being written all the time and are left out. 0 or -ENOMEM.
 */
int say_peers(struct out *o, const char *key, const struct store *s, uint64_t now_ns, bool *suspect,
	      uint32_t *busy);

/*
 * The other streams of the host that the peer in v->slot runs on: the table "siblings". Beside each row of a
 * list it would be the list once more, so there it is null.
 */
void say_siblings(struct out *o, const struct store *s, const struct view *v, const struct threshold *t);

/*
 * Reads and judges the peer in the slot if it is one of the host's. False: it is not; *busy: nobody could
 * say.
 */
bool view_stream(struct view *v, const struct store *s, const struct threshold *t, uint32_t slot,
		 const char *label, uint64_t now_ns, bool *busy);

#endif
