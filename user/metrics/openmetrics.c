// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "metrics/openmetrics.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "io/format.h"
#include "io/utf8.h"

#define NS_DIGITS    9 /* of a second */
#define BUCKET_FIRST 9 /* ends at 2^10 ns */
#define BUCKET_LAST  32 /* ends at 2^33 ns */
#define NUMBER       24 /* digits of 64 bits, a point, a zero */

/* --- text --- */

struct line {
	size_t size;
	char text[OM_NAME + OM_LABELS + 64];
};

static void add(struct line *line, const char *text, size_t size)
{
	memcpy(line->text + line->size, text, size);
	line->size += size;
}

/* The digits of `value`, with zeros in front up to `least` of them. Returns where they begin in `room`. */
static const char *digits(uint64_t value, unsigned int least, char room[NUMBER], size_t *size)
{
	size_t at = NUMBER;

	for (*size = 0; value || *size < least; ++*size) {
		room[--at] = (char)('0' + value % 10);
		value /= 10;
	}
	return room + at;
}

static void add_u64(struct line *line, uint64_t value)
{
	char room[NUMBER];
	size_t size;
	const char *text = digits(value, 1, room, &size);

	add(line, text, size);
}

static void add_seconds(struct line *line, uint64_t ns)
{
	char room[NUMBER];
	size_t size;
	const char *fraction = digits(ns % 1000000000, NS_DIGITS, room, &size);

	add_u64(line, ns / 1000000000);
	while (size && fraction[size - 1] == '0')
		size--;
	if (!size)
		return;
	add(line, ".", 1);
	add(line, fraction, size);
}

/*
 * Bounds of buckets are labels, so they are compared as text: written as OpenMetrics wants numbers in labels,
 * the shortest decimal, with an exponent from below 0.0001. `ns` has at most 15 digits and is not 0.
 */
static void canonical_seconds(struct line *line, uint64_t ns)
{
	char room[NUMBER], exponent[8];
	size_t size, all;
	const char *text = digits(ns, 1, room, &all);

	if (all > NS_DIGITS - 4) {
		add_seconds(line, ns);
		if (ns % 1000000000 == 0)
			add(line, ".0", 2);
		return;
	}
	for (size = all; text[size - 1] == '0';)
		size--;
	add(line, text, 1);
	if (size > 1) {
		add(line, ".", 1);
		add(line, text + 1, size - 1);
	}
	snprintf(exponent, sizeof(exponent), "e-%02zu", NS_DIGITS + 1 - all);
	add(line, exponent, strlen(exponent));
}

/* --- labels --- */

/* What stands for the character at `at`, which takes *taken bytes. Returns its size. */
static size_t escaped(const char *at, size_t left, size_t *taken, char to[4])
{
	uint32_t code;

	*taken = 1;
	if (*at == '\n' || *at == '"' || *at == '\\') {
		to[0] = '\\';
		to[1] = (char)(*at == '\n' ? 'n' : *at);
		return 2;
	}
	if (!(*at & 0x80)) {
		to[0] = *at;
		return 1;
	}
	*taken = utf8_decode(at, left, &code);
	if (*taken) {
		memcpy(to, at, *taken);
		return *taken;
	}
	*taken = 1;
	memcpy(to, "\xef\xbf\xbd", 3);
	return 3;
}

void om_label(struct om_labels *l, const char *name, const char *value)
{
	size_t left = strlen(value), taken, size = l->size, length = strlen(name);
	char one[4];

	if (size + length + 4 > OM_LABELS)
		return;
	if (size)
		l->text[size++] = ',';
	memcpy(l->text + size, name, length);
	size += length;
	l->text[size++] = '=';
	l->text[size++] = '"';
	for (; left; value += taken, left -= taken) {
		size_t n = escaped(value, left, &taken, one);

		if (size + n + 1 > OM_LABELS)
			return;
		memcpy(l->text + size, one, n);
		size += n;
	}
	l->text[size++] = '"';
	l->size = size;
}

void om_label_u64(struct om_labels *l, const char *name, uint64_t value)
{
	char text[NUMBER];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	om_label(l, name, text);
}

/* --- samples --- */

static void begin_line(struct line *line, const struct om *m, const char *suffix, const struct om_labels *l)
{
	line->size = 0;
	add(line, m->name, strlen(m->name));
	add(line, suffix, strlen(suffix));
	if (l && l->size) {
		add(line, "{", 1);
		add(line, l->text, l->size);
		add(line, "}", 1);
	}
	add(line, " ", 1);
}

static void end_line(struct om *m, struct line *line)
{
	add(line, "\n", 1);
	fwrite_unlocked(line->text, 1, line->size, m->to);
	m->samples++;
}

void om_u64(struct om *m, const struct om_labels *l, uint64_t value)
{
	struct line line;

	begin_line(&line, m, "", l);
	add_u64(&line, value);
	end_line(m, &line);
}

void om_seconds(struct om *m, const struct om_labels *l, uint64_t ns)
{
	struct line line;

	begin_line(&line, m, "", l);
	add_seconds(&line, ns);
	end_line(m, &line);
}

void om_q32(struct om *m, const struct om_labels *l, uint64_t q32)
{
	char text[FORMAT_SIZE];
	struct line line;

	format_q32(q32, 6, text);
	begin_line(&line, m, "", l);
	add(&line, text, strlen(text));
	end_line(m, &line);
}

/* le: the upper bound, or "+Inf". */
static void bucket(struct om *m, const char *le, uint64_t cumulative)
{
	struct om_labels l = {.size = 0};
	struct line line;

	om_label(&l, "le", le);
	begin_line(&line, m, "_bucket", &l);
	add_u64(&line, cumulative);
	end_line(m, &line);
}

void om_histogram(struct om *m, const struct kphi_histogram *h)
{
	uint64_t count = 0;
	struct line line;

	for (unsigned int i = 0; i < KPHI_LATENESS_BUCKETS; i++) {
		struct line le = {.size = 0};

		count += h->bucket[i];
		if (i < BUCKET_FIRST || i > BUCKET_LAST)
			continue;
		canonical_seconds(&le, (2ULL << i) - 1);
		le.text[le.size] = '\0';
		bucket(m, le.text, count);
	}
	bucket(m, "+Inf", count);
	begin_line(&line, m, "_count", NULL);
	add_u64(&line, count);
	end_line(m, &line);
	begin_line(&line, m, "_sum", NULL);
	add_seconds(&line, h->sum_ns);
	end_line(m, &line);
}

/* --- the whole --- */

void om_begin(struct om *m, FILE *to, enum metrics_format format)
{
	*m = (struct om){.to = to, .format = format};
}

void om_family(struct om *m, const char *name, enum om_type type, const char *unit, const char *help)
{
	static const char *const types[] = {"gauge", "counter", "histogram"};
	const char *family = m->format == METRICS_OPENMETRICS ? name : m->name;

	m->type = type;
	snprintf(m->name, sizeof(m->name), "%s%s", name, type == OM_COUNTER ? "_total" : "");
	fprintf(m->to, "# TYPE %s %s\n", family, types[type]);
	if (unit && m->format == METRICS_OPENMETRICS)
		fprintf(m->to, "# UNIT %s %s\n", family, unit);
	fprintf(m->to, "# HELP %s %s\n", family, help);
}

void om_single(struct om *m, const char *name, enum om_type type, uint64_t value, const char *help)
{
	om_family(m, name, type, NULL, help);
	om_u64(m, NULL, value);
}

int om_end(struct om *m)
{
	if (m->format == METRICS_OPENMETRICS)
		fputs("# EOF\n", m->to);
	return ferror(m->to) ? -EIO : 0;
}
