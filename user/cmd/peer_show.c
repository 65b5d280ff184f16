// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi peer show: what was heard, and what is thought of it. */
#include "cmd/peer_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/peer.h"
#include "cmd/session.h"
#include "io/parse.h"
#include "kernel/clock.h"
#include "show/verdict.h"

static int show_all(struct kphi_cli *cli, const struct session *s)
{
	bool suspect;
	uint32_t busy;
	struct out *o = out_new(stdout, cli->mode);
	int err = say_peers(o, NULL, &s->store, clock_monotonic_ns(), &suspect, &busy);

	if (err) {
		fail("no memory for the list of peers");
		out_finish(o);
		return KPHI_EXIT_FAILED;
	}
	if (command_finish(o))
		return KPHI_EXIT_FAILED;
	if (busy)
		warn("%u peers were being written all the time and are left out", busy);
	return suspect && cli->exit_status ? KPHI_EXIT_SUSPECT : KPHI_EXIT_OK;
}

int show_find(const struct session *s, const char *name, int64_t *slot)
{
	*slot = store_find(&s->store, name);
	if (*slot >= 0)
		return KPHI_EXIT_OK;
	fail("%s: there is no peer of that name. `kphi peer show` lists them", name);
	return KPHI_EXIT_FAILED;
}

int show_busy(const char *name)
{
	fail("%s: its record is busy: it was being written each of the 1,000 times it was read. Try again",
	     name);
	return KPHI_EXIT_FAILED;
}

static int show_one(struct kphi_cli *cli, const struct session *s, const char *name)
{
	struct threshold threshold;
	struct kphi_daemon daemon;
	struct view v;
	struct out *o;
	int64_t slot;
	int exit = show_find(s, name, &slot);

	if (exit)
		return exit;
	if (store_read(&s->store, (uint32_t)slot, &v.record, &v.peer))
		return show_busy(name);
	threshold_prepare(&threshold, POLICY_SUSPECT);
	view_judge(&v, &s->store, (uint32_t)slot, &threshold, clock_monotonic_ns());
	view_daemon(&v, &s->store, store_daemon(&s->store, v.now_ns, &daemon) ? &daemon : NULL);
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	say_peer(o, &v, SHOW_DETAIL);
	say_siblings(o, &s->store, &v, &threshold);
	out_close_object(o);
	if (command_finish(o))
		return KPHI_EXIT_FAILED;
	return view_is_suspect(&v) && cli->exit_status ? KPHI_EXIT_SUSPECT : KPHI_EXIT_OK;
}

/* `host` is a keyword when another word follows it; a peer may be called that all the same. */
static int host_label(struct args *args, char label[KPHI_NAME_SIZE])
{
	char reason[WHY_SIZE];
	const char *word;

	args_word(args);
	word = args_next(args, "a host label");
	if (!word)
		return -1;
	if (!parse_name(word, label, reason, sizeof(reason)))
		return args_done(args);
	fail("%s: host: %s", args->where, reason);
	return -1;
}

/* A keyword wherever it comes first: `peer show name metrics` shows the peer that is called so. */
static bool wants_metrics(struct args *args)
{
	if (!args->argc || strcmp(args->argv[0], "metrics") != 0)
		return false;
	args_word(args);
	return true;
}

int peer_show(struct kphi_cli *cli, struct args *args)
{
	if (wants_metrics(args))
		return peer_metrics(cli, args);

	bool host = args->argc > 1 && !strcmp(args->argv[0], "host"), one = args->argc && !host;
	char name[KPHI_NAME_SIZE];
	struct session s;
	int exit;

	if (host && host_label(args, name))
		return KPHI_EXIT_USAGE;
	if (one && (peer_name(args, name) || args_done(args)))
		return KPHI_EXIT_USAGE;
	exit = session_read(&s, cli);
	if (!exit && host)
		exit = show_host(cli, &s, name);
	else if (!exit)
		exit = one ? show_one(cli, &s, name) : show_all(cli, &s);
	session_end(&s);
	return exit;
}
