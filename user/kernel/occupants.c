// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/occupants.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "kernel/clsact.h"
#include "kernel/explain.h"
#include "kernel/hook.h"

static void add(struct occupants *o, uint32_t id, const char *name, const char *hook)
{
	struct occupant *new = &o->list[o->n];

	if (o->n == OCCUPANTS_MAX)
		return;
	*new = (struct occupant){.program_id = id, .hook = hook};
	if (name)
		snprintf(new->name, sizeof(new->name), "%s", name);
	else
		explain_program(id, new->name, sizeof(new->name));
	o->n++;
}

static void read_tcx(uint32_t ifindex, struct occupants *o)
{
	uint32_t ids[OCCUPANTS_MAX], n = OCCUPANTS_MAX;

	/* More of them than there is room for is -ENOSPC, and the first ones are there. */
	o->tcx_error = bpf_prog_query((int)ifindex, TCX_INGRESS, 0, NULL, ids, &n);
	if (o->tcx_error == -ENOSPC)
		o->tcx_error = 0;
	for (uint32_t i = 0; !o->tcx_error && i < n && i < OCCUPANTS_MAX; i++)
		add(o, ids[i], NULL, "tcx");
}

static int take_filter(const struct nlmsghdr *message, void *context)
{
	const struct nlattr *options = NULL;
	struct nlattr *a;
	const char *kind = "", *name = NULL;
	uint32_t id = 0;

	if (message->nlmsg_type != RTM_NEWTFILTER)
		return MNL_CB_OK;
	mnl_attr_for_each(a, message, sizeof(struct tcmsg))
	{
		if (mnl_attr_get_type(a) == TCA_KIND)
			kind = mnl_attr_get_str(a);
		else if (mnl_attr_get_type(a) == TCA_OPTIONS)
			options = a;
	}
	if (strcmp(kind, "bpf") != 0 || !options)
		return MNL_CB_OK;
	mnl_attr_for_each_nested(a, options)
	{
		if (mnl_attr_get_type(a) == TCA_BPF_ID)
			id = mnl_attr_get_u32(a);
		else if (mnl_attr_get_type(a) == TCA_BPF_NAME)
			name = mnl_attr_get_str(a);
	}
	if (id)
		add(context, id, name, "clsact");
	return MNL_CB_OK;
}

void occupants_read(uint32_t ifindex, struct occupants *o)
{
	*o = (struct occupants){0};
	read_tcx(ifindex, o);
	/* A device without a clsact qdisc has no filters to list. */
	clsact_each(ifindex, TC_H_MIN_INGRESS, take_filter, o);
}
