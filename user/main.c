// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi: options, and the table of OBJECTs. */
#include <abi.h>
#include <bpf/libbpf.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/complete.h"
#include "kernel/load.h"
#include "kernel/pin.h"
#include "version.h"

static const struct {
	const char *name;
	int (*run)(struct kphi_cli *cli, int argc, char **argv);
	const char *help;
} objects[] = {
	{"peer", cmd_peer, "who is watched: add, show, their windows"},
	{"top", cmd_top, "live: the most suspicious peers first"},
	{"net", cmd_net, "the devices that listen: attach, detach, show"},
	{"store", cmd_store, "the pinned maps: create, show, purge"},
	{"key", cmd_key, "with what native peers prove that a message is theirs"},
	{"guard", cmd_guard, "what this host knows about its own hearing: stalls, blind devices"},
	{"doctor", cmd_doctor, "what stands in the way of heartbeats on this host, and what to do"},
	{"beat", cmd_beat, "send heartbeats"},
	{"run", cmd_run, "the daemon: thresholds, verdicts, events"},
	{"event", cmd_event, "what the daemon has to say"},
	{"web", cmd_web, "metrics, page, lab and API over HTTP"},
	{"check", cmd_check, "what another detector says of the same peers, against what was heard"},
	{"trace", cmd_trace, "arrivals in a file: record, show, convert, replay, calibrate"},
};
#define OBJECTS (sizeof(objects) / sizeof(*objects))

static void usage(FILE *to, const void *context)
{
	(void)context;
	fprintf(to, "Usage: kphi [OPTIONS] OBJECT { COMMAND | help }\n\nOBJECT:\n");
	for (size_t i = 0; i < OBJECTS; i++)
		fprintf(to, "  %-6s  %s\n", objects[i].name, objects[i].help);
	fprintf(to, "\nOPTIONS:\n"
		    "  -j, --json      one JSON document on standard output\n"
		    "  -p, --pretty    the same, for people\n"
		    "  --pin DIR       a bpffs other than " PIN_ROOT_DEFAULT "\n"
		    "  --exit-status   exit with 3 if a peer that was asked for is suspect\n"
		    "  -d, --debug     say what libbpf and the kernel say\n"
		    "  -V, --version   version and ABI\n"
		    "  -h, --help      this\n");
}

static int version(enum out_mode mode)
{
	struct out *o = out_new(stdout, mode);

	out_open_object(o, NULL);
	out_string(o, "version", "kphi", KPHI_VERSION);
	out_string(o, "abi", "ABI", KPHI_ABI);
	out_string(o, "libbpf", "libbpf", libbpf_version_string());
	out_close_object(o);
	return command_finish(o);
}

/* The last of the words is the one in question, so an OBJECT that is complete has another one behind it. */
static int complete(struct kphi_cli *cli, int argc, char **argv)
{
	const char *begun = argc ? argv[argc - 1] : "";

	for (; argc > 1 && argv[0][0] == '-'; argc--, argv++) {
		if (!strcmp(argv[0], "--pin") && argc > 2) {
			cli->pin = argv[1];
			argc--, argv++;
		}
	}
	for (size_t i = 0; i < OBJECTS && argc > 1; i++)
		if (!strcmp(argv[0], objects[i].name))
			return objects[i].run(cli, argc - 1, argv + 1);
	for (size_t i = 0; i < OBJECTS && argc == 1; i++)
		complete_offer(begun, objects[i].name, objects[i].help);
	if (argc == 1)
		complete_offer(begun, "help", "all OBJECTs");
	return fflush(stdout) ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
}

/* The list of OBJECTs in mdoc(7). */
static int manual(void)
{
	for (size_t i = 0; i < OBJECTS; i++)
		printf(".It Cm %s\n%s\n", objects[i].name, objects[i].help);
	return fflush(stdout) ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
}

/* What nobody types: a shell asks for words, and the build for the commands of a manual page. */
static bool asked(struct kphi_cli *cli, const char *word)
{
	if (!strcmp(word, "complete"))
		cli->asked = ASKED_WORDS;
	else if (!strcmp(word, "manual"))
		cli->asked = ASKED_MANUAL;
	return cli->asked != ASKED_WORK;
}

static int run_object(struct kphi_cli *cli, int argc, char **argv)
{
	const char *names[OBJECTS + 1];
	char reason[512];
	int which;

	if (argc && cli->asked == ASKED_WORK && asked(cli, argv[0]))
		return cli->asked == ASKED_WORDS ? complete(cli, argc - 1, argv + 1)
						 : run_object(cli, argc - 1, argv + 1);
	if (!argc && cli->asked == ASKED_MANUAL)
		return manual();
	if (!argc) {
		fail("an OBJECT is missing. `kphi help` lists them");
		return KPHI_EXIT_USAGE;
	}
	for (size_t i = 0; i < OBJECTS; i++)
		names[i] = objects[i].name;
	names[OBJECTS] = "help";
	which = keyword_match(argv[0], names, OBJECTS + 1, reason, sizeof(reason));
	if (which < 0) {
		fail("%s", reason);
		return KPHI_EXIT_USAGE;
	}
	return (size_t)which == OBJECTS ? command_help(cli, usage, NULL)
					: objects[which].run(cli, argc - 1, argv + 1);
}

enum { OPTION_PIN = 256, OPTION_EXIT_STATUS };

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"pretty", no_argument, NULL, 'p'},
	{"pin", required_argument, NULL, OPTION_PIN},
	{"exit-status", no_argument, NULL, OPTION_EXIT_STATUS},
	{"debug", no_argument, NULL, 'd'},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* -j decides how even the first error is said, so it is looked for before anything can go wrong. */
static enum out_mode mode_of(int argc, char **argv)
{
	enum out_mode mode = OUT_TEXT;

	for (int i = 1; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--pin"))
			i++;
		else if (!strcmp(argv[i], "--json") || (argv[i][1] != '-' && strchr(argv[i], 'j')))
			mode = mode == OUT_TEXT ? OUT_JSON : mode;
		else if (!strcmp(argv[i], "--pretty") || (argv[i][1] != '-' && strchr(argv[i], 'p')))
			mode = OUT_PRETTY;
	}
	return mode;
}

/* Within a word of several letters getopt has not yet moved on to the next word. */
static void bad_option(bool value_missing, const char *word)
{
	char letter[] = {'-', (char)optopt, '\0'};
	bool unknown_letter = optopt > 0 && optopt < OPTION_PIN && !strchr("jpdVh", optopt);

	fail(value_missing ? "%s needs a value. `kphi help` lists the options"
			   : "%s is not an option. `kphi help` lists them",
	     unknown_letter ? letter : word);
}

int main(int argc, char **argv)
{
	struct kphi_cli cli = {.mode = mode_of(argc, argv)};
	bool show_version = false;
	int option;

	signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error like any other, and is reported as one */
	error_setup(cli.mode, "kphi");
	load_quiet();
	opterr = 0;
	/* "+": options end at the OBJECT, so that a command's words are its own. */
	while ((option = getopt_long(argc, argv, "+:jpdVh", long_options, NULL)) != -1) {
		switch (option) {
		case 'j': /* mode_of() knows no abbreviations */
		case 'p':
			if (option == 'p' || cli.mode == OUT_TEXT)
				cli.mode = option == 'p' ? OUT_PRETTY : OUT_JSON;
			error_setup(cli.mode, "kphi");
			break;
		case 'd':
			error_set_debug(true);
			break;
		case OPTION_PIN:
			cli.pin = optarg;
			break;
		case OPTION_EXIT_STATUS:
			cli.exit_status = true;
			break;
		case 'V':
			show_version = true;
			break;
		case 'h':
			return command_help(&cli, usage, NULL);
		default:
			bad_option(option == ':', argv[optind - 1]);
			return KPHI_EXIT_USAGE;
		}
	}
	return show_version ? version(cli.mode) : run_object(&cli, argc - optind, argv + optind);
}
