// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/ladder.h"

#include <errno.h>
#include <string.h>

#include "kernel/explain.h"
#include "kernel/hook.h"
#include "kernel/link_facts.h"
#include "kernel/occupants.h"

struct rung {
	enum attach_hook hook;
	enum attach_mode mode;
};

static const struct rung ladder[] = {
	{HOOK_XDP, ATTACH_NATIVE},
	{HOOK_TCX, ATTACH_TC},
	{HOOK_CLSACT, ATTACH_TC},
	{HOOK_XDP, ATTACH_GENERIC},
};
#define RUNGS (sizeof(ladder) / sizeof(*ladder))

/* What is known before anything is tried. */
struct prospect {
	enum load_program tc; /* what reads this device's packets; 0: nothing of ours can */
	uint32_t occupant; /* somebody else's XDP program; 0: none */
};

static enum load_program reader_of(uint16_t type)
{
	enum link_packets packets = link_packets(type);

	return packets == LINK_ETHERNET ? LOAD_TC : packets == LINK_IP ? LOAD_TC_IP : 0;
}

/* --- who is there already --- */

struct search {
	const uint32_t *program;
	uint32_t n;
};

/* A device keeps its program on the way into another network namespace. */
static int is_ours(const struct attachment *a, void *context)
{
	const struct search *s = context;

	for (uint32_t i = 0; a->link_id && i < s->n; i++)
		if (a->program_id == s->program[i])
			return 1;
	return 0;
}

/* A program that no link of ours holds is somebody else's, and stays. */
static int look_around(const struct pin *p, const struct attachment *a, struct prospect *o, struct why *w)
{
	uint32_t program[1 + OCCUPANTS_MAX];
	struct search s = {program, 0};
	struct occupants tc;
	int ours;

	o->occupant = hook_xdp_program(a->ifindex);
	program[s.n++] = o->occupant;
	occupants_read(a->ifindex, &tc);
	for (uint32_t i = 0; i < tc.n; i++)
		program[s.n++] = tc.list[i].program_id;
	ours = attach_each(p, is_ours, &s, w);
	if (ours <= 0)
		return ours;
	return why(w, -EBUSY,
		   "%s: kphi listens on it already, from another network namespace that the device "
		   "was in. Detach it there, or remove the pin that `kphi -j net show` names for it, then "
		   "attach it again",
		   a->device);
}

/* --- refusals --- */

static int refuse_port(const struct link_facts *link, struct why *w)
{
	char master[IF_NAMESIZE] = "?";

	if_indextoname(link->master, master);
	return why(w, -EBUSY,
		   "%s: it is a port of bond %s, whose packets may come by any of its ports. Attach to the "
		   "bond: `kphi net attach dev %s`",
		   link->name, master, master);
}

static int refuse_type(const struct link_facts *link, struct why *w)
{
	return why(w, -EPROTONOSUPPORT,
		   "%s: its packets (link type %u) begin neither with an Ethernet header nor with IP, and "
		   "kphi reads no others",
		   link->name, link->type);
}

static int refuse_xdp(const struct attachment *a, struct why *w)
{
	return why(w, -EPROTONOSUPPORT,
		   "%s: its packets have no Ethernet header, with which XDP begins. Use `mode tc`",
		   a->device);
}

static int refuse_occupied(const struct attachment *a, struct why *w)
{
	explain_attach(w, -EBUSY, a->device, a->wanted);
	return why_also(w, -EBUSY, ". Use `mode tc` to listen beside it, or have its owner detach it");
}

static int study(const struct pin *p, const struct attachment *a, struct prospect *o, struct why *w)
{
	bool xdp = a->wanted == ATTACH_NATIVE || a->wanted == ATTACH_GENERIC;
	struct link_facts link;
	int err = link_facts_of(a->ifindex, &link);

	if (err)
		return why(w, err, "%s: cannot ask what kind of device it is: %s", a->device, why_errno(err));
	o->tc = reader_of(link.type);
	if (link.master && !strcmp(link.port_kind, "bond"))
		return refuse_port(&link, w);
	if (!o->tc)
		return refuse_type(&link, w);
	if (xdp && o->tc == LOAD_TC_IP)
		return refuse_xdp(a, w);
	err = look_around(p, a, o, w);
	if (!err && xdp && o->occupant)
		err = refuse_occupied(a, w);
	return err;
}

/* --- climbing --- */

/* Is this rung wanted, and is there room on it? */
static bool stands(const struct rung *r, const struct attachment *a, const struct prospect *o)
{
	if (a->wanted != ATTACH_AUTO && a->wanted != r->mode)
		return false;
	return r->hook != HOOK_XDP || (o->tc == LOAD_TC && !o->occupant);
}

static int try(struct programs *g, const struct rung *r, const struct prospect *o, struct attachment *a,
	       bool *final, struct why *w)
{
	enum load_program which = r->hook == HOOK_XDP ? LOAD_XDP : o->tc;
	int err = programs_need(g, which, w);

	*final = true;
	if (err)
		return err;
	a->hook = r->hook;
	a->mode = r->mode;
	err = hook_attach(g->p, a, programs_fd(g, which), final, w);
	if (err && !*final) {
		explain_attach(w, err, a->device, r->mode);
		*final = why_denied(err);
	}
	return err;
}

/* What keeps a device that takes auto from native XDP before it is tried. */
static int forgone(const struct attachment *a, const struct prospect *o)
{
	if (a->wanted != ATTACH_AUTO)
		return 0;
	return o->occupant ? -EBUSY : o->tc == LOAD_TC_IP ? -EPROTONOSUPPORT : 0;
}

int ladder_climb(struct programs *g, struct attachment *a, struct why *w)
{
	struct prospect o = {0};
	struct why reason = {""};
	bool final = false;
	int err = study(g->p, a, &o, w);

	if (err)
		return err;
	a->refusal = forgone(a, &o);
	if (a->refusal)
		explain_attach(&reason, a->refusal, a->device, ATTACH_NATIVE);
	err = -EOPNOTSUPP;
	for (const struct rung *r = ladder; err && !final && r < ladder + RUNGS; r++) {
		if (!stands(r, a, &o))
			continue;
		err = try(g, r, &o, a, &final, w);
		if (err && r->mode == ATTACH_NATIVE) {
			a->refusal = err;
			reason = *w;
		}
	}
	if (!err)
		*w = reason;
	else if (a->wanted == ATTACH_NATIVE && !final)
		why_also(w, err, ". Or use `mode tc`");
	return err;
}
