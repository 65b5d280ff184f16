// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/detail.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/models.h"
#include "io/format.h"
#include "io/output.h"
#include "show/peer.h"
#include "show/verdict.h"
#include "top/cells.h"
#include "top/spark.h"

#define BARS        12
#define CHART_LINES 6
#define BESIDE      76 /* from here on figures stand beside the facts */
#define FACTS       40 /* columns of the facts then */
#define AXIS        6 /* "  12 |" */
#define BAR_AXIS    16 /* "  99.8ms    123 " */

/* --- reading --- */

static char *facts_of(const struct view *v, const struct store *s, const struct threshold *t)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	struct out *o = to ? out_new(to, OUT_TEXT) : NULL;
	int err;

	if (o) {
		out_open_object(o, NULL);
		say_peer(o, v, SHOW_DETAIL);
		say_siblings(o, s, v, t);
		out_close_object(o);
	}
	err = out_finish(o);
	if (to && fclose(to))
		err = -ENOMEM;
	if (!err)
		return text;
	free(text);
	return NULL;
}

int detail_take(struct detail *d, const struct store *s, const struct top_look *look)
{
	uint64_t *ring = calloc(s->header->window, sizeof(*ring));
	struct threshold threshold;
	struct kphi_record record;
	char *facts = NULL;
	struct view v;
	int err = ring ? 0 : -ENOMEM;

	if (err || store_read(s, d->slot, &v.record, &v.peer) || store_read_ring(s, d->slot, &record, ring))
		goto end;
	d->there = v.record.state != KPHI_FREE && v.record.generation == d->generation &&
		   record.generation == d->generation;
	if (!d->there)
		goto end;
	threshold_prepare(&threshold, POLICY_SUSPECT);
	view_judge(&v, s, d->slot, &threshold, look->now_ns);
	view_daemon(&v, s, look->lives ? &look->daemon : NULL);
	facts = facts_of(&v, s, &threshold);
	err = facts ? 0 : -ENOMEM;
	if (err)
		goto end;
	free(d->facts);
	d->facts = facts;
	view_explain(&v, d->reason, sizeof(d->reason));
	d->samples = record.window.n;
	d->histogram = window_histogram(ring, record.window.n, BARS);
end:
	free(ring);
	return err;
}

void detail_free(struct detail *d)
{
	free(d->facts);
	*d = (struct detail){0};
}

/* --- laying out --- */

/* Line by line; the reason has a place of its own. */
static void add_facts(struct page *p, const char *facts)
{
	for (const char *end; *facts; facts = *end ? end + 1 : end) {
		end = facts + strcspn(facts, "\n");
		if (strncmp(facts, "reason: ", 8) != 0)
			page_add(p, "%.*s", (int)(end - facts), facts);
	}
}

static void add_chart(struct page *p, const struct top_row *row, const struct top_model *m,
		      const struct top_look *look)
{
	uint32_t n = p->width > AXIS + 8 ? p->width - AXIS : 8, top;
	uint8_t phi[TOP_HISTORY];
	char line[SPARK_SIZE(TOP_HISTORY)], time[FORMAT_SIZE];
	uint64_t since_ns;

	n = n < TOP_HISTORY ? n : TOP_HISTORY;
	model_past(m, row->slot, phi, n);
	top = spark_chart_top(phi, n);
	since_ns = model_past_since_ns(m, n);
	page_heading(p, "phi (%s) of the last %s", model_name(row->model),
		     format_duration(look->now_ns > since_ns ? look->now_ns - since_ns : 0, time));
	for (uint32_t i = 0; i < CHART_LINES; i++) {
		char label[16] = "";

		if (i == 0 || i == CHART_LINES - 1)
			snprintf(label, sizeof(label), "%" PRIu32, i ? 0 : top);
		page_add(p, "%4s |%s", label, spark_chart_line(phi, n, top, i, CHART_LINES, p->utf8, line));
	}
}

static void add_histogram(struct page *p, const struct detail *d)
{
	const struct histogram *h = &d->histogram;
	uint32_t width = p->width > BAR_AXIS + 1 ? p->width - BAR_AXIS : 1;
	char bar[512];

	width = width < sizeof(bar) ? width : (uint32_t)sizeof(bar) - 1;
	page_heading(p, "%" PRIu32 " intervals%s", d->samples, d->samples ? ": from, count" : "");
	for (uint32_t i = 0; i < h->bars; i++) {
		uint32_t length = histogram_bar(h, i, width);
		char from[FORMAT_SIZE];

		memset(bar, '#', length);
		bar[length] = '\0';
		page_add(p, "%8s %6" PRIu32 " %s", format_duration(h->low_ns + i * h->step_ns, from),
			 h->count[i], bar);
	}
}

static void add_figures(struct page *p, const struct detail *d, const struct top_row *row,
			const struct top_model *m, const struct top_look *look)
{
	add_chart(p, row, m, look);
	page_add(p, "%s", "");
	add_histogram(p, d);
}

static void add_title(struct page *p, const struct top_row *row)
{
	char phi[CELL_SIZE], silence[FORMAT_SIZE];

	page_heading(p, "%s: %s, phi %s (%s), silent for %s", row->name, cell_state(row), cell_phi(row, phi),
		     model_name(row->model), format_duration(row->silence_ns, silence));
}

void detail_page(struct page *p, const struct detail *d, const struct top_model *m,
		 const struct top_look *look)
{
	const struct top_row *row = &m->row[d->slot];
	struct page left, right;

	if (!d->there || !d->facts) {
		page_heading(p, "This peer is no longer there. Esc goes back.");
		return;
	}
	add_title(p, row);
	/* What the daemon withholds is in the row, what one look can tell is longer. */
	page_wrap(p, row->state == TOP_HELD || row->state == TOP_BLIND ? row->reason : d->reason);
	page_add(p, "%s", "");
	if (p->width < BESIDE) {
		add_figures(p, d, row, m, look);
		page_add(p, "%s", "");
		add_facts(p, d->facts);
		return;
	}
	page_begin(&left, FACTS, p->utf8);
	page_begin(&right, p->width - FACTS - 2, p->utf8);
	add_facts(&left, d->facts);
	add_figures(&right, d, row, m, look);
	page_beside(p, &left, &right);
	page_free(&left);
	page_free(&right);
}
