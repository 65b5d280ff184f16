/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sender's restart counter on a real disk: it rises whatever the clock does, and is refused rather than
 * guessed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beat/epoch_file.h"

static const uint8_t node[16] = {0xaa, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static char directory[PATH_MAX], path[PATH_MAX + 16];

static int make_directory(void **state)
{
	(void)state;
	mkdir("build", 0755);
	snprintf(directory, sizeof(directory), "build/beat-test-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/epoch", directory);
	return 0;
}

static int remove_directory(void **state)
{
	static const char *const names[] = {"epoch", "epoch.lock", "epoch.new"};
	char name[PATH_MAX + 32];

	(void)state;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s/%s", directory, names[i]);
		if (unlink(name) < 0 && errno == EISDIR)
			rmdir(name);
	}
	return rmdir(directory);
}

static void write_file(const char *text, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static size_t read_file(char text[256])
{
	FILE *file = fopen(path, "r");
	size_t length;

	assert_non_null(file);
	length = fread(text, 1, 255, file);
	text[length] = '\0';
	fclose(file);
	return length;
}

static uint64_t take_and_release(uint64_t wall_s)
{
	uint64_t epoch = 0;
	int fd = epoch_take(path, node, wall_s, &epoch);

	assert_true(fd >= 0);
	close(fd);
	return epoch;
}

static void epoch_always_rises(void **state)
{
	char text[256];

	(void)state;
	assert_int_equal(take_and_release(1000), 1000); /* no file: the clock */
	assert_int_equal(take_and_release(1000), 1001); /* started twice within a second */
	assert_int_equal(take_and_release(5000), 5000); /* the clock is ahead */
	assert_int_equal(take_and_release(10), 5001); /* the clock was set back */
	assert_int_equal(take_and_release(0), 5002); /* no clock at all */
	read_file(text);
	assert_string_equal(text,
			    "kphi epoch 00000000000000005002 node aa010203-0405-0607-0809-0a0b0c0d0e0f\n");
}

static void second_sender_is_refused(void **state)
{
	uint64_t epoch;
	int first = epoch_take(path, node, 7, &epoch);

	(void)state;
	assert_true(first >= 0);
	assert_int_equal(epoch_take(path, node, 8, &epoch), -EBUSY);
	close(first);
	assert_int_equal(take_and_release(0), 8);
}

/* Refused, and left as it is for whoever wants to look. */
static void assert_damaged(const char *text, size_t length)
{
	uint64_t epoch;
	char kept[256];

	write_file(text, length);
	assert_int_equal(epoch_take(path, node, 9, &epoch), -EBADMSG);
	assert_int_equal(read_file(kept), length);
	assert_memory_equal(kept, text, length);
}

static void damaged_file_is_refused(void **state)
{
	static const char *const damaged[] = {
		"garbage",
		"\n",
		"kphi epoch 5002 node aa010203-0405-0607-0809-0a0b0c0d0e0f\n", /* digits lost */
		"kphi epoch -0000000000000005002 node aa010203-0405-0607-0809-0a0b0c0d0e0f\n",
		"kphi epoch 99999999999999999999 node aa010203-0405-0607-0809-0a0b0c0d0e0f\n", /* over 64 bits
												*/
		"kphi epoch 00000000000000005002 node aa0102030405060708090a0b0c0d0e0f\n",
		"kphi epoch 00000000000000005002 node 00000000-0000-0000-0000-000000000000\n",
		"kphi epoch 00000000000000005002 node aa010203-0405-0607-0809-0a0b0c0d0e0f\n\n",
		"kphi epoch  0000000000000005002 node aa010203-0405-0607-0809-0a0b0c0d0e0f\n",
	};
	char text[256];
	size_t length;

	(void)state;
	for (unsigned int i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
		assert_damaged(damaged[i], strlen(damaged[i]));

	unlink(path);
	take_and_release(5002);
	length = read_file(text);
	for (size_t cut = 0; cut < length; cut++)
		assert_damaged(text, cut);
	assert_damaged(text, length + 1); /* a zero byte */
	write_file(text, length);
	assert_int_equal(take_and_release(0), 5003);
}

static void another_nodes_file_is_refused(void **state)
{
	const uint8_t other[16] = {1};
	uint64_t epoch;

	(void)state;
	take_and_release(5);
	assert_int_equal(epoch_take(path, other, 9, &epoch), -EBADSLT);
	assert_int_equal(take_and_release(0), 6);
}

static void last_epoch_is_refused(void **state)
{
	const char *last = "kphi epoch 18446744073709551615 node aa010203-0405-0607-0809-0a0b0c0d0e0f\n";
	uint64_t epoch;

	(void)state;
	write_file(last, strlen(last));
	assert_int_equal(epoch_take(path, node, 9, &epoch), -EOVERFLOW);
}

/* Root may write anywhere, so the unwritable places here are ones where nobody can. */
static void unwritable_place_is_reported(void **state)
{
	char name[PATH_MAX + 32], longest[PATH_MAX + 16];
	uint64_t epoch;

	(void)state;
	assert_int_equal(epoch_take("/proc/version/epoch", node, 9, &epoch), -ENOTDIR);
	assert_int_equal(epoch_take("build/no/such/place", node, 9, &epoch), -ENOENT);
	assert_true(epoch_take("/proc/sys/kernel/kphi-epoch", node, 9, &epoch) < 0);
	assert_int_equal(epoch_take(directory, node, 9, &epoch), -EISDIR);
	snprintf(name, sizeof(name), "%s.lock", directory);
	unlink(name);

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(epoch_take(longest, node, 9, &epoch), -ENAMETOOLONG);

	/* The new file cannot be made: the old one still counts. */
	take_and_release(20);
	snprintf(name, sizeof(name), "%s.new", path);
	assert_int_equal(mkdir(name, 0755), 0);
	assert_int_equal(epoch_take(path, node, 30, &epoch), -EISDIR);
	assert_int_equal(rmdir(name), 0);
	assert_int_equal(take_and_release(0), 21);
}

/* What a crash between writing and renaming leaves behind. */
static void leftover_of_a_crash_is_overwritten(void **state)
{
	char name[PATH_MAX + 32];
	FILE *file;

	(void)state;
	take_and_release(20);
	snprintf(name, sizeof(name), "%s.new", path);
	file = fopen(name, "w");
	assert_non_null(file);
	fputs("kphi epoch 0000", file);
	fclose(file);
	assert_int_equal(take_and_release(0), 21);
	assert_int_equal(access(name, F_OK), -1);
}

#define with_directory(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_directory(epoch_always_rises),
		with_directory(second_sender_is_refused),
		with_directory(damaged_file_is_refused),
		with_directory(another_nodes_file_is_refused),
		with_directory(last_epoch_is_refused),
		with_directory(unwritable_place_is_reported),
		with_directory(leftover_of_a_crash_is_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
