// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A file is replaced whole or not at all, whatever is in the way. */
#include "io/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/content.h"

#define TIMES 100
#define SIZE  3000

static char directory[64], path[96], fresh[104];

static int begin(void **state)
{
	(void)state;
	mkdir("build", 0755);
	snprintf(directory, sizeof(directory), "build/file-test-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/it", directory);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	unlink(fresh);
	return rmdir(directory);
}

static bool exists(const char *name)
{
	struct stat st;

	return !lstat(name, &st);
}

static void the_new_takes_the_place_of_the_old(void **state)
{
	(void)state;
	assert_int_equal(file_replace(path, "a longer text", 13), 0);
	assert_int_equal(file_replace(path, "short", 5), 0);
	assert_string_equal(content_of(directory, "it"), "short");
	assert_false(exists(fresh));
}

/* What a crash has left is no obstacle. */
static void what_was_left_half_written_is_taken_over(void **state)
{
	FILE *half = fopen(fresh, "w");

	(void)state;
	fputs("half of something much longer", half);
	fclose(half);
	assert_int_equal(file_replace(path, "whole", 5), 0);
	assert_string_equal(content_of(directory, "it"), "whole");
	assert_false(exists(fresh));
}

static void only_a_file_is_replaced(void **state)
{
	char name[PATH_MAX + 8];

	(void)state;
	assert_int_equal(file_replace(directory, "x", 1), -EISDIR);
	assert_int_equal(file_replace("/dev/null", "x", 1), -ENOTSUP);
	snprintf(name, sizeof(name), "%s/none/it", directory);
	assert_int_equal(file_replace(name, "x", 1), -ENOENT);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(file_replace(name, "x", 1), -ENAMETOOLONG);
	assert_int_equal(file_make_parents(name), -ENAMETOOLONG);
}

/* Somebody who may write to the folder has put a link where the new file is going to be. */
static void a_link_is_not_followed(void **state)
{
	char other[128];

	(void)state;
	snprintf(other, sizeof(other), "%s/other", directory);
	assert_int_equal(symlink("other", fresh), 0);
	assert_int_equal(file_replace(path, "x", 1), -ELOOP);
	assert_false(exists(other));
	assert_false(exists(path));
}

/* In a child: a file may not get longer than LIMIT bytes. Its exit status is the error. */
static int replace_below(rlim_t limit, const char *bytes, size_t size)
{
	struct rlimit most = {limit, limit};
	pid_t child = fork();
	int status;

	if (!child) {
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &most);
		_exit(-file_replace(path, bytes, size));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

/* Nothing of it is written, or only a part. */
static void without_room_the_old_stays(void **state)
{
	static char bytes[SIZE];

	(void)state;
	assert_int_equal(file_replace(path, "old", 3), 0);
	assert_int_equal(replace_below(0, bytes, SIZE), -EFBIG);
	assert_int_equal(replace_below(SIZE / 2, bytes, SIZE), -ENOSPC);
	assert_string_equal(content_of(directory, "it"), "old");
	assert_false(exists(fresh));
	assert_int_equal(replace_below(SIZE, bytes, SIZE), 0);
	assert_int_equal(file_read(path, bytes, SIZE), SIZE);
}

static pid_t replace_often(char with)
{
	char bytes[SIZE];
	pid_t child = fork();

	if (child)
		return child;
	memset(bytes, with, SIZE);
	for (int i = 0; i < TIMES; i++)
		if (file_replace(path, bytes, SIZE))
			_exit(1);
	_exit(0);
}

/* Whoever reads meanwhile finds one of the two, and all of it. */
static void of_two_who_replace_it_at_once_both_do(void **state)
{
	char bytes[SIZE + 1];
	pid_t child[2];
	int status, running = 2;

	(void)state;
	assert_int_equal(file_replace(path, "", 0), 0);
	child[0] = replace_often('a');
	child[1] = replace_often('b');
	while (running) {
		ssize_t got = file_read(path, bytes, sizeof(bytes));

		assert_true(got == 0 || got == SIZE);
		for (ssize_t i = 1; i < got; i++)
			assert_int_equal(bytes[i], bytes[0]);
		if (waitpid(child[running - 1], &status, WNOHANG) != child[running - 1])
			continue;
		assert_int_equal(status, 0);
		running--;
	}
	assert_int_equal(file_read(path, bytes, sizeof(bytes)), SIZE);
	assert_false(exists(fresh));
}

static void folders_are_made_where_they_are_missing(void **state)
{
	char name[128], inner[160];

	(void)state;
	snprintf(name, sizeof(name), "%s/one/two", directory);
	assert_int_equal(file_make_directory(name), 0);
	assert_int_equal(file_make_directory(name), 0);
	snprintf(inner, sizeof(inner), "%s/it", name);
	assert_int_equal(file_replace(inner, "x", 1), 0);
	snprintf(inner, sizeof(inner), "%s/it/three", name);
	assert_int_equal(file_make_directory(inner), -ENOTDIR);
	snprintf(inner, sizeof(inner), "%s/it/three/four", name);
	assert_int_equal(file_make_parents(inner), -ENOTDIR);
	snprintf(inner, sizeof(inner), "%s/it", name);
	unlink(inner);
	rmdir(name);
	snprintf(name, sizeof(name), "%s/one", directory);
	assert_int_equal(rmdir(name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_new_takes_the_place_of_the_old, begin, end),
		cmocka_unit_test_setup_teardown(what_was_left_half_written_is_taken_over, begin, end),
		cmocka_unit_test_setup_teardown(only_a_file_is_replaced, begin, end),
		cmocka_unit_test_setup_teardown(a_link_is_not_followed, begin, end),
		cmocka_unit_test_setup_teardown(without_room_the_old_stays, begin, end),
		cmocka_unit_test_setup_teardown(of_two_who_replace_it_at_once_both_do, begin, end),
		cmocka_unit_test_setup_teardown(folders_are_made_where_they_are_missing, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
