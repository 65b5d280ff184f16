/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The way of events to readers that are quick, slow, late or gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "render.h"
#include "run/client.h"
#include "run/feed.h"
#include "run/feed_socket.h"
#include "run/queue.h"
#include "suspicion.h"

static char output[1 << 20];

static char directory[64], path[96], said[1024];
static sd_event *loop;
static struct feed *feed;

/* Two suspicions are the present state, or so many as a test wants. */
static uint64_t present = 2;

static void recite(void *context, feed_say_fn *say, void *say_context)
{
	(void)context;
	for (uint64_t i = 0; i < present; i++)
		say(say_context, &suspect);
}

static int make_feed(void **state)
{
	(void)state;
	mkdir("build", 0755);
	snprintf(directory, sizeof(directory), "build/feed-test-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/event.sock", directory);
	present = 2;
	if (sd_event_new(&loop) < 0)
		return -1;
	feed = feed_new(loop, recite, NULL);
	return feed ? feed_listen(feed, path, "root", said, sizeof(said)) : -1;
}

static int remove_feed(void **state)
{
	(void)state;
	feed_free(feed);
	sd_event_unref(loop);
	return rmdir(directory);
}

/* Whatever the loop has to do. */
static void turn(void)
{
	while (sd_event_run(loop, 0) > 0)
		;
}

static int join(void)
{
	int fd = feed_socket_connect(path, 0, said, sizeof(said));

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	turn();
	return fd;
}

/* Everything that comes until nothing more does. */
static size_t hear(int fd)
{
	size_t total = 0;
	ssize_t got;

	do {
		turn();
		got = read(fd, output + total, sizeof(output) - 1 - total);
		total += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	output[total] = '\0';
	return total;
}

static void say_n(unsigned int n)
{
	size_t length;

	for (unsigned int i = 0; i < n; i++)
		assert_non_null(feed_say(feed, &suspect, &length));
}

/* The number behind `key` in line `n` of the output, counted from 0. */
static uint64_t line_value(size_t n, const char *key)
{
	const char *line = output;
	char text[4096];
	struct json_object *document;
	uint64_t value;

	while (n--)
		line = strchr(line, '\n') + 1;
	snprintf(text, sizeof(text), "%.*s\n", (int)(strchr(line, '\n') - line), line);
	document = parsed(text);
	value = json_object_get_uint64(json_object_object_get(document, key));
	json_object_put(document);
	return value;
}

static void clients_hear_from_their_connection_on(void **state)
{
	int early, late;

	(void)state;
	early = join();
	say_n(2);
	late = join();
	say_n(1);
	assert_int_equal(feed_clients(feed), 2);
	hear(early);
	assert_int_equal(count_lines(output), 3);
	assert_int_equal(line_value(0, "seq"), 1);
	assert_int_equal(line_value(2, "seq"), 3);
	hear(late);
	assert_int_equal(count_lines(output), 1);
	assert_int_equal(line_value(0, "seq"), 3);
	close(early);
	turn();
	assert_int_equal(feed_clients(feed), 1);
	say_n(1);
	hear(late);
	assert_int_equal(line_value(0, "seq"), 4);
	close(late);
}

static void late_client_asks_for_the_state(void **state)
{
	int fd;

	(void)state;
	say_n(5);
	fd = join();
	assert_int_equal(write(fd, "state\n", 6), 6);
	turn();
	say_n(1);
	hear(fd);
	assert_int_equal(count_lines(output), 4);
	assert_int_equal(line_value(0, "current"), 1);
	assert_int_equal(line_value(0, "seq"), 5);
	assert_int_equal(line_value(2, "seq"), 5);
	assert_int_equal(line_value(2, "count"), 2);
	assert_int_equal(line_value(3, "seq"), 6);
	assert_int_equal(line_value(3, "current"), 0);
	close(fd);
}

/* It has said all it will say, and still wants the answer: echo state | socat - UNIX:... */
static void client_may_close_its_half(void **state)
{
	int fd = join();

	(void)state;
	assert_int_equal(write(fd, "state\n", 6), 6);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	hear(fd);
	assert_int_equal(count_lines(output), 3);
	say_n(1);
	hear(fd);
	assert_int_equal(count_lines(output), 1);
	close(fd);
	turn();
	assert_int_equal(feed_clients(feed), 0);
}

static void wrong_requests_are_answered(void **state)
{
	static const char nonsense[4096] = {'x'};
	int fd = join();

	(void)state;
	assert_int_equal(write(fd, "hello\nstate\n", 12), 12);
	hear(fd);
	assert_int_equal(count_lines(output), 4);
	assert_begins(output, "{\"error\":\"unknown request");
	assert_int_equal(write(fd, nonsense, sizeof(nonsense)), sizeof(nonsense));
	turn();
	assert_int_equal(feed_clients(feed), 0);
	close(fd);
}

static void slow_client_delays_nobody(void **state)
{
	int slow, quick;
	uint64_t lost;

	(void)state;
	slow = join();
	quick = join();
	for (unsigned int i = 0; i < 20000; i += 100) {
		say_n(100);
		hear(quick);
		assert_int_equal(count_lines(output), 100);
		assert_int_equal(line_value(99, "seq"), i + 100);
	}
	/* What the kernel held for it, then the gap, then the newest. */
	hear(slow);
	assert_non_null(strstr(output, "\"type\":\"lost\""));
	lost = strtoull(strstr(output, "\"count\":") + 8, NULL, 10);
	assert_int_equal(count_lines(output) - 1 + lost, 20000);
	assert_int_equal(feed_dropped(feed), lost);
	assert_int_equal(line_value(count_lines(output) - 1, "seq"), 20000);
	assert_int_equal(line_value(count_lines(output) - QUEUE_LINES, "seq"), 20000 - QUEUE_LINES + 1);
	close(slow);
	close(quick);
	turn();
	assert_int_equal(feed_clients(feed), 0);
	assert_int_equal(feed_dropped(feed), lost); /* who has gone is not forgotten */
}

static void state_larger_than_every_buffer_arrives(void **state)
{
	size_t lines = 0, total;
	int fd;

	(void)state;
	present = 20000;
	fd = join();
	assert_int_equal(write(fd, "state\n", 6), 6);
	turn();
	say_n(2000); /* meanwhile */
	assert_int_equal(write(fd, "state\n", 6), 6); /* refused: one is on its way */
	do {
		ssize_t got = read(fd, output, sizeof(output) - 1);

		total = got > 0 ? (size_t)got : 0;
		output[total] = '\0';
		lines += count_lines(output);
		turn();
	} while (total);
	assert_true(lines >= 20000 + 1 + 1 + 1000);
	close(fd);
}

static void too_many_clients_are_told(void **state)
{
	int fd[FEED_CLIENTS + 1];

	(void)state;
	for (unsigned int i = 0; i <= FEED_CLIENTS; i++)
		fd[i] = join();
	assert_int_equal(feed_clients(feed), FEED_CLIENTS);
	hear(fd[FEED_CLIENTS]);
	assert_string_equal(output, "{\"error\":\"there are 64 clients already\"}\n");
	close(fd[0]);
	turn();
	close(fd[FEED_CLIENTS]);
	fd[0] = join();
	assert_int_equal(feed_clients(feed), FEED_CLIENTS);
	for (unsigned int i = 0; i < FEED_CLIENTS; i++)
		close(fd[i]);
}

static void blocked_pipe_does_not_hang(void **state)
{
	size_t total;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, 0), 0);
	assert_int_equal(feed_standard(feed, ends[1]), 0);
	say_n(5000);
	/* The flag is on what we opened, not on what others have. */
	assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	total = hear(ends[0]);
	assert_true(total > 0);
	assert_non_null(strstr(output, "\"type\":\"lost\""));
	assert_int_equal(line_value(count_lines(output) - 1, "seq"), 5000);
	close(ends[0]);
	say_n(1);
	turn();
	close(ends[1]);
}

static void file_gets_everything(void **state)
{
	char name[128];
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "%s/out", directory);
	fd = open(name, O_CREAT | O_RDWR, 0600);
	assert_int_equal(feed_standard(feed, fd), 0);
	say_n(1500);
	assert_int_equal(feed_standard(feed, -1), 0);
	say_n(1);
	output[read(fd, output, sizeof(output) - 1)] = '\0';
	assert_int_equal(count_lines(output), 1500);
	close(fd);
	unlink(name);
}

static void socket_is_for_root_and_group(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	assert_int_equal(feed_listen(feed, path, "daemon", said, sizeof(said)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_gid, 1);
}

static void used_paths_are_refused_and_stale_ones_taken(void **state)
{
	struct feed_socket other, stale;
	char name[128];
	int fd;

	(void)state;
	assert_int_equal(feed_socket_open(&other, path, "root", said, sizeof(said)), -EADDRINUSE);
	assert_non_null(strstr(said, "somebody listens there already"));
	snprintf(name, sizeof(name), "%s/stale", directory);
	assert_int_equal(feed_socket_open(&stale, name, "root", said, sizeof(said)), 0);
	close(stale.fd); /* killed: the file stays */
	assert_int_equal(feed_socket_connect(name, 0, said, sizeof(said)), -ECONNREFUSED);
	assert_non_null(strstr(said, "no `kphi run` listens there"));
	assert_int_equal(feed_socket_open(&stale, name, "root", said, sizeof(said)), 0);
	feed_socket_close(&stale);
	fd = open(name, O_CREAT | O_RDWR, 0600);
	close(fd);
	assert_int_equal(feed_socket_open(&stale, name, "root", said, sizeof(said)), -ENOTSOCK);
	unlink(name);
}

/* Another path on reload: the clients of the old one stay, the old name goes. */
static void listening_elsewhere_keeps_clients(void **state)
{
	int fd = join();

	(void)state;
	snprintf(path, sizeof(path), "%s/other.sock", directory);
	assert_int_equal(feed_listen(feed, path, "root", said, sizeof(said)), 0);
	say_n(1);
	hear(fd);
	assert_int_equal(count_lines(output), 1);
	close(fd);
	fd = join();
	assert_int_equal(feed_clients(feed), 1);
	close(fd);
}

/* The other end, as kphi event uses it; one line is longer than what it reads at once. */
static void client_reads_lines(void **state)
{
	char detail[10000];
	struct event event = {.type = EVENT_config, .detail = detail};
	struct client c;
	size_t length;

	(void)state;
	memset(detail, 'x', sizeof(detail) - 1);
	detail[sizeof(detail) - 1] = '\0';
	assert_int_equal(client_open(&c, path, said, sizeof(said)), 0);
	assert_int_equal(c.pid, getpid());
	turn();
	assert_int_equal(client_next(&c, 0), -ETIMEDOUT);
	assert_int_equal(client_ask_state(&c), 0);
	turn();
	feed_say(feed, &event, &length);
	say_n(1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(client_next(&c, 0), 1);
		assert_true(client_line_is_current(&c));
		assert_true(client_line_is_type(&c, "suspect"));
		assert_false(client_line_is_type(&c, "sus"));
	}
	assert_int_equal(client_next(&c, 0), 1);
	assert_true(client_line_is_type(&c, "state"));
	assert_int_equal(client_next(&c, 0), 1);
	assert_true(client_line_is_type(&c, "config"));
	assert_false(client_line_is_current(&c));
	assert_true(c.length > 10000);
	assert_int_equal(c.line[c.length - 1], '\n');
	assert_int_equal(strlen(c.line), c.length);
	assert_int_equal(client_next(&c, 0), 1);
	assert_true(client_line_is_type(&c, "suspect"));
	assert_int_equal(client_next(&c, 0), -ETIMEDOUT);
	feed_free(feed);
	feed = NULL;
	assert_int_equal(client_next(&c, 0), 0);
	client_close(&c);
}

#define with_feed(test) cmocka_unit_test_setup_teardown(test, make_feed, remove_feed)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_feed(clients_hear_from_their_connection_on),
		with_feed(late_client_asks_for_the_state),
		with_feed(client_may_close_its_half),
		with_feed(wrong_requests_are_answered),
		with_feed(slow_client_delays_nobody),
		with_feed(state_larger_than_every_buffer_arrives),
		with_feed(too_many_clients_are_told),
		with_feed(blocked_pipe_does_not_hang),
		with_feed(file_gets_everything),
		with_feed(socket_is_for_root_and_group),
		with_feed(used_paths_are_refused_and_stale_ones_taken),
		with_feed(listening_elsewhere_keeps_clients),
		with_feed(client_reads_lines),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
