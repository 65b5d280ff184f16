// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One valid document on stdout whatever goes wrong and when, and no write error unnoticed. What stdout has
 * got is a fact about the whole process, so each case runs in a child of its own.
 */
#include "io/error.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#undef fail /* cmocka's, which hides ours */

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const enum out_mode modes[] = {OUT_TEXT, OUT_JSON, OUT_PRETTY};

/* --- a child with its two streams --- */

static void read_back(int fd, char *text, size_t size)
{
	ssize_t length = pread(fd, text, size - 1, 0);

	assert_true(length >= 0);
	text[length] = '\0';
	close(fd);
}

/* Runs `body` with stdout and stderr in memory and compares what they got. */
static void assert_said(enum out_mode mode, void (*body)(enum out_mode mode), const char *out,
			const char *err)
{
	int out_fd = memfd_create("stdout", 0), err_fd = memfd_create("stderr", 0), status;
	char text[4096];
	pid_t child = fork();

	if (!child) {
		dup2(out_fd, STDOUT_FILENO);
		dup2(err_fd, STDERR_FILENO);
		error_setup(mode, "kphi");
		body(mode);
		fflush(NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	read_back(out_fd, text, sizeof(text));
	assert_string_equal(text, out);
	read_back(err_fd, text, sizeof(text));
	assert_string_equal(text, err);
}

/* --- where errors go --- */

static void fail_only(enum out_mode mode)
{
	(void)mode;
	fail("peer add: %s", "no\x1b such \"peer\"");
}

static void fail_twice(enum out_mode mode)
{
	(void)mode;
	fail("one");
	fail("two");
}

static void say_row(struct out *o)
{
	out_open_table(o, NULL);
	out_open_row(o);
	out_u64(o, "n", "N", 1);
}

static void fail_before_the_document(enum out_mode mode)
{
	struct out *o = out_new(stdout, mode);

	fail("early");
	say_row(o);
	out_finish(o);
	o = out_new(stdout, mode);
	out_finish(o);
}

static void fail_in_the_document(enum out_mode mode)
{
	struct out *o = out_new(stdout, mode);

	say_row(o);
	fail("midway");
	out_finish(o);
}

static void fail_after_the_document(enum out_mode mode)
{
	struct out *o = out_new(stdout, mode);

	say_row(o);
	out_finish(o);
	fail("late");
	fail("later");
}

static void fail_and_nothing_else(enum out_mode mode)
{
	struct out *o = out_new(stdout, mode);

	fail("alone");
	out_finish(o);
}

static void an_error_leaves_one_document(void **state)
{
	(void)state;
	assert_said(OUT_TEXT, fail_only, "", "Error: peer add: no\\x1b such \"peer\"\n");
	assert_said(OUT_JSON, fail_only, "{\"error\":\"peer add: no\\u001b such \\\"peer\\\"\"}\n", "");
	assert_said(OUT_PRETTY, fail_only, "{\n  \"error\": \"peer add: no\\u001b such \\\"peer\\\"\"\n}\n",
		    "");
	assert_said(OUT_TEXT, fail_twice, "", "Error: one\nError: two\n");
	assert_said(OUT_JSON, fail_twice, "{\"error\":\"one\"}\n", "{\"error\":\"two\"}\n");
	assert_said(OUT_PRETTY, fail_twice, "{\n  \"error\": \"one\"\n}\n", "{\"error\":\"two\"}\n");
	assert_said(OUT_JSON, fail_and_nothing_else, "{\"error\":\"alone\"}\n", "");
}

static void an_error_around_a_document(void **state)
{
	(void)state;
	assert_said(OUT_JSON, fail_before_the_document, "{\"error\":\"early\"}\n", "");
	assert_said(OUT_TEXT, fail_before_the_document, "N\n1\n", "Error: early\n");
	assert_said(OUT_JSON, fail_in_the_document, "[{\"n\":1}]\n", "{\"error\":\"midway\"}\n");
	assert_said(OUT_TEXT, fail_in_the_document, "N\n1\n", "Error: midway\n");
	assert_said(OUT_JSON, fail_after_the_document, "[{\"n\":1}]\n",
		    "{\"error\":\"late\"}\n{\"error\":\"later\"}\n");
	assert_said(OUT_TEXT, fail_after_the_document, "N\n1\n", "Error: late\nError: later\n");
}

static void grumble(enum out_mode mode)
{
	struct out *o = out_new(stdout, mode);

	warn("the tag \x07 is short");
	error_debug("unheard");
	error_set_debug(true);
	error_debug("slot %d", 7);
	error_set_debug(false);
	error_debug("unheard");
	out_finish(o);
}

static void warnings_keep_stdout_clean(void **state)
{
	static const char *const expected = "Warning: the tag \\x07 is short\nkphi: slot 7\n";

	(void)state;
	assert_said(OUT_TEXT, grumble, "", expected);
	assert_said(OUT_JSON, grumble, "{}\n", expected);
}

static void say_lines(enum out_mode mode)
{
	for (uint64_t i = 0; i < 2; i++) {
		struct out *o = out_new(stdout, mode);

		out_open_object(o, NULL);
		out_u64(o, "n", "N", i);
		out_close_object(o);
		out_finish(o);
	}
}

static void json_lines_are_documents_in_a_row(void **state)
{
	(void)state;
	assert_said(OUT_JSON, say_lines, "{\"n\":0}\n{\"n\":1}\n", "");
	assert_said(OUT_TEXT, say_lines, "N: 0\nN: 1\n", "");
}

static void fail_on_a_full_disk(enum out_mode mode)
{
	(void)mode;
	dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
	fail("nobody hears this on stdout");
}

static void an_error_is_heard_though_stdout_is_full(void **state)
{
	(void)state;
	assert_said(OUT_JSON, fail_on_a_full_disk, "", "Error: nobody hears this on stdout\n");
}

/* --- write errors --- */

static void say_rows(struct out *o, int rows)
{
	out_open_object(o, NULL);
	out_string(o, "name", "Name", "db1");
	out_open_table(o, "rows");
	for (int i = 0; i < rows; i++) {
		out_open_row(o);
		out_string(o, "name", "NAME", "some name");
		out_close_row(o);
	}
	out_close_table(o);
	out_text(o, "That was all.\n");
	out_close_object(o);
}

/* One row is noticed when it is flushed, many when the buffer first runs over. */
static void a_full_disk_is_noticed(void **state)
{
	static const int rows[] = {1, 10000};

	(void)state;
	for (size_t i = 0; i < LENGTH(modes) * LENGTH(rows); i++) {
		FILE *stream = fopen("/dev/full", "w");
		struct out *o = out_new(stream, modes[i % LENGTH(modes)]);

		say_rows(o, rows[i / LENGTH(modes)]);
		errno = 0;
		assert_int_equal(out_finish(o), -ENOSPC);
		fclose(stream);
	}
}

static void a_broken_pipe_is_noticed(void **state)
{
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < LENGTH(modes); i++) {
		FILE *stream;
		struct out *o;

		assert_int_equal(pipe(ends), 0);
		close(ends[0]);
		stream = fdopen(ends[1], "w");
		o = out_new(stream, modes[i]);
		say_rows(o, 10000);
		assert_int_equal(out_finish(o), -EPIPE);
		fclose(stream);
	}
	signal(SIGPIPE, SIG_DFL);
}

static void a_closed_stream_is_noticed(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(modes); i++) {
		int fd = open("/dev/null", O_WRONLY);
		FILE *stream = fdopen(fd, "w");
		struct out *o = out_new(stream, modes[i]);

		close(fd);
		say_rows(o, 1);
		assert_int_equal(out_finish(o), -EBADF);
		fclose(stream);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_leaves_one_document),
		cmocka_unit_test(an_error_around_a_document),
		cmocka_unit_test(warnings_keep_stdout_clean),
		cmocka_unit_test(json_lines_are_documents_in_a_row),
		cmocka_unit_test(an_error_is_heard_though_stdout_is_full),
		cmocka_unit_test(a_full_disk_is_noticed),
		cmocka_unit_test(a_broken_pipe_is_noticed),
		cmocka_unit_test(a_closed_stream_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
