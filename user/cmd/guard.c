// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi guard: what this host knows about its own hearing. Needs no daemon. */
#include "show/guard.h"
#include "cmd/session.h"
#include "kernel/clock.h"

static int guard_show(struct kphi_cli *cli, struct args *args)
{
	struct session s;
	struct out *o;
	int exit;

	if (args_done(args))
		return KPHI_EXIT_USAGE;
	exit = session_read(&s, cli);
	if (!exit) {
		o = out_new(stdout, cli->mode);
		out_open_object(o, NULL);
		say_guard(o, &s.pin, &s.store, clock_monotonic_ns());
		out_close_object(o);
		exit = command_finish(o);
	}
	session_end(&s);
	return exit;
}

int cmd_guard(struct kphi_cli *cli, int argc, char **argv)
{
	static const struct command commands[] = {
		{"show", guard_show, NULL, 0, "",
		 "ticks, stalls and blind devices of this host, what they withhold, and what watching for "
		 "them costs"},
	};

	return command_run(cli, "guard", commands, COUNT(commands), argc, argv);
}
