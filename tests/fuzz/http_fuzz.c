// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a client sends to `kphi web serve`, byte by byte: through libmicrohttpd, as it is used here, to the
 * replies. There is no store, but there are events. The first byte says how many bytes are sent at a time; 0:
 * all at once.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fuzz/fuzz.h"
#include "web/server.h"

#define PATIENCE 3 /* turns in which nothing comes any more */

static const struct web_options options = {.pin = "/nowhere", .hosts = "watch.example"};
static struct server server;
static struct sockaddr_un address;
static socklen_t address_length = sizeof(address);

static void tell(void *context)
{
	(void)context;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *context)
{
	(void)source;
	(void)usec;
	(void)context;
	return 0;
}

static void take_event(const char *line)
{
	news_take(server.news, line, strlen(line));
}

/* Listens at a name that the kernel chooses and nobody else sees. */
static int start_server(void)
{
	address.sun_family = AF_UNIX;
	server = (struct server){.options = &options, .own_name = "node7", .source.root = options.pin};
	server.listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	must(server.listener.fd >= 0);
	must(!bind(server.listener.fd, (struct sockaddr *)&address, sizeof(sa_family_t)));
	must(!getsockname(server.listener.fd, (struct sockaddr *)&address, &address_length));
	must(!listen(server.listener.fd, 8));
	server.limits.connections = LIMITS_CONNECTIONS;
	must(sd_event_new(&server.loop) >= 0);
	must(sd_event_add_time_relative(server.loop, &server.tick, CLOCK_MONOTONIC, 0, 0, on_tick, &server) >=
	     0);
	server.news = news_new(NULL, "/nowhere/event.sock", 5000000, tell, NULL);
	must(server.news);
	take_event("{\"type\":\"suspect\",\"seq\":7,\"peer\":\"a\"}");
	take_event("{\"type\":\"clear\",\"seq\":8,\"peer\":\"a\"}");
	server.streams = (struct streams){.limits = &server.limits, .news = server.news};
	look_init(&server.look, 1000000000);
	server.mhd = http_start(&server);
	must(server.mhd);
	return 0;
}

/* What has come back so far: nothing, or the beginning of an answer, and none is our own fault. */
static void look_at(const char *answer, size_t length)
{
	static const char head[] = "HTTP/1.";

	if (length >= strlen(head) + 5) {
		must(!memcmp(answer, head, strlen(head)));
		must(memcmp(answer + strlen(head) + 2, "500", 3));
	}
}

/* One turn of the server; true while there is something to be read. */
static bool turn(int fd, char *answer, size_t room, size_t *length)
{
	char rest[65536];
	bool has_room = *length < room;
	ssize_t got;

	MHD_run(server.mhd);
	got = recv(fd, has_room ? answer + *length : rest, has_room ? room - *length : sizeof(rest),
		   MSG_DONTWAIT);
	if (got > 0 && has_room)
		*length += (size_t)got;
	return got > 0;
}

static void talk(int fd, const uint8_t *data, size_t size, size_t part)
{
	char answer[64];
	size_t length = 0;

	for (size_t at = 0; at < size; at += part) {
		size_t n = size - at < part ? size - at : part;

		if (send(fd, data + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		turn(fd, answer, sizeof(answer), &length);
	}
	shutdown(fd, SHUT_WR);
	for (int idle = 0; idle < PATIENCE;)
		idle = turn(fd, answer, sizeof(answer), &length) ? 0 : idle + 1;
	look_at(answer, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool is_there;
	int fd;

	if (!is_there)
		is_there = !start_server();
	if (size < 2)
		return 0;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(fd >= 0 && !connect(fd, (struct sockaddr *)&address, address_length));
	talk(fd, data + 1, size - 1, *data ? *data : size);
	close(fd);
	streams_end(&server.streams);
	for (int i = 0; i < PATIENCE; i++)
		MHD_run(server.mhd);
	/* Nothing is left of a client. */
	must(!server.limits.count && !server.limits.first && !server.limits.answers_bytes);
	must(!server.streams.count);
	return 0;
}
