/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kphi beat: be a peer. Everything said to people is here; the parts are in beat/.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "beat/emitter.h"
#include "beat/sender.h"
#include "cmd/cmd.h"
#include "io/args.h"
#include "io/file.h"
#include "io/format.h"
#include "io/parse.h"
#include "io/realtime.h"

#define DAY_S (24 * 60 * 60)

#define DEFAULT_PRIORITY    10
#define DEFAULT_INTERVAL_NS 1000000000ULL

/* Below a millisecond the sender would do little else than wake up. */
#define INTERVAL_MIN_NS 1000000ULL
#define INTERVAL_MAX_NS (DAY_S * 1000000000ULL)

#define DEFAULT_EVERY_NS 10000000000ULL
#define DEFAULT_FAILS    3
#define CHECK_MIN_NS     10000000ULL
#define CHECK_MAX_NS     INTERVAL_MAX_NS

struct beat_options {
	uint64_t interval_ns;
	uint32_t jitter_ppm;
	uint8_t id[16];
	bool has_id;
	uint64_t count;
	uint64_t watch_pid;
	uint64_t priority;
	uint64_t version;
	const char *state;
	const char *key;
	const char *check;
	uint64_t every_ns, fails;
	bool has_every, has_fails;
};

static const struct option_spec specs[] = {
	{.name = "interval",
	 .type = OPT_DURATION,
	 .offset = offsetof(struct beat_options, interval_ns),
	 .has = OPT_NO_HAS,
	 .min = INTERVAL_MIN_NS,
	 .max = INTERVAL_MAX_NS,
	 .help = "from beat to beat; 1s if not said"},
	{.name = "jitter",
	 .type = OPT_PERCENT,
	 .offset = offsetof(struct beat_options, jitter_ppm),
	 .has = OPT_NO_HAS,
	 .help = "delay each beat by a random share of the interval up to this, at most 50%; 0% if not said"},
	{.name = "id",
	 .type = OPT_UUID,
	 .offset = offsetof(struct beat_options, id),
	 .has = offsetof(struct beat_options, has_id),
	 .help = "who is beating; made from /etc/machine-id if not said"},
	{.name = "count",
	 .type = OPT_U64,
	 .offset = offsetof(struct beat_options, count),
	 .has = OPT_NO_HAS,
	 .min = 1,
	 .help = "leave after so many beats"},
	{.name = "watch-pid",
	 .type = OPT_U64,
	 .offset = offsetof(struct beat_options, watch_pid),
	 .has = OPT_NO_HAS,
	 .min = 1,
	 .max = INT_MAX,
	 .help = "say down and end when this process dies",
	 .value = "PID"},
	{.name = "priority",
	 .type = OPT_U64,
	 .offset = offsetof(struct beat_options, priority),
	 .has = OPT_NO_HAS,
	 .max = 99,
	 .help = "SCHED_FIFO priority, 0 leaves the scheduler alone; 10 if not said"},
	{.name = "state",
	 .type = OPT_STRING,
	 .offset = offsetof(struct beat_options, state),
	 .has = OPT_NO_HAS,
	 .help = "where the restart counter is kept; " EMITTER_FOLDER "/epoch-UUID if not said",
	 .value = "FILE"},
	{.name = "key",
	 .type = OPT_STRING,
	 .offset = offsetof(struct beat_options, key),
	 .has = OPT_NO_HAS,
	 .help = "sign with the key in this file (`kphi key add NAME generate FILE`); SIGHUP reads it again",
	 .value = "FILE"},
	{.name = "version",
	 .type = OPT_U64,
	 .offset = offsetof(struct beat_options, version),
	 .has = OPT_NO_HAS,
	 .help = "the application's cluster version, carried along; 0 if not said"},
	{.name = "check",
	 .type = OPT_STRING,
	 .offset = offsetof(struct beat_options, check),
	 .has = OPT_NO_HAS,
	 .help = "a health check for /bin/sh: while it fails, the beats say degraded",
	 .value = "COMMAND"},
	{.name = "every",
	 .type = OPT_DURATION,
	 .offset = offsetof(struct beat_options, every_ns),
	 .has = offsetof(struct beat_options, has_every),
	 .min = CHECK_MIN_NS,
	 .max = CHECK_MAX_NS,
	 .help = "from check to check, and what one may take; 10s if not said"},
	{.name = "fails",
	 .type = OPT_U64,
	 .offset = offsetof(struct beat_options, fails),
	 .has = offsetof(struct beat_options, has_fails),
	 .min = 1,
	 .max = 1000,
	 .help = "so many failures in a row mean degraded, one success ends it; 3 if not said"},
};

/*
 * A word with a dot or a colon is an address: no keyword has either. The first word is one in any case, so
 * that a host name is refused as what it is.
 */
static int read_destinations(struct args *args, struct destinations *destinations)
{
	const char *word = args_next(args, "an address");
	char reason[2 * WHY_SIZE];
	int err;

	if (!word)
		return -EINVAL;
	for (; word; word = args->argc && strpbrk(args->argv[0], ".:") ? args_word(args) : NULL) {
		err = destinations_read(destinations, word, reason, sizeof(reason));
		if (err) {
			fail("%s: %s", args->where, reason);
			return err;
		}
	}
	return 0;
}

static int read_options(struct args *args, struct destinations *destinations, struct beat_options *options)
{
	if (read_destinations(args, destinations) < 0)
		return -EINVAL;
	if (options_parse(args, specs, COUNT(specs), options) < 0)
		return -EINVAL;
	if (options->jitter_ppm > PACE_JITTER_MAX_PPM) {
		fail("%s: jitter: more than 50%% would let two beats touch", args->where);
		return -EINVAL;
	}
	if (!options->check && (options->has_every || options->has_fails)) {
		fail("%s: `every` and `fails` are about a `check COMMAND`, and there is none", args->where);
		return -EINVAL;
	}
	return 0;
}

static bool has_died(int pidfd)
{
	struct pollfd pollfd = {.fd = pidfd, .events = POLLIN};

	return poll(&pollfd, 1, 0) == 1;
}

/* A process that has ended but was not waited for yet still has a pidfd. */
static int watch(uint64_t pid, int *watch_fd)
{
	int fd = pidfd_open((pid_t)pid, 0);

	if (fd < 0 && errno != ESRCH) {
		fail("process %" PRIu64 " cannot be watched: %s. It takes a process, not a thread, and "
		     "Linux 5.3.",
		     pid, strerror(errno));
		return -EINVAL;
	}
	if (fd < 0 || has_died(fd)) {
		fail("process %" PRIu64 " does not exist: there is nothing to watch", pid);
		if (fd >= 0)
			close(fd);
		return -ESRCH;
	}
	*watch_fd = fd;
	return 0;
}

static int take_epoch(struct emitter *e, const struct beat_options *options)
{
	uint64_t wall_s = (uint64_t)time(NULL);
	char reason[2 * WHY_SIZE];
	int err = emitter_claim(e, options->state, wall_s, reason, sizeof(reason));

	if (err)
		fail("%s", reason);
	else if (e->message.epoch > wall_s + DAY_S && !options->key)
		warn("epoch %" PRIu64 " is more than a day ahead of this host's clock: observers refuse that "
		     "unless it is signed. If the clock is right, delete %s.",
		     e->message.epoch, options->state ? options->state : e->state);
	return err;
}

static int take_key(struct sender *sender, const struct beat_options *options)
{
	char reason[2 * WHY_SIZE];

	sender->key_file = options->key;
	if (!options->key || !key_read(options->key, &sender->emitter.key, reason, sizeof(reason)))
		return 0;
	fail("%s", reason);
	return -EINVAL;
}

/* What can fail is opened before the epoch is raised, so that a refusal costs none. */
static int prepare(struct sender *sender, const struct beat_options *options)
{
	int err = take_key(sender, options);

	if (err)
		return err;
	err = sender_open(sender);
	if (err) {
		fail("cannot start to beat: %s", strerror(-err));
		return err;
	}
	err = vitals_open(&sender->emitter.vitals, emitter_now_ns());
	if (err)
		warn("/proc/uptime: %s: the available capacity is sent as 0", strerror(-err));
	return take_epoch(&sender->emitter, options);
}

static void start_pace(struct sender *sender, const struct beat_options *options)
{
	uint64_t seed, now_ns = emitter_now_ns();

	/* Early in boot there may be no randomness yet, and jitter is not worth waiting for it. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = now_ns;
	pace_start(&sender->pace, sender->emitter.message.node_id, options->interval_ns, options->jitter_ppm,
		   seed, now_ns);
}

/* On stderr in every mode: stdout gets one document, at the end. */
static void announce(const struct sender *sender, const struct beat_options *options)
{
	char uuid[UUID_SIZE], interval[FORMAT_SIZE], jitter[FORMAT_SIZE];
	const struct destinations *to = &sender->emitter.destinations;
	struct out *o = out_new(stderr, OUT_TEXT);

	if (!o)
		return;
	out_text(o, "beating as %s, epoch %" PRIu64 ", every %s",
		 format_uuid(sender->emitter.message.node_id, uuid), sender->emitter.message.epoch,
		 format_duration_exact(options->interval_ns, interval));
	if (options->jitter_ppm)
		out_text(o, " with jitter %s", format_percent(options->jitter_ppm, jitter));
	for (size_t i = 0; i < to->count; i++)
		out_text(o, "%s%s", i ? ", " : " to ", to->list[i].name);
	if (sender->emitter.key.id)
		out_text(o, ", signed with key %" PRIu32, sender->emitter.key.id);
	out_text(o, "\n");
	out_finish(o);
}

/* What ended it, by the name of its option where it has one. */
static const char *const end_names[] = {
	[SENDER_COUNTED] = "count",
	[SENDER_STOPPED] = "signal",
	[SENDER_BEREFT] = "watch-pid",
};

static void report_destinations(struct out *o, const struct destinations *destinations)
{
	out_open_table(o, "destinations");
	for (size_t i = 0; i < destinations->count; i++) {
		const struct destination *to = &destinations->list[i];
		int error = to->trouble.error;

		out_open_row(o);
		out_string(o, "address", "TO", to->name);
		out_u64(o, "datagrams", "DATAGRAMS", to->sent);
		out_u64(o, "errors", "ERRORS", to->trouble.errors);
		out_string(o, "last_error", "LAST ERROR", error ? strerror(error) : NULL);
		out_close_row(o);
	}
	out_close_table(o);
}

static void report_check(struct out *o, const struct check *check)
{
	char how[96];

	out_u64(o, "checks", "health checks", check->runs);
	out_u64(o, "checks_failed", "of these failed", check->failures);
	out_bool(o, "degraded", "degraded", check->degraded);
	out_string(o, "last_check", "last check", check_describe(check, how, sizeof(how)));
}

static int report(const struct kphi_cli *cli, const struct sender *sender)
{
	struct out *o = out_new(stdout, cli->mode);
	char uuid[UUID_SIZE];

	if (!o)
		return -ENOMEM;
	out_open_object(o, NULL);
	out_string(o, "id", "id", format_uuid(sender->emitter.message.node_id, uuid));
	out_u64(o, "epoch", "epoch", sender->emitter.message.epoch);
	out_string(o, "ended", "ended by", end_names[sender->end]);
	out_u64(o, "sent", "beats sent", sender->beats);
	out_u64(o, "skipped", "slots skipped", sender->pace.skipped);
	out_duration(o, "delay_max_ns", "longest delay", sender->latest_ns);
	out_u64(o, "last_sequence", "last sequence", sender->emitter.message.sequence);
	if (sender->emitter.key.id)
		out_u64(o, "key_id", "signed with key", sender->emitter.key.id);
	if (sender->check.command)
		report_check(o, &sender->check);
	out_u64(o, "errors", "errors", destinations_errors(&sender->emitter.destinations));
	report_destinations(o, &sender->emitter.destinations);
	out_close_object(o);
	return out_finish(o);
}

static int beat(const struct kphi_cli *cli, struct sender *sender, const struct beat_options *options)
{
	int err;

	start_pace(sender, options);
	announce(sender, options);
	realtime_enter((unsigned int)options->priority, "beats");
	err = sender_run(sender);
	if (err) {
		fail("cannot wait for the next beat: %s", strerror(-err));
		return err;
	}
	if (sender->end == SENDER_BEREFT)
		warn("process %" PRIu64 " died: said down", options->watch_pid);
	err = report(cli, sender);
	if (err)
		fail("cannot print the summary: %s", strerror(-err));
	return err;
}

/* Opens, beats, closes. */
static int run(const struct kphi_cli *cli, struct sender *sender, const struct beat_options *options)
{
	char reason[WHY_SIZE];
	int err = emitter_identify(&sender->emitter, options->has_id ? options->id : NULL, reason,
				   sizeof(reason));

	if (err) {
		fail("%s", reason);
		return err;
	}
	sender->emitter.message.cluster_version = options->version;
	sender->count = options->count;
	sender->check.command = options->check;
	sender->check.every_ns = options->every_ns;
	sender->check.fails = options->fails;

	if (options->watch_pid) {
		err = watch(options->watch_pid, &sender->watch_fd);
		if (err)
			return err;
	}
	err = prepare(sender, options);
	return err ? err : beat(cli, sender, options);
}

static int beat_to(struct kphi_cli *cli, struct args *args)
{
	struct beat_options options = {
		.interval_ns = DEFAULT_INTERVAL_NS,
		.priority = DEFAULT_PRIORITY,
		.every_ns = DEFAULT_EVERY_NS,
		.fails = DEFAULT_FAILS,
	};
	struct sender sender;
	int err;

	sender_init(&sender);
	if (read_options(args, &sender.emitter.destinations, &options) < 0)
		return KPHI_EXIT_USAGE;
	err = run(cli, &sender, &options);
	sender_close(&sender);
	return err ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
}

int cmd_beat(struct kphi_cli *cli, int argc, char **argv)
{
	static const struct command commands[] = {
		{"to", beat_to, specs, COUNT(specs), "ADDRESS[:PORT] [ADDRESS[:PORT] ...]",
		 "send heartbeats, to port 7441 unless told otherwise; SIGTERM and SIGINT say leave"},
	};

	return command_run(cli, "beat", commands, COUNT(commands), argc, argv);
}
