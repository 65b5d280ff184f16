/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events as lines of JSON, and their way to readers that are quick, slow, late or gone. */
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
#include "run/event_line.h"
#include "run/feed.h"
#include "run/feed_socket.h"
#include "run/queue.h"

#define SECOND 1000000000ULL

/* --- lines --- */

static const struct event suspect = {
	.type = EVENT_suspect,
	.cause = CAUSE_SILENCE,
	.now_ns = 5 * SECOND,
	.slot = 3,
	.generation = 7,
	.epoch = 1700000000,
	.peer = "db1",
	.consumer = "page",
	.model = KPHI_MODEL_NORMAL,
	.judged = 1,
	.phi = 8 * Q32_ONE + Q32_ONE / 2,
	.threshold = 8 * Q32_ONE,
	.silence_ns = 812000000,
	.since_ns = 5 * SECOND,
	.token = (3ULL << 40) + 9,
};

static void assert_line(const struct event *e, bool current, const char *expected)
{
	struct event_clock clock = {.monotonic_ns = 5 * SECOND + 500,
				    .realtime_ns = 1700000000 * SECOND + 500};
	size_t length;
	char *line = event_line(e, 42, current, &clock, &length);

	assert_non_null(line);
	assert_int_equal(strlen(line), length);
	assert_string_equal(line, expected);
	json_object_put(parsed(line));
	free(line);
}

static void event_about_a_peer(void **state)
{
	(void)state;
	assert_line(
		&suspect, false,
		"{\"type\":\"suspect\",\"seq\":42,\"monotonic_ns\":5000000000,"
		"\"time\":\"2023-11-14T22:13:20.000000000Z\",\"current\":false,\"peer\":\"db1\",\"slot\":3,"
		"\"generation\":7,\"epoch\":1700000000,\"consumer\":\"page\",\"cause\":\"silence\","
		"\"model\":\"normal\",\"phi\":8.500000,\"threshold\":8.000000,\"silence_ns\":812000000,"
		"\"since_ns\":5000000000,\"token\":3298534883337,\"detail\":null}\n");
}

static void event_without_values(void **state)
{
	struct event e = {.type = EVENT_leave, .now_ns = 1, .peer = "a"};

	(void)state;
	assert_line(
		&e, true,
		"{\"type\":\"leave\",\"seq\":42,\"monotonic_ns\":1,\"time\":\"2023-11-14T22:13:15."
		"000000001Z\","
		"\"current\":true,\"peer\":\"a\",\"slot\":0,\"generation\":0,\"epoch\":0,\"consumer\":null,"
		"\"cause\":null,\"model\":null,\"phi\":null,\"threshold\":null,\"silence_ns\":null,"
		"\"since_ns\":null,\"token\":null,\"detail\":null}\n");
}

static void event_about_this_host(void **state)
{
	struct event stall = {.type = EVENT_stall, .now_ns = 5 * SECOND, .cpu = 0, .length_ns = 77};
	struct event config = {
		.type = EVENT_config, .now_ns = 5 * SECOND, .subject = "/etc/kphi.yaml", .detail = "fine"};

	(void)state;
	assert_line(&stall, false,
		    "{\"type\":\"stall\",\"seq\":42,\"monotonic_ns\":5000000000,"
		    "\"time\":\"2023-11-14T22:13:20.000000000Z\",\"current\":false,\"subject\":null,\"peer\":"
		    "null,"
		    "\"consumer\":null,\"cause\":null,\"cpu\":0,\"length_ns\":77,\"detail\":null}\n");
	assert_line(
		&config, false,
		"{\"type\":\"config\",\"seq\":42,\"monotonic_ns\":5000000000,"
		"\"time\":\"2023-11-14T22:13:20.000000000Z\",\"current\":false,"
		"\"subject\":\"/etc/kphi.yaml\",\"peer\":null,\"consumer\":null,\"cause\":null,\"cpu\":null,"
		"\"length_ns\":null,\"detail\":\"fine\"}\n");
}

/* Every type, every cause, and bytes that no document may hold as they are. */
static void every_line_is_one_document(void **state)
{
	struct event e = suspect;
	struct event_clock clock = event_clock_now();

	(void)state;
	e.peer = "a\"b\\c\n\x1b[31m\xff\xe2\x80\xae";
	e.consumer = "\x7f";
	e.subject = e.detail = "\r\n{}";
	for (unsigned int type = 0; type < EVENT_TYPES; type++) {
		for (unsigned int cause = 0; cause < CAUSES; cause++) {
			struct json_object *document;
			size_t length;
			char *line;

			e.type = (enum event_type)type;
			e.cause = (enum event_cause)cause;
			line = event_line(&e, UINT64_MAX, false, &clock, &length);
			assert_non_null(line);
			assert_int_equal(count_lines(line), 1);
			assert_null(strpbrk(line, "\x1b\x7f\xff\r"));
			document = parsed(line);
			assert_string_equal(json_object_get_string(json_object_object_get(document, "type")),
					    event_name(e.type));
			json_object_put(document);
			free(line);
		}
	}
}

static void time_is_rfc_3339(void **state)
{
	char text[EVENT_TIME_SIZE];

	(void)state;
	assert_string_equal(event_time(0, text), "1970-01-01T00:00:00.000000000Z");
	assert_string_equal(event_time(951782400 * SECOND + 1, text), "2000-02-29T00:00:00.000000001Z");
	assert_string_equal(event_time(4102444799 * SECOND + 999999999, text),
			    "2099-12-31T23:59:59.999999999Z");
}

/* --- queues --- */

static struct packet *number(uint64_t n)
{
	char *text;
	int length = asprintf(&text, "%llu\n", (unsigned long long)n);

	return packet_new(text, (size_t)length);
}

static void push_number(struct queue *q, uint64_t n)
{
	struct packet *p = number(n);

	assert_non_null(p);
	queue_push(q, p);
	packet_put(p);
}

/* All that the queue would send, through a pipe that takes it in. */
static size_t drain(struct queue *q, char *text, size_t size)
{
	int ends[2];
	size_t total = 0;
	int left;

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	do {
		ssize_t got;

		left = queue_send(q, ends[1], false);
		assert_true(left >= 0);
		while ((got = read(ends[0], text + total, size - 1 - total)) > 0)
			total += (size_t)got;
	} while (left);
	text[total] = '\0';
	close(ends[0]);
	close(ends[1]);
	return total;
}

static char output[1 << 20];

static void assert_begins(const char *text, const char *with)
{
	assert_int_equal(strncmp(text, with, strlen(with)), 0);
}

static void queue_sends_in_order(void **state)
{
	static struct queue q;

	(void)state;
	assert_true(queue_empty(&q));
	push_number(&q, 1);
	push_number(&q, 2);
	assert_false(queue_empty(&q));
	drain(&q, output, sizeof(output));
	assert_string_equal(output, "1\n2\n");
	assert_true(queue_empty(&q));
	queue_clear(&q);
}

static void slow_reader_loses_its_oldest(void **state)
{
	static struct queue q;

	(void)state;
	for (uint64_t i = 1; i <= QUEUE_LINES + 10; i++)
		push_number(&q, i);
	assert_int_equal(q.lost_total, 10);
	drain(&q, output, sizeof(output));
	assert_begins(output, "{\"type\":\"lost\",\"count\":10}\n11\n12\n");
	assert_non_null(strstr(output, "\n1034\n"));
	assert_int_equal(count_lines(output), QUEUE_LINES + 1);
	queue_clear(&q);
}

/* A line that was half sent is finished before the reader is told what came after it is gone. */
static void half_a_line_is_finished_first(void **state)
{
	static struct queue q;
	static char big[200000], got[300000];
	struct packet *p;
	char *text;
	int ends[2];
	size_t total = 0;
	ssize_t n;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\n';
	text = malloc(sizeof(big));
	assert_non_null(text);
	memcpy(text, big, sizeof(big));
	p = packet_new(text, sizeof(big));
	queue_push(&q, p);
	packet_put(p);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_int_equal(queue_send(&q, ends[1], false), 1);
	for (uint64_t i = 1; i <= QUEUE_LINES + 3; i++)
		push_number(&q, i);
	do {
		while ((n = read(ends[0], got + total, sizeof(got) - 1 - total)) > 0)
			total += (size_t)n;
	} while (queue_send(&q, ends[1], false) > 0);
	while ((n = read(ends[0], got + total, sizeof(got) - 1 - total)) > 0)
		total += (size_t)n;
	got[total] = '\0';
	assert_memory_equal(got, big, sizeof(big));
	assert_begins(got + sizeof(big), "{\"type\":\"lost\",\"count\":3}\n4\n");
	close(ends[0]);
	close(ends[1]);
	queue_clear(&q);
}

static void what_was_asked_for_is_not_lost(void **state)
{
	static struct queue q;
	struct packet *p = packet_new(strdup("state\n"), 6);

	(void)state;
	p->keep = true;
	push_number(&q, 0);
	queue_push(&q, p);
	packet_put(p);
	for (uint64_t i = 1; i <= 3000; i++)
		push_number(&q, i);
	drain(&q, output, sizeof(output));
	assert_begins(output, "{\"type\":\"lost\",\"count\":1978}\nstate\n1978\n1979\n");
	assert_int_equal(count_lines(output), QUEUE_LINES + 1);
	queue_clear(&q);
}

static void gone_reader_is_an_error(void **state)
{
	static struct queue q;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	close(ends[0]);
	push_number(&q, 1);
	assert_int_equal(queue_send(&q, ends[1], true), -EPIPE);
	close(ends[1]);
	queue_clear(&q);
}

/* --- the feed --- */

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
	int fd = feed_socket_connect(path, said, sizeof(said));

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
	assert_int_equal(line_value(count_lines(output) - 1, "seq"), 20000);
	assert_int_equal(line_value(count_lines(output) - QUEUE_LINES, "seq"), 20000 - QUEUE_LINES + 1);
	close(slow);
	close(quick);
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
	assert_int_equal(feed_socket_connect(name, said, sizeof(said)), -ECONNREFUSED);
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
		cmocka_unit_test(event_about_a_peer),
		cmocka_unit_test(event_without_values),
		cmocka_unit_test(event_about_this_host),
		cmocka_unit_test(every_line_is_one_document),
		cmocka_unit_test(time_is_rfc_3339),
		cmocka_unit_test(queue_sends_in_order),
		cmocka_unit_test(slow_reader_loses_its_oldest),
		cmocka_unit_test(half_a_line_is_finished_first),
		cmocka_unit_test(what_was_asked_for_is_not_lost),
		cmocka_unit_test(gone_reader_is_an_error),
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
