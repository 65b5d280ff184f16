/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which peers are the same? What control_add() has allocated for a stored one, its shape's number and its
 * device's ifindex, means nothing to a file; so identities are compared by what they ask for.
 */
#ifndef KPHI_RULE_SAME_H
#define KPHI_RULE_SAME_H

#include <kphi/maps.h>
#include <stdbool.h>

/* A total order of identities, native or by rule; 0: the packets of the one would be those of the other. */
int rule_compare_identity(const struct kphi_peer *a, const struct kphi_rule *a_rule,
			  const struct kphi_peer *b, const struct kphi_rule *b_rule);

/* Is it also recognised in every other way alike: the same rule? */
bool rule_is_same(const struct kphi_peer *a, const struct kphi_rule *a_rule, const struct kphi_peer *b,
		  const struct kphi_rule *b_rule);

/*
 * Sets the ifindex of the identity (of a native peer: of the rule) from the name of the rule's device, if it
 * has one; right before control_add(). False if there is no such device now: the identity then has a number
 * that no device can have, another one for each name, until control_follow() finds it.
 */
bool rule_find_device(struct kphi_peer *peer, struct kphi_rule *rule);

#endif
