// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/options.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "io/error.h"
#include "io/format.h"
#include "io/parse.h"

#define SYNTAX_SIZE  256
#define SYNTAX_WIDTH 32 /* of the help text's first column, at most */
#define HELP_WIDTH   80
#define USAGE_START  28 /* where "Usage: kphi OBJECT COMMAND " has come to, roughly */
#define USAGE_INDENT 12

/* What the help text calls a value whose option has no better word for it, and how a sentence calls a missing
 * one. */
static const struct {
	const char *placeholder, *phrase;
} types[] = {
	[OPT_FLAG] = {"", "nothing"},
	[OPT_U64] = {"NUMBER", "a number"},
	[OPT_DURATION] = {"DURATION", "a duration such as 100ms"},
	[OPT_PERCENT] = {"PERCENT", "a percentage such as 50%"},
	[OPT_PORT] = {"PORT", "a port"},
	[OPT_UUID] = {"UUID", "a UUID"},
	[OPT_ADDRESS] = {"ADDRESS", "an IP address"},
	[OPT_ENDPOINT] = {"ADDRESS[:PORT]", "an IP address and a port"},
	[OPT_NAME] = {"NAME", "a name"},
	[OPT_STRING] = {"STRING", "a word"},
	[OPT_CHOICE] = {"CHOICE", "one of its choices"},
};

/* On a command line a whole number of percent is clear without its sign; 0.5 is not, and wants it. */
static int percent(const char *word, uint32_t *ppm, char *why, size_t size)
{
	char with_sign[16];

	if (!*word || word[strspn(word, "0123456789")] || strlen(word) > 4)
		return parse_percent(word, ppm, why, size);
	snprintf(with_sign, sizeof(with_sign), "%s%%", word);
	return parse_percent(with_sign, ppm, why, size);
}

static size_t count_choices(const struct option_spec *spec)
{
	size_t n = 0;

	while (spec->choices[n])
		n++;
	return n;
}

static uint64_t upper(const struct option_spec *spec)
{
	return spec->max ? spec->max : UINT64_MAX;
}

static int parse_string(const char *word, const char **field, char *why, size_t size)
{
	if (!*word)
		return refuse(-EINVAL, why, size, "it must not be empty");
	*field = word;
	return 0;
}

static int parse_choice(const struct option_spec *spec, const char *word, int *field, char *why, size_t size)
{
	int choice = keyword_match(word, spec->choices, count_choices(spec), why, size);

	if (choice < 0)
		return choice;
	*field = choice;
	return 0;
}

/* `field` points to what the type's comment in options.h says. */
static int parse_value(const struct option_spec *spec, const char *word, void *field, char *why, size_t size)
{
	switch (spec->type) {
	case OPT_FLAG:
		*(bool *)field = true;
		return 0;
	case OPT_U64:
		return parse_u64(word, spec->min, upper(spec), field, why, size);
	case OPT_DURATION:
		return parse_duration(word, spec->min, upper(spec), field, why, size);
	case OPT_PERCENT:
		return percent(word, field, why, size);
	case OPT_PORT:
		return parse_port(word, field, why, size);
	case OPT_UUID:
		return parse_uuid(word, field, why, size);
	case OPT_ADDRESS:
		return parse_address(word, field, why, size);
	case OPT_ENDPOINT:
		return parse_endpoint(word, (uint16_t)spec->min, field, why, size);
	case OPT_NAME:
		return parse_name(word, field, why, size);
	case OPT_STRING:
		return parse_string(word, field, why, size);
	case OPT_CHOICE:
		return parse_choice(spec, word, field, why, size);
	}
	return refuse(-EINVAL, why, size, "no such type of option");
}

/* Reads the value behind a keyword, if it takes one; `index` is how often the keyword came before. */
static int take_value(struct args *args, const struct option_spec *spec, unsigned int index, void *into)
{
	char *base = into, why[WHY_SIZE];
	size_t offset = spec->offset + index * sizeof(const char *);
	const char *word = NULL;

	if (spec->type != OPT_FLAG) {
		word = args_word(args);
		if (!word) {
			fail("%s: '%s' needs %s", args->where, spec->name, types[spec->type].phrase);
			return -EINVAL;
		}
	}
	if (parse_value(spec, word, base + offset, why, sizeof(why))) {
		fail("%s: %s: %s", args->where, spec->name, why);
		return -EINVAL;
	}
	if (spec->has != OPT_NO_HAS)
		*(bool *)(base + spec->has) = true;
	return 0;
}

static int check_required(const struct args *args, const struct option_spec *specs, size_t n, uint64_t seen)
{
	for (size_t i = 0; i < n; i++) {
		if (!specs[i].required || seen >> i & 1)
			continue;
		fail("%s: '%s' is missing: %s", args->where, specs[i].name, specs[i].help);
		return -EINVAL;
	}
	return 0;
}

/* Refuses a keyword that was given as often as it may be. */
static int check_times(struct args *args, const struct option_spec *spec, unsigned int given, uint64_t *seen,
		       unsigned int bit)
{
	if (spec->times < 2)
		return args_once(args, seen, bit, spec->name);
	*seen |= 1ULL << bit;
	if (given < spec->times)
		return 0;
	fail("%s: '%s' is given too often: %u times are the most", args->where, spec->name, spec->times);
	return -EINVAL;
}

int options_parse(struct args *args, const struct option_spec *specs, size_t n, void *into)
{
	const char *names[OPTIONS_MAX], *word;
	unsigned int given[OPTIONS_MAX] = {0};
	uint64_t seen = 0;

	assert(n <= OPTIONS_MAX);
	for (size_t i = 0; i < n; i++) {
		assert(specs[i].times < 2 || specs[i].type == OPT_STRING);
		names[i] = specs[i].name;
	}
	while ((word = args_word(args))) {
		char why[WHY_SIZE];
		int which = keyword_match(word, names, n, why, sizeof(why));

		if (which < 0) {
			fail("%s: %s", args->where, why);
			return -EINVAL;
		}
		if (check_times(args, &specs[which], given[which], &seen, (unsigned int)which) ||
		    take_value(args, &specs[which], given[which]++, into))
			return -EINVAL;
	}
	return check_required(args, specs, n, seen);
}

void options_syntax(const struct option_spec *spec, char *text, size_t size)
{
	const char *placeholder = spec->value ? spec->value : types[spec->type].placeholder;
	size_t length;

	if (spec->type != OPT_CHOICE || spec->value) {
		snprintf(text, size, "%s%s%s", spec->name, *placeholder ? " " : "", placeholder);
		return;
	}
	length = (size_t)snprintf(text, size, "%s {", spec->name);
	for (size_t i = 0; spec->choices[i] && length < size; i++)
		length += (size_t)snprintf(text + length, size - length, "%s %s", i ? " |" : "",
					   spec->choices[i]);
	if (length < size)
		snprintf(text + length, size - length, " }");
}

void options_usage(FILE *to, const struct option_spec *specs, size_t n)
{
	char syntax[SYNTAX_SIZE];
	size_t at = USAGE_START;

	for (size_t i = 0; i < n; i++) {
		size_t length;

		options_syntax(&specs[i], syntax, sizeof(syntax));
		length = strlen(syntax) + (specs[i].required ? 0 : 2) + (specs[i].times > 1 ? 3 : 0);
		if (i && at + 1 + length > HELP_WIDTH) {
			fprintf(to, "\n%*s", USAGE_INDENT, "");
			at = USAGE_INDENT;
		} else if (i) {
			putc(' ', to);
			at++;
		}
		fprintf(to, specs[i].required ? "%s" : "[%s]", syntax);
		fputs(specs[i].times > 1 ? "..." : "", to);
		at += length;
	}
}

/* A limit exactly, or at a glance where that would be a row of digits. */
static char *glance(uint64_t ns, char text[FORMAT_SIZE])
{
	return strlen(format_duration_exact(ns, text)) > 8 ? format_duration(ns, text) : text;
}

void options_range(const struct option_spec *spec, char *text, size_t size)
{
	char min[FORMAT_SIZE], max[FORMAT_SIZE];

	*text = '\0';
	if (spec->times > 1)
		snprintf(text, size, " (at most %u times)", spec->times);
	if (spec->type == OPT_ENDPOINT && spec->min)
		snprintf(text, size, " (port %" PRIu64 " unless given)", spec->min);
	if (spec->type != OPT_U64 && spec->type != OPT_DURATION)
		return;
	if (spec->type == OPT_DURATION) {
		glance(spec->min, min);
		glance(spec->max, max);
	} else {
		snprintf(min, sizeof(min), "%" PRIu64, spec->min);
		snprintf(max, sizeof(max), "%" PRIu64, spec->max);
	}
	if (spec->min && spec->max)
		snprintf(text, size, " (%s to %s)", min, max);
	else if (spec->max)
		snprintf(text, size, " (at most %s)", max);
	else if (spec->min)
		snprintf(text, size, " (at least %s)", min);
}

void options_help(FILE *to, const struct option_spec *specs, size_t n)
{
	char syntax[SYNTAX_SIZE], range[2 * FORMAT_SIZE + 16];
	size_t width = 0;

	for (size_t i = 0; i < n; i++) {
		options_syntax(&specs[i], syntax, sizeof(syntax));
		if (strlen(syntax) > width && strlen(syntax) <= SYNTAX_WIDTH)
			width = strlen(syntax);
	}
	for (size_t i = 0; i < n; i++) {
		options_syntax(&specs[i], syntax, sizeof(syntax));
		options_range(&specs[i], range, sizeof(range));
		fprintf(to, "    %-*s", (int)width, syntax);
		/* One that is wider than the column gets a line of its own. */
		if (strlen(syntax) > width)
			fprintf(to, "\n    %*s", (int)width, "");
		fprintf(to, "  %s%s%s\n", specs[i].help, range, specs[i].required ? "; required" : "");
	}
}
