/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of `kphi peer show` and `window` share. */
#ifndef KPHI_CMD_PEER_SHOW_H
#define KPHI_CMD_PEER_SHOW_H

#include "cmd/peer_view.h"
#include "io/output.h"

struct kphi_cli;
struct session;

/* Where a peer is shown: in a table only what fits a line has a title. JSON is the same either way. */
enum show_place {
	SHOW_ROW,
	SHOW_HOST_ROW, /* a row of a table in which somebody has a host label */
	SHOW_DETAIL,
};

/* The facts of one peer, into an open object or row. In detail, say_siblings() is owed. */
void say_peer(struct out *o, const struct view *v, enum show_place place);

/* The slot of the peer; or an enum kphi_exit, having said why. */
int show_find(const struct session *s, const char *name, int64_t *slot);
int show_busy(const char *name);

/* kphi peer show host LABEL. */
int show_host(struct kphi_cli *cli, const struct session *s, const char *label);

/*
 * The other streams of the host that the peer in v->slot runs on: the table "siblings". Beside each row of a
 * list it would be the list once more, so there it is null.
 */
void say_siblings(struct out *o, const struct store *s, const struct view *v, const struct threshold *t);

#endif
