// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The shape of what is said: nesting, tables, the end of a document, and text and JSON side by side. */
#include "unit/render.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- shape --- */

static void say_nothing(struct out *o, const void *context)
{
	(void)o;
	(void)context;
}

static void say_empty_object(struct out *o, const void *context)
{
	(void)context;
	out_open_object(o, NULL);
	out_close_object(o);
}

static void say_empty_array(struct out *o, const void *context)
{
	(void)context;
	out_open_array(o, NULL);
	out_close_array(o);
}

static void say_empty_table(struct out *o, const void *context)
{
	(void)context;
	out_open_table(o, NULL);
	out_close_table(o);
}

static void nothing_to_say(void **state)
{
	(void)state;
	assert_rendered(OUT_JSON, say_nothing, NULL, "{}\n");
	assert_rendered(OUT_JSON, say_empty_object, NULL, "{}\n");
	assert_rendered(OUT_JSON, say_empty_array, NULL, "[]\n");
	assert_rendered(OUT_JSON, say_empty_table, NULL, "[]\n");
	assert_rendered(OUT_PRETTY, say_empty_object, NULL, "{}\n");
	assert_rendered(OUT_PRETTY, say_empty_array, NULL, "[]\n");
	assert_rendered(OUT_TEXT, say_nothing, NULL, "");
	assert_rendered(OUT_TEXT, say_empty_object, NULL, "");
	assert_rendered(OUT_TEXT, say_empty_array, NULL, "");
	assert_rendered(OUT_TEXT, say_empty_table, NULL, "");
}

static void say_all_kinds(struct out *o, const void *context)
{
	(void)context;
	out_open_object(o, NULL);
	out_string(o, "name", "Name", "db1");
	out_u64(o, "beats", "Beats", UINT64_MAX);
	out_bool(o, "up", "Up", true);
	out_bool(o, "held", "Held", false);
	out_duration(o, "silence_ns", "Silence", 12345678901ULL);
	out_q32(o, "phi", "Phi", 8ULL << 32 | 1ULL << 31);
	out_bytes(o, "store_bytes", "Store", 3 << 19);
	out_null(o, "epoch", "Epoch");
	out_u64(o, "hidden", NULL, 1);
	out_text(o, "Only people\tread this\n");
	out_close_object(o);
}

static void every_kind_of_fact(void **state)
{
	(void)state;
	assert_rendered(
		OUT_TEXT, say_all_kinds, NULL,
		"Name: db1\nBeats: 18446744073709551615\nUp: yes\nHeld: no\nSilence: 12.3s\nPhi: 8.500\n"
		"Store: 1.5MiB\nEpoch: -\nOnly people\\x09read this\n");
	assert_rendered(OUT_JSON, say_all_kinds, NULL,
			"{\"name\":\"db1\",\"beats\":18446744073709551615,\"up\":true,\"held\":false,"
			"\"silence_ns\":12345678901,\"phi\":8.500000,\"store_bytes\":1572864,\"epoch\":null,"
			"\"hidden\":1}\n");
}

static void say_nested(struct out *o, const void *context)
{
	(void)context;
	out_open_object(o, NULL);
	out_u64(o, "a", "A", 1);
	out_open_object(o, "window");
	out_u64(o, "n", "N", 2);
	out_open_object(o, "deep");
	out_u64(o, "m", "M", 3);
	out_close_object(o);
	out_close_object(o);
	out_open_array(o, "empty");
	out_close_array(o);
	out_open_array(o, "list");
	out_u64(o, NULL, "", 4);
	out_null(o, NULL, NULL);
	out_open_array(o, NULL);
	out_close_array(o);
	out_close_array(o);
	out_u64(o, "z", "Z", 5);
	out_close_object(o);
}

static void nesting(void **state)
{
	(void)state;
	assert_rendered(OUT_TEXT, say_nested, NULL, "A: 1\n  N: 2\n    M: 3\n4\nZ: 5\n");
	assert_rendered(OUT_JSON, say_nested, NULL,
			"{\"a\":1,\"window\":{\"n\":2,\"deep\":{\"m\":3}},\"empty\":[],\"list\":[4,null,[]],"
			"\"z\":5}\n");
	assert_rendered(OUT_PRETTY, say_nested, NULL,
			"{\n  \"a\": 1,\n  \"window\": {\n    \"n\": 2,\n    \"deep\": {\n      \"m\": 3\n   "
			" }\n  },\n"
			"  \"empty\": [],\n  \"list\": [\n    4,\n    null,\n    []\n  ],\n  \"z\": 5\n}\n");
}

static void say_list(struct out *o, const void *context)
{
	(void)context;
	out_open_array(o, NULL);
	for (uint64_t i = 1; i <= 3; i++) {
		out_open_object(o, NULL);
		out_u64(o, "id", i == 2 ? NULL : "Id", i);
		out_bool(o, "up", i == 2 ? NULL : "Up", true);
		out_open_object(o, "hidden");
		out_close_object(o);
		out_close_object(o);
	}
	out_close_array(o);
}

static void objects_in_an_array(void **state)
{
	(void)state;
	assert_rendered(OUT_TEXT, say_list, NULL, "Id: 1\nUp: yes\n\nId: 3\nUp: yes\n");
	assert_rendered(OUT_JSON, say_list, NULL,
			"[{\"id\":1,\"up\":true,\"hidden\":{}},{\"id\":2,\"up\":true,\"hidden\":{}},"
			"{\"id\":3,\"up\":true,\"hidden\":{}}]\n");
}

static void say_unfinished(struct out *o, const void *context)
{
	(void)context;
	out_open_object(o, NULL);
	out_open_table(o, "rows");
	out_open_row(o);
	out_u64(o, "n", "N", 1);
	out_close_row(o);
	out_open_row(o);
	out_u64(o, "n", "N", 2);
}

static void finish_closes_everything(void **state)
{
	(void)state;
	assert_rendered(OUT_JSON, say_unfinished, NULL, "{\"rows\":[{\"n\":1},{\"n\":2}]}\n");
	assert_rendered(OUT_TEXT, say_unfinished, NULL, "N\n1\n2\n");
	assert_int_equal(out_finish(NULL), -ENOMEM);
}

/* --- tables --- */

struct peer {
	const char *name, *host;
	uint64_t beats, silence_ns;
	bool has_phi;
};

static void say_peers(struct out *o, const void *context)
{
	static const struct peer peers[] = {
		{"db1", "rack-7", 7, 4210, false},
		{"a-much-longer-name", NULL, 1234567, 100000000, true},
		{"\xe6\x97\xa5\xe6\x9c\xac", "", 42, 0, true}, /* two characters, four columns, six bytes */
		{"Zu\xcc\x88rich", "\x1b", 0, 999999999, true}, /* a combining mark takes no column */
	};

	(void)context;
	out_open_table(o, NULL);
	for (size_t i = 0; i < LENGTH(peers); i++) {
		out_open_row(o);
		out_string(o, "name", "NAME", peers[i].name);
		out_u64(o, "beats", "BEATS", peers[i].beats);
		if (peers[i].has_phi)
			out_q32(o, "phi", "PHI", (uint64_t)i << 32);
		else
			out_null(o, "phi", "PHI");
		out_duration(o, "silence_ns", "SILENCE", peers[i].silence_ns);
		out_string(o, "host", "HOST", peers[i].host);
		out_close_row(o);
	}
	out_close_table(o);
}

static void table_alignment(void **state)
{
	(void)state;
	assert_rendered(OUT_TEXT, say_peers, NULL,
			"NAME                  BEATS    PHI  SILENCE  HOST\n"
			"db1                       7      -   4.21us  rack-7\n"
			"a-much-longer-name  1234567  1.000    100ms  -\n"
			"\xe6\x97\xa5\xe6\x9c\xac                     42  2.000      0ns  -\n"
			"Zu\xcc\x88rich                    0  3.000       1s  \\x1b\n");
}

static void say_ragged(struct out *o, const void *context)
{
	(void)context;
	out_open_object(o, NULL);
	out_u64(o, "count", "Count", 2);
	out_open_table(o, "rows");
	out_open_row(o);
	out_string(o, "a", "A", "x");
	out_string(o, "b", "B", "long");
	out_close_row(o);
	out_open_row(o);
	out_string(o, "b", "B", "y");
	out_open_array(o, "devices");
	out_string(o, NULL, "DEVICES", "eth0");
	out_string(o, NULL, "DEVICES", "eth1");
	out_close_array(o);
	out_open_object(o, "more");
	out_u64(o, "c", "C", 12);
	out_close_object(o);
	out_open_array(o, "list");
	out_open_object(o, NULL);
	out_u64(o, "d", NULL, 13);
	out_close_object(o);
	out_close_array(o);
	out_close_row(o);
	out_open_row(o);
	out_close_row(o);
	out_close_table(o);
	out_u64(o, "after", "After", 1);
	out_close_object(o);
}

/* A column that first shows up late, cells that share a column, facts of an object inside the row, an empty
 * row. */
static void ragged_tables(void **state)
{
	(void)state;
	assert_rendered(OUT_TEXT, say_ragged, NULL,
			"Count: 2\n"
			"A  B     DEVICES     C\n"
			"x  long  -           -\n"
			"-  y     eth0,eth1  12\n"
			"-  -     -           -\n"
			"After: 1\n");
	assert_rendered(OUT_JSON, say_ragged, NULL,
			"{\"count\":2,\"rows\":[{\"a\":\"x\",\"b\":\"long\"},{\"b\":\"y\",\"devices\":["
			"\"eth0\",\"eth1\"],"
			"\"more\":{\"c\":12},\"list\":[{\"d\":13}]},{}],\"after\":1}\n");
}

static void no_line_ends_in_a_blank(void **state)
{
	char *text = render(OUT_TEXT, say_ragged, NULL);

	(void)state;
	assert_null(strstr(text, " \n"));
	free(text);
	text = render(OUT_TEXT, say_peers, NULL);
	assert_null(strstr(text, " \n"));
	free(text);
}

static void say_many(struct out *o, const void *rows)
{
	out_open_object(o, NULL);
	out_open_table(o, "peers");
	for (uint64_t i = 0; i < *(const uint64_t *)rows; i++) {
		out_open_row(o);
		out_string(o, "name", "NAME", "node");
		out_u64(o, "slot", "SLOT", i);
		out_duration(o, "silence_ns", "SILENCE", i * 1000);
		out_q32(o, "phi", "PHI", i << 20);
		out_close_row(o);
	}
	out_close_table(o);
	out_close_object(o);
}

/* What has been said is on its way, long before the document is complete. */
static void json_is_not_held(void **state)
{
	uint64_t rows = 100000;
	char *text;
	struct json_object *document;

	(void)state;
	for (size_t i = 1; i < LENGTH(modes); i++) {
		FILE *stream = open_memstream(&text, &(size_t){0});
		struct out *o = out_new(stream, modes[i]);

		out_open_array(o, NULL);
		out_open_object(o, NULL);
		out_string(o, "name", "Name", "first");
		fflush(stream);
		assert_non_null(strstr(text, "first"));
		assert_int_equal(out_finish(o), 0);
		fclose(stream);
		free(text);
	}
	text = render(OUT_JSON, say_many, &rows);
	document = parsed(text);
	assert_int_equal(json_object_array_length(json_object_object_get(document, "peers")), rows);
	json_object_put(document);
	free(text);
	text = render(OUT_TEXT, say_many, &rows);
	assert_int_equal(count_lines(text), rows + 1);
	free(text);
}

/* --- misuse --- */

static void say_key_missing(struct out *o, const void *context)
{
	(void)context;
	out_open_object(o, NULL);
	out_u64(o, NULL, "N", 1);
}

static void say_wrong_close(struct out *o, const void *context)
{
	(void)context;
	out_open_object(o, NULL);
	out_close_array(o);
}

static void say_two_documents(struct out *o, const void *context)
{
	say_empty_array(o, context);
	say_empty_array(o, context);
}

static void say_fact_between_rows(struct out *o, const void *context)
{
	(void)context;
	out_open_table(o, NULL);
	out_u64(o, "n", "N", 1);
}

static void say_row_without_table(struct out *o, const void *context)
{
	(void)context;
	out_open_array(o, NULL);
	out_open_row(o);
}

static void say_row_at_the_top(struct out *o, const void *context)
{
	(void)context;
	out_open_row(o);
}

static void say_bare_fact(struct out *o, const void *context)
{
	(void)context;
	out_u64(o, "n", "N", 1);
}

/* What would be invalid JSON aborts in text mode as well, where it would look fine. */
static void misuse_aborts_in_every_mode(void **state)
{
	static void (*const misuses[])(struct out * o, const void *context) = {
		say_key_missing,       say_wrong_close, say_two_documents,  say_fact_between_rows,
		say_row_without_table, say_bare_fact,   say_row_at_the_top,
	};
	int status;

	(void)state;
	for (size_t i = 0; i < LENGTH(misuses) * LENGTH(modes); i++) {
		pid_t child = fork();

		if (!child) {
			dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
			misuses[i / LENGTH(modes)](out_new(stdout, modes[i % LENGTH(modes)]), NULL);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_say),
		cmocka_unit_test(every_kind_of_fact),
		cmocka_unit_test(nesting),
		cmocka_unit_test(objects_in_an_array),
		cmocka_unit_test(finish_closes_everything),
		cmocka_unit_test(table_alignment),
		cmocka_unit_test(ragged_tables),
		cmocka_unit_test(no_line_ends_in_a_blank),
		cmocka_unit_test(json_is_not_held),
		cmocka_unit_test(misuse_aborts_in_every_mode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
