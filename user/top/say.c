// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `kphi top` where there is no terminal. */
#include "top/say.h"

#include <stdio.h>
#include <string.h>

#include "core/models.h"
#include "io/text.h"
#include "top/cells.h"

static void say_summary(struct out *o, const struct top_model *m, const struct top_look *look)
{
	static const enum top_head order[] = {HEAD_HOST, HEAD_PEERS, HEAD_SUSPECT, HEAD_HELD, HEAD_BLIND};
	char head[HEADS][CELL_SIZE], text[HEADS * CELL_SIZE] = "", guard[SAMPLE_GUARD], daemon[CELL_SIZE];
	struct text summary = {text, sizeof(text)};

	cells_head(m, look, head);
	for (int i = 0; i < HEADS; i++)
		text_join(&summary, ", ", "%s", head[order[i]]);
	text_join(&summary, ", ", "%s", sample_guard(look, guard));
	text_join(&summary, ", ", "%s", cell_daemon(look, daemon));
	out_string(o, "summary", "", text);
}

static void say_figures(struct out *o, const struct top_model *m, const struct top_look *look)
{
	const struct top_guard *g = &look->guard;

	out_u64(o, "now_ns", NULL, look->now_ns);
	out_u64(o, "used", NULL, m->peers);
	out_u64(o, "capacity", NULL, look->capacity);
	out_u64(o, "suspect", NULL, m->count[TOP_SUSPECT] + m->count[TOP_DOWN]);
	out_u64(o, "held", NULL, m->count[TOP_HELD]);
	out_u64(o, "blind", NULL, m->count[TOP_BLIND]);
	out_u64(o, "stalled_cpus", NULL, g->stalled);
	if (g->last_end_ns) {
		out_duration(o, "last_stall_ns", NULL, g->last_length_ns);
		out_u64(o, "last_stall_end_ns", NULL, g->last_end_ns);
	} else {
		out_null(o, "last_stall_ns", NULL);
		out_null(o, "last_stall_end_ns", NULL);
	}
	if (look->lives)
		out_u64(o, "daemon_pid", NULL, look->daemon.pid);
	else
		out_null(o, "daemon_pid", NULL);
	out_string(o, "sort", NULL, top_sort_names[m->sort]);
	out_string(o, "filter", NULL, *m->filter ? m->filter : NULL);
}

static void say_names(struct out *o, const char *key, const char *title, const struct top_look *look,
		      uint32_t bits)
{
	out_open_array(o, key);
	for (uint32_t i = 0; look->lives && i < look->daemon.consumers && i < KPHI_CONSUMERS; i++)
		if (bits & 1U << i)
			out_string(o, NULL, title, look->daemon.consumer[i].name);
	out_close_array(o);
}

static void say_losses(struct out *o, const struct top_row *r)
{
	if (!r->numbered) {
		out_null(o, "lost", "LOST");
		out_null(o, "loss_ppm", NULL);
		return;
	}
	out_u64(o, "lost", "LOST", r->lost);
	out_u64(o, "loss_ppm", NULL, r->loss_ppm);
}

static void say_row(struct out *o, const struct top_model *m, const struct top_look *look,
		    const struct top_row *r)
{
	out_open_row(o);
	out_string(o, "name", "PEER", r->name);
	out_string(o, "host", m->any_host ? "HOST" : NULL, *r->host ? r->host : NULL);
	out_string(o, "state", "STATE", model_state_name(r->state));
	out_bool(o, "muted", NULL, r->muted);
	if (r->judged)
		out_q32(o, "phi", "PHI", r->phi);
	else
		out_null(o, "phi", "PHI");
	out_string(o, "model", "MODEL", model_name(r->model));
	out_duration(o, "silence_ns", "SILENCE", r->silence_ns);
	if (r->suspect_in_ns != UINT64_MAX)
		out_duration(o, "suspect_in_ns", "SUSPECT IN", r->suspect_in_ns);
	else
		out_null(o, "suspect_in_ns", "SUSPECT IN");
	out_duration(o, "mean_ns", "MEAN", r->mean_ns);
	out_duration(o, "stddev_ns", "STDDEV", r->stddev_ns);
	out_u64(o, "beats", "BEATS", r->beats);
	say_losses(o, r);
	say_names(o, "suspected_by", m->any_consumer ? "SUSPECTED BY" : NULL, look, r->consumers);
	say_names(o, "held_for", NULL, look, r->held);
	out_string(o, "reason", "REASON", r->reason);
	out_close_row(o);
}

void say_top(struct out *o, const struct top_model *m, const struct top_look *look)
{
	out_open_object(o, NULL);
	say_summary(o, m, look);
	say_figures(o, m, look);
	out_open_table(o, "peers");
	for (uint32_t i = 0; i < m->rows; i++)
		say_row(o, m, look, &m->row[m->shown[i]]);
	out_close_table(o);
	out_close_object(o);
}
