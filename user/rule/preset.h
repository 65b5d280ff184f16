/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Protocols that kphi knows by name. A preset is nothing but a rule that somebody has written already: a line
 * of a table, from which parsing, describing and `kphi peer presets` are made.
 */
#ifndef KPHI_RULE_PRESET_H
#define KPHI_RULE_PRESET_H

#include <kphi/maps.h>
#include <stdint.h>

/* The words that make a rule, in the order in which they are written. */
enum rule_word {
	RULE_PROTO,
	RULE_PROTOCOL,
	RULE_VRID,
	RULE_FROM,
	RULE_PORT,
	RULE_DISCRIMINATOR,
	RULE_MATCH,
	RULE_SEQUENCE,
	RULE_LEAVE,
	RULE_LOCAL_RX,
	RULE_TTL,
	RULE_VLAN,
	RULE_DEVICE,
	RULE_WORD_KINDS,
};
#define RULE_BIT(word) (1U << RULE_##word)

/* kphi_rule.preset. Stores and files carry these numbers: a preset keeps its own, and a new one gets the
 * next. 0 is also what a rule without a preset has, which is the same rule. */
enum preset_number {
	PRESET_UDP = 0,
	PRESET_IP = 1,
	PRESET_BFD = 2,
	PRESET_VRRP = 3,
	PRESET_COROSYNC = 4,
	PRESET_MEMBERLIST = 5,
	PRESETS,
};

#define PRESET_PORTS 3

struct preset {
	const char *name; /* the word behind `proto` */
	const char *beat; /* what counts as one, for people */
	const char *settings; /* how it is best judged; NULL: nothing special */
	uint32_t needs, takes; /* RULE_BIT()s that must be given, and that may be given beside them and
				  `proto` */
	uint8_t protocol; /* IP protocol number; 0: to be given */
	uint8_t model; /* enum kphi_model, unless given */
	uint16_t port; /* unless given; 0: none */
	struct {
		uint16_t port;
		uint8_t min_ttl;
	} ports[PRESET_PORTS]; /* no others; a first one of 0: any */
	struct kphi_rule rule; /* what it asks for in any case */
};

/* By enum preset_number, and their names with a NULL at the end. */
extern const struct preset presets[PRESETS];
extern const char *const preset_names[PRESETS + 1];

/* The preset under which a rule was added. One that this kphi does not know is described as what it is. */
const struct preset *preset_of(const struct kphi_id *id, const struct kphi_rule *rule);

#endif
