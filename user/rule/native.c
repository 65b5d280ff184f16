// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rule/native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/format.h"
#include "io/text.h"

static int at_fault(struct rule_fault *fault, enum rule_word word)
{
	fault->at = word;
	return -EINVAL;
}

/* Another order is the same binding, and shall look so. */
static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((struct kphi_rule *)0)->source[0]));
}

static int add_source(const char *word, size_t length, struct kphi_rule *rule, char *why, size_t size)
{
	char address[64];
	uint64_t *to = rule->source[rule->sources % KPHI_SOURCES];

	if (rule->sources == KPHI_SOURCES)
		return refuse(-EINVAL, why, size, "a peer is bound to at most %d addresses", KPHI_SOURCES);
	if (length >= sizeof(address))
		return refuse(-EINVAL, why, size, QUOTED " is no address", word);
	memcpy(address, word, length);
	address[length] = '\0';
	if (parse_address(address, (uint8_t *)to, why, size))
		return -EINVAL;
	for (int i = 0; i < rule->sources; i++)
		if (!by_bytes(rule->source[i], to))
			return refuse(-EINVAL, why, size, "%s is there twice", address);
	rule->sources++;
	return 0;
}

static int take_sources(const char *word, struct kphi_rule *rule, char *why, size_t size)
{
	int err = 0;

	while (!err) {
		size_t length = strcspn(word, ", ");

		err = add_source(word, length, rule, why, size);
		word += length;
		word += strspn(word, ", ");
		if (!*word)
			break;
	}
	qsort(rule->source, rule->sources, sizeof(rule->source[0]), by_bytes);
	return err;
}

int native_bind(const struct rule_text *text, const struct rule_spelling *spelling, struct kphi_peer *peer,
		struct kphi_rule *rule, struct rule_fault *fault)
{
	const char *from = text->word[RULE_FROM], *device = text->word[RULE_DEVICE],
		   *ttl = text->word[RULE_TTL];
	uint64_t least = 0;

	for (int i = 0; i < RULE_WORD_KINDS; i++) {
		if (i == RULE_FROM || i == RULE_DEVICE || i == RULE_TTL ||
		    !(i == RULE_MATCH ? text->match[0] : text->word[i]))
			continue;
		refuse(-EINVAL, fault->why, sizeof(fault->why),
		       "that is of a rule. A native sender is known by its id, and bound by `%s`, `%s` and "
		       "`%s`",
		       spelling->name[RULE_FROM], spelling->name[RULE_DEVICE], spelling->name[RULE_TTL]);
		return at_fault(fault, (enum rule_word)i);
	}
	if (from && take_sources(from, rule, fault->why, sizeof(fault->why)))
		return at_fault(fault, RULE_FROM);
	if (device && parse_device(device, rule->device, fault->why, sizeof(fault->why)))
		return at_fault(fault, RULE_DEVICE);
	if (ttl && parse_u64(ttl, 1, 255, &least, fault->why, sizeof(fault->why)))
		return at_fault(fault, RULE_TTL);
	rule->min_ttl = (uint8_t)least;
	peer->demands |= (from ? KPHI_DEMAND_SOURCE : 0) | (device ? KPHI_DEMAND_DEVICE : 0) |
			 (ttl ? KPHI_DEMAND_TTL : 0);
	return 0;
}

char *native_words(const struct kphi_peer *peer, const struct kphi_rule *rule, char text[NATIVE_WORDS])
{
	struct text t = {text, NATIVE_WORDS};
	char address[ADDRESS_SIZE];

	*text = '\0';
	if (peer->demands & KPHI_DEMAND_SOURCE)
		for (int i = 0; i < rule->sources && i < KPHI_SOURCES; i++)
			text_add(&t, "%s%s", i ? "," : "from ",
				 format_address((const uint8_t *)rule->source[i], address));
	if (peer->demands & KPHI_DEMAND_DEVICE)
		text_join(&t, " ", "dev %.*s", KPHI_DEVICE_SIZE, rule->device);
	if (peer->demands & KPHI_DEMAND_TTL)
		text_join(&t, " ", "ttl %u", rule->min_ttl);
	return text;
}
