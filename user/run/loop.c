// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop. It sleeps until the next moment at which a verdict could change, until a hint comes, or until the
 * next part of a round, whichever is first. Hints go before deadlines: a beat that has arrived is taken into
 * account before its absence is judged.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-daemon.h>

#include "core/histogram.h"
#include "io/error.h"
#include "io/format.h"
#include "io/realtime.h"
#include "kernel/clock.h"
#include "run/bucket.h"
#include "run/daemon.h"
#include "run/run.h"

#define SECOND_NS      1000000000ULL
#define SLEPT_NS       3000000000ULL /* not woken for longer: this process, or the host, was stopped */
#define LATE_NS        100000000ULL /* later than this is worth an event ... */
#define LATE_PERIOD_NS (10 * SECOND_NS) /* ... so often at most, after a few */
#define LATE_BURST     3

/*
 * Deadlines are served no more often than this. One alone is served at once; with 100,000 peers there are
 * 30,000 a second, nearly all of peers that have beaten since, and to set the timer for each would cost six
 * times as much as looking at them.
 */
#define SPACING_NS 400000ULL

#define SLOTS_A_PART 8192 /* what a part of a round may take: some 300 us */
#define PARTS_MAX    20

enum { PRIORITY_HINTS = -20, PRIORITY_DEADLINE = -10 };

void daemon_note_lateness(struct daemon *d, uint64_t wanted_ns, uint64_t now_ns)
{
	uint64_t late_ns = now_ns > wanted_ns ? now_ns - wanted_ns : 0;
	char detail[160], late[FORMAT_SIZE], before[64] = "";
	struct event event = {
		.type = EVENT_loop_late,
		.now_ns = now_ns,
		.length_ns = late_ns,
		.detail = detail,
	};

	if (late_ns <= LATE_NS)
		return;
	if (!bucket_take(&d->late_bucket, now_ns, LATE_PERIOD_NS, LATE_BURST)) {
		d->late_unsaid++;
		return;
	}
	if (d->late_unsaid)
		snprintf(before, sizeof(before), ", and %llu times more since that was last said",
			 (unsigned long long)d->late_unsaid);
	d->late_unsaid = 0;
	snprintf(detail, sizeof(detail),
		 "this daemon woke %s too late%s; no arrival was missed, but verdicts were late",
		 format_duration(late_ns, late), before);
	daemon_event(d, &event);
}

/*
 * The time, when the loop has woken. A round comes at least once a second; if none did for longer, the whole
 * host may have been stopped, and its ticks, which say so, may be about to run: they get the time for it
 * before anybody is judged.
 */
static uint64_t awake_ns(struct daemon *d)
{
	const struct timespec moment = {.tv_nsec = KPHI_TICK_LIMIT_NS};
	uint64_t now_ns = clock_monotonic_ns();

	if (d->awake_ns && now_ns - d->awake_ns > SLEPT_NS) {
		nanosleep(&moment, NULL);
		now_ns = clock_monotonic_ns();
	}
	d->awake_ns = now_ns;
	return now_ns;
}

static int on_hints(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct daemon *d = context;

	(void)source;
	(void)fd;
	(void)events;
	awake_ns(d);
	ring_buffer__consume(d->hints);
	return 0;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *context)
{
	struct daemon *d = context;
	uint64_t now_ns = awake_ns(d);
	uint64_t late_ns = now_ns > d->deadline_ns ? now_ns - d->deadline_ns : 0;

	(void)source;
	(void)usec;
	histogram_add(&d->lateness, late_ns);
	report_lateness(&d->report, late_ns);
	daemon_note_lateness(d, d->deadline_ns, now_ns);
	d->woken_ns = now_ns;
	d->deadline_ns = 0; /* over: the next one is set anew, whatever it is */
	ring_buffer__consume(d->hints);
	engine_advance(d->engine, clock_monotonic_ns());
	return 0;
}

static int on_round(sd_event_source *source, uint64_t usec, void *context)
{
	struct daemon *d = context;
	uint64_t now_ns = awake_ns(d);

	(void)usec;
	daemon_note_lateness(d, d->round_ns, now_ns);
	ring_buffer__consume(d->hints);
	daemon_round(d, now_ns);
	/* Rounds that were missed are not caught up with. */
	d->round_ns += SECOND_NS / d->parts;
	if (d->round_ns < now_ns)
		d->round_ns = now_ns + SECOND_NS / d->parts;
	sd_event_source_set_time(source, d->round_ns / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_devices(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct daemon *d = context;
	uint64_t now_ns = awake_ns(d);

	(void)source;
	(void)fd;
	(void)events;
	if (devices_dispatch(d->devices, now_ns, daemon_event, d) > 0)
		engine_scan(d->engine, now_ns);
	return 0;
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
	(void)source;
	(void)info;
	daemon_reload(context);
	return 0;
}

/*
 * Before the loop goes to sleep, whatever it was woken by: the timer is set to the engine's next deadline,
 * rounded up so that it is due. This costs one timerfd_settime(2) a turn; after a dispatch it would be two.
 */
static int before_sleep(sd_event_source *source, void *context)
{
	struct daemon *d = context;
	uint64_t next_ns = engine_next_ns(d->engine);

	(void)source;
	if (next_ns == d->deadline_ns && next_ns > clock_monotonic_ns())
		return 0;
	d->deadline_ns = next_ns;
	if (next_ns == UINT64_MAX)
		return sd_event_source_set_enabled(d->deadline, SD_EVENT_OFF);
	if (next_ns < d->woken_ns + SPACING_NS)
		next_ns = d->woken_ns + SPACING_NS;
	sd_event_source_set_time(d->deadline, next_ns / 1000 + 1);
	return sd_event_source_set_enabled(d->deadline, SD_EVENT_ONESHOT);
}

static int add_timers(struct daemon *d)
{
	uint64_t now_us = clock_monotonic_ns() / 1000;
	int err = sd_event_add_time(d->loop, &d->deadline, CLOCK_MONOTONIC, now_us, 1, on_deadline, d);

	if (err >= 0)
		err = sd_event_source_set_priority(d->deadline, PRIORITY_DEADLINE);
	if (err >= 0)
		err = sd_event_add_time(d->loop, &d->round, CLOCK_MONOTONIC, now_us, 1, on_round, d);
	d->round_ns = d->deadline_ns = now_us * 1000;
	return err;
}

static int add_descriptors(struct daemon *d)
{
	sd_event_source *hints;
	int err = sd_event_add_io(d->loop, &hints, ring_buffer__epoll_fd(d->hints), EPOLLIN, on_hints, d);

	if (err < 0)
		return err;
	sd_event_source_set_priority(hints, PRIORITY_HINTS);
	sd_event_source_set_prepare(
		hints, before_sleep); /* of the timer itself it is not called while that is off */
	sd_event_source_set_floating(hints, true);
	sd_event_source_unref(hints);
	return sd_event_add_io(d->loop, NULL, devices_fd(d->devices), EPOLLIN, on_devices, d);
}

/* SIGTERM and SIGINT end the loop; being blocked, they interrupt nothing else. */
static int add_signals(struct daemon *d)
{
	sigset_t ours;
	int err;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGHUP);
	sigprocmask(SIG_BLOCK, &ours, NULL);
	err = sd_event_add_signal(d->loop, NULL, SIGTERM, NULL, NULL);
	if (err >= 0)
		err = sd_event_add_signal(d->loop, NULL, SIGINT, NULL, NULL);
	return err < 0 ? err : sd_event_add_signal(d->loop, NULL, SIGHUP, on_hangup, d);
}

/*
 * The first look at everybody. What was hinted while no daemon lived comes after it: a look for a hint of one
 * peer alone would judge it before it is known that the others are silent, too.
 */
static void begin(struct daemon *d)
{
	uint32_t slots = d->store.header->peers;

	d->parts = (slots + SLOTS_A_PART - 1) / SLOTS_A_PART;
	if (d->parts > PARTS_MAX)
		d->parts = PARTS_MAX;
	realtime_enter(d->config->priority, "verdicts");
	devices_check(d->devices, clock_monotonic_ns(), daemon_event, d);
	engine_scan(d->engine, clock_monotonic_ns());
	ring_buffer__consume(d->hints);
}

int daemon_loop(struct daemon *d)
{
	int err = add_signals(d);

	err = err < 0 ? err : add_descriptors(d);
	err = err < 0 ? err : add_timers(d);
	/* Half of WatchdogSec=, from within the loop: a loop that hangs is restarted. */
	err = err < 0 ? err : sd_event_set_watchdog(d->loop, true);
	if (err < 0) {
		fail("cannot set up the event loop: %s", strerror(-err));
		return err;
	}
	begin(d);
	daemon_settle(d);
	sd_notify(0, "READY=1");
	if (!daemon_serve(d))
		warn("no memory to start the HTTP server");
	err = sd_event_loop(d->loop);
	sd_notify(0, "STOPPING=1");
	if (err < 0 && err != -ESTALE && !d->gave_up)
		fail("the event loop failed: %s", strerror(-err));
	return err < 0 ? err : 0;
}

static void debug_lateness(const struct kphi_histogram *l)
{
	char half[FORMAT_SIZE], most[FORMAT_SIZE], worst[FORMAT_SIZE];

	error_debug("%llu deadlines: half of them at most %s late, 99%% at most %s, all at most %s",
		    (unsigned long long)histogram_count(l),
		    format_duration(histogram_quantile_ns(l, 500000), half),
		    format_duration(histogram_quantile_ns(l, 990000), most),
		    format_duration(l->worst_ns, worst));
}

int run(const char *file, const char *pin)
{
	struct daemon d;
	int err = daemon_open(&d, file, pin);

	err = err ? err : daemon_loop(&d);
	debug_lateness(&d.lateness);
	daemon_close(&d);
	return err;
}
