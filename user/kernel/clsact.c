// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/clsact.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#define HANDLE 0x6b706869 /* "kphi" */

int clsact_open(uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = BPF_TC_INGRESS);
	int err = bpf_tc_hook_create(&hook);

	if (err == -EEXIST)
		return 0;
	return err ? err : 1;
}

static int put(uint32_t ifindex, uint16_t priority, int program, uint32_t flags)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = program, .flags = flags, .handle = HANDLE,
		    .priority = priority);

	return bpf_tc_attach(&hook, &opts);
}

int clsact_add(uint32_t ifindex, uint16_t priority, int program)
{
	return put(ifindex, priority, program, 0);
}

int clsact_replace(uint32_t ifindex, uint16_t priority, int program)
{
	return put(ifindex, priority, program, BPF_TC_F_REPLACE);
}

uint32_t clsact_program(uint32_t ifindex, uint16_t priority)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = HANDLE, .priority = priority);

	return bpf_tc_query(&hook, &opts) ? 0 : opts.prog_id;
}

void clsact_remove(uint32_t ifindex, uint16_t priority)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = HANDLE, .priority = priority);

	bpf_tc_detach(&hook, &opts);
}

static int take_filter(const struct nlmsghdr *message, void *context)
{
	bool *any = context;

	*any |= message->nlmsg_type == RTM_NEWTFILTER;
	return MNL_CB_OK;
}

int clsact_each(uint32_t ifindex, uint32_t half, mnl_cb_t each, void *context)
{
	void *room = malloc(NETLINK_ROOM);
	struct nlmsghdr *message;
	struct tcmsg *tc;
	int err;

	if (!room)
		return -ENOMEM;
	message = mnl_nlmsg_put_header(room);
	message->nlmsg_type = RTM_GETTFILTER;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	tc = mnl_nlmsg_put_extra_header(message, sizeof(*tc));
	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = (int)ifindex;
	tc->tcm_parent = TC_H_MAKE(TC_H_CLSACT, half);
	err = netlink_ask(NETLINK_ROUTE, message, each, context);
	free(room);
	return err;
}

/* Is there a filter in this half of the qdisc? What cannot be asked may have one. */
static bool has_filters(uint32_t ifindex, uint32_t half)
{
	bool any = false;

	return clsact_each(ifindex, half, take_filter, &any) || any;
}

void clsact_close(uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);

	if (!has_filters(ifindex, TC_H_MIN_INGRESS) && !has_filters(ifindex, TC_H_MIN_EGRESS))
		bpf_tc_hook_destroy(&hook);
}
