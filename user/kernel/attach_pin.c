// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A pin is all that outlives the process that attached, so its name keeps what nobody could find out later:
 *
 *   4026531840-2-an-eth0          auto, and it came to native XDP
 *   4026531840-3-nn-eth1          native was asked for
 *   4026531840-4-at16-eth2        auto; native XDP was refused with errno 16; a TCX link
 *   4026531840-5-ac95q1-eth3      ... with errno 95; a clsact filter of priority 1 on a qdisc of ours,
 *   4026531840-6-tc0p2-eth4       tc was asked for; priority 2 on a qdisc that was there
 *   4026531840-7-ag95-eth5        generic XDP
 */
#include "kernel/attach_pin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char wishes[] = "antg"; /* enum attach_mode */

/* Hooks and modes as they go together. */
static const struct {
	char letter;
	enum attach_hook hook;
	enum attach_mode mode;
} rungs[] = {
	{'n', HOOK_XDP, ATTACH_NATIVE},
	{'t', HOOK_TCX, ATTACH_TC},
	{'c', HOOK_CLSACT, ATTACH_TC},
	{'g', HOOK_XDP, ATTACH_GENERIC},
};
#define RUNGS (sizeof(rungs) / sizeof(*rungs))

void attach_pin_path(const struct pin *p, struct attachment *a)
{
	char name[96], tail[32] = "";
	size_t i = 0;

	while (i < RUNGS - 1 && (rungs[i].hook != a->hook || rungs[i].mode != a->mode))
		i++;
	if (a->hook == HOOK_CLSACT)
		snprintf(tail, sizeof(tail), "%d%c%u", -a->refusal, a->own_qdisc ? 'q' : 'p', a->priority);
	else if (a->refusal)
		snprintf(tail, sizeof(tail), "%d", -a->refusal);
	snprintf(name, sizeof(name), "links/%" PRIu64 "-%u-%c%c%s-%s", a->netns, a->ifindex,
		 wishes[a->wanted], rungs[i].letter, tail, a->device);
	for (char *c = name; *c; c++)
		if (*c == '.')
			*c = ':';
	pin_path(p, name, a->pin);
}

/* The part between the number and the name. */
static bool parse_mode(const char *text, struct attachment *a)
{
	const char *wish = *text ? strchr(wishes, *text) : NULL;
	char *rest;
	size_t i = 0;

	while (wish && i < RUNGS && rungs[i].letter != text[1])
		i++;
	if (!wish || i == RUNGS)
		return false;
	a->wanted = (enum attach_mode)(wish - wishes);
	a->hook = rungs[i].hook;
	a->mode = rungs[i].mode;
	a->refusal = -(int)strtoul(text + 2, &rest, 10);
	if (a->hook == HOOK_CLSACT) {
		a->own_qdisc = *rest == 'q';
		a->priority = (uint16_t)strtoul(*rest ? rest + 1 : rest, &rest, 10);
	}
	return !*rest;
}

bool attach_pin_parse(const char *name, struct attachment *a)
{
	char mode[32];

	*a = (struct attachment){0};
	if (sscanf(name, "%" SCNu64 "-%u-%31[^-]-%15s", &a->netns, &a->ifindex, mode, a->device) != 4)
		return false;
	for (char *c = a->device; *c; c++)
		if (*c == ':')
			*c = '.';
	return parse_mode(mode, a);
}
