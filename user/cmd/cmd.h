/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What main.c hands to a command, and what the commands share. One file per OBJECT. */
#ifndef KPHI_CMD_H
#define KPHI_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "io/error.h"
#include "io/options.h"
#include "io/output.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct kphi_cli {
	enum out_mode mode;
	const char *pin; /* --pin DIR, or NULL */
	bool exit_status; /* --exit-status */
};

/*
 * Each gets the words after its OBJECT: argv[0] is the COMMAND. They return an enum kphi_exit, having said
 * what went wrong through fail().
 */
int cmd_store(struct kphi_cli *cli, int argc, char **argv);
int cmd_net(struct kphi_cli *cli, int argc, char **argv);
int cmd_peer(struct kphi_cli *cli, int argc, char **argv);
int cmd_top(struct kphi_cli *cli, int argc, char **argv);
int cmd_guard(struct kphi_cli *cli, int argc, char **argv);
int cmd_doctor(struct kphi_cli *cli, int argc, char **argv);
int cmd_beat(struct kphi_cli *cli, int argc, char **argv);
int cmd_trace(struct kphi_cli *cli, int argc, char **argv);
int cmd_run(struct kphi_cli *cli, int argc, char **argv);
int cmd_event(struct kphi_cli *cli, int argc, char **argv);
int cmd_web(struct kphi_cli *cli, int argc, char **argv);
int cmd_check(struct kphi_cli *cli, int argc, char **argv);

/* A COMMAND of an OBJECT. `usage` is the rest of its help line; it may be empty. */
struct command {
	const char *name;
	int (*run)(struct kphi_cli *cli, struct args *args);
	const struct option_spec *specs; /* its keyword arguments, for the help text */
	size_t specs_count;
	const char *usage; /* words before the keyword arguments */
	const char *help;
};

/* Finds the COMMAND (an unambiguous beginning of its name will do) and runs it; `help` prints the table. */
int command_run(struct kphi_cli *cli, const char *object, const struct command *commands, size_t n, int argc,
		char **argv);

/*
 * Ends the command's document. Returns the exit code, having said why if standard output did not take it.
 */
int command_finish(struct out *o);

/* Prints what `write` writes; under JSON as the one document {"help": "..."}. Returns the exit code. */
int command_help(const struct kphi_cli *cli, void (*write)(FILE *to, const void *context),
		 const void *context);

#endif
