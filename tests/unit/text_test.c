// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Text that grows in room of a fixed size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "io/text.h"

static void grows_at_its_end(void **state)
{
	char room[64] = "";
	struct text t = {room, sizeof(room)};

	(void)state;
	text_add(&t, "%s", "");
	assert_string_equal(room, "");
	text_join(&t, "; ", "%d", 1);
	text_join(&t, "; ", "%s", "two");
	text_add(&t, "%c", '!');
	assert_string_equal(room, "1; two!");
}

/* In room of every size: the sanitizer sees the first byte beyond. What is there is a beginning of it all. */
static void what_does_not_fit_is_cut_off(void **state)
{
	static const char all[] = "one, two, three and four";

	(void)state;
	for (size_t size = 1; size <= sizeof(all) + 2; size++) {
		size_t expected = size - 1 < sizeof(all) - 1 ? size - 1 : sizeof(all) - 1;
		struct text t = {calloc(1, size), size};

		assert_non_null(t.at);
		text_join(&t, ", ", "one");
		text_join(&t, ", ", "%s", "two");
		text_join(&t, ", ", "three");
		text_add(&t, " and %s", "four");
		assert_int_equal(strlen(t.at), expected);
		assert_memory_equal(t.at, all, expected);
		free(t.at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_at_its_end),
		cmocka_unit_test(what_does_not_fit_is_cut_off),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
