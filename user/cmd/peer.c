// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi peer: who is watched. */
#include "cmd/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "cmd/session.h"
#include "core/models.h"
#include "io/format.h"
#include "io/parse.h"
#include "io/utf8.h"
#include "kernel/clock.h"

#define MUTE_MAX_NS 31536000000000000ULL /* 365 days */

struct add {
	uint8_t id[16], from[16];
	uint16_t port;
	bool has_id, has_from, has_port, has_min_std, has_pause;
	uint64_t interval_ns, min_std_ns, pause_ns, max_interval_ns;
	int model;
	char host[KPHI_NAME_SIZE];
};

static const struct option_spec add_specs[] = {
	{"id", OPT_UUID, offsetof(struct add, id), offsetof(struct add, has_id),
	 .help = "a sender of native heartbeats (`kphi beat` prints its id)"},
	{"from", OPT_ADDRESS, offsetof(struct add, from), offsetof(struct add, has_from),
	 .help = "or: any UDP packet from this address ..."},
	{"port", OPT_PORT, offsetof(struct add, port), offsetof(struct add, has_port),
	 .help = "... to this port"},
	{"interval", OPT_DURATION, offsetof(struct add, interval_ns), OPT_NO_HAS, .min = PEER_INTERVAL_MIN_NS,
	 .max = PEER_INTERVAL_MAX_NS,
	 .help = "how often it beats; learned from the first 8 intervals if not said"},
	{"model", OPT_CHOICE, offsetof(struct add, model), OPT_NO_HAS, .choices = model_names,
	 .help = "how its silence is judged; normal if not said"},
	{"min-std", OPT_DURATION, offsetof(struct add, min_std_ns), offsetof(struct add, has_min_std),
	 .max = PEER_SETTING_MAX_NS, .help = "floor of the standard deviation; interval / 10 if not said"},
	{"pause", OPT_DURATION, offsetof(struct add, pause_ns), offsetof(struct add, has_pause),
	 .max = PEER_SETTING_MAX_NS, .help = "acceptable pause on top of the mean; 3 intervals if not said"},
	{"max-interval", OPT_DURATION, offsetof(struct add, max_interval_ns), OPT_NO_HAS,
	 .min = PEER_INTERVAL_MIN_NS, .max = PEER_SETTING_MAX_NS,
	 .help = "longer intervals are not learned; 10 intervals if not said"},
	{"host", OPT_NAME, offsetof(struct add, host), OPT_NO_HAS, .value = "LABEL",
	 .help = "the host it runs on, to group several streams"},
};

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

static int check_add(const struct args *args, const struct add *c)
{
	if (c->has_id == c->has_from)
		fail("%s: say who it is: either `id UUID` (native heartbeats) or `from ADDRESS port PORT` "
		     "(any UDP packet)",
		     args->where);
	else if (c->has_from != c->has_port)
		fail("%s: `from ADDRESS` and `port PORT` go together, and not with `id`", args->where);
	else if (c->model == KPHI_MODEL_EXPONENTIAL && (c->has_min_std || c->has_pause))
		fail("%s: the exponential model knows the mean only: it has no `min-std` and no `pause`",
		     args->where);
	else if (c->max_interval_ns && c->max_interval_ns < c->interval_ns)
		fail("%s: `max-interval` is below `interval`: nothing would ever be learned", args->where);
	else
		return 0;
	return -EINVAL;
}

static struct kphi_peer to_peer(const char *name, const struct add *c)
{
	struct kphi_peer p = {
		.interval_ns = c->interval_ns,
		.min_std_ns = c->min_std_ns,
		.pause_ns = c->pause_ns,
		.max_interval_ns = c->max_interval_ns,
		.model = c->model,
		.set = (c->has_min_std ? KPHI_SET_MIN_STD : 0) | (c->has_pause ? KPHI_SET_PAUSE : 0),
	};

	memcpy(p.name, name, sizeof(p.name));
	memcpy(p.host, c->host, sizeof(p.host));
	p.id.kind = c->has_id ? KPHI_ID_NATIVE : KPHI_ID_RULE;
	p.id.protocol = c->has_id ? 0 : IPPROTO_UDP;
	p.id.port = c->has_id ? 0 : c->port;
	memcpy(p.id.bytes, c->has_id ? c->id : c->from, sizeof(p.id.bytes));
	return p;
}

static int say_done(struct kphi_cli *cli, const char *what, const char *name)
{
	struct out *o = out_new(stdout, cli->mode);

	out_open_object(o, NULL);
	out_string(o, what, what, name);
	out_close_object(o);
	return command_finish(o);
}

/* Whose identity is it already? */
static const char *owner_of(const struct store *s, const struct kphi_id *id)
{
	for (uint32_t i = 0; i < s->header->peers; i++)
		if (s->records[i].state != KPHI_FREE && !memcmp(&s->peers[i].id, id, sizeof(*id)))
			return s->peers[i].name;
	return "another peer";
}

static int peer_add(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE];
	struct add c = {0};
	struct kphi_peer peer;
	struct session s;
	uint32_t slot = 0;
	int exit, err;

	if (peer_name(args, name) || options_parse(args, add_specs, COUNT(add_specs), &c) ||
	    check_add(args, &c))
		return KPHI_EXIT_USAGE;
	peer = to_peer(name, &c);
	exit = session_change(&s, cli);
	if (exit)
		goto end;
	exit = KPHI_EXIT_FAILED;
	if (store_find(&s.store, name) >= 0) {
		fail("%s: there is a peer of that name already. `kphi peer show name %s` shows it; `kphi "
		     "peer del %s` removes it",
		     name, name, name);
		goto end;
	}
	err = control_add(&s.control, &s.store, &peer, NULL, &slot, &s.why);
	if (err == -EEXIST)
		fail("%s: %s is that identity already. One identity is one peer", name,
		     owner_of(&s.store, &peer.id));
	else
		exit = session_result(&s, err);
end:
	session_end(&s);
	return exit ? exit : say_done(cli, "added", name);
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
	return exit ? exit : say_done(cli, "deleted", name);
}

static int peer_reset(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE];
	int exit;

	if (peer_name(args, name) || args_done(args))
		return KPHI_EXIT_USAGE;
	exit = change(cli, name, ask_reset, NULL);
	return exit ? exit : say_done(cli, "reset", name);
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
		return say_done(cli, "unmuted", name);
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
	static const struct command commands[] = {
		{"show", peer_show, NULL, 0, "[[name] NAME]",
		 "state, suspicion level and the figures behind it"},
		{"window", peer_window, NULL, 0, "[name] NAME",
		 "the intervals in a peer's window, and their histogram"},
		{"add", peer_add, add_specs, COUNT(add_specs), "NAME", "watch a stream of heartbeats"},
		{"del", peer_del, NULL, 0, "[name] NAME", "stop watching it"},
		{"reset", peer_reset, NULL, 0, "[name] NAME",
		 "forget what was heard of it, and accept the sender as it is now, a lower epoch included"},
		{"mute", peer_mute, mute_specs, COUNT(mute_specs), "NAME",
		 "maintenance: no verdicts on it for a while; it is recorded all the same"},
		{"unmute", peer_unmute, NULL, 0, "[name] NAME", "verdicts on it again, from now on"},
	};

	return command_run(cli, "peer", commands, COUNT(commands), argc, argv);
}
