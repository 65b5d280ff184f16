// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/manual.h"

#include <ctype.h>
#include <string.h>

#define SYNTAX_SIZE 512

/* Text as roff has it: no letter of it is an instruction. */
static void put(FILE *to, char letter)
{
	if (letter == '\\')
		fputs("\\e", to);
	else if (letter == '-')
		fputs("\\-", to);
	else
		putc(letter, to);
}

/* A sentence of the table, or several; what stands in `these` is set as what one types. */
static void write_text(FILE *to, const char *text)
{
	bool typed = false;

	fputs("\\&", to);
	for (; *text; text++) {
		if (*text == '`')
			fputs((typed = !typed) ? "\\fB" : "\\fR", to);
		else if (!strncmp(text, ". ", 2)) /* each sentence has a line of its own */
			fputs(".\n\\&", to), text++;
		else
			put(to, *text);
	}
}

/* Words to be typed as they are in bold, what stands for something, which is in capitals, in italics. */
static void write_syntax(FILE *to, const char *text)
{
	fputs("\\&", to);
	while (*text) {
		size_t length = 0;

		while (isalnum((unsigned char)text[length]) ||
		       (length && strchr("-_", text[length]) && text[length]))
			length++;
		if (length)
			fputs(isupper((unsigned char)*text) ? "\\fI" : "\\fB", to);
		for (size_t i = 0; i < length; i++)
			put(to, *text++);
		if (length)
			fputs("\\fR", to);
		else
			put(to, *text++);
	}
}

static void write_options(FILE *to, const struct command *c)
{
	char text[SYNTAX_SIZE];

	if (!c->specs_count)
		return;
	fputs(".Bl -tag -width Ds\n", to);
	for (size_t i = 0; i < c->specs_count; i++) {
		options_syntax(&c->specs[i], text, sizeof(text));
		fputs(".It ", to);
		write_syntax(to, text);
		putc('\n', to);
		write_text(to, c->specs[i].help);
		options_range(&c->specs[i], text, sizeof(text));
		write_text(to, text);
		fputs(c->specs[i].required ? "; required.\n" : ".\n", to);
	}
	fputs(".El\n", to);
}

static void write_command(FILE *to, const char *object, const struct command *c)
{
	char text[SYNTAX_SIZE];

	snprintf(text, sizeof(text), "kphi %s%s%s%s%s", object, *c->name ? " " : "", c->name,
		 *c->usage ? " " : "", c->usage);
	fputs(".It ", to);
	write_syntax(to, text);
	for (size_t i = 0; i < c->specs_count; i++) {
		options_syntax(&c->specs[i], text, sizeof(text));
		fputs(c->specs[i].required ? " " : " [", to);
		write_syntax(to, text);
		fprintf(to, "%s%s", c->specs[i].required ? "" : "]", c->specs[i].times > 1 ? "..." : "");
	}
	putc('\n', to);
	write_text(to, c->help);
	fputs(".\n", to);
	write_options(to, c);
}

int manual_commands(const struct object *object)
{
	fputs(".Bl -tag -width Ds\n", stdout);
	for (size_t i = 0; i < object->n; i++)
		write_command(stdout, object->name, &object->commands[i]);
	fputs(".El\n", stdout);
	return fflush(stdout) ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
}
