// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void findings_free(struct findings *f)
{
	free(f->list);
	*f = (struct findings){0};
}

static struct finding *next(struct findings *f)
{
	size_t room = f->room ? 2 * f->room : 32;
	struct finding *list = f->n < f->room ? f->list : realloc(f->list, room * sizeof(*list));

	if (!list) {
		f->incomplete = true;
		return &f->spare;
	}
	if (f->n == f->room)
		f->room = room;
	f->list = list;
	return &list[f->n++];
}

struct finding *finding_add(struct findings *f, const char *subject, const char *check,
			    enum finding_status status, const char *format, ...)
{
	struct finding *new = next(f);
	va_list args;

	*new = (struct finding){.check = check, .status = status};
	snprintf(new->subject, sizeof(new->subject), "%s", subject);
	va_start(args, format);
	vsnprintf(new->text, sizeof(new->text), format, args);
	va_end(args);
	return new;
}

void finding_remedy(struct finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->remedy, sizeof(f->remedy), format, args);
	va_end(args);
}

static void add_figure(struct finding *f, struct figure figure)
{
	if (f->figures_count < FIGURES)
		f->figures[f->figures_count++] = figure;
}

void finding_number(struct finding *f, const char *key, uint64_t value)
{
	add_figure(f, (struct figure){.key = key, .kind = FIGURE_NUMBER, .value = value});
}

void finding_duration(struct finding *f, const char *key, uint64_t ns)
{
	add_figure(f, (struct figure){.key = key, .kind = FIGURE_DURATION, .value = ns});
}

void finding_bool(struct finding *f, const char *key, bool value)
{
	add_figure(f, (struct figure){.key = key, .kind = FIGURE_BOOL, .value = value});
}

void finding_text(struct finding *f, const char *key, const char *value)
{
	struct figure figure = {.key = key, .kind = FIGURE_TEXT};

	snprintf(figure.text, sizeof(figure.text), "%s", value);
	add_figure(f, figure);
}

bool findings_any(const struct findings *f, enum finding_status status)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->list[i].status == status)
			return true;
	return false;
}
