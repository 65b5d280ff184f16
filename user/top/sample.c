// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/sample.h"

#include <stdio.h>
#include <string.h>

#include "core/silence.h"
#include "io/format.h"
#include "io/text.h"
#include "show/verdict.h"

#define PPM 1000000

/* --- the daemon's opinion --- */

static const char *cause_words(uint8_t cause)
{
	switch (cause) {
	case KPHI_BECAUSE_STALL:
		return "this host has stalled";
	case KPHI_BECAUSE_CORRELATED:
		return "too many are overdue at once";
	case KPHI_BECAUSE_CARRIER:
		return "no carrier on its device";
	case KPHI_BECAUSE_HOOK:
		return "its device has lost the program";
	default:
		return "for reasons of its own";
	}
}

void sample_heed(struct top_row *row, const struct kphi_verdict *verdict)
{
	struct text reason = {row->reason, sizeof(row->reason)};

	row->consumers = verdict->consumers;
	row->held = verdict->held;
	if (row->state == TOP_DOWN || row->state == TOP_LEFT)
		return;
	if (verdict->state == KPHI_VERDICT_SUSPECT) {
		row->state = TOP_SUSPECT;
	} else if (verdict->state == KPHI_VERDICT_HELD || verdict->state == KPHI_VERDICT_BLIND) {
		row->state = verdict->state == KPHI_VERDICT_HELD ? TOP_HELD : TOP_BLIND;
		*row->reason = '\0';
		text_add(&reason, "%s by the daemon: %s", model_state_name(row->state),
			 cause_words(verdict->cause));
	}
}

/* --- one peer --- */

static enum top_state state_of(const struct view *v)
{
	static const enum top_state states[VIEW_STATES] = {
		[VIEW_WAITING] = TOP_WAITING,   [VIEW_LEARNING] = TOP_LEARNING, [VIEW_UP] = TOP_UP,
		[VIEW_DEGRADED] = TOP_DEGRADED, [VIEW_SUSPECT] = TOP_SUSPECT,   [VIEW_HELD] = TOP_HELD,
		[VIEW_LEFT] = TOP_LEFT,         [VIEW_DOWN] = TOP_DOWN,
	};

	return states[view_state(v)];
}

static void count_losses(struct top_row *row, const struct view *v)
{
	const struct kphi_sequence *q = &v->record.sequence;
	uint64_t sent = q->highest - q->first + 1;

	row->numbered = (!v->is_rule || v->rule.sequence_bits) && v->record.beats;
	row->lost = q->lost;
	/* A sender may leap far ahead, so the share is taken in 128 bits. */
	row->loss_ppm = row->numbered && sent && q->lost < sent
				? (uint32_t)((unsigned __int128)q->lost * PPM / sent)
				: 0;
}

static void fill(struct top_row *row, const struct view *v)
{
	const struct kphi_window *w = &v->record.window;
	char reason[VIEW_REASON];

	*row = (struct top_row){
		.slot = v->slot,
		.generation = v->record.generation,
		.state = state_of(v),
		.muted = v->muted,
		.judged = v->opinion.judged,
		.model = v->peer.model,
		.phi = v->opinion.phi,
		.silence_ns = v->opinion.silence_ns,
		.suspect_in_ns = v->opinion.judged ? v->opinion.suspect_in_ns : UINT64_MAX,
		.mean_ns = window_mean_ns(w),
		.stddev_ns = window_stddev_ns(w),
		.beats = v->record.beats,
	};
	memcpy(row->name, v->peer.name, sizeof(row->name));
	memcpy(row->host, v->peer.host, sizeof(row->host));
	row->name[sizeof(row->name) - 1] = row->host[sizeof(row->host) - 1] = '\0';
	count_losses(row, v);
	view_explain(v, reason, sizeof(reason));
	snprintf(row->reason, sizeof(row->reason), "%.*s", (int)sizeof(row->reason) - 1, reason);
}

/* --- this host --- */

static void note_stalls(struct top_guard *g, const struct kphi_tick *t, uint32_t cpu, uint64_t now_ns)
{
	uint64_t open_ns = silence_open_stall_ns(t, now_ns);

	if (open_ns) {
		g->stalled++;
		g->cpu = open_ns > g->open_ns ? cpu : g->cpu;
		g->open_ns = open_ns > g->open_ns ? open_ns : g->open_ns;
	}
	for (int i = 0; i < KPHI_STALLS; i++) {
		struct kphi_stall stall = t->stall[i]; /* for display only: need not be of one instant */

		if (stall.end_ns <= g->last_end_ns)
			continue;
		g->last_end_ns = stall.end_ns;
		g->last_length_ns = stall.length_ns;
		g->last_cpu = cpu;
	}
}

char *sample_guard(const struct top_look *look, char text[SAMPLE_GUARD])
{
	const struct top_guard *g = &look->guard;
	uint64_t ago_ns = look->now_ns > g->last_end_ns ? look->now_ns - g->last_end_ns : 0;
	char length[FORMAT_SIZE], ago[FORMAT_SIZE];

	if (g->stalled)
		snprintf(text, SAMPLE_GUARD, "CPU %u STALLED for %s", g->cpu,
			 format_duration(g->open_ns, length));
	else if (g->last_end_ns)
		snprintf(text, SAMPLE_GUARD, "last stall %s, %s ago",
			 format_duration(g->last_length_ns, length), format_duration(ago_ns, ago));
	else
		snprintf(text, SAMPLE_GUARD, "no stalls");
	return text;
}

char *sample_consumers(const struct top_look *look, uint32_t bits, char text[SAMPLE_NAMES])
{
	struct text names = {text, SAMPLE_NAMES};

	*text = '\0';
	for (uint32_t i = 0; look->lives && i < look->daemon.consumers && i < KPHI_CONSUMERS; i++)
		if (bits & 1U << i)
			text_join(&names, ",", "%.*s", KPHI_NAME_SIZE - 1, look->daemon.consumer[i].name);
	return text;
}

void sample_take(struct top_look *look, struct top_model *m, const struct store *s, uint64_t now_ns)
{
	struct threshold threshold;
	struct top_row row;
	struct view v;

	*look = (struct top_look){.now_ns = now_ns, .capacity = s->header->peers};
	look->lives = store_daemon(s, now_ns, &look->daemon);
	for (uint32_t cpu = 0; cpu < s->header->cpus; cpu++)
		note_stalls(&look->guard, &s->ticks[cpu], cpu, now_ns);
	threshold_prepare(&threshold, POLICY_SUSPECT);
	model_begin(m, now_ns);
	for (uint32_t slot = 0; slot < s->header->peers; slot++) {
		enum view_found found =
			view_take(&v, s, look->lives ? &look->daemon : NULL, &threshold, slot, now_ns);

		look->busy += found == VIEW_BUSY;
		if (found != VIEW_PEER)
			continue;
		fill(&row, &v);
		if (v.daemon)
			sample_heed(&row, &v.verdict);
		model_take(m, &row);
	}
	model_end(m);
}
