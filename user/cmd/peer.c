// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi peer: who is watched. */
#include "cmd/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/session.h"
#include "io/parse.h"
#include "io/utf8.h"
#include "kernel/clock.h"

#define MUTE_MAX_NS 31536000000000000ULL /* 365 days */

struct mute {
	uint64_t for_ns;
	const char *reason; /* or NULL */
};

static const struct option_spec mute_specs[] = {
	{"for", OPT_DURATION, offsetof(struct mute, for_ns), OPT_NO_HAS, .required = true, .max = MUTE_MAX_NS,
	 .help = "how long, from now; it ends by itself, and 0 ends it now"},
	{"reason", OPT_STRING, offsetof(struct mute, reason), OPT_NO_HAS, .value = "TEXT",
	 .help = "shown to whoever asks for the peer; at most 47 bytes"},
};

int peer_name(struct args *args, char *name)
{
	const char *word = args_next(args, "a name");
	char reason[WHY_SIZE];

	/* `name` is a keyword when another word follows it; a peer may be called that all the same. */
	if (word && !strcmp(word, "name") && args->argc)
		word = args_next(args, "a name");
	if (!word)
		return -EINVAL;
	if (parse_name(word, name, reason, sizeof(reason))) {
		fail("%s: %s", args->where, reason);
		return -EINVAL;
	}
	return 0;
}

int peer_done(struct kphi_cli *cli, const char *what, const char *name)
{
	struct out *o = out_new(stdout, cli->mode);

	out_open_object(o, NULL);
	out_string(o, what, what, name);
	out_close_object(o);
	return command_finish(o);
}

/* Finds the peer by its name and asks for a change of the generation that was seen. */
static int change(struct kphi_cli *cli, const char *name,
		  int (*ask)(struct session *s, uint32_t slot, uint32_t generation, const void *what),
		  const void *what)
{
	struct kphi_record record;
	struct session s;
	int64_t slot;
	int exit;

	exit = session_read(&s, cli); /* no store: no peer, and none is made for it */
	session_end(&s);
	exit = exit ? exit : session_change(&s, cli);
	if (exit)
		return exit;
	slot = store_find(&s.store, name);
	if (slot < 0 || store_read(&s.store, slot, &record, NULL)) {
		fail("%s: there is no peer of that name. `kphi peer show` lists them", name);
		exit = KPHI_EXIT_FAILED;
	} else {
		exit = session_result(&s, ask(&s, slot, record.generation, what));
	}
	session_end(&s);
	return exit;
}

static int ask_delete(struct session *s, uint32_t slot, uint32_t generation, const void *what)
{
	(void)what;
	return control_delete(&s->control, &s->store, slot, generation, &s->why);
}

static int ask_reset(struct session *s, uint32_t slot, uint32_t generation, const void *what)
{
	(void)what;
	return control_reset(&s->control, slot, generation, &s->why);
}

static int ask_mute(struct session *s, uint32_t slot, uint32_t generation, const void *what)
{
	const struct mute *m = what;
	uint64_t until_ns = m->for_ns ? clock_monotonic_ns() + m->for_ns : 0;

	return control_mute(&s->control, slot, generation, until_ns, m->reason, &s->why);
}

static int peer_del(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE];
	int exit;

	if (peer_name(args, name) || args_done(args))
		return KPHI_EXIT_USAGE;
	exit = change(cli, name, ask_delete, NULL);
	return exit ? exit : peer_done(cli, "deleted", name);
}

static int peer_reset(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE];
	int exit;

	if (peer_name(args, name) || args_done(args))
		return KPHI_EXIT_USAGE;
	exit = change(cli, name, ask_reset, NULL);
	return exit ? exit : peer_done(cli, "reset", name);
}

/* It is shown on terminals and kept in the store: one line of text, and not a long one. */
static int check_reason(const struct args *args, const char *reason)
{
	size_t size = strlen(reason), taken;
	uint32_t code;

	if (size >= KPHI_MUTE_REASON) {
		fail("%s: reason: %zu bytes are too many. It may have %zu", args->where, size,
		     KPHI_MUTE_REASON - 1);
		return -EINVAL;
	}
	for (size_t i = 0; i < size; i += taken) {
		taken = utf8_decode(reason + i, size - i, &code);
		if (taken && !utf8_is_control(code))
			continue;
		fail("%s: reason: byte %zu is %s. It may be any line of UTF-8 text", args->where, i + 1,
		     taken ? "a control character" : "no UTF-8");
		return -EINVAL;
	}
	return 0;
}

static int say_muted(struct kphi_cli *cli, const char *name, const struct mute *m)
{
	struct out *o;

	if (!m->for_ns)
		return peer_done(cli, "unmuted", name);
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	out_string(o, "muted", "muted", name);
	out_duration(o, "for_ns", "for", m->for_ns);
	out_string(o, "reason", m->reason ? "because of" : NULL, m->reason);
	out_close_object(o);
	return command_finish(o);
}

static int peer_mute(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE];
	struct mute m = {0};
	int exit;

	if (peer_name(args, name) || options_parse(args, mute_specs, COUNT(mute_specs), &m) ||
	    (m.reason && check_reason(args, m.reason)))
		return KPHI_EXIT_USAGE;
	exit = change(cli, name, ask_mute, &m);
	return exit ? exit : say_muted(cli, name, &m);
}

static int peer_unmute(struct kphi_cli *cli, struct args *args)
{
	static const struct mute m = {0};
	char name[KPHI_NAME_SIZE];
	int exit;

	if (peer_name(args, name) || args_done(args))
		return KPHI_EXIT_USAGE;
	exit = change(cli, name, ask_mute, &m);
	return exit ? exit : say_muted(cli, name, &m);
}

int cmd_peer(struct kphi_cli *cli, int argc, char **argv)
{
	const struct command commands[] = {
		{"show", peer_show, peer_metrics_specs, peer_metrics_specs_count,
		 "[[name] NAME | host LABEL | metrics]",
		 "state, suspicion level and the figures behind it; with `metrics`, for Prometheus"},
		{"window", peer_window, NULL, 0, "[name] NAME",
		 "the intervals in a peer's window, and their histogram"},
		{"explain", peer_explain, peer_explain_specs, peer_explain_specs_count, "[name] NAME",
		 "why it is suspected, or not: every model side by side, and what they judge by"},
		{"add", peer_add, peer_add_specs, peer_add_specs_count, "NAME",
		 "watch a stream of heartbeats"},
		{"discover", peer_discover, peer_discover_specs, peer_discover_specs_count, "",
		 "who sends native heartbeats and was never added: unproved, and nothing is made of it"},
		{"presets", peer_presets, NULL, 0, "", "the protocols that `proto` knows"},
		{"del", peer_del, NULL, 0, "[name] NAME", "stop watching it"},
		{"reset", peer_reset, NULL, 0, "[name] NAME",
		 "forget what was heard of it, and accept the sender as it is now, a lower epoch included"},
		{"mute", peer_mute, mute_specs, COUNT(mute_specs), "NAME",
		 "maintenance: no verdicts on it for a while; it is recorded all the same"},
		{"unmute", peer_unmute, NULL, 0, "[name] NAME", "verdicts on it again, from now on"},
	};

	return command_run(cli, "peer", commands, COUNT(commands), argc, argv);
}
