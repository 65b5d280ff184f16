// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The errno of the refusal was kept at attaching; its sentence is made anew from the device as it is now, so
 * that it names the present driver, MTU and occupant.
 */
#include "kernel/attach_words.h"

#include <stdio.h>

#include "kernel/explain.h"
#include "kernel/hook.h"

static void say_why(const struct attachment *a, struct attach_words *t)
{
	const char *wanted = attach_modes[a->wanted];

	if (a->mode == ATTACH_NATIVE)
		return;
	if (a->wanted != ATTACH_AUTO)
		why(&t->why, 0, "%s: `mode %s` was asked for", a->device, wanted);
	else if (a->here && a->alive)
		explain_attach(&t->why, a->refusal, a->device, ATTACH_NATIVE);
	else
		why(&t->why, 0,
		    "%s: native XDP was refused (%s); `kphi net show` in the device's network namespace says "
		    "more",
		    a->device, why_errno(a->refusal));
}

static void say_stamps(const struct attachment *a, struct attach_words *t)
{
	static const char *const moment[] = {
		[ATTACH_AUTO] = "",
		[ATTACH_NATIVE] =
			"stamped in the driver, before the kernel builds a packet of its own: as early "
			"as a program can",
		[ATTACH_TC] =
			"stamped after the socket buffer is made and after GRO: some microseconds later than "
			"by native XDP, and coarser under interrupt coalescing",
		[ATTACH_GENERIC] =
			"stamped after the socket buffer is made, merged (GRO) and made linear: some "
			"microseconds later than by native XDP, and less evenly",
	};
	int length = snprintf(t->stamps, sizeof(t->stamps), "%s", moment[a->mode]);

	if (t->occupant)
		snprintf(t->stamps + length, sizeof(t->stamps) - (size_t)length,
			 "; what XDP program \"%s\" drops or redirects is not heard at all",
			 t->occupant_name);
}

void attach_words(const struct attachment *a, struct attach_words *t)
{
	*t = (struct attach_words){.attach = a->hook == HOOK_CLSACT ? "filter" : "link"};
	t->state = !a->known ? "unknown" : a->alive ? "attached" : "gone";
	if (a->here && a->alive && a->hook != HOOK_XDP) {
		t->occupant = hook_xdp_program(a->ifindex);
		explain_program(t->occupant, t->occupant_name, sizeof(t->occupant_name));
	}
	say_why(a, t);
	say_stamps(a, t);
}
