/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A rule for people: as the words of `kphi peer add` that would make it again. */
#ifndef KPHI_RULE_DESCRIBE_H
#define KPHI_RULE_DESCRIBE_H

#include <kphi/maps.h>
#include <stddef.h>

#define RULE_WORDS 320 /* room enough for any rule */

/*
 * "proto bfd from 10.0.0.2 port 3784 local-rx 300ms", "proto udp from fd00::2 port 9000 match 0:0181". What
 * the preset says anyway is left out. The peer's identity is of kind KPHI_ID_RULE.
 */
void rule_words(const struct kphi_peer *peer, const struct kphi_rule *rule, char text[RULE_WORDS]);

/* The word behind `proto` under which the rule was added: "bfd", "vrrp", "udp", ... */
const char *rule_preset(const struct kphi_peer *peer, const struct kphi_rule *rule);

#endif
