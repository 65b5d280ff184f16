/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "beat/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "beat/murmur.h"
#include "io/error.h"

#define NS_PER_SECOND 1000000000ULL
#define CHECK_ROOM_NS 2000000ULL

static void say_trouble(struct destination *destination, enum trouble_news news, uint64_t now_ns)
{
	struct trouble *trouble = &destination->trouble;

	if (!murmur_allowed())
		return;
	if (news == TROUBLE_OVER)
		warn("%s: sending works again, after %" PRIu64 " errors in all", destination->name,
		     trouble->errors);
	else if (trouble->unsaid == 1)
		warn("%s: %s", destination->name, strerror(trouble->error));
	else
		warn("%s: %s (%" PRIu64 " times)", destination->name, strerror(trouble->error),
		     trouble->unsaid);
	trouble_said(trouble, news, now_ns);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / NS_PER_SECOND),
		.tv_nsec = (long)(ns % NS_PER_SECOND),
	};
}

void sender_init(struct sender *sender)
{
	memset(sender, 0, sizeof(*sender));
	emitter_init(&sender->emitter);
	sender->emitter.destinations.news = say_trouble;
	check_init(&sender->check);
	sender->timer_fd = -1;
	sender->signal_fd = -1;
	sender->reload_fd = -1;
	sender->watch_fd = -1;
}

/* A descriptor that tells of these signals, which do nothing else from now on; or -errno. */
static int open_signals(const int *numbers, size_t n)
{
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	for (size_t i = 0; i < n; i++)
		sigaddset(&signals, numbers[i]);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int sender_open(struct sender *sender)
{
	static const int ends[] = {SIGTERM, SIGINT}, reload[] = {SIGHUP};

	sender->signal_fd = open_signals(ends, 2);
	if (sender->signal_fd < 0)
		return sender->signal_fd;
	if (sender->key_file) {
		sender->reload_fd = open_signals(reload, 1);
		if (sender->reload_fd < 0)
			return sender->reload_fd;
	}
	sender->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (sender->timer_fd < 0)
		return -errno;
	return destinations_open(&sender->emitter.destinations);
}

/* Arming also makes an expired timer unreadable, so that nobody has to read it. */
static int wait_for_slot(const struct sender *sender)
{
	struct itimerspec at = {.it_value = timespec_of(sender->pace.due_ns)};

	return timerfd_settime(sender->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) < 0 ? -errno : 0;
}

static uint16_t wire_flags(const struct sender *sender)
{
	return sender->check.degraded ? KPHI_WIRE_DEGRADED : 0;
}

static int beat(struct sender *sender)
{
	uint64_t now_ns = emitter_now_ns();

	if (now_ns - sender->pace.due_ns > sender->latest_ns)
		sender->latest_ns = now_ns - sender->pace.due_ns;
	emitter_send(&sender->emitter, KPHI_WIRE_BEAT, wire_flags(sender), now_ns);
	sender->beats++;
	if (sender->beats == sender->count)
		sender->end = SENDER_COUNTED;
	pace_next(&sender->pace, now_ns);
	/* Last, because here there is time: the next beat takes what it finds. */
	vitals_refresh(&sender->emitter.vitals, now_ns);
	return wait_for_slot(sender);
}

static void say_health(const struct check *check)
{
	char how[96];

	if (!murmur_allowed())
		return;
	if (check->degraded)
		warn("the health check has failed (%s): the beats say degraded",
		     check_describe(check, how, sizeof(how)));
	else
		warn("the health check has succeeded: the beats do not say degraded any more");
}

/* Forking takes a fraction of a millisecond, which no beat should be late by. Right after one there is time.
 */
static bool has_room(const struct sender *sender, uint64_t now_ns)
{
	return sender->pace.due_ns > now_ns + CHECK_ROOM_NS;
}

/* The next beat is signed with what is in the file by now; what cannot be used leaves the key as it is. */
static void reload_key(struct sender *sender)
{
	struct signalfd_siginfo ignored;
	struct key key = {0};
	char why[1024];

	while (read(sender->reload_fd, &ignored, sizeof(ignored)) > 0)
		;
	if (key_read(sender->key_file, &key, why, sizeof(why))) {
		if (murmur_allowed())
			warn("%s. The beats are signed with key %u as before", why, sender->emitter.key.id);
		return;
	}
	sender->emitter.key = key;
	explicit_bzero(&key, sizeof(key));
	if (murmur_allowed())
		warn("the beats are signed with key %u from now on", sender->emitter.key.id);
}

/* Until the check wants something; UINT64_MAX: not before the next beat. */
static uint64_t check_wait_ns(const struct sender *sender, uint64_t now_ns)
{
	uint64_t due_ns = check_due_ns(&sender->check);

	if (due_ns == UINT64_MAX || due_ns > now_ns)
		return due_ns == UINT64_MAX ? due_ns : due_ns - now_ns;
	return has_room(sender, now_ns) ? 0 : UINT64_MAX;
}

static void mind_check(struct sender *sender, bool ended, bool has_beaten)
{
	uint64_t now_ns = emitter_now_ns();
	bool changed = ended && check_reap(&sender->check, now_ns);

	if (has_beaten || has_room(sender, now_ns))
		changed |= check_step(&sender->check, now_ns);
	if (changed)
		say_health(&sender->check);
}

/*
 * Sleeps until something happens and acts on it. A signal comes first: whoever stops a service stops both the
 * sender and the process it watches, and that is an orderly end.
 */
static int step(struct sender *sender)
{
	struct pollfd pollfds[] = {
		{.fd = sender->signal_fd, .events = POLLIN}, {.fd = sender->watch_fd, .events = POLLIN},
		{.fd = sender->timer_fd, .events = POLLIN},  {.fd = sender->check.pidfd, .events = POLLIN},
		{.fd = sender->reload_fd, .events = POLLIN},
	};
	uint64_t wait_ns = check_wait_ns(sender, emitter_now_ns());
	struct timespec wait = timespec_of(wait_ns);
	int err = 0;

	if (ppoll(pollfds, sizeof(pollfds) / sizeof(*pollfds), wait_ns == UINT64_MAX ? NULL : &wait, NULL) <
	    0)
		return errno == EINTR ? 0 : -errno;
	if (pollfds[0].revents)
		sender->end = SENDER_STOPPED;
	else if (pollfds[1].revents)
		sender->end = SENDER_BEREFT;
	else if (pollfds[2].revents)
		err = beat(sender);
	if (!err && pollfds[4].revents && (pollfds[2].revents || has_room(sender, emitter_now_ns())))
		reload_key(sender);
	if (!err && sender->end == SENDER_RUNS)
		mind_check(sender, pollfds[3].revents, pollfds[2].revents);
	return err;
}

int sender_run(struct sender *sender)
{
	int err = wait_for_slot(sender);

	while (!err && sender->end == SENDER_RUNS)
		err = step(sender);
	if (!err)
		emitter_part(&sender->emitter,
			     sender->end == SENDER_BEREFT ? KPHI_WIRE_DOWN : KPHI_WIRE_LEAVE,
			     wire_flags(sender));
	return err;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

void sender_close(struct sender *sender)
{
	emitter_close(&sender->emitter);
	check_close(&sender->check);
	close_if_open(sender->timer_fd);
	close_if_open(sender->signal_fd);
	close_if_open(sender->reload_fd);
	close_if_open(sender->watch_fd);
}
