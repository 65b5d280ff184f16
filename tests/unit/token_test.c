/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fencing tokens only rise, over every restart; and the names behind the consumers' bits survive one. */
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

#include "io/file.h"
#include "run/names.h"
#include "run/token.h"

static char directory[64], path[96], said[1024];

static int make_directory(void **state)
{
	(void)state;
	mkdir("build", 0755);
	snprintf(directory, sizeof(directory), "build/token-test-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/token", directory);
	return 0;
}

static int remove_directory(void **state)
{
	static const char *const names[] = {"token", "token.lock", "token.new", "consumers"};
	char name[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s/%s", directory, names[i]);
		if (unlink(name) < 0 && errno == EISDIR)
			rmdir(name);
	}
	return rmdir(directory);
}

static uint64_t first_of_a_life(uint64_t seen)
{
	struct token t;
	uint64_t first;

	assert_int_equal(token_open(&t, directory, seen, said, sizeof(said)), 0);
	first = token_next(&t);
	token_close(&t);
	return first;
}

static void tokens_rise_within_a_life_and_over_all(void **state)
{
	char text[32] = "";
	struct token t;

	(void)state;
	assert_int_equal(first_of_a_life(0), (1ULL << 40) + 1);
	assert_int_equal(first_of_a_life(0), (2ULL << 40) + 1);
	assert_int_equal(token_open(&t, directory, 0, said, sizeof(said)), 0);
	assert_int_equal(token_next(&t), (3ULL << 40) + 1);
	assert_int_equal(token_next(&t), (3ULL << 40) + 2);
	token_close(&t);
	assert_int_equal(file_read(path, text, sizeof(text)), 20);
	assert_string_equal(text, "kphi token 00000003\n");
}

/* The file was lost, but the maps of this boot remember. */
static void tokens_rise_above_what_was_seen(void **state)
{
	(void)state;
	assert_int_equal(first_of_a_life((7ULL << 40) + 12345), (8ULL << 40) + 1);
	assert_int_equal(first_of_a_life(7ULL << 40), (9ULL << 40) + 1);
}

static void second_daemon_is_refused(void **state)
{
	struct token one, two;

	(void)state;
	assert_int_equal(token_open(&one, directory, 0, said, sizeof(said)), 0);
	assert_int_equal(token_open(&two, directory, 0, said, sizeof(said)), -EBUSY);
	assert_non_null(strstr(said, "another `kphi run` has it"));
	token_close(&one);
	assert_int_equal(first_of_a_life(0), (2ULL << 40) + 1);
}

static void put(const char *text, size_t length)
{
	assert_int_equal(file_replace(path, text, length), 0);
}

static void damaged_file_is_refused_and_left(void **state)
{
	static const char whole[] = "kphi token 00000012\n";
	static const char *const damaged[] = {"",
					      "\n",
					      "12\n",
					      "kphi token 12\n",
					      "kphi token 0000012x\n",
					      "kphi token -0000012\n",
					      "kphi token 99999999\n", /* beyond 24 bits */
					      "kphi token 00000012\n\n",
					      "kphi epoch 00000012\n"};
	char text[64];
	struct token t;

	(void)state;
	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
		put(damaged[i], strlen(damaged[i]));
		assert_int_equal(token_open(&t, directory, 0, said, sizeof(said)), -EBADMSG);
		assert_non_null(strstr(said, "damaged"));
		assert_int_equal(file_read(path, text, sizeof(text)), strlen(damaged[i]));
	}
	for (size_t cut = 0; cut < sizeof(whole) - 1; cut++) {
		put(whole, cut);
		assert_int_equal(token_open(&t, directory, 0, said, sizeof(said)), -EBADMSG);
	}
	put(whole, sizeof(whole) - 1);
	assert_int_equal(first_of_a_life(0), (13ULL << 40) + 1);
}

static void last_counter_is_refused(void **state)
{
	struct token t;

	(void)state;
	put("kphi token 16777215\n", 20);
	assert_int_equal(token_open(&t, directory, 0, said, sizeof(said)), -EOVERFLOW);
	assert_non_null(strstr(said, "no fencing token is left"));
}

static void unwritable_place_is_reported(void **state)
{
	char name[128];
	struct token t;

	(void)state;
	assert_int_equal(token_open(&t, "/proc/version/x", 0, said, sizeof(said)), -ENOTDIR);
	assert_non_null(strstr(said, "Name another `state` directory"));
	/* The new file cannot be made: the counter is not raised. */
	first_of_a_life(0);
	snprintf(name, sizeof(name), "%s.new", path);
	assert_int_equal(mkdir(name, 0755), 0);
	assert_int_equal(token_open(&t, directory, 0, said, sizeof(said)), -EISDIR);
	assert_int_equal(rmdir(name), 0);
	assert_int_equal(first_of_a_life(0), (2ULL << 40) + 1);
}

static void directories_are_made(void **state)
{
	char deep[128];
	struct token t;

	(void)state;
	snprintf(deep, sizeof(deep), "%s/a/b", directory);
	assert_int_equal(token_open(&t, deep, 0, said, sizeof(said)), 0);
	token_close(&t);
	for (size_t i = 0; i < 2; i++) {
		static const char *const files[] = {"token", "token.lock"};
		char name[160];

		snprintf(name, sizeof(name), "%s/%s", deep, files[i]);
		assert_int_equal(unlink(name), 0);
	}
	assert_int_equal(rmdir(deep), 0);
	*strrchr(deep, '/') = '\0';
	assert_int_equal(rmdir(deep), 0);
}

static struct names three(const char *a, const char *b, const char *c)
{
	struct names n = {.count = 3};

	snprintf(n.name[0], KPHI_NAME_SIZE, "%s", a);
	snprintf(n.name[1], KPHI_NAME_SIZE, "%s", b);
	snprintf(n.name[2], KPHI_NAME_SIZE, "%s", c);
	return n;
}

static void names_are_kept(void **state)
{
	struct names full = {.count = ENGINE_CONSUMERS}, got, abc = three("a", "b c", "d");

	(void)state;
	assert_int_equal(names_read(directory, &got), 0);
	assert_int_equal(got.count, 0);
	assert_int_equal(names_write(directory, &abc), 0);
	assert_int_equal(names_read(directory, &got), 0);
	assert_memory_equal(&got, &abc, sizeof(got));

	for (uint32_t i = 0; i < ENGINE_CONSUMERS; i++)
		memset(full.name[i], 'A' + (int)i, KPHI_NAME_SIZE - 1);
	assert_int_equal(names_write(directory, &full), 0);
	assert_int_equal(names_read(directory, &got), 0);
	assert_memory_equal(&got, &full, sizeof(got));
}

static void bits_move_with_their_names(void **state)
{
	struct names old = three("a", "b", "c"), new = three("c", "x", "a"), none = {.count = 0};
	int map[ENGINE_CONSUMERS];

	(void)state;
	names_map(&old, &new, map);
	assert_int_equal(map[0], 2);
	assert_int_equal(map[1], -1);
	assert_int_equal(map[2], 0);
	assert_int_equal(map[3], -1);
	assert_int_equal(names_move(0, map), 0);
	assert_int_equal(names_move(1, map), 4);
	assert_int_equal(names_move(2, map), 0);
	assert_int_equal(names_move(5, map), 5);
	assert_int_equal(names_move(UINT32_MAX, map), 5);
	names_map(&none, &new, map);
	assert_int_equal(names_move(UINT32_MAX, map), 0);
}

#define with_directory(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_directory(tokens_rise_within_a_life_and_over_all),
		with_directory(tokens_rise_above_what_was_seen),
		with_directory(second_daemon_is_refused),
		with_directory(damaged_file_is_refused_and_left),
		with_directory(last_counter_is_refused),
		with_directory(unwritable_place_is_reported),
		with_directory(directories_are_made),
		with_directory(names_are_kept),
		cmocka_unit_test(bits_move_with_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
