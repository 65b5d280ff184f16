// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"

#define COMMANDS_MAX 16

int command_finish(struct out *o)
{
	int err = out_finish(o);

	if (!err)
		return KPHI_EXIT_OK;
	fail("cannot write to standard output: %s", strerror(-err));
	return KPHI_EXIT_FAILED;
}

int command_help(const struct kphi_cli *cli, void (*write)(FILE *to, const void *context),
		 const void *context)
{
	struct out *o = out_new(stdout, cli->mode);
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (memory) {
		write(memory, context);
		fclose(memory);
	}
	if (cli->mode == OUT_TEXT) {
		out_text(o, "%s", text ? text : "");
	} else {
		out_open_object(o, NULL);
		out_string(o, "help", NULL, text);
		out_close_object(o);
	}
	free(text);
	return command_finish(o);
}

struct object {
	const char *name;
	const struct command *commands;
	size_t n;
};

static void write_commands(FILE *to, const void *context)
{
	const struct object *object = context;

	for (size_t i = 0; i < object->n; i++) {
		const struct command *c = &object->commands[i];

		fprintf(to, "%s kphi %s %s%s%s", i ? "      " : "Usage:", object->name, c->name,
			*c->usage ? " " : "", c->usage);
		if (c->specs_count) {
			putc(' ', to);
			options_usage(to, c->specs, c->specs_count);
		}
		fprintf(to, "\n           %s\n", c->help);
		options_help(to, c->specs, c->specs_count);
		putc('\n', to);
	}
}

int command_run(struct kphi_cli *cli, const char *object, const struct command *commands, size_t n, int argc,
		char **argv)
{
	const char *choices[COMMANDS_MAX + 1];
	char reason[512];
	int which;

	for (size_t i = 0; i < n; i++)
		choices[i] = commands[i].name;
	choices[n] = "help";
	if (!argc) {
		fail("%s: a command is missing. `kphi %s help` lists them", object, object);
		return KPHI_EXIT_USAGE;
	}
	which = keyword_match(argv[0], choices, n + 1, reason, sizeof(reason));
	if (which < 0) {
		fail("%s: %s", object, reason);
		return KPHI_EXIT_USAGE;
	}
	if ((size_t)which == n)
		return command_help(cli, write_commands, &(struct object){object, commands, n});

	char where[64];
	struct args args = {argc - 1, argv + 1, where};

	snprintf(where, sizeof(where), "%s %s", object, commands[which].name);
	return commands[which].run(cli, &args);
}
