// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rule/describe.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>

#include "io/format.h"
#include "io/text.h"
#include "rule/preset.h"

/* What the payload must have, by hand or as the preset's own words have it. */
static void say_payload(struct text *w, const struct preset *p, const struct kphi_rule *rule)
{
	char text[MATCH_SIZE > FORMAT_SIZE ? MATCH_SIZE : FORMAT_SIZE];

	if (p->takes & RULE_BIT(DISCRIMINATOR) && rule->match[0].width)
		text_add(w, " discriminator %" PRIu64, rule->match[0].value);
	for (int i = 0; i < KPHI_MATCHES; i++)
		if (p->takes & RULE_BIT(MATCH) && rule->match[i].width)
			text_add(w, " match %s", format_match(&rule->match[i], text));
	if (p->takes & RULE_BIT(SEQUENCE) && rule->sequence_bits)
		text_add(w, " sequence %s", format_sequence(rule, text));
	if (p->takes & RULE_BIT(LEAVE) && rule->leave.width)
		text_add(w, " leave %s", format_match(&rule->leave, text));
}

void rule_words(const struct kphi_peer *peer, const struct kphi_rule *rule, char text[RULE_WORDS])
{
	const struct preset *p = preset_of(&peer->id, rule);
	char address[ADDRESS_SIZE], duration[FORMAT_SIZE];
	struct text w = {text, RULE_WORDS};

	*text = '\0';
	text_add(&w, "proto %s", p->name);
	if (p->needs & RULE_BIT(PROTOCOL))
		text_add(&w, " protocol %u", peer->id.protocol);
	if (p->needs & RULE_BIT(VRID))
		text_add(&w, " vrid %u", (unsigned int)(rule->match[0].value & 0xff));
	if (!rule->any_source)
		text_add(&w, " from %s", format_address(peer->id.bytes, address));
	if (peer->id.protocol == IPPROTO_UDP)
		text_add(&w, " port %u", peer->id.port);
	say_payload(&w, p, rule);
	if (rule->local_rx_ns)
		text_add(&w, " local-rx %s", format_duration_exact(rule->local_rx_ns, duration));
	if (p->takes & RULE_BIT(TTL) && rule->min_ttl)
		text_add(&w, " ttl %u", rule->min_ttl);
	if (rule->vlan)
		text_add(&w, " vlan %u", rule->vlan);
	if (*rule->device)
		text_add(&w, " dev %.*s", KPHI_DEVICE_SIZE - 1, rule->device);
}

const char *rule_preset(const struct kphi_peer *peer, const struct kphi_rule *rule)
{
	return preset_of(&peer->id, rule)->name;
}
