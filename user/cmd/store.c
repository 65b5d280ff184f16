// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi store: the pinned maps as a whole. */
#include "kernel/store.h"

#include <abi.h>
#include <string.h>

#include "cmd/session.h"
#include "cmd/store.h"
#include "kernel/attach.h"
#include "kernel/clock.h"

struct create {
	uint64_t peers, window;
	const char *group;
	bool keyed;
};

static const struct option_spec create_specs[] = {
	{"peers", OPT_U64, offsetof(struct create, peers), OPT_NO_HAS, .min = 1, .max = KPHI_PEERS_MAX,
	 .help = "room for so many peers; 1024 if not said"},
	{"window", OPT_U64, offsetof(struct create, window), OPT_NO_HAS, .min = KPHI_WINDOW_MIN,
	 .max = KPHI_WINDOW_MAX, .help = "inter-arrival intervals kept per peer; 1000 if not said"},
	{"group", OPT_STRING, offsetof(struct create, group), OPT_NO_HAS, .value = "NAME",
	 .help = "whose members may read; \"kphi\" if there is such a group, else root's"},
	{"require-key", OPT_FLAG, offsetof(struct create, keyed), OPT_NO_HAS,
	 .help = "no native peer without a `key`"},
};

struct purge {
	const char *abi;
};

static const struct option_spec purge_specs[] = {
	{"abi", OPT_STRING, offsetof(struct purge, abi), OPT_NO_HAS, .value = "HEX",
	 .help = "the store of another ABI; this binary's if not said"},
};

static int store_show(struct kphi_cli *cli, struct args *args)
{
	const struct kphi_store *h;
	struct session s;
	struct out *o;
	int exit;

	if (args_done(args))
		return KPHI_EXIT_USAGE;
	exit = session_read(&s, cli);
	if (exit)
		return exit;
	h = s.store.header;
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	out_string(o, "path", "store", s.pin.store);
	out_string(o, "abi", "ABI", KPHI_ABI);
	out_u64(o, "peers_max", "room for peers", h->peers);
	out_u64(o, "peers", "peers", store_used(&s.store));
	out_u64(o, "window", "window (intervals per peer)", h->window);
	out_bytes(o, "memory_bytes", "unswappable kernel memory", store_memory(h));
	out_bool(o, "require_key", h->flags & KPHI_STORE_KEYED ? "every native peer must have a key" : NULL,
		 h->flags & KPHI_STORE_KEYED);
	out_duration(o, "age_ns", "age", clock_monotonic_ns() - h->created_ns);
	out_close_object(o);
	session_end(&s);
	return command_finish(o);
}

static int store_make(struct kphi_cli *cli, struct args *args)
{
	struct create c = {.peers = KPHI_PEERS_DEFAULT, .window = KPHI_WINDOW_DEFAULT};
	struct args none = {0, NULL, args->where};
	struct store_size size;
	struct pin p;
	struct why w;
	int err;

	if (options_parse(args, create_specs, COUNT(create_specs), &c))
		return KPHI_EXIT_USAGE;
	size = (struct store_size){c.peers, c.window, c.keyed};
	err = pin_open(&p, cli->pin, true, &w);
	err = err ? err : pin_lock(&p, &w);
	err = err ? err : store_create(&p, &size, c.group, &w);
	pin_close(&p);
	if (!err)
		return store_show(cli, &none);
	fail("%s", w.text);
	return KPHI_EXIT_FAILED;
}

static int store_purge(struct kphi_cli *cli, struct args *args)
{
	struct purge c = {0};
	struct out *o;
	struct pin p;
	struct why w;
	int err;

	if (options_parse(args, purge_specs, COUNT(purge_specs), &c))
		return KPHI_EXIT_USAGE;
	if (c.abi && (strlen(c.abi) != 8 || strspn(c.abi, "0123456789abcdef") != 8)) {
		fail("store purge: \"%s\" is no ABI: those are eight digits and letters a to f", c.abi);
		return KPHI_EXIT_USAGE;
	}
	err = pin_open(&p, cli->pin, false, &w);
	err = err ? err : pin_lock(&p, &w);
	if (!err)
		attach_abandon(&p, c.abi);
	err = err ? err : pin_purge(&p, c.abi, &w);
	pin_close(&p);
	if (err) {
		fail("%s", w.text);
		return KPHI_EXIT_FAILED;
	}
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	out_string(o, "purged", "purged", c.abi ? c.abi : KPHI_ABI);
	out_close_object(o);
	return command_finish(o);
}

int cmd_store(struct kphi_cli *cli, int argc, char **argv)
{
	static const struct command commands[] = {
		{"show", store_show, NULL, 0, "", "capacity, memory, age, ABI"},
		{"create", store_make, create_specs, COUNT(create_specs), "",
		 "make the store; commands that need one make it with defaults"},
		{"save", store_save, NULL, 0, "FILE",
		 "write down peers, settings and highest epochs (not windows), to outlive a reboot"},
		{"restore", store_restore, NULL, 0, "FILE",
		 "add the peers that were saved; those that are there stay as they are"},
		{"purge", store_purge, purge_specs, COUNT(purge_specs), "",
		 "detach every device and remove every trace, peers and windows included"},
	};

	return command_run(cli, "store", commands, COUNT(commands), argc, argv);
}
