// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the program says: valid JSON whatever the bytes, and text that can neither drive a terminal nor break
 * a row. json-c's strict tokener and iconv are the judges.
 */
#include "io/output.h"
#include "io/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const enum out_mode modes[] = {OUT_TEXT, OUT_JSON, OUT_PRETTY};

/* --- helpers --- */

static uint64_t random_state = 7441;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

/* What `say` says, to be freed. */
static char *render(enum out_mode mode, void (*say)(struct out *o, const void *context), const void *context)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct out *o = out_new(stream, mode);

	say(o, context);
	assert_int_equal(out_finish(o), 0);
	fclose(stream);
	assert_int_equal(strlen(text), size);
	return text;
}

static void assert_rendered(enum out_mode mode, void (*say)(struct out *o, const void *context),
			    const void *context, const char *expected)
{
	char *text = render(mode, say, context);

	assert_string_equal(text, expected);
	free(text);
}

static void assert_utf8(const char *text)
{
	size_t in_left = strlen(text), out_left = 4 * in_left + 4;
	char *in = (char *)(uintptr_t)text, *wide = malloc(out_left), *out = wide;
	iconv_t judge = iconv_open("UCS-4LE", "UTF-8");

	assert_true(judge != (iconv_t)-1);
	assert_true(iconv(judge, &in, &in_left, &out, &out_left) != (size_t)-1);
	assert_int_equal(in_left, 0);
	iconv_close(judge);
	free(wide);
}

/* Exactly one strict document in valid UTF-8 and then a newline. The caller puts it. */
static struct json_object *parsed(const char *text)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *document;
	size_t size = strlen(text);

	assert_true(size > 0 && text[size - 1] == '\n');
	assert_utf8(text);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	document = json_tokener_parse_ex(tokener, text, (int)size - 1);
	assert_int_equal(json_tokener_get_error(tokener), json_tokener_success);
	assert_int_equal(json_tokener_get_parse_end(tokener), size - 1);
	json_tokener_free(tokener);
	return document;
}

static void assert_no_control(const char *text)
{
	for (; *text; text++)
		assert_true(*text == '\n' || ((uint8_t)*text >= 0x20 && *text != 0x7f));
}

/* --- names of any bytes --- */

static void say_name(struct out *o, const void *name)
{
	out_open_object(o, NULL);
	out_string(o, "name", "Name", name);
	out_open_table(o, "rows");
	out_open_row(o);
	out_string(o, "name", "NAME", name);
	out_u64(o, "n", "N", 1);
	out_close_row(o);
	out_close_table(o);
	out_close_object(o);
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* In text: a fact, a table's head and its row, and nothing that a name could add to them. */
static void check_name(const char *name)
{
	for (size_t i = 0; i < LENGTH(modes); i++) {
		char *text = render(modes[i], say_name, name);

		assert_no_control(text);
		assert_utf8(text);
		if (modes[i] == OUT_TEXT)
			assert_int_equal(count_lines(text), 3);
		else
			json_object_put(parsed(text));
		free(text);
	}
}

/* What a JSON reader gets for a name. */
static void assert_read_back(const char *name, const char *expected)
{
	char *text = render(OUT_JSON, say_name, name);
	struct json_object *document = parsed(text);

	assert_string_equal(json_object_get_string(json_object_object_get(document, "name")), expected);
	json_object_put(document);
	free(text);
}

static void every_byte_in_a_name(void **state)
{
	char name[8], all[256];

	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		snprintf(name, sizeof(name), "a%cb", byte);
		check_name(name);
		check_name(name + 1);
		name[2] = '\0';
		check_name(name);
		if (byte < 0x80)
			assert_read_back(name, name);
		else
			assert_read_back(name, "a\xef\xbf\xbd");
		all[(byte + 255) % 256] = (char)byte;
	}
	check_name(all);
}

static void random_bytes_in_a_name(void **state)
{
	char name[40];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t size = next_random() % sizeof(name);

		for (size_t i = 0; i < size; i++)
			name[i] = (char)next_random();
		name[size] = '\0';
		check_name(name);
	}
}

static void names_come_back(void **state)
{
	static const char *const names[] = {"",
					    "db1",
					    "Z\xc3\xbcrich",
					    "\xe6\x97\xa5\xe6\x9c\xac",
					    "\xf0\x9f\x92\x93",
					    "a\"b\\c/d",
					    "\xe2\x80\xae",
					    "\xc2\x9b"
					    "31m",
					    "null",
					    " blank ",
					    "\x7f"};

	(void)state;
	for (size_t i = 0; i < LENGTH(names); i++)
		assert_read_back(names[i], names[i]);
}

static void say_string(struct out *o, const void *value)
{
	out_open_object(o, NULL);
	out_string(o, "s", "S", value);
	out_close_object(o);
}

static void escapes(void **state)
{
	(void)state;
	assert_rendered(OUT_TEXT, say_string, "\x1b[2J\n", "S: \\x1b[2J\\x0a\n");
	assert_rendered(OUT_TEXT, say_string,
			"a\xc2\x9b"
			"b\xff",
			"S: a\\xc2\\x9bb\\xff\n");
	assert_rendered(OUT_TEXT, say_string,
			"\xe2\x80\xae"
			"txt",
			"S: \\xe2\\x80\\xaetxt\n");
	assert_rendered(OUT_TEXT, say_string, " a b ", "S: \\x20a b\\x20\n");
	assert_rendered(OUT_TEXT, say_string, " ", "S: \\x20\n");
	assert_rendered(OUT_TEXT, say_string, "", "S: -\n");
	assert_rendered(OUT_TEXT, say_string, NULL, "S: -\n");
	assert_rendered(OUT_TEXT, say_string, "Z\xc3\xbcrich", "S: Z\xc3\xbcrich\n");
	assert_rendered(OUT_JSON, say_string, "\x1b\x7f\xc2\x9b\xff/\xe2\x80\xa8",
			"{\"s\":\"\\u001b\\u007f\\u009b\\ufffd/\\u2028\"}\n");
	assert_rendered(OUT_JSON, say_string, "", "{\"s\":\"\"}\n");
	assert_rendered(OUT_JSON, say_string, NULL, "{\"s\":null}\n");
}

static void invalid_utf8(void **state)
{
	static const char *const bad[] = {
		"\x80",         "\xc0\x80",     "\xc1\xbf",         "\xe0\x80\x80",
		"\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
		"\xf8\x88\x80", "\xe2\x82",     "\xf0\x9f\x92",     "\xc3",
		"\xfe",         "\xff"};
	static const char *const good[] = {"\xc2\x80",         "\xdf\xbf",        "\xe0\xa0\x80",
					   "\xed\x9f\xbf",     "\xee\x80\x80",    "\xef\xbf\xbf",
					   "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
	static const uint32_t codes[] = {0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
	uint32_t code;

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_int_equal(utf8_decode(bad[i], strlen(bad[i]), &code), 0);
	for (size_t i = 0; i < LENGTH(good); i++) {
		assert_int_equal(utf8_decode(good[i], strlen(good[i]), &code), strlen(good[i]));
		assert_int_equal(code, codes[i]);
	}
	assert_int_equal(utf8_decode("", 0, &code), 0);
}

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
		out_close_object(o);
	}
	out_close_array(o);
}

static void objects_in_an_array(void **state)
{
	(void)state;
	assert_rendered(OUT_TEXT, say_list, NULL, "Id: 1\nUp: yes\n\nId: 3\nUp: yes\n");
	assert_rendered(OUT_JSON, say_list, NULL,
			"[{\"id\":1,\"up\":true},{\"id\":2,\"up\":true},{\"id\":3,\"up\":true}]\n");
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
			"\"more\":{\"c\":12}},{}],\"after\":1}\n");
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

static void say_bare_fact(struct out *o, const void *context)
{
	(void)context;
	out_u64(o, "n", "N", 1);
}

/* What would be invalid JSON aborts in text mode as well, where it would look fine. */
static void misuse_aborts_in_every_mode(void **state)
{
	static void (*const misuses[])(struct out * o, const void *context) = {
		say_key_missing,       say_wrong_close,       say_two_documents,
		say_fact_between_rows, say_row_without_table, say_bare_fact,
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
		cmocka_unit_test(every_byte_in_a_name),
		cmocka_unit_test(random_bytes_in_a_name),
		cmocka_unit_test(names_come_back),
		cmocka_unit_test(escapes),
		cmocka_unit_test(invalid_utf8),
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
