// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/live.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/clock.h"
#include "top/draw.h"
#include "top/keys.h"
#include "top/screen.h"

#define ESCAPE 27

struct live {
	const struct live_options *options;
	struct world *world;
	struct top_model *model;
	struct top_look look;
	struct detail detail;
	struct why missing; /* why there is no store */
	uint64_t interval_ns;
	bool help, open; /* the pages; `open`: that of a peer */
	bool paused, editing, quit;
	bool follows; /* the cursor follows a peer, rather than staying in the first row: */
	uint32_t slot, generation;
	uint32_t cursor, first, scroll;
	uint32_t lines; /* of the page as it was drawn */
	int err;
};

static bool on_page(const struct live *l)
{
	return l->help || l->open;
}

/* --- the cursor --- */

static void remember(struct live *l)
{
	const struct top_model *m = l->model;

	if (l->cursor >= m->rows)
		return;
	l->slot = m->shown[l->cursor];
	l->generation = m->row[l->slot].generation;
}

/* Keeps the cursor on its peer and the screen around the cursor, however the rows have moved. */
static void settle(struct live *l)
{
	uint32_t rows = l->model->rows, room = draw_room(false);
	int64_t at = l->follows ? model_find(l->model, l->slot, l->generation) : 0;

	if (at >= 0)
		l->cursor = (uint32_t)at;
	if (l->cursor >= rows)
		l->cursor = rows ? rows - 1 : 0;
	if (l->first > l->cursor)
		l->first = l->cursor;
	if (l->cursor >= l->first + room)
		l->first = l->cursor - room + 1;
	if (rows <= room)
		l->first = 0;
	else if (l->first > rows - room)
		l->first = rows - room;
}

static uint32_t moved(uint32_t at, int64_t by, uint32_t count)
{
	int64_t to = (int64_t)at + by;

	if (to < 0 || !count)
		return 0;
	return to < count ? (uint32_t)to : count - 1;
}

static void move_by(struct live *l, int64_t by)
{
	uint32_t room = draw_room(true);

	if (on_page(l)) {
		l->scroll = moved(l->scroll, by, l->lines > room ? l->lines - room + 1 : 1);
		return;
	}
	l->cursor = moved(l->cursor, by, l->model->rows);
	l->follows = true;
	remember(l);
}

static void move_home(struct live *l)
{
	l->scroll = 0;
	if (!on_page(l))
		l->cursor = 0;
	l->follows = on_page(l) && l->follows;
}

/* --- looking --- */

static void lose(struct live *l)
{
	world_close(l->world);
	model_close(l->model);
	detail_free(&l->detail);
	l->open = false;
}

/* Opens what is pinned now, if it is another store than before or none was open. */
static void keep_open(struct live *l)
{
	if (l->world->open && world_is_current(l->world))
		return;
	lose(l);
	if (!world_open(l->world, l->options->pin, &l->missing))
		l->err = model_open(l->model, l->world->store.header->peers);
}

static void look_again(struct live *l)
{
	keep_open(l);
	if (l->err || !l->world->open)
		return;
	sample_take(&l->look, l->model, &l->world->store, clock_monotonic_ns());
	if (l->open)
		l->err = detail_take(&l->detail, &l->world->store, &l->look);
}

static void open_detail(struct live *l)
{
	if (on_page(l) || !l->world->open || l->cursor >= l->model->rows)
		return;
	remember(l);
	l->follows = l->open = true;
	l->scroll = 0;
	l->detail.slot = l->slot;
	l->detail.generation = l->generation;
	l->err = detail_take(&l->detail, &l->world->store, &l->look);
}

static void clear_filter(struct live *l)
{
	*l->model->filter = '\0';
	model_arrange(l->model);
}

static void go_back(struct live *l)
{
	if (l->help) {
		l->help = false;
	} else if (l->open) {
		l->open = false;
		detail_free(&l->detail);
	} else {
		clear_filter(l);
	}
	l->scroll = 0;
}

/* --- keys --- */

static void arrange(struct live *l, enum top_sort sort, bool reverse)
{
	l->model->sort = sort;
	l->model->reverse = reverse;
	model_arrange(l->model);
}

static void act_on_list(struct live *l, enum key_action action)
{
	struct top_model *m = l->model;

	switch (action) {
	case ACTION_OPEN:
		open_detail(l);
		break;
	case ACTION_SORT:
		arrange(l, (m->sort + 1) % TOP_SORTS, m->reverse);
		break;
	case ACTION_REVERSE:
		arrange(l, m->sort, !m->reverse);
		break;
	case ACTION_FILTER:
		l->editing = true;
		break;
	default:
		break;
	}
}

static void act(struct live *l, enum key_action action)
{
	int64_t page = draw_room(on_page(l));

	switch (action) {
	case ACTION_UP:
	case ACTION_DOWN:
		move_by(l, action == ACTION_UP ? -1 : 1);
		break;
	case ACTION_PAGE_UP:
	case ACTION_PAGE_DOWN:
		move_by(l, action == ACTION_PAGE_UP ? -page : page);
		break;
	case ACTION_HOME:
		move_home(l);
		break;
	case ACTION_END:
		move_by(l, UINT32_MAX);
		break;
	case ACTION_BACK:
		go_back(l);
		break;
	case ACTION_PAUSE:
		l->paused = !l->paused;
		break;
	case ACTION_SLOWER:
	case ACTION_FASTER:
		l->interval_ns = key_interval_ns(l->interval_ns, action == ACTION_SLOWER);
		break;
	case ACTION_HELP:
		l->help = !l->help;
		l->scroll = 0;
		break;
	case ACTION_QUIT:
		l->quit = true;
		break;
	default:
		if (!on_page(l))
			act_on_list(l, action);
	}
}

static void edit(struct live *l, int key)
{
	enum key_action action = key_action(key);

	if (key_edit(l->model->filter, sizeof(l->model->filter), key)) {
		model_arrange(l->model);
	} else if (action == ACTION_OPEN) {
		l->editing = false;
	} else if (key == ESCAPE) {
		l->editing = false;
		clear_filter(l);
	} else if (action != ACTION_NONE) {
		act(l, action); /* arrows */
	}
}

static void obey(struct live *l)
{
	for (int key = screen_key(); key >= 0 && !l->quit && !l->err; key = screen_key()) {
		if (l->editing)
			edit(l, key);
		else
			act(l, key_action(key));
		settle(l);
	}
}

/* --- the loop --- */

static void show(struct live *l)
{
	struct picture p = {
		.model = l->model,
		.look = &l->look,
		.detail = l->open ? &l->detail : NULL,
		.missing = l->world->open ? NULL : l->missing.text,
		.interval_ns = l->interval_ns,
		.help = l->help,
		.paused = l->paused,
		.editing = l->editing,
		.cursor_shown = true,
		.cursor = l->cursor,
		.first = on_page(l) ? l->scroll : l->first,
	};

	l->lines = draw(&p);
}

static void loop(struct live *l)
{
	uint64_t next_ns = 0, last_ns = 0;
	bool goes_on = true;

	while (goes_on && !l->quit && !l->err) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= next_ns) {
			if (!l->paused)
				look_again(l);
			last_ns = now_ns;
		}
		if (l->err)
			break;
		settle(l);
		show(l);
		next_ns = last_ns + l->interval_ns;
		goes_on = screen_wait(next_ns);
		obey(l);
	}
}

int live_run(const struct live_options *options, struct world *w, struct top_model *m, struct why *reason)
{
	struct live l = {.options = options, .world = w, .model = m, .interval_ns = options->interval_ns};

	l.err = model_open(m, w->store.header->peers);
	if (l.err)
		why(reason, l.err, "no memory for %u peers", w->store.header->peers);
	else
		l.err = screen_open(reason);
	if (!l.err) {
		loop(&l);
		screen_close();
		if (l.err)
			why(reason, l.err, "no memory for the table of peers");
	}
	lose(&l);
	if (screen_signal())
		raise(screen_signal());
	return l.err;
}
