// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop. libmicrohttpd has an epoll descriptor of its own, which is one source in ours: whatever comes is
 * served by MHD_run(), in this one thread.
 */
#include "web/server.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/error.h"
#include "io/parse.h"
#include "kernel/clock.h"
#include "run/privilege.h"

#define LOOK_US        1000000 /* between two looks at the peers ... */
#define LOOK_WATCHED   4 /* ... and so many times more often while somebody watches */
#define OTHER_FILES    64 /* descriptors that are no connections */
#define CONNECTION_MIN (2 * LIMITS_RESERVE)

/* Slots of another store are other peers. */
static const struct store *look_store(struct server *s)
{
	struct why w;
	const struct store *store = source_store(&s->source, &w);

	if (!store || (s->history && s->life == s->source.life))
		return store;
	history_free(s->history);
	s->history = history_new(store->header->peers);
	s->life = s->source.life;
	s->look.n = 0;
	return store;
}

int server_look(struct server *s)
{
	const struct store *store = look_store(s);

	return store && !s->history ? -ENOMEM : look_at_all(&s->look, store, s->history);
}

static void look(struct server *s)
{
	const struct store *store;

	if (s->streams.count) {
		if (!server_look(s))
			streams_show(&s->streams, &s->look, s->look.has_store ? &s->source.store : NULL);
		return;
	}
	store = look_store(s);
	if (store && s->history)
		look_for_history(&s->look, store, s->history);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *context)
{
	struct server *s = context;
	uint64_t now_ns = clock_monotonic_ns();

	(void)usec;
	limits_check(&s->limits, now_ns);
	streams_check(&s->streams, now_ns);
	http_forget(s, now_ns);
	look(s);
	MHD_run(s->mhd);
	sd_event_source_set_time_relative(source, s->streams.count ? LOOK_US / LOOK_WATCHED : LOOK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Whoever is woken is served when the loop comes round: libmicrohttpd wakes itself. */
static void on_event(void *context)
{
	struct server *s = context;

	streams_wake(&s->streams);
}

static int on_mhd(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct server *s = context;

	(void)source;
	(void)fd;
	(void)events;
	MHD_run(s->mhd);
	return 0;
}

static int on_mhd_wait(sd_event_source *source, uint64_t usec, void *context)
{
	struct server *s = context;

	(void)source;
	(void)usec;
	MHD_run(s->mhd);
	return 0;
}

/* What libmicrohttpd has left to do, for which no descriptor wakes us. */
static int before_sleep(sd_event_source *source, void *context)
{
	struct server *s = context;
	MHD_UNSIGNED_LONG_LONG wait_ms;

	(void)source;
	if (MHD_get_timeout(s->mhd, &wait_ms) != MHD_YES)
		return sd_event_source_set_enabled(s->mhd_wait, SD_EVENT_OFF);
	sd_event_source_set_time_relative(s->mhd_wait, wait_ms * 1000);
	return sd_event_source_set_enabled(s->mhd_wait, SD_EVENT_ONESHOT);
}

/* --- from the options to the loop, and back --- */

/* A descriptor each; the usual soft limit of 1,024 is enough, but somebody may have lowered it. */
static uint32_t connections_max(void)
{
	struct rlimit limit;
	rlim_t want = LIMITS_CONNECTIONS + OTHER_FILES;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= want)
		return LIMITS_CONNECTIONS;
	limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < CONNECTION_MIN + OTHER_FILES)
		return CONNECTION_MIN;
	return (uint32_t)limit.rlim_cur - OTHER_FILES;
}

static int add_signals(struct server *s)
{
	sigset_t ours;
	int err;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigprocmask(SIG_BLOCK, &ours, NULL);
	err = sd_event_add_signal(s->loop, NULL, SIGTERM, NULL, NULL);
	return err < 0 ? err : sd_event_add_signal(s->loop, NULL, SIGINT, NULL, NULL);
}

static int add_mhd(struct server *s)
{
	sd_event_source *io;
	int fd, err;

	s->mhd = http_start(s);
	if (!s->mhd)
		return errno ? -errno : -EIO;
	fd = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	err = sd_event_add_io(s->loop, &io, fd, EPOLLIN, on_mhd, s);
	if (err < 0)
		return err;
	sd_event_source_set_prepare(io, before_sleep);
	sd_event_source_set_floating(io, true);
	sd_event_source_unref(io);
	err = sd_event_add_time_relative(s->loop, &s->mhd_wait, CLOCK_MONOTONIC, 0, 1000, on_mhd_wait, s);
	return err < 0 ? err
		       : sd_event_add_time_relative(s->loop, &s->tick, CLOCK_MONOTONIC, 0, 1000, on_tick, s);
}

static int open_server(struct server *s)
{
	uint64_t now_ns = clock_monotonic_ns();
	char why[WHY_SIZE];
	int err = listener_open(&s->listener, s->options->listen, why, sizeof(why));

	if (err) {
		fail("%s", why);
		return err;
	}
	gethostname(s->own_name, sizeof(s->own_name) - 1);
	look_init(&s->look, now_ns);
	s->limits.connections = connections_max();
	err = sd_event_new(&s->loop);
	if (err < 0)
		goto failed;
	s->news = news_new(s->loop, s->options->socket, now_ns / 1000, on_event, s);
	s->streams = (struct streams){.limits = &s->limits, .news = s->news};
	err = s->news ? add_signals(s) : -ENOMEM;
	err = err < 0 ? err : add_mhd(s);
	if (err >= 0)
		return 0;
failed:
	fail("cannot set up the server: %s", strerror(-err));
	return err;
}

/* Suspended connections would be there for ever: their readers are told to end first. */
static void close_server(struct server *s)
{
	news_free(s->news);
	if (s->mhd) {
		streams_end(&s->streams);
		MHD_run(s->mhd);
		MHD_stop_daemon(s->mhd);
		http_forget(s, UINT64_MAX);
	}
	streams_free(&s->streams);
	sd_event_source_disable_unref(s->tick);
	sd_event_source_disable_unref(s->mhd_wait);
	sd_event_unref(s->loop);
	look_free(&s->look);
	history_free(s->history);
	source_close(&s->source);
	listener_close(&s->listener);
}

int web_run(const struct web_options *options)
{
	struct server s = {.options = options, .source.root = options->pin, .listener.fd = -1};
	int err;

	s.listener.file.fd = -1;
	err = open_server(&s);
	if (!err) {
		privilege_settle_server(s.listener.file.fd >= 0);
		err = sd_event_loop(s.loop);
		if (err < 0)
			fail("the event loop failed: %s", strerror(-err));
	}
	close_server(&s);
	return err < 0 ? err : 0;
}
