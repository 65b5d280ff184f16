// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rule/preset.h"

#include <kphi/bfd.h>
#include <netinet/in.h>

#define PROTOCOL_VRRP 112

#define ANYWHERE (RULE_BIT(VLAN) | RULE_BIT(DEVICE))
#define BY_HAND                                                                                              \
	(RULE_BIT(FROM) | RULE_BIT(MATCH) | RULE_BIT(SEQUENCE) | RULE_BIT(LEAVE) | RULE_BIT(TTL) | ANYWHERE)

const struct preset presets[PRESETS] = {
	[PRESET_UDP] =
		{
			.name = "udp",
			.beat = "any UDP packet to a port, from an address, or with certain bytes, or both",
			.needs = RULE_BIT(PORT),
			.takes = BY_HAND,
			.protocol = IPPROTO_UDP,
		},
	[PRESET_IP] =
		{
			.name = "ip",
			.beat = "any packet of an IP protocol, from an address, or with certain bytes, or "
				"both",
			.needs = RULE_BIT(PROTOCOL),
			.takes = BY_HAND,
		},
	/* RFC 5881 (5: TTL 255), 5883 and 7130, whose packets have a TTL of 255 in captures, too. */
	[PRESET_BFD] =
		{
			.name = "bfd",
			.beat = "a BFD control packet of a neighbour, if it is sound; AdminDown is a leave",
			.settings = "it says its interval itself: `local-rx`, this host's required minimum "
				    "receive interval, makes it exact",
			.needs = RULE_BIT(FROM),
			.takes = RULE_BIT(PORT) | RULE_BIT(DISCRIMINATOR) | RULE_BIT(LOCAL_RX) | ANYWHERE,
			.protocol = IPPROTO_UDP,
			.port = KPHI_BFD_PORT,
			.ports = {{KPHI_BFD_PORT, 255}, {KPHI_BFD_MULTIHOP, 0}, {KPHI_BFD_LAG, 255}},
			.rule = {.decoder = KPHI_DECODER_BFD},
		},
	/*
	 * RFC 5798 and, for version 2, 3768: TTL 255 (5.1.1.3); type 1 and the router's number in the first
	 * two bytes, the priority in the third: 0 means that the master leaves (5.2).
	 */
	[PRESET_VRRP] =
		{
			.name = "vrrp",
			.beat = "an advertisement of a virtual router, whoever is its master: a new one is a "
				"handover, priority 0 a leave",
			.needs = RULE_BIT(VRID),
			.takes = RULE_BIT(FROM) | ANYWHERE,
			.protocol = PROTOCOL_VRRP,
			.rule = {.match = {{.value = 0x0100, .mask = 0x0fff, .offset = 0, .width = 2}},
				 .leave = {.value = 0, .mask = 0xff, .offset = 2, .width = 1},
				 .min_ttl = 255},
		},
	/* knet's header is a version and a type; a ping goes on with node, link, clock and sequence number.
	 * Its pings alone are regular: all datagrams together are not. */
	[PRESET_COROSYNC] =
		{
			.name = "corosync",
			.beat = "a knet ping of a node, not encrypted; its sequence number counts losses",
			.needs = RULE_BIT(FROM),
			.takes = RULE_BIT(PORT) | ANYWHERE,
			.protocol = IPPROTO_UDP,
			.port = 5405,
			.rule = {.match = {{.value = 0x0181, .mask = 0xffff, .offset = 0, .width = 2}},
				 .sequence_offset = 23,
				 .sequence_bits = 16},
		},
	[PRESET_MEMBERLIST] =
		{
			.name = "memberlist",
			.beat = "any datagram of a member: labels, compression and encryption hide their "
				"types",
			.settings =
				"its spacing is multiples of 1 s to a random member, so it is judged by the "
				"exponential model, which knows the mean only",
			.needs = RULE_BIT(FROM),
			.takes = RULE_BIT(PORT) | ANYWHERE,
			.protocol = IPPROTO_UDP,
			.model = KPHI_MODEL_EXPONENTIAL,
			.port = 7946,
		},
};

const char *const preset_names[PRESETS + 1] = {
	[PRESET_UDP] = "udp",           [PRESET_IP] = "ip",
	[PRESET_BFD] = "bfd",           [PRESET_VRRP] = "vrrp",
	[PRESET_COROSYNC] = "corosync", [PRESET_MEMBERLIST] = "memberlist",
};

const struct preset *preset_of(const struct kphi_id *id, const struct kphi_rule *rule)
{
	const struct preset *p = &presets[rule->preset < PRESETS ? rule->preset : PRESET_UDP];

	if (rule->decoder == KPHI_DECODER_BFD)
		return &presets[PRESET_BFD];
	if (p->protocol == id->protocol && !p->rule.decoder)
		return p;
	return &presets[id->protocol == IPPROTO_UDP ? PRESET_UDP : PRESET_IP];
}
