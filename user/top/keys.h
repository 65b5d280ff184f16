/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the keys of `kphi top` mean. */
#ifndef KPHI_TOP_KEYS_H
#define KPHI_TOP_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum key_action {
	ACTION_NONE,
	ACTION_UP,
	ACTION_DOWN,
	ACTION_PAGE_UP,
	ACTION_PAGE_DOWN,
	ACTION_HOME,
	ACTION_END,
	ACTION_OPEN,
	ACTION_BACK,
	ACTION_SORT,
	ACTION_REVERSE,
	ACTION_FILTER,
	ACTION_PAUSE,
	ACTION_SLOWER,
	ACTION_FASTER,
	ACTION_HELP,
	ACTION_QUIT,
	ACTION_REDRAW, /* the size may have changed */
};

/* Of a key as wgetch() has it. */
enum key_action key_action(int key);

/* Lines of the help page: keys, and what they do; ends with a NULL. */
struct key_help {
	const char *keys, *what;
};
extern const struct key_help key_help[];

/* The footer of the list and of a page, in order of importance. */
extern const char *const key_footer_list[], *const key_footer_page[];
#define KEY_FOOTER_LIST 9
#define KEY_FOOTER_PAGE 4

/*
 * Editing the filter, of `size` bytes: what is typed comes byte by byte, and backspace takes a whole
 * character away. True: the key was one of these.
 */
bool key_edit(char *text, size_t size, int key);

/* The next longer or shorter interval of 100ms, 200ms, 500ms, 1s ... 1m. */
uint64_t key_interval_ns(uint64_t interval_ns, bool longer);

#endif
