// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/format.h"
#include "kernel/clock.h"

#define REDRAW_NS  200000000ULL
#define PATIENT_NS 500000000ULL /* what is done sooner than this needs no bar */
#define BAR        30

void progress_begin(struct progress *p, const char *what, uint64_t total)
{
	const char *terminal = getenv("TERM");

	*p = (struct progress){.what = what, .total = total, .begin_ns = clock_monotonic_ns()};
	p->next_ns = p->begin_ns + PATIENT_NS;
	p->on = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

static void draw(const struct progress *p, uint64_t done, uint64_t spent_ns)
{
	char bar[BAR + 1], left[FORMAT_SIZE], bytes[FORMAT_SIZE];
	double share = (double)done / (double)p->total;
	int full = (int)(share * BAR);

	if (!p->total) {
		fprintf(stderr, "\r%s: %s\033[K", p->what, format_bytes(done, bytes));
		return;
	}
	full = full > BAR ? BAR : full;
	memset(bar, '#', (size_t)full);
	memset(bar + full, '.', (size_t)(BAR - full));
	bar[BAR] = '\0';
	format_duration(done ? (uint64_t)((double)spent_ns * (1 - share) / share) : 0, left);
	fprintf(stderr, "\r%s [%s] %3d%%, %s left\033[K", p->what, bar, (int)(share * 100), left);
}

static bool is_due(struct progress *p, uint64_t *now_ns)
{
	if (!p->on)
		return false;
	*now_ns = clock_monotonic_ns();
	if (*now_ns < p->next_ns)
		return false;
	p->next_ns = *now_ns + REDRAW_NS;
	p->shown = true;
	return true;
}

void progress_at(struct progress *p, uint64_t done)
{
	uint64_t now_ns;

	if (is_due(p, &now_ns))
		draw(p, p->total && done > p->total ? p->total : done, now_ns - p->begin_ns);
}

void progress_say(struct progress *p, const char *format, ...)
{
	uint64_t now_ns;
	va_list args;

	if (!is_due(p, &now_ns))
		return;
	fprintf(stderr, "\r%s: ", p->what);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("\033[K", stderr);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r\033[K");
	p->shown = false;
}
