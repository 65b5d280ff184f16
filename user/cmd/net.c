// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi net: the devices that listen. */
#include <bpf/bpf.h>
#include <errno.h>
#include <kphi/wire.h>
#include <string.h>
#include <unistd.h>

#include "cmd/session.h"
#include "kernel/attach.h"
#include "kernel/attach_words.h"
#include "kernel/ports.h"

struct attach {
	const char *device;
	uint16_t port;
	bool has_port;
	int mode;
};

static const struct option_spec attach_specs[] = {
	{"dev", OPT_STRING, offsetof(struct attach, device), OPT_NO_HAS, .value = "DEVICE", .required = true,
	 .help = "the device that hears the peers"},
	{"mode", OPT_CHOICE, offsetof(struct attach, mode), OPT_NO_HAS, .choices = attach_modes,
	 .help = "auto: native XDP, else tc (TCX, or clsact before Linux 6.6), else generic XDP"},
	{"port", OPT_PORT, offsetof(struct attach, port), offsetof(struct attach, has_port),
	 .help = "listen for native heartbeats on this UDP port too; 7441 if none was ever named"},
};

static const struct option_spec detach_specs[] = {
	{"dev", OPT_STRING, offsetof(struct attach, device), OPT_NO_HAS, .value = "DEVICE", .required = true,
	 .help = "where to stop listening; records stay"},
};

static bool is_native(const struct kphi_ports *ports, uint32_t port)
{
	return ports->bits[port] & KPHI_PORT_NATIVE;
}

/* Without a `port`, the default one joins only if nobody has chosen any. */
static int listen_on(struct session *s, const struct attach *c)
{
	struct kphi_ports ports = {0};
	int err;

	if (c->has_port)
		return control_listen(&s->control, c->port, true, &s->why);
	err = ports_read(&s->pin, &ports, &s->why);
	for (uint32_t port = 1; !err && port < 65536; port++)
		if (is_native(&ports, port))
			return 0;
	return err ? err : control_listen(&s->control, KPHI_WIRE_PORT, true, &s->why);
}

static void say_occupant(struct out *o, const struct attach_words *t)
{
	if (!t->occupant) {
		out_null(o, "occupant", NULL);
		return;
	}
	out_open_object(o, "occupant");
	out_u64(o, "program_id", NULL, t->occupant);
	out_string(o, "name", NULL, t->occupant_name);
	out_close_object(o);
}

static void say_attachment(struct out *o, const struct attachment *a, const struct attach_words *t)
{
	out_string(o, "device", "DEVICE", a->device);
	out_string(o, "hook", "HOOK", attach_hooks[a->hook]);
	out_string(o, "mode", "MODE", attach_modes[a->mode]);
	out_string(o, "wanted", NULL, attach_modes[a->wanted]);
	out_string(o, "attach", "ATTACH", t->attach);
	out_string(o, "state", "STATE", t->state);
	out_u64(o, "ifindex", "IFINDEX", a->ifindex);
	out_u64(o, "netns", NULL, a->netns);
	out_bool(o, "same_netns", "THIS NETNS", a->here);
	out_u64(o, "program_id", "PROGRAM", a->program_id);
	if (a->link_id)
		out_u64(o, "link_id", NULL, a->link_id);
	else
		out_null(o, "link_id", NULL);
	out_string(o, "pin", NULL, a->pin);
	out_string(o, "why", NULL, *t->why.text ? t->why.text : NULL);
	out_string(o, "stamps", NULL, t->stamps);
	say_occupant(o, t);
}

/* What is less than native XDP never comes quietly, unless it is what was asked for. */
static void warn_of(const struct attachment *a, const struct attach_words *t)
{
	if (a->mode != ATTACH_NATIVE && a->wanted == ATTACH_AUTO)
		warn("%s", t->why.text);
	if (a->mode == ATTACH_GENERIC)
		warn("%s: generic XDP: beats are stamped later and less evenly than in native mode, after "
		     "the kernel has built its own packet",
		     a->device);
	else if (a->mode == ATTACH_TC && a->wanted == ATTACH_AUTO)
		warn("%s: so kphi listens by %s: beats are %s", a->device, attach_hooks[a->hook], t->stamps);
}

static int net_attach(struct kphi_cli *cli, struct args *args)
{
	struct attach c = {0};
	struct attach_words t;
	struct attachment a;
	struct session s;
	struct out *o;
	int exit;

	if (options_parse(args, attach_specs, COUNT(attach_specs), &c))
		return KPHI_EXIT_USAGE;
	exit = session_change(&s, cli);
	if (!exit)
		exit = session_result(&s, attach_device(&s.pin, &s.store, c.device, c.mode, &a, &s.why));
	if (!exit)
		exit = session_result(&s, listen_on(&s, &c));
	session_end(&s);
	if (exit)
		return exit;
	attach_words(&a, &t);
	warn_of(&a, &t);
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	say_attachment(o, &a, &t);
	out_close_object(o);
	return command_finish(o);
}

static int any_left(const struct attachment *a, void *context)
{
	(void)a;
	(void)context;
	return 1;
}

/* With the last device go the native ports, so that the next attach starts from the default again. */
static int deafen_all(struct session *s)
{
	struct kphi_ports ports = {0};
	int err = ports_read(&s->pin, &ports, &s->why);

	for (uint32_t port = 1; !err && port < 65536; port++)
		if (is_native(&ports, port))
			err = control_listen(&s->control, port, false, &s->why);
	return err;
}

/* Nothing is heard any more, so no CPU has to prove that it hears, and the last program can go. */
static int silence(struct session *s)
{
	int err = control_stop_ticks(&s->control, &s->store, &s->why);

	return err ? err : deafen_all(s);
}

static int detach(struct session *s, const char *device)
{
	int err = attach_detach(&s->pin, device, &s->why);
	int left;

	if (err)
		return err;
	left = attach_each(&s->pin, any_left, NULL, &s->why);
	return left < 0 ? left : left ? 0 : silence(s);
}

static int net_detach(struct kphi_cli *cli, struct args *args)
{
	struct attach c = {0};
	struct session s;
	struct out *o;
	int exit;

	if (options_parse(args, detach_specs, COUNT(detach_specs), &c))
		return KPHI_EXIT_USAGE;
	exit = session_read(&s, cli); /* no store: nothing to detach, and none is made for it */
	session_end(&s);
	if (exit)
		return exit;
	exit = session_change(&s, cli);
	if (!exit)
		exit = session_result(&s, detach(&s, c.device));
	session_end(&s);
	if (exit)
		return exit;
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	out_string(o, "detached", "detached", c.device);
	out_close_object(o);
	return command_finish(o);
}

static int say_row(const struct attachment *a, void *context)
{
	struct out *o = context;
	struct attach_words t;

	attach_words(a, &t);
	out_open_row(o);
	say_attachment(o, a, &t);
	out_close_row(o);
	return 0;
}

/* For people the sentences stand below the table; JSON has them in it. */
static int say_sentences(const struct attachment *a, void *context)
{
	struct out *o = context;
	struct attach_words t;

	attach_words(a, &t);
	if (*t.why.text)
		out_text(o, "%s.\n", t.why.text);
	out_text(o, "%s: beats are %s.\n", a->device, t.stamps);
	return 0;
}

/* The rows from `first` to `end` that have one of `bits`, counted from `first`. */
static void say_rows(struct out *o, const uint16_t *first, const uint16_t *end, uint32_t bits,
		     const char *key, const char *heading)
{
	out_open_array(o, key);
	for (const uint16_t *row = first; row < end; row++)
		if (*row & bits)
			out_u64(o, NULL, heading, (uint64_t)(row - first));
	out_close_array(o);
}

static void say_ports(struct out *o, const struct kphi_ports *ports)
{
	const uint16_t *udp = ports->bits, *ip = udp + KPHI_PORTS, *end = udp + KPHI_PORT_ROWS;

	say_rows(o, udp, ip, KPHI_PORT_NATIVE, "native_ports", "native port");
	say_rows(o, udp, ip, ~KPHI_PORT_NATIVE, "rule_ports", "rule port");
	say_rows(o, ip, end, ~KPHI_PORT_NATIVE, "rule_protocols", "rule IP protocol");
}

/* JSON has them all; people want those that moved, with what they mean. */
static void say_counters(struct out *o, const struct store *s)
{
	static const struct {
		const char *key, *help;
	} names[] = {
#define X(name, help) {#name, help},
		KPHI_OUTCOMES(X) KPHI_NOTES(X)
#undef X
	};

	out_open_object(o, "counters");
	for (int i = 0; i < KPHI_COUNTERS; i++) {
		uint64_t value = store_count(s, i);

		out_u64(o, names[i].key, value ? names[i].help : NULL, value);
	}
	out_close_object(o);
	if (store_count(s, KPHI_COUNT_unknown_peer))
		out_text(o, "`kphi peer discover` lists who sends with a node id that was never added.\n");
}

static int net_show(struct kphi_cli *cli, struct args *args)
{
	struct kphi_ports ports = {0};
	struct session s;
	struct out *o;
	int exit, err;

	if (args_done(args))
		return KPHI_EXIT_USAGE;
	exit = session_read(&s, cli);
	if (!exit)
		exit = session_result(&s, ports_read(&s.pin, &ports, &s.why));
	if (exit)
		return exit;
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	out_open_table(o, "devices");
	err = attach_each(&s.pin, say_row, o, &s.why);
	out_close_table(o);
	err = err ? err : attach_each(&s.pin, say_sentences, o, &s.why);
	say_ports(o, &ports);
	say_counters(o, &s.store);
	out_close_object(o);
	exit = command_finish(o);
	exit = exit ? exit : session_result(&s, err);
	session_end(&s);
	return exit;
}

int cmd_net(struct kphi_cli *cli, int argc, char **argv)
{
	static const struct command commands[] = {
		{"show", net_show, NULL, 0, "", "devices, ports, and what became of every packet to them"},
		{"attach", net_attach, attach_specs, COUNT(attach_specs), "",
		 "listen on a device; again: put this binary's program in place, windows stay"},
		{"detach", net_detach, detach_specs, COUNT(detach_specs), "", "stop listening on a device"},
	};

	return command_run(cli, "net", commands, COUNT(commands), argc, argv);
}
