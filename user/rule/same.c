// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rule/same.h"

#include <net/if.h>
#include <string.h>

#define NO_DEVICE (1U << 31) /* an ifindex is a positive int */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* An identity of another kind has no rule, or one of zeros. */
int rule_compare_identity(const struct kphi_peer *a, const struct kphi_rule *a_rule,
			  const struct kphi_peer *b, const struct kphi_rule *b_rule)
{
	int order = compare(a->id.kind, b->id.kind);

	order = order ? order : memcmp(a->id.bytes, b->id.bytes, sizeof(a->id.bytes));
	if (order || a->id.kind != KPHI_ID_RULE)
		return order;
	order = compare(a->id.protocol, b->id.protocol);
	order = order ? order : compare(a->id.port, b->id.port);
	order = order ? order : compare(a_rule->any_source, b_rule->any_source);
	order = order ? order : memcmp(a_rule->match, b_rule->match, sizeof(a_rule->match));
	return order ? order : strncmp(a_rule->device, b_rule->device, sizeof(a_rule->device));
}

bool rule_is_same(const struct kphi_peer *a, const struct kphi_rule *a_rule, const struct kphi_peer *b,
		  const struct kphi_rule *b_rule)
{
	struct kphi_rule x = *a_rule, y = *b_rule;

	x.ifindex = y.ifindex = 0;
	return !rule_compare_identity(a, a_rule, b, b_rule) &&
	       !memcmp((const void *)&x, (const void *)&y, sizeof(x));
}

/* FNV-1a, 32 bits. */
static uint32_t hash(const char *name)
{
	uint32_t h = 2166136261;

	while (*name)
		h = (h ^ (uint8_t)*name++) * 16777619;
	return h;
}

bool rule_find_device(struct kphi_peer *peer, struct kphi_rule *rule)
{
	unsigned int index = *rule->device ? if_nametoindex(rule->device) : 0;

	if (!*rule->device)
		return true;
	if (peer->id.kind != KPHI_ID_RULE)
		rule->ifindex = index; /* 0 is no device's */
	else
		peer->id.device = index ? index : NO_DEVICE | hash(rule->device);
	return index != 0;
}
