// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Keys in the configuration file, and what native peers demand there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/config.h"

#define ID_A "aa010203-0405-0607-0809-0a0b0c0d0e0f"
#define ID_B "bb010203-0405-0607-0809-0a0b0c0d0e0f"

static char directory[PATH_MAX], path[PATH_MAX + 16];
static char said[CONFIG_WHY_SIZE];

static void put(const char *name, const char *text, mode_t mode)
{
	char file[PATH_MAX + 16];
	FILE *to;

	snprintf(file, sizeof(file), "%s/%s", directory, name);
	to = fopen(file, "w");
	assert_non_null(to);
	fputs(text, to);
	assert_int_equal(fchmod(fileno(to), mode), 0);
	assert_int_equal(fclose(to), 0);
}

static int make_directory(void **state)
{
	char here[PATH_MAX - 64];

	(void)state;
	if (!getcwd(here, sizeof(here)))
		return -1;
	snprintf(directory, sizeof(directory), "%s/build/config-keys-XXXXXX", here);
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/kphi.yaml", directory);
	put("k1", "1:000102030405060708090a0b0c0d0e0f\n", 0600);
	put("k2", "2:ff0102030405060708090a0b0c0d0e0f\n", 0600);
	put("k3", "3:ff0102030405060708090a0b0c0d0e0f\n", 0600);
	put("twin", "1:ff0102030405060708090a0b0c0d0e0f\n", 0600);
	put("open", "4:ff0102030405060708090a0b0c0d0e0f\n", 0640);
	return 0;
}

static int remove_directory(void **state)
{
	static const char *const names[] = {"k1", "k2", "k3", "twin", "open", "kphi.yaml"};
	char file[PATH_MAX + 16];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(file, sizeof(file), "%s/%s", directory, names[i]);
		unlink(file);
	}
	return rmdir(directory);
}

/* `keys` are pairs of a name and a file, NULL at the end. */
static struct config *load(const char *const *keys, const char *peers)
{
	char text[8192];
	size_t at = (size_t)snprintf(text, sizeof(text), "keys:\n");

	for (; *keys; keys += 2)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "  - {name: %s, file: %s/%s}\n", keys[0],
				       directory, keys[1]);
	snprintf(text + at, sizeof(text) - at, "%s%s", *peers ? "peers:\n" : "", peers);
	put("kphi.yaml", text, 0600);
	*said = '\0';
	return config_load(path, said);
}

static void keys_are_taken(void **state)
{
	static const char *const keys[] = {"old", "k1", "new", "k3", "old", "k2", NULL};
	struct config *c =
		load(keys, "  - {name: a, id: " ID_A ", key: new, min_epoch: 7}\n"
			   "  - key: old\n"
			   "    ttl: 255\n"
			   "    device: eth1\n"
			   "    list:\n"
			   "      - {name: b, id: " ID_B ", from: '10.0.0.2, 10.0.0.1', device: eth0}\n"
			   "  - {name: c, from: 10.0.0.3, port: 9}\n");

	(void)state;
	if (!c) {
		print_message("%s\n", said);
		abort(); /* of what the linter knows, only this does not return */
	}
	assert_int_equal(c->keys_count, 2);
	assert_string_equal(c->keys[0].name, "old");
	assert_int_equal(c->keys[0].count, 2);
	assert_int_equal(c->keys[0].keys[0].id, 1);
	assert_int_equal(c->keys[0].keys[1].id, 2);
	assert_int_equal(c->keys[1].count, 1);
	assert_int_equal(c->peers[0].demands, KPHI_DEMAND_KEY);
	assert_int_equal(c->natives[0].key, 1);
	assert_int_equal(c->natives[0].min_epoch, 7);
	assert_int_equal(c->peers[1].demands,
			 KPHI_DEMAND_KEY | KPHI_DEMAND_SOURCE | KPHI_DEMAND_DEVICE | KPHI_DEMAND_TTL);
	assert_int_equal(c->natives[1].key, 0);
	assert_int_equal(c->rules[1].sources, 2);
	assert_int_equal(((const uint8_t *)c->rules[1].source[0])[15],
			 1); /* in order, so that order is nothing */
	assert_int_equal(((const uint8_t *)c->rules[1].source[1])[15], 2);
	assert_string_equal(c->rules[1].device, "eth0");
	assert_int_equal(c->rules[1].min_ttl, 255);
	assert_int_equal(c->peers[2].demands, 0);
	assert_int_equal(c->natives[2].key, -1);
	config_free(c);
}

static void wrong_keys_are_refused(void **state)
{
	static const struct {
		const char *keys[8];
		const char *peers;
		unsigned int line;
		const char *why;
	} wrong[] = {
		{{"a", "open"}, "", 2, "others than its owner have access"},
		{{"a", "no-such"}, "", 2, "cannot be read"},
		{{"a", "kphi.yaml"}, "", 2, "line 1: no key"},
		{{"a", "k1", "a", "twin"}, "", 3, "both keys of a have the number 1"},
		{{"a", "k1", "a", "k2", "a", "k3"}, "", 4, "a has two keys already"},
		{{"a", "k1"}, "  - {name: x, id: " ID_A ", key: b}\n", 4, "no such name in `keys`"},
		{{"a", "k1"}, "  - {name: x, from: 10.0.0.1, port: 9, key: a}\n", 4, "it goes with an `id`"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct config *c = load(wrong[i].keys, wrong[i].peers);
		char head[PATH_MAX + 32];

		snprintf(head, sizeof(head), "%s:%u: ", path, wrong[i].line);
		assert_null(c);
		if (strncmp(said, head, strlen(head)) != 0 || !strstr(said, wrong[i].why))
			fail_msg("\"%s\" rather than line %u: \"%s\"", said, wrong[i].line, wrong[i].why);
		assert_null(strstr(said, "0102030405")); /* no key is said */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keys_are_taken, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(wrong_keys_are_refused, make_directory, remove_directory),
	};

	return cmocka_run_group_tests_name("config_keys", tests, NULL, NULL);
}
