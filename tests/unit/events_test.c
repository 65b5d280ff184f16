/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events as lines of JSON, and the queue in front of each reader. */
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
#include "run/event_line.h"
#include "run/queue.h"
#include "suspicion.h"

/* --- lines --- */

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
	assert_line(&suspect, false,
		    "{\"type\":\"suspect\",\"seq\":42,\"monotonic_ns\":5000000000,"
		    "\"time\":\"2023-11-14T22:13:20.000000000Z\",\"current\":false,\"peer\":\"db1\",\"host\":"
		    "null,\"slot\":3,"
		    "\"generation\":7,\"epoch\":1700000000,\"consumer\":\"page\",\"cause\":\"silence\","
		    "\"model\":\"normal\",\"phi\":8.500000,\"threshold\":8.000000,\"silence_ns\":812000000,"
		    "\"since_ns\":5000000000,\"token\":3298534883337,\"interval_ns\":null,\"speaker\":null,"
		    "\"detail\":null}\n");
}

static void event_without_values(void **state)
{
	struct event e = {.type = EVENT_leave, .now_ns = 1, .peer = "a"};

	(void)state;
	assert_line(
		&e, true,
		"{\"type\":\"leave\",\"seq\":42,\"monotonic_ns\":1,\"time\":\"2023-11-14T22:13:15."
		"000000001Z\","
		"\"current\":true,\"peer\":\"a\",\"host\":null,\"slot\":0,\"generation\":0,\"epoch\":0,"
		"\"consumer\":null,"
		"\"cause\":null,\"model\":null,\"phi\":null,\"threshold\":null,\"silence_ns\":null,"
		"\"since_ns\":null,\"token\":null,\"interval_ns\":null,\"speaker\":null,\"detail\":null}\n");
}

static void event_about_another_speaker(void **state)
{
	static const uint8_t speaker[16] = {[10] = 255, [11] = 255, [12] = 192, [14] = 2, [15] = 7};
	struct event e = {
		.type = EVENT_handover, .now_ns = 1, .peer = "a", .host = "rack 7", .interval_ns = 5};

	(void)state;
	memcpy(e.speaker, speaker, sizeof(speaker));
	assert_line(&e, false,
		    "{\"type\":\"handover\",\"seq\":42,\"monotonic_ns\":1,\"time\":\"2023-11-14T22:13:15."
		    "000000001Z\","
		    "\"current\":false,\"peer\":\"a\",\"host\":\"rack 7\",\"slot\":0,\"generation\":0,"
		    "\"epoch\":0,\"consumer\":null,"
		    "\"cause\":null,\"model\":null,\"phi\":null,\"threshold\":null,\"silence_ns\":null,"
		    "\"since_ns\":null,\"token\":null,\"interval_ns\":5,\"speaker\":\"192.0.2.7\","
		    "\"detail\":null}\n");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_about_a_peer),
		cmocka_unit_test(event_without_values),
		cmocka_unit_test(event_about_another_speaker),
		cmocka_unit_test(event_about_this_host),
		cmocka_unit_test(every_line_is_one_document),
		cmocka_unit_test(time_is_rfc_3339),
		cmocka_unit_test(queue_sends_in_order),
		cmocka_unit_test(slow_reader_loses_its_oldest),
		cmocka_unit_test(half_a_line_is_finished_first),
		cmocka_unit_test(what_was_asked_for_is_not_lost),
		cmocka_unit_test(gone_reader_is_an_error),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
