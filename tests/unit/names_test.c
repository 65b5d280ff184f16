// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Strings of any bytes: valid JSON whatever they are, and text that can neither drive a terminal nor break a
 * row.
 */
#include "io/utf8.h"
#include "unit/render.h"

static uint64_t random_state = 7441;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

static void assert_no_control(const char *text)
{
	for (; *text; text++)
		assert_true(*text == '\n' || ((uint8_t)*text >= 0x20 && *text != 0x7f));
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_in_a_name), cmocka_unit_test(random_bytes_in_a_name),
		cmocka_unit_test(names_come_back),      cmocka_unit_test(escapes),
		cmocka_unit_test(invalid_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
