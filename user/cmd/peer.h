/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two halves of kphi peer: changing (peer.c) and showing (peer_show.c). */
#ifndef KPHI_CMD_PEER_H
#define KPHI_CMD_PEER_H

#include "cmd/cmd.h"

int peer_show(struct kphi_cli *cli, struct args *args);
int peer_window(struct kphi_cli *cli, struct args *args);

/* Reads the name that comes next, after an optional keyword `name`, into name[KPHI_NAME_SIZE]. 0 or -EINVAL.
 */
int peer_name(struct args *args, char *name);

#endif
