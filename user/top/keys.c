// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/keys.h"

#include <ncurses.h>
#include <string.h>

#define ESCAPE    27
#define BACKSPACE 8
#define DELETE    127
#define CONTROL_L 12

const struct key_help key_help[] = {
	{"up down PgUp PgDn Home End", "move; Home stays at the first row"},
	{"Enter", "the peer under the cursor, with its window"},
	{"Esc", "back; without a page: no filter"},
	{"s, r", "sort by the next column; the other way round"},
	{"/", "filter by name, host or state, while you type"},
	{"p or space", "pause: nothing moves; again: go on"},
	{"+ and -", "look less and more often"},
	{"h or ?", "this page"},
	{"q", "quit"},
	{NULL, NULL},
};

const char *const key_footer_list[] = {"q quit",  "h help",    "Enter detail", "s sort",   "/ filter",
				       "p pause", "r reverse", "+- interval",  "Esc clear"};
const char *const key_footer_page[] = {"q quit", "Esc back", "up/down scroll", "p pause"};

enum key_action key_action(int key)
{
	static const struct {
		int key;
		enum key_action action;
	} keys[] = {
		{KEY_UP, ACTION_UP},         {'k', ACTION_UP},
		{KEY_DOWN, ACTION_DOWN},     {'j', ACTION_DOWN},
		{KEY_PPAGE, ACTION_PAGE_UP}, {KEY_NPAGE, ACTION_PAGE_DOWN},
		{KEY_HOME, ACTION_HOME},     {KEY_END, ACTION_END},
		{KEY_ENTER, ACTION_OPEN},    {'\n', ACTION_OPEN},
		{'\r', ACTION_OPEN},         {ESCAPE, ACTION_BACK},
		{'s', ACTION_SORT},          {'r', ACTION_REVERSE},
		{'/', ACTION_FILTER},        {'p', ACTION_PAUSE},
		{' ', ACTION_PAUSE},         {'+', ACTION_SLOWER},
		{'-', ACTION_FASTER},        {'h', ACTION_HELP},
		{'?', ACTION_HELP},          {'q', ACTION_QUIT},
		{KEY_RESIZE, ACTION_REDRAW}, {CONTROL_L, ACTION_REDRAW},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].key == key)
			return keys[i].action;
	return ACTION_NONE;
}

bool key_edit(char *text, size_t size, int key)
{
	size_t length = strlen(text);

	if (key == KEY_BACKSPACE || key == BACKSPACE || key == DELETE) {
		/* The bytes that go on with a character are 10xxxxxx. */
		while (length && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
			length--;
		text[length ? length - 1 : 0] = '\0';
		return true;
	}
	if (key < ' ' || key > 0xff)
		return false;
	if (length + 1 < size) {
		text[length] = (char)key;
		text[length + 1] = '\0';
	}
	return true;
}

uint64_t key_interval_ns(uint64_t interval_ns, bool longer)
{
	static const uint64_t ms[] = {100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000};
	enum { STEPS = sizeof(ms) / sizeof(*ms) };

	for (int i = 0; longer && i < STEPS; i++)
		if (ms[i] * 1000000 > interval_ns)
			return ms[i] * 1000000;
	for (int i = STEPS - 1; !longer && i >= 0; i--)
		if (ms[i] * 1000000 < interval_ns)
			return ms[i] * 1000000;
	return interval_ns;
}
