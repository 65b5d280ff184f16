// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi top: who is silent, live on a terminal, and as one document elsewhere. Needs no daemon. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/session.h"
#include "kernel/clock.h"
#include "top/live.h"
#include "top/say.h"

#define EVERY_MIN_NS 100000000ULL
#define EVERY_MAX_NS 3600000000000ULL

struct top_options {
	uint64_t every_ns;
	int sort;
	const char *filter;
	bool once;
};

static const struct option_spec specs[] = {
	{"every", OPT_DURATION, offsetof(struct top_options, every_ns), OPT_NO_HAS, .min = EVERY_MIN_NS,
	 .max = EVERY_MAX_NS, .help = "how often it looks (1s)"},
	{"sort", OPT_CHOICE, offsetof(struct top_options, sort), OPT_NO_HAS, .choices = top_sort_names,
	 .help = "by what, the largest first or in the order of letters (phi)"},
	{"filter", OPT_STRING, offsetof(struct top_options, filter), OPT_NO_HAS, .value = "TEXT",
	 .help = "only peers whose name, host or state contains it"},
	{"once", OPT_FLAG, offsetof(struct top_options, once), OPT_NO_HAS,
	 .help = "one look as a plain table, as where there is no terminal"},
};

static int once(const struct kphi_cli *cli, const struct world *w, struct top_model *m)
{
	struct top_look look;
	struct out *o;
	int exit;

	if (model_open(m, w->store.header->peers)) {
		fail("no memory for the list of peers");
		return KPHI_EXIT_FAILED;
	}
	sample_take(&look, m, &w->store, clock_monotonic_ns());
	o = out_new(stdout, cli->mode);
	say_top(o, m, &look);
	exit = command_finish(o);
	if (!exit && look.busy)
		warn("%u peers were being written all the time and are left out", look.busy);
	if (!exit && cli->exit_status && model_accuses(m))
		exit = KPHI_EXIT_SUSPECT;
	model_close(m);
	return exit;
}

static int run(const struct kphi_cli *cli, const struct top_options *options)
{
	bool live = !options->once && cli->mode == OUT_TEXT && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	struct live_options how = {cli->pin, options->every_ns};
	struct top_model model = {.sort = options->sort};
	struct world w;
	struct why why;
	int exit = KPHI_EXIT_OK;

	if (options->filter)
		snprintf(model.filter, sizeof(model.filter), "%s", options->filter);
	if (world_open(&w, cli->pin, &why)) {
		fail("%s", why.text);
		return KPHI_EXIT_FAILED;
	}
	if (!live) {
		exit = once(cli, &w, &model);
		world_close(&w);
	} else if (live_run(&how, &w, &model, &why)) {
		fail("top: %s", why.text);
		exit = KPHI_EXIT_FAILED;
	}
	return exit;
}

static int top(struct kphi_cli *cli, struct args *args)
{
	struct top_options options = {.every_ns = 1000000000};

	if (options_parse(args, specs, COUNT(specs), &options))
		return KPHI_EXIT_USAGE;
	if (options.filter && strlen(options.filter) >= TOP_FILTER) {
		fail("top: filter: it is longer than %d bytes", TOP_FILTER - 1);
		return KPHI_EXIT_USAGE;
	}
	return run(cli, &options);
}

int cmd_top(struct kphi_cli *cli, int argc, char **argv)
{
	static const struct command command = {
		"",
		top,
		specs,
		COUNT(specs),
		"",
		"peers live, the most suspicious first; h tells the keys. Where standard input or output is "
		"no terminal, and with -j: one look"};

	return command_only(cli, "top", &command, argc, argv);
}
