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

/* What is wanted of an OBJECT: that it does its work, or that its table of commands is read. */
enum asked {
	ASKED_WORK,
	ASKED_WORDS, /* which words may come next: see cmd/complete.h */
	ASKED_MANUAL, /* its commands as they stand in a manual page: see cmd/manual.h */
};

struct kphi_cli {
	enum asked asked;
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
int cmd_key(struct kphi_cli *cli, int argc, char **argv);
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

/* An OBJECT: its commands. A single one whose name is "" is the OBJECT itself. */
struct object {
	const char *name;
	const struct command *commands;
	size_t n;
};

/* Finds the COMMAND (an unambiguous beginning of its name will do) and runs it; `help` prints the table. */
int command_run(struct kphi_cli *cli, const char *object, const struct command *commands, size_t n, int argc,
		char **argv);

/* The same of an OBJECT that is its only command, whose name is "". */
int command_only(struct kphi_cli *cli, const char *object, const struct command *command, int argc,
		 char **argv);

/* If only the table is asked for: answers from it. Returns whether it was, and the exit code in *exit. */
bool command_asked(const struct kphi_cli *cli, const struct object *object, int argc, char **argv, int *exit);

/* All its commands and their words, as help text. */
void command_usage(FILE *to, const struct object *object);

/*
 * Ends the command's document. Returns the exit code, having said why if standard output did not take it.
 */
int command_finish(struct out *o);

/* Prints what `write` writes; under JSON as the one document {"help": "..."}. Returns the exit code. */
int command_help(const struct kphi_cli *cli, void (*write)(FILE *to, const void *context),
		 const void *context);

#endif
