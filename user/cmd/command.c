// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"

#define COMMANDS_MAX 16

static int command_help(const char *object, const struct command *commands, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct command *c = &commands[i];

		printf("%s kphi %s %s%s%s", i ? "      " : "Usage:", object, c->name, *c->usage ? " " : "",
		       c->usage);
		if (c->specs_count) {
			putchar(' ');
			options_usage(stdout, c->specs, c->specs_count);
		}
		printf("\n           %s\n", c->help);
		options_help(stdout, c->specs, c->specs_count);
		putchar('\n');
	}
	return fflush(stdout) || ferror(stdout) ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
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
		return command_help(object, commands, n);

	char where[64];
	struct args args = {argc - 1, argv + 1, where};

	snprintf(where, sizeof(where), "%s %s", object, commands[which].name);
	return commands[which].run(cli, &args);
}
