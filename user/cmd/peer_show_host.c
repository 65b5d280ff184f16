// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A host through its streams: "audible by BFD, silent by gossip" says more than either. */
#include <stdio.h>
#include <string.h>

#include "cmd/peer_show.h"
#include "cmd/session.h"
#include "kernel/clock.h"
#include "show/verdict.h"

static void say_summary(struct out *o, const struct host_summary *summary)
{
	static const char *const keys[] = {
		[HOST_AUDIBLE] = "audible", [HOST_SILENT] = "silent",   [HOST_DOWN] = "down",
		[HOST_LEFT] = "left",       [HOST_UNHEARD] = "unheard",
	};
	char text[HOST_SUMMARY];

	for (int word = 0; word < HOST_WORDS; word++)
		out_u64(o, keys[word], NULL, summary->count[word]);
	out_string(o, "summary", "summary", host_summary_text(summary, text));
}

/* The table comes first, so that each stream is read once and the summary is of what the table says. */
int show_host(struct kphi_cli *cli, const struct session *s, const char *label)
{
	struct host_summary summary = {0};
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t streams = 0, unread = 0;
	struct threshold threshold;
	struct kphi_daemon daemon;
	bool suspect = false, busy, alive = store_daemon(&s->store, now_ns, &daemon);
	struct out *o = NULL;
	struct view v;

	threshold_prepare(&threshold, POLICY_SUSPECT);
	for (uint32_t slot = 0; slot < s->store.header->peers; slot++) {
		if (!view_stream(&v, &s->store, &threshold, slot, label, now_ns, &busy)) {
			unread += busy;
			continue;
		}
		if (!streams++) {
			o = out_new(stdout, cli->mode);
			out_open_object(o, NULL);
			out_string(o, "host", "host", label);
			out_open_table(o, "streams");
		}
		view_daemon(&v, &s->store, alive ? &daemon : NULL);
		suspect |= view_is_suspect(&v);
		host_summary_add(&summary, v.peer.name, view_host_word(&v));
		out_open_row(o);
		say_peer(o, &v, SHOW_ROW);
		out_close_row(o);
	}
	if (!streams) {
		fail(unread ? "%s: its %u streams were being written all the time. Try again"
			    : "%s: no peer has that host label. `kphi peer show` lists peers and their hosts",
		     label, unread);
		return KPHI_EXIT_FAILED;
	}
	out_close_table(o);
	say_summary(o, &summary);
	out_close_object(o);
	if (command_finish(o))
		return KPHI_EXIT_FAILED;
	if (unread)
		warn("%u streams were being written all the time and are left out", unread);
	return suspect && cli->exit_status ? KPHI_EXIT_SUSPECT : KPHI_EXIT_OK;
}
