// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/args.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "io/error.h"
#include "io/parse.h"

#define WORD_MAX 32 /* no keyword is longer, and nobody mistypes one beyond recognition */

static size_t min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * How many slips make one word of the other: letters added, left out, mistaken, or two neighbours swapped.
 * The restricted Damerau-Levenshtein distance, which needs the last three rows of its matrix.
 */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1], n = strlen(a), m = strlen(b);
	size_t *before = rows[0], *last = rows[1], *row = rows[2], *spare;

	if (n > WORD_MAX || m > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		last[j] = j;
	for (size_t i = 1; i <= n; i++) {
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			row[j] =
				min_of(last[j - 1] + (a[i - 1] != b[j - 1]), min_of(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min_of(row[j], before[j - 2] + 1);
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[m];
}

/* The choice that was probably meant; NULL: none is near enough, or two are as near. */
static const char *nearest(const char *word, const char *const *choices, size_t n)
{
	const char *best = NULL;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(word, choices[i]);

		if (d < least)
			best = choices[i];
		else if (d == least)
			best = NULL;
		least = min_of(d, least);
	}
	/* A slip in three letters, two in six. */
	return best && least * 3 <= strlen(best) ? best : NULL;
}

/* "add, delete or show"; with a prefix, only the choices that begin with it. */
static void list_choices(char *list, size_t size, const char *const *choices, size_t n, const char *prefix)
{
	size_t length = 0, shown = 0, total = 0;

	for (size_t i = 0; i < n; i++)
		total += !strncmp(choices[i], prefix, strlen(prefix));
	*list = '\0';
	for (size_t i = 0; i < n && length < size; i++) {
		const char *comma = !shown ? "" : shown + 1 == total ? " or " : ", ";

		if (strncmp(choices[i], prefix, strlen(prefix)) != 0)
			continue;
		length += (size_t)snprintf(list + length, size - length, "%s%s", comma, choices[i]);
		shown++;
	}
}

int keyword_match(const char *word, const char *const *choices, size_t n, char *why, size_t size)
{
	char list[WHY_SIZE / 2];
	const char *near;
	size_t length = strlen(word), matches = 0;
	int match = -1;

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(word, choices[i]))
			return (int)i;
		if (length && !strncmp(word, choices[i], length)) {
			match = (int)i;
			matches++;
		}
	}
	if (matches == 1)
		return match;
	list_choices(list, sizeof(list), choices, n, matches ? word : "");
	if (matches)
		return refuse(-EINVAL, why, size, QUOTED " is ambiguous: it could be %s", word, list);
	near = nearest(word, choices, n);
	if (near)
		return refuse(-EINVAL, why, size, QUOTED " is unknown: did you mean %s? Choose %s", word,
			      near, list);
	return refuse(-EINVAL, why, size, QUOTED " is unknown: choose %s", word, list);
}

const char *args_word(struct args *args)
{
	if (args->argc <= 0)
		return NULL;
	args->argc--;
	return *args->argv++;
}

const char *args_next(struct args *args, const char *what)
{
	const char *word = args_word(args);

	if (!word)
		fail("%s: %s is missing", args->where, what);
	return word;
}

int args_choice(struct args *args, const char *const *choices, size_t n)
{
	char list[WHY_SIZE / 2], why[WHY_SIZE];
	const char *word = args_word(args);
	int choice;

	if (!word) {
		list_choices(list, sizeof(list), choices, n, "");
		fail("%s: a word is missing: choose %s", args->where, list);
		return -EINVAL;
	}
	choice = keyword_match(word, choices, n, why, sizeof(why));
	if (choice < 0)
		fail("%s: %s", args->where, why);
	return choice;
}

int args_done(struct args *args)
{
	if (args->argc <= 0)
		return 0;
	fail("%s: unexpected " QUOTED ": nothing may follow here", args->where, *args->argv);
	return -EINVAL;
}

int args_once(struct args *args, uint64_t *seen, unsigned int bit, const char *keyword)
{
	if (*seen >> bit & 1) {
		fail("%s: '%s' is given twice", args->where, keyword);
		return -EINVAL;
	}
	*seen |= 1ULL << bit;
	return 0;
}
