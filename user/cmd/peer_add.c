// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi peer add and presets: who is to be watched, and by which rules that can be. */
#include <errno.h>
#include <string.h>

#include "cmd/peer.h"
#include "cmd/session.h"
#include "core/models.h"
#include "kernel/keyring.h"
#include "rule/native.h"
#include "rule/same.h"
#include "rule/words.h"

struct add {
	uint8_t id[16];
	struct rule_text rule;
	bool has_id, has_model, has_min_std, has_pause;
	uint64_t interval_ns, min_std_ns, pause_ns, max_interval_ns, min_epoch;
	char key[KPHI_NAME_SIZE];
	int model;
	char host[KPHI_NAME_SIZE];
};

#define WORD(...) RULE_OPTION(add, __VA_ARGS__)

const struct option_spec peer_add_specs[] = {
	{"id", OPT_UUID, offsetof(struct add, id), offsetof(struct add, has_id),
	 .help = "a sender of native heartbeats (`kphi beat` prints its id)"},
	{"key", OPT_NAME, offsetof(struct add, key), OPT_NO_HAS, .value = "NAME",
	 .help = "id: only messages signed with this key (`kphi key`)"},
	{"min-epoch", OPT_U64, offsetof(struct add, min_epoch), OPT_NO_HAS,
	 .help = "id: no message of an epoch below this one, as if it had been heard already"},
	WORD("from", RULE_FROM, "ADDRESS",
	     "or a rule: packets from this address; id: only from there, up to 4 with commas"),
	WORD("port", RULE_PORT, "PORT", "... to this UDP port"),
	WORD("proto", RULE_PROTO, "PRESET", "of this protocol (`kphi peer presets`); udp if not said"),
	WORD("protocol", RULE_PROTOCOL, "NUMBER", "proto ip: number of the IP protocol"),
	WORD("vrid", RULE_VRID, "NUMBER", "proto vrrp: the virtual router"),
	WORD("discriminator", RULE_DISCRIMINATOR, "NUMBER",
	     "proto bfd: only the session in which the neighbour has this one"),
	WORD("local-rx", RULE_LOCAL_RX, "DURATION",
	     "proto bfd: this host's required minimum receive interval"),
	{"match", OPT_STRING, offsetof(struct add, rule.match), OPT_NO_HAS, .value = "OFFSET:HEX[/MASK]",
	 .times = KPHI_MATCHES, .help = "proto udp, ip: only packets that have these bytes there"},
	WORD("sequence", RULE_SEQUENCE, "OFFSET:BITS[le]",
	     "proto udp, ip: they have a sequence number there, so losses are counted"),
	WORD("leave", RULE_LEAVE, "OFFSET:HEX[/MASK]",
	     "proto udp, ip: a packet with these bytes is a goodbye"),
	WORD("ttl", RULE_TTL, "NUMBER", "proto udp, ip, and id: least TTL; 255: from this very link"),
	WORD("vlan", RULE_VLAN, "NUMBER", "only of this VLAN, where its tag can be seen"),
	WORD("dev", RULE_DEVICE, "NAME", "only as heard by this device"),
	{"interval", OPT_DURATION, offsetof(struct add, interval_ns), OPT_NO_HAS, .min = PEER_INTERVAL_MIN_NS,
	 .max = PEER_INTERVAL_MAX_NS,
	 .help = "how often it beats; learned from the first 8 intervals if not said"},
	{"model", OPT_CHOICE, offsetof(struct add, model), offsetof(struct add, has_model),
	 .choices = model_names, .help = "how its silence is judged; the preset's, or normal, if not said"},
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
const size_t peer_add_specs_count = COUNT(peer_add_specs);

static int check_add(const struct args *args, const struct add *c)
{
	if (!c->has_id && !rule_is_written(&c->rule))
		fail("%s: say who it is: either `id UUID` (native heartbeats), or a rule: `from ADDRESS port "
		     "PORT` (any UDP packet), or `proto PRESET` (`kphi peer presets`)",
		     args->where);
	else if (!c->has_id && (*c->key || c->min_epoch))
		fail("%s: `key` and `min-epoch` go with an `id`: only native heartbeats are signed and have "
		     "epochs",
		     args->where);
	else if (c->model == KPHI_MODEL_EXPONENTIAL && (c->has_min_std || c->has_pause))
		fail("%s: the exponential model knows the mean only: it has no `min-std` and no `pause`",
		     args->where);
	else if (c->has_pause && !model_has_pause((uint8_t)c->model))
		fail("%s: the %s model has no `pause`: it learns from what it hears how long to wait",
		     args->where, model_name((uint8_t)c->model));
	else if (c->max_interval_ns && c->max_interval_ns < c->interval_ns)
		fail("%s: `max-interval` is below `interval`: nothing would ever be learned", args->where);
	else
		return 0;
	return -EINVAL;
}

static int take_rule(const struct args *args, const struct add *c, struct kphi_peer *p,
		     struct kphi_rule *rule)
{
	struct rule_fault fault;
	int err = c->has_id ? native_bind(&c->rule, &rule_command_line, p, rule, &fault)
			    : rule_parse(&c->rule, &rule_command_line, p, rule, &fault);

	if (err && fault.at != RULE_WORD_KINDS)
		fail("%s: %s: %s", args->where, rule_command_line.name[fault.at], fault.why);
	else if (err)
		fail("%s: %s", args->where, fault.why);
	if (err || c->has_id)
		return err;
	err = rule_settle(rule, &rule_command_line, c->has_model, p, fault.why, sizeof(fault.why));
	if (err)
		fail("%s: %s", args->where, fault.why);
	return err;
}

static int to_peer(const struct args *args, const char *name, const struct add *c, struct kphi_peer *p,
		   struct kphi_rule *rule)
{
	*p = (struct kphi_peer){
		.id.kind = KPHI_ID_NATIVE,
		.interval_ns = c->interval_ns,
		.min_std_ns = c->min_std_ns,
		.pause_ns = c->pause_ns,
		.max_interval_ns = c->max_interval_ns,
		.model = (uint8_t)c->model,
		.set = (c->has_min_std ? KPHI_SET_MIN_STD : 0) | (c->has_pause ? KPHI_SET_PAUSE : 0),
	};
	*rule = (struct kphi_rule){0};
	memcpy(p->name, name, sizeof(p->name));
	memcpy(p->host, c->host, sizeof(p->host));
	if (c->has_id)
		memcpy(p->id.bytes, c->id, sizeof(p->id.bytes));
	return take_rule(args, c, p, rule);
}

/* Whose identity is it already? */
static const char *owner_of(const struct store *s, const struct kphi_id *id)
{
	for (uint32_t i = 0; i < s->header->peers; i++)
		if (s->records[i].state != KPHI_FREE && !memcmp(&s->peers[i].id, id, sizeof(*id)))
			return s->peers[i].name;
	return "another peer";
}

/* The ring must be there, but need not have a key yet: then nothing is accepted before it has. */
static int find_key(const struct session *s, const struct add *c, struct kphi_peer *peer)
{
	int ring = *c->key ? keyring_find(&s->store, c->key) : 0;

	if (ring < 0) {
		fail("%s: there is no key of that name. `kphi key add %s file FILE` makes it known", c->key,
		     c->key);
		return -ENOENT;
	}
	if (*c->key) {
		peer->demands |= KPHI_DEMAND_KEY;
		peer->ring = (uint16_t)ring;
	}
	return 0;
}

static int add(struct session *s, const struct add *c, struct kphi_peer *peer, const struct kphi_rule *rule)
{
	const struct control_floor floor = {c->min_epoch, 0};
	uint32_t slot = 0;
	int err;

	if (store_find(&s->store, peer->name) >= 0) {
		fail("%s: there is a peer of that name already. `kphi peer show name %s` shows it; `kphi "
		     "peer del %s` removes it",
		     peer->name, peer->name, peer->name);
		return KPHI_EXIT_FAILED;
	}
	if (find_key(s, c, peer))
		return KPHI_EXIT_FAILED;
	err = control_restore(&s->control, &s->store, peer, rule, &floor, &slot, &s->why);
	if (err != -EEXIST)
		return session_result(s, err);
	fail("%s: %s is that identity already. One identity is one peer", peer->name,
	     owner_of(&s->store, &peer->id));
	return KPHI_EXIT_FAILED;
}

int peer_add(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE];
	struct add c = {0};
	struct kphi_peer peer;
	struct kphi_rule rule;
	struct session s;
	bool found;
	int exit;

	if (peer_name(args, name) || options_parse(args, peer_add_specs, peer_add_specs_count, &c) ||
	    check_add(args, &c) || to_peer(args, name, &c, &peer, &rule))
		return KPHI_EXIT_USAGE;
	found = rule_find_device(&peer, &rule);
	exit = session_change(&s, cli);
	exit = exit ? exit : add(&s, &c, &peer, &rule);
	session_end(&s);
	if (!exit && !found)
		warn("%s: there is no device %s yet: nothing is heard of it before `kphi net attach dev %s`",
		     name, rule.device, rule.device);
	return exit ? exit : peer_done(cli, "added", name);
}

/* --- presets --- */

static void put_words(struct out *o, const char *key, const char *title, uint32_t words)
{
	out_open_array(o, key);
	for (int i = 0; i < RULE_WORD_KINDS; i++)
		if (words >> i & 1)
			out_string(o, NULL, title, rule_command_line.name[i]);
	out_close_array(o);
}

static void put_preset(struct out *o, const struct preset *p)
{
	out_open_row(o);
	out_string(o, "proto", "proto", p->name);
	if (p->protocol)
		out_u64(o, "protocol", NULL, p->protocol);
	else
		out_null(o, "protocol", NULL);
	put_words(o, "needs", "needs", p->needs);
	put_words(o, "takes", "takes", p->takes);
	if (p->port)
		out_u64(o, "port", p->ports[0].port ? NULL : "port", p->port);
	else
		out_null(o, "port", "port");
	out_open_array(o, "ports");
	for (int i = 0; i < PRESET_PORTS && p->ports[i].port; i++)
		out_u64(o, NULL, "port", p->ports[i].port);
	out_close_array(o);
	out_string(o, "model", "model", model_name(p->model));
	out_string(o, "beat", NULL, p->beat);
	out_string(o, "settings", NULL, p->settings);
	out_close_row(o);
}

int peer_presets(struct kphi_cli *cli, struct args *args)
{
	struct out *o;

	if (args_done(args))
		return KPHI_EXIT_USAGE;
	o = out_new(stdout, cli->mode);
	out_open_table(o, NULL);
	for (int i = 0; i < PRESETS; i++)
		put_preset(o, &presets[i]);
	out_close_table(o);
	out_text(o, "\n");
	for (int i = 0; i < PRESETS; i++)
		out_text(o, "%-10s  %s%s%s\n", presets[i].name, presets[i].beat,
			 presets[i].settings ? ";\n            " : "", presets[i].settings ?: "");
	return command_finish(o);
}
