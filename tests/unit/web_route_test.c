// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Requests without sockets: who may ask what, and what is kept of the daemon's events. */
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "web/pages.h"
#include "web/route.h"

static const struct web_options options = {.pin = "/nowhere", .hosts = "watch.example"};
static struct server server;
static struct reply reply;
static uint64_t told;

static void tell(void *context)
{
	(void)context;
	told++;
}

static int begin(void **state)
{
	(void)state;
	server = (struct server){.options = &options, .own_name = "node7", .source.root = options.pin};
	told = 0;
	server.news = news_new(NULL, "/nowhere/event.sock", 5000000, tell, NULL);
	assert_non_null(server.news);
	return 0;
}

static int end(void **state)
{
	(void)state;
	news_free(server.news);
	reply_clear(&reply);
	return 0;
}

/* The query is NAME=VALUE, or none. */
static const char *argument(const void *context, const char *name)
{
	const char *query = context;
	size_t length = strlen(name);

	return query && !strncmp(query, name, length) && query[length] == '=' ? query + length + 1 : NULL;
}

static unsigned int ask(const char *method, const char *path, const char *host, const char *query)
{
	struct request rq = {.method = method,
			     .path = path,
			     .host = host,
			     .body = "",
			     .argument = argument,
			     .context = query};

	reply_clear(&reply);
	if (!route_refuses(&server, &rq, &reply))
		route_answer(&server, &rq, &reply);
	return reply.status;
}

static unsigned int get(const char *path, const char *query)
{
	return ask("GET", path, "localhost", query);
}

static bool says(const char *part)
{
	return reply.body && memmem(reply.body, reply.length, part, strlen(part));
}

static void statuses(void **state)
{
	static const struct {
		const char *method, *path, *host;
		unsigned int status;
	} table[] = {
		{"GET", "/", "localhost:7441", 200},
		{"HEAD", "/lab", "192.0.2.1", 200},
		{"GET", "/", "node7", 200},
		{"GET", "/", "watch.example", 200},
		{"GET", "/", NULL, 200},
		{"GET", "/", "evil.example", 403},
		{"GET", "/nowhere", "evil.example", 403}, /* to a stranger nothing is told */
		{"POST", "/api/v1/phi", "evil.example", 403},
		{"GET", "/nowhere", "localhost", 404},
		{"GET", "/api/v1", "localhost", 404},
		{"GET", "/api/v1/peers/", "localhost", 404},
		{"GET", "//", "localhost", 404},
		{"GET", "", "localhost", 404},
		{"POST", "/", "localhost", 405},
		{"OPTIONS", "/api/v1/peers", "localhost", 405},
		{"DELETE", "/api/v1/peers", "localhost", 405},
		{"get", "/", "localhost", 405},
		{"GET", "/api/v1/phi", "localhost", 405},
		{"PUT", "/api/v1/phi", "localhost", 405},
		{"POST", "/api/v1/phi", "localhost", 400}, /* an empty body */
		{"GET", "/healthz", "localhost", 503}, /* there is no store */
		{"GET", "/metrics", "localhost", 503},
		{"GET", "/api/v1/peers", "localhost", 503},
		{"GET", "/api/v1/guard", "localhost", 503},
		{"GET", "/api/v1/daemon", "localhost", 503},
		{"GET", "/api/v1/window", "localhost", 503},
		{"GET", "/api/v1/history", "localhost", 503},
		{"GET", "/api/v1/events", "localhost", 200},
		{"GET", "/api/v1/stream", "localhost", 200},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		unsigned int got = ask(table[i].method, table[i].path, table[i].host, NULL);

		if (got != table[i].status)
			print_error("%s %s at %s\n", table[i].method, table[i].path, table[i].host);
		assert_int_equal(got, table[i].status);
		if (got >= 400)
			assert_true(says("{\"error\":\""));
		assert_int_equal(reply.allow != NULL, got == 405);
	}
}

static void what_is_missing_is_named(void **state)
{
	(void)state;
	get("/healthz", NULL);
	assert_true(says("/nowhere"));
	ask("POST", "/api/v1/peers", "localhost", NULL);
	assert_string_equal(reply.allow, "GET, HEAD");
	ask("GET", "/api/v1/phi", "localhost", NULL);
	assert_string_equal(reply.allow, "POST");
	assert_int_equal(get("/api/v1/history", "seconds=0"), 400);
	assert_true(says("seconds: "));
	assert_int_equal(get("/api/v1/history", "seconds=3601"), 400);
	assert_int_equal(get("/api/v1/events", "after=-1"), 400);
	assert_true(says("after: "));
}

static void streams_are_counted(void **state)
{
	(void)state;
	server.streams.count = STREAMS_MAX - 1;
	assert_int_equal(get("/api/v1/stream", NULL), 200);
	assert_true(reply.is_stream);
	server.streams.count = STREAMS_MAX;
	assert_int_equal(get("/api/v1/stream", NULL), 503);
	assert_false(reply.is_stream);
}

static void a_known_page_is_not_sent_again(void **state)
{
	struct request rq = {.method = "GET", .path = "/"};

	(void)state;
	rq.tag = page_map.tag;
	route_answer(&server, &rq, &reply);
	assert_int_equal(reply.status, 304);
	rq.tag = page_lab.tag;
	route_answer(&server, &rq, &reply);
	assert_int_equal(reply.status, 200);
	assert_string_not_equal(page_map.tag, page_lab.tag);
}

/* --- events --- */

static void come(uint64_t seq)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "{\"type\":\"suspect\",\"seq\":%llu,\"peer\":\"x\"}",
			      (unsigned long long)seq);

	news_take(server.news, line, (size_t)length);
}

/* The numbers in the array that is answered: how many, the first and the last. */
static size_t events(const char *query, int64_t *first, int64_t *last)
{
	struct json_object *array, *seq;
	size_t n;

	assert_int_equal(get("/api/v1/events", query), 200);
	reply.body[reply.length - 1] = '\0';
	array = json_tokener_parse(reply.body);
	assert_true(json_object_is_type(array, json_type_array));
	n = json_object_array_length(array);
	*first = *last = -1;
	if (n && json_object_object_get_ex(json_object_array_get_idx(array, 0), "seq", &seq))
		*first = json_object_get_int64(seq);
	if (n && json_object_object_get_ex(json_object_array_get_idx(array, n - 1), "seq", &seq))
		*last = json_object_get_int64(seq);
	json_object_put(array);
	return n;
}

static void the_last_thousand_are_kept(void **state)
{
	int64_t first, last;

	(void)state;
	assert_int_equal(events(NULL, &first, &last), 0);
	assert_int_equal(events("after=7", &first, &last), 0);
	come(1);
	assert_int_equal(events(NULL, &first, &last), 1);
	for (uint64_t seq = 2; seq <= NEWS_KEPT + 500; seq++)
		come(seq);
	assert_int_equal(told, NEWS_KEPT + 500);
	assert_int_equal(news_last(server.news), 5000000 + NEWS_KEPT + 500);
	assert_int_equal(events(NULL, &first, &last), NEWS_KEPT);
	assert_true(first == 501 && last == NEWS_KEPT + 500);
	assert_int_equal(events("after=1490", &first, &last), 10);
	assert_true(first == 1491 && last == 1500);
	assert_int_equal(events("after=1500", &first, &last), 0);
	/* Which ones came after an event that nobody remembers is not known, so that is all. */
	assert_int_equal(events("after=17", &first, &last), NEWS_KEPT);
}

static void a_daemon_that_counts_anew_is_followed(void **state)
{
	int64_t first, last;

	(void)state;
	for (uint64_t seq = 1; seq <= 20; seq++)
		come(seq);
	for (uint64_t seq = 1; seq <= 3; seq++)
		come(seq);
	assert_int_equal(events("after=20", &first, &last), 3);
	assert_true(first == 1 && last == 3);
	assert_int_equal(events("after=2", &first, &last), 1);
	assert_int_equal(events(NULL, &first, &last), 23);
}

static void only_events_are_events(void **state)
{
	static const char error[] = "{\"error\":\"there are 64 clients already\"}";
	static const char state_end[] = "{\"type\":\"state\",\"seq\":7,\"count\":0}";
	static const char lost[] = "{\"type\":\"lost\",\"count\":3}";
	int64_t first, last;

	(void)state;
	news_take(server.news, error, strlen(error));
	news_take(server.news, state_end, strlen(state_end));
	news_take(server.news, "", 0);
	assert_int_equal(events(NULL, &first, &last), 0);
	come(4);
	news_take(server.news, lost, strlen(lost)); /* that something is missing must be told */
	assert_int_equal(events(NULL, &first, &last), 2);
	assert_int_equal(events("after=4", &first, &last), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(statuses),
		TEST(what_is_missing_is_named),
		TEST(streams_are_counted),
		TEST(a_known_page_is_not_sent_again),
		TEST(the_last_thousand_are_kept),
		TEST(a_daemon_that_counts_anew_is_followed),
		TEST(only_events_are_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
