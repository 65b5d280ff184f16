// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where one document ends and the next begins, however the bytes come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>

#include "unit/crosscheck_fixture.h"
#include "unit/random.h"

#define ALL 4096

static void append(char *all, const struct document *d)
{
	size_t length = strlen(all);

	snprintf(all + length, ALL - length, "<%u:%.*s>", d->line, (int)d->size, d->text);
}

/* The documents of the text, each as <LINE:TEXT>, fed in pieces of `step` bytes. */
static void cut(const char *source, const char *text, size_t step, char *all)
{
	struct stream s;
	struct document d;
	size_t size = strlen(text);

	*all = '\0';
	stream_begin(&s, &source_of(source)->frame);
	for (size_t at = 0; at < size; at += step) {
		assert_int_equal(stream_put(&s, text + at, size - at < step ? size - at : step), 0);
		while (stream_take(&s, false, &d))
			append(all, &d);
	}
	while (stream_take(&s, true, &d))
		append(all, &d);
	stream_end(&s);
}

static void assert_cut(const char *source, const char *text, const char *expected)
{
	char all[ALL];

	for (size_t step = 1; step <= strlen(text) + 1; step++) {
		cut(source, text, step, all);
		assert_string_equal(all, expected);
	}
}

static void json_test(void **state)
{
	(void)state;
	assert_cut("serf", "", "");
	assert_cut("serf", " \n\n", "");
	assert_cut("serf", "{}", "<1:{}>");
	assert_cut("serf", "{\"a\":[1,{}]}\n\n {}\n", "<1:{\"a\":[1,{}]}><3:{}>");
	assert_cut("serf", "{}{}[]", "<1:{}><1:{}><1:[]>");
	/* Brackets in strings, and quotation marks in them. */
	assert_cut("consul", "[\"}]\\\"]\\\\\"]\n[2]", "<1:[\"}]\\\"]\\\\\"]><2:[2]>");
	/* A line of something else is a document of its own, to be refused; the next is found again. */
	assert_cut("serf", "Error: no\n{}\n", "<1:Error: no\n><2:{}>");
	/* Cut off. */
	assert_cut("serf", "{}\n{\"a\":", "<1:{}><2:{\"a\":>");
}

static void line_test(void **state)
{
	(void)state;
	assert_cut("jsonl", "a\n\nb\nc", "<1:a\n><3:b\n><4:c>");
}

static void text_test(void **state)
{
	(void)state;
	/* The heading of the next, an empty line, a form feed. */
	assert_cut("cassandra", "  Endpoint,  Phi\n  a, 1\n  Endpoint,  Phi\n  a, 2\n",
		   "<1:  Endpoint,  Phi\n  a, 1\n><3:  Endpoint,  Phi\n  a, 2\n>");
	assert_cut("cassandra", "\n/a\n  b\n\n\n/a\n  c\n", "<2:/a\n  b\n\n><6:/a\n  c\n>");
	assert_cut("bird", "BIRD 2 ready.\nx\nBIRD 2 ready.\ny\n",
		   "<1:BIRD 2 ready.\nx\n><3:BIRD 2 ready.\ny\n>");
	/* An empty line is a value there. */
	assert_cut("sentinel", "name\n\nip\n\f\nname\n", "<1:name\n\nip\n\f\n><5:name\n>");
	assert_cut("sentinel", "name\n\nip\n", "<1:name\n\nip\n>");
}

/* What is said to have ended is handed out as it stands, and what comes later begins afresh. */
static void quiet_test(void **state)
{
	struct document d;
	struct stream s;

	(void)state;
	stream_begin(&s, &source_of("cassandra")->frame);
	assert_int_equal(stream_put(&s, "Endpoint,Phi\na, 1\n", 18), 0);
	assert_false(stream_take(&s, false, &d));
	assert_true(stream_take(&s, true, &d));
	assert_int_equal(d.size, 18);
	assert_false(stream_take(&s, true, &d));
	assert_int_equal(stream_put(&s, "Endpoint,Phi\n", 13), 0);
	assert_true(stream_take(&s, true, &d));
	assert_int_equal(d.line, 3);
	stream_end(&s);
}

static void too_large_test(void **state)
{
	static const char piece[65536] = "[";
	struct document d;
	struct stream s;
	size_t total = 0;
	int err = 0;

	(void)state;
	stream_begin(&s, &source_of("serf")->frame);
	assert_int_equal(stream_put(&s, "[", 1), 0);
	while (!err && total <= DOCUMENT_MAX) {
		err = stream_put(&s, piece, sizeof(piece));
		total += sizeof(piece);
		assert_false(stream_take(&s, false, &d));
	}
	assert_int_equal(err, -EMSGSIZE);
	stream_drop(&s);
	assert_int_equal(stream_put(&s, "\n{}", 3), 0);
	assert_true(stream_take(&s, false, &d));
	assert_int_equal(d.size, 2);
	stream_end(&s);
}

/* Any bytes in any pieces: the same documents, and all of them. */
static void random_test(void **state)
{
	static const char pieces[] = "{}[]\"\\ \n\fab:,";
	static const char *const names[] = {"serf", "jsonl", "cassandra", "sentinel"};
	char text[200], one[ALL], other[ALL];
	uint64_t random = 7;

	(void)state;
	for (int n = 0; n < 4000; n++) {
		size_t size = random_below(&random, sizeof(text) - 1);
		const char *name = names[random_below(&random, 4)];

		for (size_t i = 0; i < size; i++)
			text[i] = pieces[random_below(&random, sizeof(pieces) - 1)];
		text[size] = '\0';
		cut(name, text, 1 + random_below(&random, 9), one);
		cut(name, text, size + 1, other);
		assert_string_equal(one, other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_test),  cmocka_unit_test(line_test),      cmocka_unit_test(text_test),
		cmocka_unit_test(quiet_test), cmocka_unit_test(too_large_test), cmocka_unit_test(random_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
