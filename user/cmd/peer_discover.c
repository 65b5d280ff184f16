// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kphi peer discover: native senders that nobody has added. It makes nothing and changes nothing; who is
 * added is decided by whoever reads the list.
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/interrupt.h"
#include "cmd/peer.h"
#include "cmd/session.h"
#include "core/callers.h"
#include "core/models.h"
#include "io/format.h"
#include "io/parse.h"
#include "kernel/attach.h"
#include "kernel/clock.h"
#include "kernel/strangers.h"
#include "trace/progress.h"

#define NS_PER_MS      1000000ULL
#define FOR_DEFAULT_NS (10000 * NS_PER_MS)
#define ADD_SIZE       (96 + UUID_SIZE + KPHI_SOURCES * ADDRESS_SIZE + FORMAT_SIZE)

struct discover_options {
	uint64_t for_ns;
};

const struct option_spec peer_discover_specs[] = {
	{"for", OPT_DURATION, offsetof(struct discover_options, for_ns), OPT_NO_HAS, .min = NS_PER_MS,
	 .help = "how long to listen; 10s if not said, and an interrupt ends it at once"},
};
const size_t peer_discover_specs_count = COUNT(peer_discover_specs);

struct device {
	uint32_t ifindex;
	bool here;
	char name[KPHI_DEVICE_SIZE];
};

struct discovery {
	struct session session;
	struct strangers strangers;
	struct callers *callers;
	struct device *devices; /* that kphi listens on */
	uint32_t devices_count;
	int signals;
	uint64_t begin_ns, end_ns;
	bool interrupted;
};

static void on_stranger(void *context, const struct kphi_stranger *stranger)
{
	callers_take(context, stranger);
}

/* --- listening --- */

static int take_device(const struct attachment *a, void *context)
{
	struct discovery *d = context;
	struct device *grown = reallocarray(d->devices, d->devices_count + 1, sizeof(*grown));

	if (!grown)
		return why(&d->session.why, -ENOMEM, "no memory for the list of devices");
	d->devices = grown;
	grown[d->devices_count] = (struct device){.ifindex = a->ifindex, .here = a->here};
	snprintf(grown[d->devices_count++].name, sizeof(grown->name), "%.15s", a->device);
	return 0;
}

/* Where nobody listens, nobody is ever heard: that would look like silence. */
static int find_devices(struct discovery *d)
{
	int err = attach_each(&d->session.pin, take_device, d, &d->session.why);

	if (!err && !d->devices_count)
		err = why(&d->session.why, -ENODEV,
			  "kphi listens on no device: `kphi net attach dev NAME` first");
	return err;
}

static int begin(struct discovery *d, uint64_t for_ns)
{
	struct why *w = &d->session.why;
	int err;

	d->callers = calloc(1, sizeof(*d->callers));
	d->signals = interrupt_open();
	if (!d->callers || d->signals < 0)
		return why(w, -ENOMEM, "cannot begin: %s", why_errno(d->callers ? d->signals : -ENOMEM));
	err = strangers_begin(&d->strangers, &d->session.pin, &d->session.store, on_stranger, d->callers, w);
	err = err ? err : find_devices(d);
	d->begin_ns = clock_monotonic_ns();
	d->end_ns = for_ns < UINT64_MAX - d->begin_ns ? d->begin_ns + for_ns : UINT64_MAX;
	return err;
}

/* Whether it was interrupted. */
static bool rest(const struct discovery *d, uint64_t now_ns)
{
	uint64_t left_ms = (d->end_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	struct pollfd signals = {.fd = d->signals, .events = POLLIN};

	return poll(&signals, 1, (int)(left_ms < STRANGERS_REST_MS ? left_ms : STRANGERS_REST_MS)) > 0;
}

static int listen_to_them(struct discovery *d)
{
	struct why *w = &d->session.why;
	struct progress progress;
	uint64_t now_ns = d->begin_ns;
	int err = 0;

	progress_begin(&progress, "listening", 0);
	while (!err && now_ns < d->end_ns && !d->interrupted) {
		d->interrupted = rest(d, now_ns);
		err = strangers_turn(&d->strangers, w);
		if (!err && strangers_are_over(&d->strangers))
			err = why(w, -ENOENT, "the store was purged meanwhile");
		now_ns = clock_monotonic_ns();
		progress_say(&progress, "%s: %" PRIu64 " messages of %" PRIu32 " unknown ids",
			     d->interrupted ? "heard" : "listening", d->callers->messages, d->callers->n);
	}
	progress_end(&progress);
	strangers_stop(&d->strangers);
	d->end_ns = now_ns;
	return err;
}

/* --- what was heard --- */

/* The same number may mean another device in another network namespace: this one's comes first. */
static const char *device_name(const struct discovery *d, uint32_t ifindex, char room[IF_NAMESIZE])
{
	const char *name = NULL;

	for (uint32_t i = 0; i < d->devices_count; i++)
		if (d->devices[i].ifindex == ifindex && (d->devices[i].here || !name))
			name = d->devices[i].name;
	return name ? name : if_indextoname(ifindex, room);
}

static void say_device(struct out *o, const struct discovery *d, uint32_t ifindex)
{
	char room[IF_NAMESIZE];

	out_string(o, "device", "DEVICE", device_name(d, ifindex, room));
	out_u64(o, "ifindex", NULL, ifindex);
}

/* `from` only where it would name all of its addresses. */
static const char *add_line(const struct caller *c, char line[ADD_SIZE])
{
	char id[UUID_SIZE], address[ADDRESS_SIZE], interval[FORMAT_SIZE];
	uint64_t interval_ns = callers_round_ns(caller_interval_ns(c));
	int n = snprintf(line, ADD_SIZE, "kphi peer add NAME id %s", format_uuid(c->last.node_id, id));

	for (uint8_t i = 0; i < c->sources && !c->more_sources; i++)
		n += snprintf(line + n, ADD_SIZE - (size_t)n, "%s%s", i ? "," : " from ",
			      format_address(c->source[i], address));
	if (interval_ns >= PEER_INTERVAL_MIN_NS && interval_ns <= PEER_INTERVAL_MAX_NS)
		n += snprintf(line + n, ADD_SIZE - (size_t)n, " interval %s",
			      format_duration_exact(interval_ns, interval));
	if (c->last.key_id)
		snprintf(line + n, ADD_SIZE - (size_t)n, " key KEY");
	return line;
}

static void say_addresses(struct out *o, const struct caller *c)
{
	char address[ADDRESS_SIZE];

	out_open_array(o, "addresses");
	for (uint8_t i = 0; i < c->sources; i++)
		out_string(o, NULL, "ADDRESS", format_address(c->source[i], address));
	out_close_array(o);
	out_bool(o, "more_addresses", NULL, c->more_sources);
}

static void say_caller(struct out *o, const struct discovery *d, const struct caller *c)
{
	uint64_t interval_ns = caller_interval_ns(c);
	char id[UUID_SIZE], line[ADD_SIZE];

	out_open_row(o);
	out_string(o, "id", "ID", format_uuid(c->last.node_id, id));
	say_addresses(o, c);
	say_device(o, d, c->last.device);
	out_u64(o, "port", "PORT", c->last.port);
	out_u64(o, "ttl", "TTL", c->last.ttl);
	out_u64(o, "messages", "MESSAGES", c->messages);
	if (interval_ns)
		out_duration(o, "interval_ns", "INTERVAL", interval_ns);
	else
		out_null(o, "interval_ns", "INTERVAL");
	if (c->last.key_id)
		out_u64(o, "key_id", "KEY", c->last.key_id);
	else
		out_null(o, "key_id", "KEY");
	out_u64(o, "epoch", "EPOCH", c->last.epoch);
	out_u64(o, "sequence", NULL, c->last.sequence);
	out_duration(o, "first_ago_ns", "SINCE", d->end_ns > c->first_ns ? d->end_ns - c->first_ns : 0);
	out_duration(o, "last_ago_ns", NULL, d->end_ns > c->last.now_ns ? d->end_ns - c->last.now_ns : 0);
	out_string(o, "add", NULL, add_line(c, line));
	out_close_row(o);
}

/* What people have to know before they copy a line. */
static void say_lines(struct out *o, const struct callers *c)
{
	char line[ADD_SIZE];

	if (!c->n)
		return;
	out_text(o,
		 "\nNone of this is proved: anybody can send any id from any address. Add whom you know to "
		 "be yours:\n");
	for (uint32_t i = 0; i < c->n; i++)
		out_text(o, "  %s\n", add_line(&c->caller[i], line));
}

static int say(const struct kphi_cli *cli, struct discovery *d)
{
	struct out *o = out_new(stdout, cli->mode);
	uint64_t lost = strangers_lost(&d->strangers);
	struct callers *c = d->callers;

	callers_sort(c);
	out_open_object(o, NULL);
	out_bool(o, "authenticated", NULL, false);
	out_open_table(o, "callers");
	for (uint32_t i = 0; i < c->n; i++)
		say_caller(o, d, &c->caller[i]);
	out_close_table(o);
	say_lines(o, c);
	out_text(o, c->n ? "\n" : "");
	out_u64(o, "messages", "messages of unknown ids", c->messages + lost);
	out_u64(o, "lost", lost ? "of these, too fast to be listed" : NULL, lost);
	out_u64(o, "not_kept", c->not_kept ? "of these, of more ids than are listed" : NULL, c->not_kept);
	out_u64(o, "pauses", d->strangers.pauses ? "pauses of this command in which it missed some" : NULL,
		d->strangers.pauses);
	out_duration(o, "duration_ns", "in", d->end_ns - d->begin_ns);
	out_string(o, "end", NULL, d->interrupted ? "interrupted" : "time is over");
	out_close_object(o);
	return command_finish(o);
}

int peer_discover(struct kphi_cli *cli, struct args *args)
{
	struct discover_options options = {FOR_DEFAULT_NS};
	struct discovery d = {.signals = -1, .strangers.ring = RING_CLOSED};
	int exit, err;

	if (options_parse(args, peer_discover_specs, peer_discover_specs_count, &options))
		return KPHI_EXIT_USAGE;
	exit = session_read(&d.session, cli);
	if (!exit) {
		err = begin(&d, options.for_ns);
		err = err ? err : listen_to_them(&d);
		if (err)
			fail("cannot discover peers: %s", d.session.why.text);
		exit = err ? KPHI_EXIT_FAILED : say(cli, &d);
	}
	strangers_end(&d.strangers);
	if (d.signals >= 0)
		close(d.signals);
	free(d.devices);
	free(d.callers);
	session_end(&d.session);
	return exit;
}
