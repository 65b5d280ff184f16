// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/complete.h"
#include "cmd/manual.h"

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

void command_usage(FILE *to, const struct object *object)
{
	for (size_t i = 0; i < object->n; i++) {
		const struct command *c = &object->commands[i];

		fprintf(to, "%s kphi %s", i ? "      " : "Usage:", object->name);
		fprintf(to, "%s%s%s%s", *c->name ? " " : "", c->name, *c->usage ? " " : "", c->usage);
		if (c->specs_count) {
			putc(' ', to);
			options_usage(to, c->specs, c->specs_count);
		}
		fprintf(to, "\n           %s\n", c->help);
		options_help(to, c->specs, c->specs_count);
		if (i + 1 < object->n)
			putc('\n', to);
	}
}

static void write_usage(FILE *to, const void *context)
{
	command_usage(to, context);
}

bool command_asked(const struct kphi_cli *cli, const struct object *object, int argc, char **argv, int *exit)
{
	if (cli->asked == ASKED_WORDS)
		*exit = complete_words(cli, object, argc, argv);
	else if (cli->asked == ASKED_MANUAL)
		*exit = manual_commands(object);
	return cli->asked != ASKED_WORK;
}

int command_run(struct kphi_cli *cli, const char *object, const struct command *commands, size_t n, int argc,
		char **argv)
{
	const char *choices[COMMANDS_MAX + 1];
	char reason[512];
	struct object table = {object, commands, n};
	int which, exit = KPHI_EXIT_OK;

	if (command_asked(cli, &table, argc, argv, &exit))
		return exit;
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
		return command_help(cli, write_usage, &table);

	char where[64];
	struct args args = {argc - 1, argv + 1, where};

	snprintf(where, sizeof(where), "%s %s", object, commands[which].name);
	return commands[which].run(cli, &args);
}

int command_only(struct kphi_cli *cli, const char *object, const struct command *command, int argc,
		 char **argv)
{
	struct object table = {object, command, 1};
	struct args args = {argc, argv, object};
	int exit = KPHI_EXIT_OK;

	if (command_asked(cli, &table, argc, argv, &exit))
		return exit;
	if (argc && !strcmp(argv[0], "help"))
		return command_help(cli, write_usage, &table);
	return command->run(cli, &args);
}
