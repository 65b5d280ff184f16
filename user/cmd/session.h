/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A store opened for one command. */
#ifndef KPHI_CMD_SESSION_H
#define KPHI_CMD_SESSION_H

#include "cmd/cmd.h"
#include "kernel/control.h"
#include "kernel/pin.h"
#include "kernel/store.h"
#include "kernel/why.h"

struct session {
	struct pin pin;
	struct store store;
	struct control control; /* only after session_change() */
	struct why why;
};

/* Both return 0 or an enum kphi_exit, having said why; session_end() is owed in either case. */

/* For reading: there must be a store. Takes no lock and no privilege beyond the store's group. */
int session_read(struct session *s, const struct kphi_cli *cli);

/* For changing: waits for the lock, makes a store of default size if there is none, opens the control
 * program. */
int session_change(struct session *s, const struct kphi_cli *cli);

void session_end(struct session *s);

/* Says s->why if err is not 0. Returns the exit code. */
int session_result(const struct session *s, int err);

#endif
