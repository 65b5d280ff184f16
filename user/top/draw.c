// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/format.h"
#include "top/cells.h"
#include "top/keys.h"
#include "top/screen.h"

#define HELP_WIDE 76

/* What stands around the rows goes first where lines are few: a screen of one line is one row. */
struct frame {
	uint32_t lines, columns;
	uint32_t head; /* lines */
	bool title, footer;
};

static struct frame frame_of(bool page)
{
	struct frame f;

	screen_size(&f.lines, &f.columns);
	f.footer = f.lines >= 4;
	f.title = !page && f.lines >= 3;
	f.head = f.lines >= 8 ? 2 : f.lines >= 6 ? 1 : 0;
	return f;
}

uint32_t draw_room(bool page)
{
	struct frame f = frame_of(page);
	uint32_t around = f.head + f.title + f.footer;

	return f.lines > around ? f.lines - around : 1;
}

/* A line of facts, those that fit. */
static void put_facts(uint32_t line, enum screen_style style, const char *const *facts, size_t n,
		      const struct frame *f)
{
	char *text = layout_join(facts, n, f->columns, screen_is_utf8());

	screen_line(line, style, false, text);
	free(text);
}

static enum screen_style head_style(const struct picture *p)
{
	const uint32_t *count = p->model->count;

	if (count[TOP_SUSPECT] + count[TOP_DOWN])
		return STYLE_ALARM;
	return count[TOP_HELD] + count[TOP_BLIND] ? STYLE_WITHHELD : STYLE_HEAD;
}

static void draw_head(const struct picture *p, const struct frame *f)
{
	char head[HEADS][CELL_SIZE], guard[SAMPLE_GUARD], daemon[CELL_SIZE], every[64], sort[32];
	char filter[TOP_FILTER + 16] = "", number[FORMAT_SIZE];
	const char *first[HEADS];
	const char *const second[] = {p->paused ? "PAUSED" : "", guard, daemon, sort, filter, every};

	cells_head(p->model, p->look, head);
	for (int i = 0; i < HEADS; i++)
		first[i] = head[i];
	sample_guard(p->look, guard);
	cell_daemon(p->look, daemon);
	snprintf(sort, sizeof(sort), "by %s%s", top_sort_names[p->model->sort],
		 p->model->reverse ? " reversed" : "");
	snprintf(every, sizeof(every), "every %s", format_duration(p->interval_ns, number));
	if (*p->model->filter)
		snprintf(filter, sizeof(filter), "filter '%s'", p->model->filter);
	if (f->head > 0)
		put_facts(0, head_style(p), first, HEADS, f);
	if (f->head > 1)
		put_facts(1,
			  p->look->guard.stalled ? STYLE_ALARM
			  : p->paused            ? STYLE_NOTICE
						 : STYLE_PLAIN,
			  second, sizeof(second) / sizeof(*second), f);
}

static void draw_footer(const struct picture *p, const struct frame *f)
{
	bool page = p->help || p->detail;
	char text[TOP_FILTER + 64];

	if (!f->footer)
		return;
	if (!p->editing) {
		put_facts(f->lines - 1, STYLE_QUIET, page ? key_footer_page : key_footer_list,
			  page ? KEY_FOOTER_PAGE : KEY_FOOTER_LIST, f);
		return;
	}
	snprintf(text, sizeof(text), "filter: %s", p->model->filter);
	put_facts(f->lines - 1, STYLE_HEAD, (const char *const[]){text, "(Enter keeps it, Esc clears it)"}, 2,
		  f);
	screen_cursor(f->lines - 1, layout_width(text, screen_is_utf8()));
}

/* --- the table --- */

static enum screen_style row_style(const struct top_row *row)
{
	static const enum screen_style styles[TOP_STATES] = {
		[TOP_SUSPECT] = STYLE_ALARM,   [TOP_DOWN] = STYLE_ALARM,      [TOP_HELD] = STYLE_WITHHELD,
		[TOP_BLIND] = STYLE_WITHHELD,  [TOP_DEGRADED] = STYLE_NOTICE, [TOP_UP] = STYLE_PLAIN,
		[TOP_LEARNING] = STYLE_NOTICE, [TOP_WAITING] = STYLE_QUIET,   [TOP_LEFT] = STYLE_QUIET,
	};

	return row->muted ? STYLE_QUIET : styles[row->state];
}

/* A line of cells: of a row, or without one the titles. */
static char *line_of(const struct picture *p, const struct layout *l, const struct top_row *row,
		     const struct frame *f)
{
	bool utf8 = screen_is_utf8();
	char text[CELL_SIZE], *line = NULL, *whole;
	size_t size;
	FILE *to = open_memstream(&line, &size);

	if (!to)
		return NULL;
	for (int c = 0, begun = 0; c < COLUMNS; c++) {
		char *cell;

		if (!l->width[c])
			continue;
		if (row)
			cell_text(p->model, p->look, row, c, l->width[c], utf8, text);
		cell = layout_cell(row ? text : layout_title(c, l->width[c]), l->width[c],
				   layout_is_number(c), utf8);
		fprintf(to, "%s%s", begun++ ? " " : "", cell ? cell : "");
		free(cell);
	}
	if (fclose(to))
		return NULL;
	whole = layout_cell(line, f->columns, false, utf8);
	free(line);
	return whole;
}

static void put_row(const struct picture *p, const struct layout *l, const struct top_row *row,
		    const struct frame *f, uint32_t line, bool selected)
{
	char *text = line_of(p, l, row, f);

	screen_line(line, row ? row_style(row) : STYLE_TITLE, selected, text);
	free(text);
}

static void draw_table(const struct picture *p, const struct frame *f)
{
	const struct top_model *m = p->model;
	uint32_t room = draw_room(false), top = f->head + f->title;
	struct layout_wish wish = cells_wish(m, p->first, room, screen_is_utf8());
	struct layout l = layout_columns(f->columns, &wish);

	if (f->title)
		put_row(p, &l, NULL, f, f->head, false);
	for (uint32_t i = 0; i < room && p->first + i < m->rows; i++)
		put_row(p, &l, &m->row[m->shown[p->first + i]], f, top + i,
			p->cursor_shown && p->first + i == p->cursor);
	if (!m->rows && m->peers)
		put_facts(top, STYLE_NOTICE,
			  (const char *const[]){"No peer matches the filter; Esc clears it."}, 1, f);
	else if (!m->rows)
		put_facts(top, STYLE_NOTICE,
			  (const char *const[]){"Nobody is watched yet: `kphi peer add` adds a peer."}, 1, f);
}

/* --- pages --- */

/* A word and what it means: beside each other where there is room. */
static void help_line(struct page *page, const char *word, const char *meaning)
{
	char text[256];

	if (page->width >= HELP_WIDE) {
		page_add(page, "  %-26s %s", word, meaning);
		return;
	}
	snprintf(text, sizeof(text), "%s: %s", word, meaning);
	page_wrap(page, text);
}

static void help_page(struct page *page)
{
	static const char *const meanings[TOP_STATES] = {
		[TOP_SUSPECT] = "phi has reached 8, or a consumer's threshold",
		[TOP_DOWN] = "its own watcher has declared it down",
		[TOP_HELD] = "would be suspect; the evidence is against this host",
		[TOP_BLIND] = "this host cannot hear it",
		[TOP_DEGRADED] = "alive, but its own health check fails",
		[TOP_UP] = "heard in time",
		[TOP_LEARNING] = "its interval is not known yet",
		[TOP_WAITING] = "not heard yet",
		[TOP_LEFT] = "said goodbye",
	};
	char word[32];

	page_heading(page, "Keys");
	for (const struct key_help *k = key_help; k->keys; k++)
		help_line(page, k->keys, k->what);
	page_heading(page, "States, with their letters on a narrow screen");
	for (int s = 0; s < TOP_STATES; s++) {
		snprintf(word, sizeof(word), "%c %s", model_state_letter(s), model_state_name(s));
		help_line(page, word, meanings[s]);
	}
	help_line(page, "m muted", "nothing is concluded from its silence");
	page_heading(page, "HISTORY");
	page_wrap(page, "Phi at each look, on the scale of the peer's own model: a whole block has reached "
			"8, a blank "
			"was not judged.");
}

static uint32_t draw_page(const struct picture *p, const struct frame *f)
{
	struct page page;
	uint32_t lines, room = draw_room(true), first = p->first;

	page_begin(&page, f->columns, screen_is_utf8());
	if (p->help)
		help_page(&page);
	else
		detail_page(&page, p->detail, p->model, p->look);
	lines = page.lines;
	first = lines > room && first > lines - room ? lines - room : lines > room ? first : 0;
	for (uint32_t i = 0; i < room && first + i < lines; i++)
		screen_line(f->head + i, page.heading[first + i] ? STYLE_HEAD : STYLE_PLAIN, false,
			    page.line[first + i]);
	page_free(&page);
	return lines;
}

static void draw_missing(const struct picture *p, const struct frame *f)
{
	struct page page;

	page_begin(&page, f->columns, screen_is_utf8());
	page_heading(&page, "The store is gone. Waiting for its return.");
	page_wrap(&page, p->missing);
	for (uint32_t i = 0; i < page.lines && i < f->lines; i++)
		screen_line(i, i ? STYLE_PLAIN : STYLE_ALARM, false, page.line[i]);
	page_free(&page);
}

uint32_t draw(const struct picture *p)
{
	bool page = p->help || p->detail;
	struct frame f = frame_of(page);
	uint32_t lines = 0;

	screen_begin();
	if (p->missing && !p->help) {
		draw_missing(p, &f);
	} else {
		draw_head(p, &f);
		if (page)
			lines = draw_page(p, &f);
		else
			draw_table(p, &f);
	}
	draw_footer(p, &f);
	screen_show();
	return lines;
}
