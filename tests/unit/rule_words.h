/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests: rules from the words of a command line. */
#ifndef KPHI_TESTS_RULE_WORDS_H
#define KPHI_TESTS_RULE_WORDS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rule/same.h"
#include "rule/words.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT_SIZE     512

struct made {
	struct kphi_peer peer;
	struct kphi_rule rule;
};

static inline enum rule_word kind_of(const char *keyword)
{
	for (int i = 0; i < RULE_WORD_KINDS; i++)
		if (!strcmp(rule_command_line.name[i], keyword))
			return (enum rule_word)i;
	fail_msg("%s is no word of a rule", keyword);
	return RULE_PROTO;
}

/* "proto udp port 9" as a command line has it; the text is cut into its words. */
static inline struct rule_text cut(char *text)
{
	struct rule_text t = {0};
	int matches = 0;
	const char *keyword = strtok(text, " ");

	while (keyword) {
		enum rule_word kind = kind_of(keyword);
		const char *value = strtok(NULL, " ");

		assert_non_null(value);
		if (kind == RULE_MATCH)
			t.match[matches++] = value;
		else
			t.word[kind] = value;
		keyword = strtok(NULL, " ");
	}
	return t;
}

static inline int parse(const char *words, struct made *m, struct rule_fault *fault)
{
	char copy[TEXT_SIZE];
	struct rule_text t;

	snprintf(copy, sizeof(copy), "%s", words);
	t = cut(copy);
	*m = (struct made){0};
	return rule_parse(&t, &rule_command_line, &m->peer, &m->rule, fault);
}

static inline struct made make(const char *words)
{
	struct rule_fault fault;
	struct made m;

	if (parse(words, &m, &fault))
		fail_msg("%s: %s", words, fault.why);
	return m;
}

static inline bool same(const struct made *a, const struct made *b)
{
	return rule_is_same(&a->peer, &a->rule, &b->peer, &b->rule) &&
	       !memcmp(&a->peer.id, &b->peer.id, sizeof(a->peer.id));
}

#endif
