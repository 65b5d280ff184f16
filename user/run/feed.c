// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/error.h"
#include "run/event_line.h"
#include "run/feed_socket.h"
#include "run/queue.h"

#define REQUEST_SIZE 64

/* One reader. */
struct sink {
	struct feed *feed;
	int fd;
	bool is_socket;
	sd_event_source *io; /* NULL: a file, which never makes anybody wait */
	uint32_t interest;
	struct queue queue;
	struct packet *state; /* asked for and not yet sent; held */
	char request[REQUEST_SIZE];
	size_t requested;
};

struct feed {
	sd_event *loop;
	void (*recite)(void *context, feed_say_fn *say, void *say_context);
	void *context;
	uint64_t seq;
	struct packet *last;
	struct sink *standard;
	struct sink *client[FEED_CLIENTS];
	uint32_t clients;
	uint64_t dropped; /* lines for readers that have gone */
	struct feed_socket socket;
	sd_event_source *listener;
	int spare; /* a descriptor, kept so that there is one to refuse a client with; -1: lost */
	bool refusing; /* clients, for want of descriptors or the like: said */
	bool full; /* where standard output goes has no room: said */
};

/* --- sinks --- */

static void sink_free(struct sink *s)
{
	if (!s)
		return;
	sd_event_source_disable_unref(s->io);
	s->feed->dropped += s->queue.lost_total;
	queue_clear(&s->queue);
	packet_put(s->state);
	close(s->fd);
	free(s);
}

static void sink_drop(struct sink *s, int err)
{
	struct feed *f = s->feed;

	if (s == f->standard) {
		warn("standard output takes no more events: %s", strerror(-err));
		f->standard = NULL;
		f->full = false;
	}
	for (uint32_t i = 0; i < f->clients; i++) {
		if (f->client[i] != s)
			continue;
		f->client[i] = f->client[--f->clients];
		if (f->listener)
			sd_event_source_set_enabled(f->listener, SD_EVENT_ON);
		break;
	}
	sink_free(s);
}

/* Asks to be woken when the reader has room again, but only while there is something for it. */
static void sink_want_room(struct sink *s, bool want)
{
	uint32_t interest = (s->interest & EPOLLIN) | (want ? EPOLLOUT : 0);

	if (!s->io || interest == s->interest)
		return;
	s->interest = interest;
	sd_event_source_set_io_events(s->io, interest);
}

/* A full disk may have room again: lines wait as they do for a slow reader. */
static bool waits_for_room(struct sink *s, int result)
{
	struct feed *f = s->feed;
	bool full = result == -ENOSPC || result == -EDQUOT;

	if (s != f->standard || full == f->full)
		return full;
	f->full = full;
	if (full)
		warn("standard output takes no events now: %s. The last %d are kept, and written as soon as "
		     "there is room",
		     strerror(-result), QUEUE_LINES);
	else if (result >= 0)
		warn("standard output takes events again");
	return full;
}

/* False: the reader is gone, and the sink with it. */
static bool sink_send(struct sink *s)
{
	int result = queue_send(&s->queue, s->fd, s->is_socket);

	if (waits_for_room(s, result))
		return true;
	if (result < 0) {
		sink_drop(s, result);
		return false;
	}
	/* When nobody else holds it, it is through. */
	if (s->state && s->state->holders == 1) {
		packet_put(s->state);
		s->state = NULL;
	}
	sink_want_room(s, result > 0);
	return true;
}

static bool sink_push(struct sink *s, struct packet *p)
{
	queue_push(&s->queue, p);
	return sink_send(s);
}

/* --- what clients ask --- */

struct recital {
	struct feed *feed;
	struct event_clock clock;
	FILE *stream;
	uint64_t count;
};

static void recite_one(void *context, const struct event *event)
{
	struct recital *r = context;
	size_t length;
	char *line = event_line(event, r->feed->seq, true, &r->clock, &length);

	if (!line)
		return;
	fwrite(line, 1, length, r->stream);
	free(line);
	r->count++;
}

/* The whole state as one packet, so that it reaches the client in one piece however slow that is. */
static struct packet *recite_all(struct feed *f)
{
	struct recital r = {.feed = f, .clock = event_clock_now()};
	char *text = NULL, *end;
	size_t length = 0, end_length;
	struct packet *p;

	r.stream = open_memstream(&text, &length);
	if (!r.stream)
		return NULL;
	f->recite(f->context, recite_one, &r);
	end = event_state_line(f->seq, r.count, &end_length);
	if (end)
		fwrite(end, 1, end_length, r.stream);
	free(end);
	if (fclose(r.stream)) {
		free(text);
		return NULL;
	}
	p = packet_new(text, length);
	if (p)
		p->keep = true;
	return p;
}

static bool answer_error(struct sink *s, const char *message)
{
	size_t length = 0;
	char *line = event_error_line(message, &length);
	struct packet *p = packet_new(line, length);
	bool alive = !p || sink_push(s, p);

	packet_put(p);
	return alive;
}

static bool answer(struct sink *s, const char *request)
{
	if (strcmp(request, "state") != 0)
		return answer_error(s, "unknown request: the one there is is the line `state`");
	if (s->state)
		return answer_error(s, "the state that was asked for before is still on its way");
	s->state = recite_all(s->feed);
	return s->state ? sink_push(s, s->state) : answer_error(s, "no memory for the state");
}

static bool take_requests(struct sink *s)
{
	char *end;

	while ((end = memchr(s->request, '\n', s->requested))) {
		char request[REQUEST_SIZE];
		size_t length = (size_t)(end - s->request);

		memcpy(request, s->request, length);
		request[length] = '\0';
		s->requested -= length + 1;
		memmove(s->request, end + 1, s->requested);
		if (!answer(s, request))
			return false;
	}
	if (s->requested < REQUEST_SIZE)
		return true;
	sink_drop(s, -EMSGSIZE);
	return false;
}

/* A client that has said all it wants to say may still be listening. */
static bool read_client(struct sink *s)
{
	ssize_t got = recv(s->fd, s->request + s->requested, REQUEST_SIZE - s->requested, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (got < 0) {
		sink_drop(s, -errno);
		return false;
	}
	if (!got) {
		s->interest &= ~(uint32_t)EPOLLIN;
		sd_event_source_set_io_events(s->io, s->interest);
		return true;
	}
	s->requested += (size_t)got;
	return take_requests(s);
}

static int on_sink(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct sink *s = context;

	(void)source;
	(void)fd;
	if (events & EPOLLIN && !read_client(s))
		return 0;
	if (events & (EPOLLHUP | EPOLLERR)) {
		sink_drop(s, -EPIPE);
		return 0;
	}
	if (events & EPOLLOUT)
		sink_send(s);
	return 0;
}

static struct sink *sink_new(struct feed *f, int fd, bool is_socket, uint32_t interest)
{
	struct sink *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return NULL;
	*s = (struct sink){.feed = f, .fd = fd, .is_socket = is_socket, .interest = interest};
	err = sd_event_add_io(f->loop, &s->io, fd, interest, on_sink, s);
	if (!err || err == -EPERM) /* a file cannot be polled, and need not be */
		return s;
	free(s);
	return NULL;
}

/* --- clients --- */

static int spare_open(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/*
 * Nobody more can be served for now. Where that is for want of descriptors, the spare one is enough to tell a
 * client so; else clients wait for the next round, because asking again at once is asking without end.
 */
static void refuse_client(struct feed *f, int listener, int err)
{
	size_t length;
	char *line;
	int fd = -1;

	if (!f->refusing)
		warn("%s: clients cannot be served: %s. %s", f->socket.path, strerror(err),
		     err == EMFILE ? "Raise LimitNOFILE= (ulimit -n) of `kphi run`" : "It is tried again");
	f->refusing = true;
	if (f->spare >= 0) {
		close(f->spare);
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	}
	line = fd < 0 ? NULL
		      : event_error_line("`kphi run` has no descriptor left for another client", &length);
	if (line)
		send(fd, line, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	free(line);
	if (fd >= 0)
		close(fd);
	f->spare = spare_open();
	if (fd < 0 || f->spare < 0)
		sd_event_source_set_enabled(f->listener, SD_EVENT_OFF);
}

static int on_connection(sd_event_source *source, int listener, uint32_t events, void *context)
{
	struct feed *f = context;
	struct sink *s;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)source;
	(void)events;
	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			refuse_client(f, listener, errno);
		return 0;
	}
	f->refusing = false;
	s = sink_new(f, fd, true, EPOLLIN);
	if (!s) {
		close(fd);
		return 0;
	}
	if (f->clients == FEED_CLIENTS) {
		if (answer_error(s, "there are 64 clients already"))
			sink_free(s);
		return 0;
	}
	f->client[f->clients++] = s;
	return 0;
}

static void stop_listening(struct feed *f)
{
	f->listener = sd_event_source_disable_unref(f->listener);
	feed_socket_close(&f->socket);
}

int feed_listen(struct feed *f, const char *path, const char *group, char *why, size_t size)
{
	struct feed_socket fresh;
	sd_event_source *listener;
	int err;

	if (f->listener && !strcmp(path, f->socket.path) && feed_socket_is_there(&f->socket))
		return feed_socket_grant(&f->socket, group, why, size);
	err = feed_socket_open(&fresh, path, group, why, size);
	if (err)
		return err;
	err = sd_event_add_io(f->loop, &listener, fresh.fd, EPOLLIN, on_connection, f);
	if (err < 0) {
		feed_socket_close(&fresh);
		return err;
	}
	stop_listening(f);
	f->socket = fresh;
	f->listener = listener;
	return 0;
}

/* Somebody removed the socket: who would connect finds nobody. */
static void listen_anew(struct feed *f, const char *group)
{
	char path[sizeof(f->socket.path)], reason[1024] = "no memory";

	memcpy(path, f->socket.path, sizeof(path));
	if (!feed_listen(f, path, group, reason, sizeof(reason)))
		warn("%s: the socket was removed, and is there again", path);
}

void feed_round(struct feed *f, const char *group)
{
	if (f->spare < 0)
		f->spare = spare_open();
	if (f->listener && !feed_socket_is_there(&f->socket))
		listen_anew(f, group);
	if (f->listener && f->refusing)
		sd_event_source_set_enabled(f->listener, SD_EVENT_ON);
	if (f->standard && f->full)
		sink_send(f->standard);
}

/* --- the feed --- */

struct feed *feed_new(sd_event *loop, void (*recite)(void *context, feed_say_fn *say, void *say_context),
		      void *context)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->loop = loop;
	f->recite = recite;
	f->context = context;
	f->socket.fd = -1;
	f->spare = spare_open();
	return f;
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	stop_listening(f);
	while (f->clients)
		sink_free(f->client[--f->clients]);
	sink_free(f->standard);
	packet_put(f->last);
	if (f->spare >= 0)
		close(f->spare);
	free(f);
}

/*
 * A descriptor of our own for the same file: O_NONBLOCK belongs to what was opened, and others (a shell) have
 * that too. A socket cannot be opened again, but needs no flag.
 */
static int reopen(int fd, bool *is_socket)
{
	char path[64];
	int type, own;
	socklen_t size = sizeof(type);

	*is_socket = !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
	if (!*is_socket) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		own = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (own >= 0)
			return own;
	}
	own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (own >= 0 && !*is_socket)
		fcntl(own, F_SETFL, fcntl(own, F_GETFL) | O_NONBLOCK);
	return own < 0 ? -errno : own;
}

int feed_standard(struct feed *f, int fd)
{
	bool is_socket;
	int own;

	if (fd < 0) {
		sink_free(f->standard);
		f->standard = NULL;
		f->full = false;
		return 0;
	}
	if (f->standard)
		return 0;
	own = reopen(fd, &is_socket);
	if (own < 0)
		return own;
	f->standard = sink_new(f, own, is_socket, 0);
	if (f->standard)
		return 0;
	close(own);
	return -ENOMEM;
}

const char *feed_say(struct feed *f, const struct event *event, size_t *length)
{
	struct event_clock clock = event_clock_now();
	char *line = event_line(event, ++f->seq, false, &clock, length);

	packet_put(f->last);
	f->last = packet_new(line, *length);
	if (!f->last)
		return NULL;
	if (f->standard)
		sink_push(f->standard, f->last);
	/* Backwards, because one that is gone is replaced by the last. */
	for (uint32_t i = f->clients; i-- > 0;)
		sink_push(f->client[i], f->last);
	return f->last->text;
}

uint32_t feed_clients(const struct feed *f)
{
	return f->clients;
}

uint64_t feed_dropped(const struct feed *f)
{
	uint64_t dropped = f->dropped + (f->standard ? f->standard->queue.lost_total : 0);

	for (uint32_t i = 0; i < f->clients; i++)
		dropped += f->client[i]->queue.lost_total;
	return dropped;
}
