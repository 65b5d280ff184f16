// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const top_sort_names[TOP_SORTS + 1] = {"phi", "name", "host", "silence", "mean", "loss", NULL};

static const struct {
	const char *name;
	char letter;
} states[TOP_STATES] = {
	[TOP_SUSPECT] = {"suspect", 'S'},   [TOP_DOWN] = {"down", 'D'},         [TOP_HELD] = {"held", 'H'},
	[TOP_BLIND] = {"blind", 'B'},       [TOP_DEGRADED] = {"degraded", 'G'}, [TOP_UP] = {"up", 'u'},
	[TOP_LEARNING] = {"learning", 'l'}, [TOP_WAITING] = {"waiting", 'w'},   [TOP_LEFT] = {"left", 'x'},
};

const char *model_state_name(enum top_state state)
{
	return states[state].name;
}

char model_state_letter(enum top_state state)
{
	return states[state].letter;
}

int model_open(struct top_model *m, uint32_t capacity)
{
	m->row = calloc(capacity, sizeof(*m->row));
	m->past = calloc(capacity, sizeof(*m->past));
	m->slot = calloc(capacity, sizeof(*m->slot));
	m->shown = calloc(capacity, sizeof(*m->shown));
	m->capacity = capacity;
	if (m->row && m->past && m->slot && m->shown)
		return 0;
	model_close(m);
	return -ENOMEM;
}

void model_close(struct top_model *m)
{
	free(m->row);
	free(m->past);
	free(m->slot);
	free(m->shown);
	m->row = NULL;
	m->past = NULL;
	m->slot = m->shown = NULL;
	m->capacity = m->peers = m->rows = 0;
	m->looks = 0;
	m->any_host = m->any_consumer = false;
	memset(m->count, 0, sizeof(m->count));
}

/* --- a look --- */

void model_begin(struct top_model *m, uint64_t now_ns)
{
	m->look_ns[m->looks % TOP_HISTORY] = now_ns;
	m->looks++;
	m->peers = 0;
	m->any_host = m->any_consumer = false;
	memset(m->count, 0, sizeof(m->count));
}

static uint8_t compressed(const struct top_row *row)
{
	if (!row->judged)
		return TOP_NOTHING;
	if (row->phi >> 32 >= TOP_PHI_LAST / TOP_PHI_STEPS)
		return TOP_PHI_LAST;
	return (uint8_t)(1 + (row->phi * TOP_PHI_STEPS >> 32));
}

void model_take(struct top_model *m, const struct top_row *row)
{
	struct top_row *mine = &m->row[row->slot];
	struct top_past *past = &m->past[row->slot];

	/* Another peer than the one that had the slot before. Names tell the very first one from nobody. */
	if (mine->generation != row->generation || strcmp(mine->name, row->name) != 0)
		memset(past, TOP_NOTHING, sizeof(*past));
	*mine = *row;
	past->phi[(m->looks - 1) % TOP_HISTORY] = compressed(row);
	m->slot[m->peers++] = row->slot;
	m->any_host |= *row->host != '\0';
	m->any_consumer |= row->consumers || row->held;
	if (!row->muted || row->state > TOP_DOWN)
		m->count[row->state]++;
}

void model_end(struct top_model *m)
{
	model_arrange(m);
}

/* --- which, and in which order --- */

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool contains(const char *text, const char *part)
{
	for (; *text; text++) {
		size_t i = 0;

		while (part[i] && lower(text[i]) == lower(part[i]))
			i++;
		if (!part[i])
			return true;
	}
	return !*part;
}

bool model_matches(const struct top_row *row, const char *filter)
{
	return contains(row->name, filter) || contains(row->host, filter) ||
	       contains(model_state_name(row->state), filter) || (row->muted && contains("muted", filter));
}

static int by_text(const char *a, const char *b)
{
	int order = strcmp(a, b);

	return (order > 0) - (order < 0);
}

/* The largest first. */
static int by_size(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* What has no such figure comes last, whatever the direction. */
static bool has_key(const struct top_row *r, enum top_sort sort)
{
	switch (sort) {
	case TOP_BY_PHI:
		return r->judged || r->state == TOP_DOWN;
	case TOP_BY_HOST:
		return *r->host;
	case TOP_BY_SILENCE:
		return r->state != TOP_WAITING;
	case TOP_BY_MEAN:
		return r->mean_ns;
	case TOP_BY_LOSS:
		return r->numbered;
	default:
		return true;
	}
}

/* What its own watcher has declared down needs no phi to be the worst. */
static q32_t urgency(const struct top_row *r)
{
	return r->state == TOP_DOWN ? UINT64_MAX : r->phi;
}

static int by_key(const struct top_row *a, const struct top_row *b, enum top_sort sort)
{
	switch (sort) {
	case TOP_BY_PHI:
		return by_size(urgency(a), urgency(b));
	case TOP_BY_HOST:
		return by_text(a->host, b->host);
	case TOP_BY_SILENCE:
		return by_size(a->silence_ns, b->silence_ns);
	case TOP_BY_MEAN:
		return by_size(a->mean_ns, b->mean_ns);
	case TOP_BY_LOSS:
		return by_size(a->loss_ppm, b->loss_ppm);
	default:
		return by_text(a->name, b->name);
	}
}

static int compare(const void *a, const void *b, void *context)
{
	const struct top_model *m = context;
	const struct top_row *x = &m->row[*(const uint32_t *)a], *y = &m->row[*(const uint32_t *)b];
	bool has_x = has_key(x, m->sort), has_y = has_key(y, m->sort);
	int order = has_x && has_y ? by_key(x, y, m->sort) : 0;

	if (has_x != has_y)
		return has_x ? -1 : 1;
	if (order)
		return m->reverse ? -order : order;
	order = by_text(x->name, y->name);
	return order ? order : (x->slot > y->slot) - (x->slot < y->slot);
}

void model_arrange(struct top_model *m)
{
	m->rows = 0;
	for (uint32_t i = 0; i < m->peers; i++)
		if (!*m->filter || model_matches(&m->row[m->slot[i]], m->filter))
			m->shown[m->rows++] = m->slot[i];
	if (m->rows)
		qsort_r(m->shown, m->rows, sizeof(*m->shown), compare, m);
}

int64_t model_find(const struct top_model *m, uint32_t slot, uint32_t generation)
{
	for (uint32_t i = 0; i < m->rows; i++)
		if (m->shown[i] == slot && m->row[slot].generation == generation)
			return i;
	return -1;
}

void model_past(const struct top_model *m, uint32_t slot, uint8_t *phi, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t ago = n - i; /* 1: the last look */

		phi[i] = ago > m->looks ? TOP_NOTHING : m->past[slot].phi[(m->looks - ago) % TOP_HISTORY];
	}
}

uint64_t model_past_since_ns(const struct top_model *m, uint32_t n)
{
	uint64_t ago = n < m->looks ? n : m->looks;

	return ago ? m->look_ns[(m->looks - ago) % TOP_HISTORY] : 0;
}

bool model_accuses(const struct top_model *m)
{
	for (uint32_t i = 0; i < m->rows; i++) {
		const struct top_row *r = &m->row[m->shown[i]];

		if (r->state <= TOP_DOWN && !r->muted)
			return true;
	}
	return false;
}
