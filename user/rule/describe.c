// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rule/describe.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>

#include "io/format.h"
#include "rule/preset.h"

struct words {
	char *text;
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	w->length += (size_t)vsnprintf(w->text + w->length, RULE_WORDS - w->length, format, args);
	va_end(args);
}

/* What the payload must have, by hand or as the preset's own words have it. */
static void say_payload(struct words *w, const struct preset *p, const struct kphi_rule *rule)
{
	char text[MATCH_SIZE > FORMAT_SIZE ? MATCH_SIZE : FORMAT_SIZE];

	if (p->takes & RULE_BIT(DISCRIMINATOR) && rule->match[0].width)
		say(w, " discriminator %" PRIu64, rule->match[0].value);
	for (int i = 0; i < KPHI_MATCHES; i++)
		if (p->takes & RULE_BIT(MATCH) && rule->match[i].width)
			say(w, " match %s", format_match(&rule->match[i], text));
	if (p->takes & RULE_BIT(SEQUENCE) && rule->sequence_bits)
		say(w, " sequence %s", format_sequence(rule, text));
	if (p->takes & RULE_BIT(LEAVE) && rule->leave.width)
		say(w, " leave %s", format_match(&rule->leave, text));
}

void rule_words(const struct kphi_peer *peer, const struct kphi_rule *rule, char text[RULE_WORDS])
{
	const struct preset *p = preset_of(&peer->id, rule);
	char address[ADDRESS_SIZE], duration[FORMAT_SIZE];
	struct words w = {text, (size_t)snprintf(text, RULE_WORDS, "proto %s", p->name)};

	if (p->needs & RULE_BIT(PROTOCOL))
		say(&w, " protocol %u", peer->id.protocol);
	if (p->needs & RULE_BIT(VRID))
		say(&w, " vrid %u", (unsigned int)(rule->match[0].value & 0xff));
	if (!rule->any_source)
		say(&w, " from %s", format_address(peer->id.bytes, address));
	if (peer->id.protocol == IPPROTO_UDP)
		say(&w, " port %u", peer->id.port);
	say_payload(&w, p, rule);
	if (rule->local_rx_ns)
		say(&w, " local-rx %s", format_duration_exact(rule->local_rx_ns, duration));
	if (p->takes & RULE_BIT(TTL) && rule->min_ttl)
		say(&w, " ttl %u", rule->min_ttl);
	if (rule->vlan)
		say(&w, " vlan %u", rule->vlan);
	if (*rule->device)
		say(&w, " dev %.*s", KPHI_DEVICE_SIZE - 1, rule->device);
}

const char *rule_preset(const struct kphi_peer *peer, const struct kphi_rule *rule)
{
	return preset_of(&peer->id, rule)->name;
}
