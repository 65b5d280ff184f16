// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi peer window: the intervals that a peer is judged by. */
#include <stdlib.h>

#include "cmd/peer.h"
#include "cmd/peer_show.h"
#include "cmd/session.h"
#include "show/window.h"

int peer_window(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE];
	uint64_t *ring = NULL;
	struct session s;
	struct kphi_record record;
	struct out *o;
	int64_t slot;
	int exit;

	if (peer_name(args, name) || args_done(args))
		return KPHI_EXIT_USAGE;
	exit = session_read(&s, cli);
	exit = exit ? exit : show_find(&s, name, &slot);
	if (exit)
		goto end;
	ring = calloc(s.store.header->window, sizeof(*ring));
	if (!ring || store_read_ring(&s.store, slot, &record, ring)) {
		exit = show_busy(name);
		goto end;
	}
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	say_window(o, name, &record.window, ring);
	out_close_object(o);
	exit = command_finish(o);
end:
	free(ring);
	session_end(&s);
	return exit;
}
