// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi key: with what native peers prove that a message is theirs. No key is ever printed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/session.h"
#include "io/key_file.h"
#include "io/parse.h"
#include "kernel/clock.h"
#include "kernel/keyring.h"

struct add {
	const char *file, *generate;
	uint64_t id;
};

static const struct option_spec add_specs[] = {
	{"file", OPT_STRING, offsetof(struct add, file), OPT_NO_HAS, .value = "FILE",
	 .help = "the key in this file, which only its owner may read"},
	{"generate", OPT_STRING, offsetof(struct add, generate), OPT_NO_HAS, .value = "FILE",
	 .help = "or a new one, which is written to this new file, for `kphi beat ... key FILE`"},
	{"id", OPT_U64, offsetof(struct add, id), OPT_NO_HAS, .min = 1, .max = UINT32_MAX,
	 .help = "generate: its number; the one after the highest of that name if not said"},
};

struct use {
	char peer[KPHI_NAME_SIZE];
};

static const struct option_spec use_specs[] = {
	{"peer", OPT_NAME, offsetof(struct use, peer), OPT_NO_HAS, .required = true,
	 .help = "whose messages must be signed with it from now on; what was heard stays"},
};

struct drop {
	uint64_t id;
};

static const struct option_spec drop_specs[] = {
	{"id", OPT_U64, offsetof(struct drop, id), OPT_NO_HAS, .min = 1, .max = UINT32_MAX,
	 .help = "only the key of this number; if not said, the name with all its keys"},
};

static int key_name(struct args *args, char name[KPHI_NAME_SIZE])
{
	const char *word = args_next(args, "a name");
	char reason[WHY_SIZE];

	if (!word)
		return -EINVAL;
	if (!parse_name(word, name, reason, sizeof(reason)))
		return 0;
	fail("%s: %s", args->where, reason);
	return -EINVAL;
}

static int no_key(const char *name)
{
	fail("%s: there is no key of that name. `kphi key show` lists them", name);
	return KPHI_EXIT_FAILED;
}

/* --- show --- */

static void say_key(struct out *o, const struct kphi_ring *r, int place, uint64_t now_ns)
{
	char fingerprint[17];

	snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64, r->fingerprint[place]);
	out_u64(o, "id", "ID", r->key_id[place]);
	out_string(o, "fingerprint", "FINGERPRINT", fingerprint);
	out_duration(o, "age_ns", "AGE", now_ns - r->added_ns[place]);
}

/* Text has a row a key, a name without one included; JSON an object a name. */
static void say_ring(struct out *o, const struct store *s, int ring, uint64_t now_ns)
{
	const struct kphi_ring *r = &s->rings[ring];

	out_open_row(o);
	out_string(o, "name", "KEY", r->name);
	out_u64(o, "peers", "PEERS", keyring_users(s, ring));
	out_open_array(o, "keys");
	for (int i = 0; i < KPHI_RING_KEYS; i++) {
		if (!r->key_id[i])
			continue;
		out_open_object(o, NULL);
		say_key(o, r, i, now_ns);
		out_close_object(o);
	}
	out_close_array(o);
	out_close_row(o);
}

static int key_show(struct kphi_cli *cli, struct args *args)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct session s;
	struct out *o;
	int exit;

	if (args_done(args))
		return KPHI_EXIT_USAGE;
	exit = session_read(&s, cli);
	if (exit)
		return exit;
	o = out_new(stdout, cli->mode);
	out_open_table(o, NULL);
	for (int i = 0; i < KPHI_RINGS; i++)
		if (*s.store.rings[i].name)
			say_ring(o, &s.store, i, now_ns);
	out_close_table(o);
	session_end(&s);
	return command_finish(o);
}

/* --- add --- */

static int check_add(const struct args *args, const struct add *c)
{
	if (!c->file == !c->generate)
		fail("%s: say where the key is: `file FILE`, or `generate FILE` for a new one", args->where);
	else if (c->id && c->file)
		fail("%s: `id` is for `generate`: a key in a file has its number there", args->where);
	else
		return 0;
	return -EINVAL;
}

static uint32_t next_id(const struct store *s, int ring)
{
	const struct kphi_ring *r = &s->rings[ring];
	uint32_t highest = r->key_id[0] > r->key_id[1] ? r->key_id[0] : r->key_id[1];

	return highest == UINT32_MAX ? 1 : highest + 1;
}

/* Under the lock, with the ring there; a key that was generated but not taken leaves no file. */
static int add_key(struct session *s, const struct add *c, int ring, struct key *key)
{
	uint32_t id = c->id ? (uint32_t)c->id : next_id(&s->store, ring);
	char reason[2 * WHY_SIZE];
	int err;

	if (c->generate && keyring_keys(&s->store.rings[ring]) < KPHI_RING_KEYS &&
	    key_generate(c->generate, id, key, reason, sizeof(reason))) {
		fail("%s", reason);
		return KPHI_EXIT_FAILED;
	}
	err = keyring_add(&s->control, &s->store, ring, key, &s->why);
	if (err && c->generate && key->id)
		remove(c->generate);
	return session_result(s, err);
}

static int say_added(struct kphi_cli *cli, const char *name, const struct key *key)
{
	struct out *o = out_new(stdout, cli->mode);
	char fingerprint[17];

	snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64, key_fingerprint(key));
	out_open_object(o, NULL);
	out_string(o, "added", "added", name);
	out_u64(o, "id", "id", key->id);
	out_string(o, "fingerprint", "fingerprint", fingerprint);
	out_close_object(o);
	return command_finish(o);
}

static int key_add(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE], reason[2 * WHY_SIZE];
	struct key key = {0};
	struct add c = {0};
	struct session s;
	bool fresh = false;
	struct why ignored;
	int exit, ring = -1;

	if (key_name(args, name) || options_parse(args, add_specs, COUNT(add_specs), &c) ||
	    check_add(args, &c))
		return KPHI_EXIT_USAGE;
	if (c.file && key_read(c.file, &key, reason, sizeof(reason))) {
		fail("%s", reason);
		return KPHI_EXIT_FAILED;
	}
	exit = session_change(&s, cli);
	if (!exit) {
		fresh = keyring_find(&s.store, name) < 0;
		ring = keyring_make(&s.control, &s.store, name, &s.why);
		exit = session_result(&s, ring < 0 ? ring : 0);
	}
	exit = exit ? exit : add_key(&s, &c, ring, &key);
	if (exit && fresh && ring >= 0)
		keyring_free(&s.control, &s.store, ring, &ignored);
	session_end(&s);
	exit = exit ? exit : say_added(cli, name, &key);
	explicit_bzero(&key, sizeof(key));
	return exit;
}

/* --- use, drop --- */

/* No store: no key, and none is made for it. */
static int change(struct session *s, struct kphi_cli *cli)
{
	int exit = session_read(s, cli);

	session_end(s);
	return exit ? exit : session_change(s, cli);
}

static int use_key(struct session *s, const char *name, const char *peer)
{
	int ring = keyring_find(&s->store, name);
	struct kphi_record record;
	struct kphi_peer settings;
	int64_t slot = store_find(&s->store, peer);

	if (ring < 0)
		return no_key(name);
	if (slot < 0 || store_read(&s->store, (uint32_t)slot, &record, &settings)) {
		fail("%s: there is no peer of that name. `kphi peer show` lists them", peer);
		return KPHI_EXIT_FAILED;
	}
	if (settings.id.kind != KPHI_ID_NATIVE) {
		fail("%s: is known by a rule, and what it sends is not signed", peer);
		return KPHI_EXIT_FAILED;
	}
	return session_result(s, keyring_use(&s->control, (uint32_t)slot, record.generation, ring, &s->why));
}

static int key_use(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE];
	struct use c = {0};
	struct session s;
	struct out *o;
	int exit;

	if (key_name(args, name) || options_parse(args, use_specs, COUNT(use_specs), &c))
		return KPHI_EXIT_USAGE;
	exit = change(&s, cli);
	exit = exit ? exit : use_key(&s, name, c.peer);
	session_end(&s);
	if (exit)
		return exit;
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	out_string(o, "peer", "peer", c.peer);
	out_string(o, "uses", "uses", name);
	out_close_object(o);
	return command_finish(o);
}

static int drop_key(struct session *s, const char *name, const struct drop *c, uint32_t *without)
{
	int ring = keyring_find(&s->store, name), err;

	if (ring < 0)
		return no_key(name);
	err = c->id ? keyring_drop(&s->control, &s->store, ring, (uint32_t)c->id, &s->why)
		    : keyring_free(&s->control, &s->store, ring, &s->why);
	if (!err && c->id && !keyring_keys(&s->store.rings[ring]))
		*without = keyring_users(&s->store, ring);
	return session_result(s, err);
}

static int key_drop(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE];
	struct drop c = {0};
	uint32_t without = 0;
	struct session s;
	struct out *o;
	int exit;

	if (key_name(args, name) || options_parse(args, drop_specs, COUNT(drop_specs), &c))
		return KPHI_EXIT_USAGE;
	exit = change(&s, cli);
	exit = exit ? exit : drop_key(&s, name, &c, &without);
	session_end(&s);
	if (exit)
		return exit;
	if (without)
		warn("%s: that was its last key: nothing is accepted of %u peers until `kphi key add %s`",
		     name, without, name);
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	out_string(o, "dropped", "dropped", name);
	if (c.id)
		out_u64(o, "id", "id", c.id);
	else
		out_null(o, "id", NULL);
	out_close_object(o);
	return command_finish(o);
}

int cmd_key(struct kphi_cli *cli, int argc, char **argv)
{
	static const struct command commands[] = {
		{"show", key_show, NULL, 0, "",
		 "their names, numbers and fingerprints, and how many peers use each"},
		{"add", key_add, add_specs, COUNT(add_specs), "NAME",
		 "accept a key; a name has at most two, so that senders can change from one to the next"},
		{"use", key_use, use_specs, COUNT(use_specs), "NAME",
		 "a peer that had none, or another, has it now"},
		{"drop", key_drop, drop_specs, COUNT(drop_specs), "NAME",
		 "do not accept a key any more: the last step of changing it"},
	};

	return command_run(cli, "key", commands, COUNT(commands), argc, argv);
}
