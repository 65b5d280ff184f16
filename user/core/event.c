// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/event.h"

#include <stddef.h>

const char *event_name(enum event_type type)
{
	static const char *const names[EVENT_TYPES] = {
#define X(name, peer, help) #name,
		KPHI_EVENTS(X)
#undef X
	};

	return type < EVENT_TYPES ? names[type] : "unknown";
}

const char *event_cause_name(enum event_cause cause)
{
	static const char *const names[CAUSES] = {
		[CAUSE_SILENCE] = "silence",
		[CAUSE_NEVER_HEARD] = "never_heard",
		[CAUSE_DECLARED_DOWN] = "declared_down",
		[CAUSE_BEAT] = "beat",
		[CAUSE_LEAVE] = "leave",
		[CAUSE_RESTART] = "restart",
		[CAUSE_RESET] = "reset",
		[CAUSE_STALL] = "stall",
		[CAUSE_CORRELATED] = "correlated",
		[CAUSE_BOUND] = "bound",
		[CAUSE_CARRIER] = "carrier",
		[CAUSE_HOOK] = "hook",
		[CAUSE_BEGUN] = "begun",
		[CAUSE_ENDED] = "ended",
		[CAUSE_MUTE] = "mute",
	};

	return cause < CAUSES ? names[cause] : NULL;
}
