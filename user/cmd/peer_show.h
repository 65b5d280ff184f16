/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of `kphi peer show` and its like share. */
#ifndef KPHI_CMD_PEER_SHOW_H
#define KPHI_CMD_PEER_SHOW_H

#include "show/peer.h"

struct kphi_cli;
struct session;

/* The slot of the peer; or an enum kphi_exit, having said why. */
int show_find(const struct session *s, const char *name, int64_t *slot);
int show_busy(const char *name);

/* kphi peer show host LABEL. */
int show_host(struct kphi_cli *cli, const struct session *s, const char *label);

#endif
