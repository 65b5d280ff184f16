/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the messages of a native peer must come from: words that rules have, too, with another effect. */
#ifndef KPHI_RULE_NATIVE_H
#define KPHI_RULE_NATIVE_H

#include "rule/words.h"

/*
 * `from` (up to KPHI_SOURCES addresses with commas between them), `dev` and `ttl`, to peer->demands and the
 * rule; the ifindex is rule_find_device()'s. Any other word is a fault. 0, or -EINVAL with the fault.
 */
int native_bind(const struct rule_text *text, const struct rule_spelling *spelling, struct kphi_peer *peer,
		struct kphi_rule *rule, struct rule_fault *fault);

/* "from 192.0.2.1,192.0.2.2 dev eth0 ttl 255": what a native peer is bound to, as people write it; "": to
 * nothing. */
#define NATIVE_WORDS 256
char *native_words(const struct kphi_peer *peer, const struct kphi_rule *rule, char text[NATIVE_WORDS]);

#endif
