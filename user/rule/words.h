/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A rule as somebody wrote it, on a command line or in a file, and what it amounts to. */
#ifndef KPHI_RULE_WORDS_H
#define KPHI_RULE_WORDS_H

#include <kphi/maps.h>
#include <stdbool.h>
#include <stddef.h>

#include "io/parse.h"
#include "rule/preset.h"

/* How the words are spelt where the rule was written, so that a sentence says what the reader has seen. */
struct rule_spelling {
	const char *name[RULE_WORD_KINDS];
	bool abbreviates; /* the beginning of a preset's name will do */
};
extern const struct rule_spelling rule_command_line, rule_yaml;

/* A spelling's names: three words are not the same everywhere. */
#define RULE_SPELLING(from, local_rx, device)                                                                \
	{                                                                                                    \
		[RULE_PROTO] = "proto", [RULE_PROTOCOL] = "protocol", [RULE_VRID] = "vrid",                  \
		[RULE_FROM] = (from), [RULE_PORT] = "port", [RULE_DISCRIMINATOR] = "discriminator",          \
		[RULE_MATCH] = "match", [RULE_SEQUENCE] = "sequence", [RULE_LEAVE] = "leave",                \
		[RULE_LOCAL_RX] = (local_rx), [RULE_TTL] = "ttl", [RULE_VLAN] = "vlan",                      \
		[RULE_DEVICE] = (device),                                                                    \
	}

/* NULL is what was left out. */
struct rule_text {
	const char *word[RULE_WORD_KINDS]; /* but for RULE_MATCH: those are here */
	const char *match[KPHI_MATCHES];
};

/* An option that takes one of these words: `into` is the command's structure, with a struct rule_text `rule`.
 */
#define RULE_OPTION(into, keyword, kind, placeholder, text)                                                  \
	{                                                                                                    \
		keyword, OPT_STRING, offsetof(struct into, rule.word[kind]), OPT_NO_HAS,                     \
			.value = (placeholder), .help = (text)                                               \
	}

bool rule_is_written(const struct rule_text *text); /* any of it */

/* Why it is refused, and which word's value is at fault; RULE_WORD_KINDS: it is the whole. */
struct rule_fault {
	enum rule_word at;
	char why[WHY_SIZE];
};

/*
 * The identity of peer->id, but for what control_add() fills in and for the ifindex (rule_find_device()), and
 * the rule. 0, or -EINVAL with the fault; both are then half filled. Something has to be written.
 */
int rule_parse(const struct rule_text *text, const struct rule_spelling *spelling, struct kphi_peer *peer,
	       struct kphi_rule *rule, struct rule_fault *fault);

/*
 * What the rule says about its peer's settings: the model, unless `has_model`. -EINVAL with a sentence if a
 * setting that was given does not go with it.
 */
int rule_settle(const struct kphi_rule *rule, const struct rule_spelling *spelling, bool has_model,
		struct kphi_peer *peer, char *why, size_t size);

#endif
