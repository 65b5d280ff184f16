// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/client.h"

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/feed_socket.h"

#define LINE_SIZE 4096 /* to begin with */
#define LINE_MAX  (1U << 20)

static int open_with(struct client *c, const char *socket, int flags, char *why, size_t size)
{
	struct ucred daemon = {0};
	socklen_t length = sizeof(daemon);

	*c = (struct client){.size = LINE_SIZE};
	c->fd = feed_socket_connect(socket, flags, why, size);
	if (c->fd < 0)
		return c->fd;
	if (!getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &daemon, &length))
		c->pid = daemon.pid;
	c->line = malloc(c->size + 1);
	if (c->line)
		return 0;
	close(c->fd);
	snprintf(why, size, "no memory");
	return -ENOMEM;
}

int client_open(struct client *c, const char *socket, char *why, size_t size)
{
	return open_with(c, socket, 0, why, size);
}

int client_open_at_once(struct client *c, const char *socket, char *why, size_t size)
{
	return open_with(c, socket, SOCK_NONBLOCK, why, size);
}

void client_close(struct client *c)
{
	close(c->fd);
	free(c->line);
}

int client_ask_state(struct client *c)
{
	static const char request[] = "state\n";

	if (send(c->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == sizeof(request) - 1)
		return 0;
	return errno == EPIPE ? 0 : -errno; /* it has gone, but may have said why */
}

/* Is there a whole line? Up to `from` there is no newline. */
static bool take_line(struct client *c, size_t from)
{
	char *end = memchr(c->line + from, '\n', c->used - from);

	if (!end)
		return false;
	c->length = (size_t)(end - c->line) + 1;
	return true;
}

static int grow(struct client *c)
{
	char *larger;

	if (c->used < c->size)
		return 0;
	if (c->size >= LINE_MAX)
		return -EMSGSIZE;
	larger = realloc(c->line, 2 * c->size + 1);
	if (!larger)
		return -ENOMEM;
	c->line = larger;
	c->size *= 2;
	return 0;
}

/* A line is handed out with a zero behind it, where the next one may have begun. */
static void hand_out(struct client *c)
{
	c->covered = c->line[c->length];
	c->line[c->length] = '\0';
}

static void take_back(struct client *c)
{
	if (!c->length)
		return;
	c->line[c->length] = c->covered;
	c->used -= c->length;
	memmove(c->line, c->line + c->length, c->used);
	c->length = 0;
}

int client_next(struct client *c, int timeout_ms)
{
	struct pollfd ready = {.fd = c->fd, .events = POLLIN};
	size_t searched = 0;

	take_back(c);
	while (!take_line(c, searched)) {
		ssize_t got;
		int err = grow(c);

		if (err)
			return err;
		searched = c->used;
		err = poll(&ready, 1, timeout_ms);
		if (err <= 0)
			return err ? -errno : -ETIMEDOUT;
		got = recv(c->fd, c->line + c->used, c->size - c->used, 0);
		if (got <= 0)
			return got ? -errno : 0;
		c->used += (size_t)got;
	}
	hand_out(c);
	return 1;
}

bool client_refused(const struct client *c, char *why, size_t size)
{
	struct json_object *line = NULL, *said;
	bool refused = !strncmp(c->line, "{\"error\":", 9);

	if (refused)
		line = json_tokener_parse(c->line);
	if (refused)
		snprintf(why, size, "%s",
			 json_object_object_get_ex(line, "error", &said) ? json_object_get_string(said)
									 : "`kphi run` refuses");
	json_object_put(line);
	return refused;
}

/* In a string a quotation mark is escaped, so this can only be the key. */
bool client_line_is_current(const struct client *c)
{
	return strstr(c->line, "\"current\":true");
}

bool client_line_is_type(const struct client *c, const char *type)
{
	char head[64];

	snprintf(head, sizeof(head), "{\"type\":\"%s\",", type);
	return !strncmp(c->line, head, strlen(head));
}
