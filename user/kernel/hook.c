// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/hook.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/attach_pin.h"
#include "kernel/clsact.h"
#include "kernel/explain.h"
#include "kernel/link_facts.h"
#include "kernel/netns.h"

#define BEFORE_FLAG  (1U << 3) /* BPF_F_BEFORE, with nobody named: before everybody */
#define PROGRAM_MAPS 64

/* --- whose program --- */

static uint32_t store_map_id(const struct pin *p)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);
	char path[PIN_PATH];
	int fd = bpf_obj_get(pin_path(p, "records", path));

	if (fd < 0)
		return 0;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		info.id = 0;
	close(fd);
	return info.id;
}

/* Does it write the records of this store? Then it is a program of ours, whatever its number. Without
 * CAP_SYS_ADMIN that cannot be asked, and only what is pinned is known to be ours. */
static bool writes_store(const struct pin *p, uint32_t program_id)
{
	uint32_t maps[PROGRAM_MAPS] = {0}, store = store_map_id(p);
	struct bpf_prog_info info = {.nr_map_ids = PROGRAM_MAPS, .map_ids = (uintptr_t)maps};
	uint32_t size = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(program_id);
	bool found = false;

	if (fd < 0)
		return false;
	if (!bpf_obj_get_info_by_fd(fd, &info, &size))
		for (uint32_t i = 0; i < info.nr_map_ids && i < PROGRAM_MAPS; i++)
			found |= store && maps[i] == store;
	close(fd);
	return found;
}

/* The filter where this one is pinned to be; in the namespace of its device. 0: none there is ours. */
static uint32_t our_filter(const struct pin *p, const struct attachment *a)
{
	uint32_t present = clsact_program(a->ifindex, a->priority);

	/* An exchange that was cut short has left the number of the former program in the pin. */
	return present && (present == a->program_id || writes_store(p, present)) ? present : 0;
}

uint32_t hook_xdp_program(uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	if (bpf_xdp_query((int)ifindex, 0, &query) || query.attach_mode == XDP_ATTACHED_NONE)
		return 0;
	return query.prog_id ?: query.drv_prog_id ?: query.skb_prog_id ?: query.hw_prog_id;
}

/* --- asking --- */

/* A link whose device has gone reports ifindex 0; one that cannot be asked may well be alive. One whose
 * device was moved to another network namespace lives on there, and hears nothing for this one. */
static void ask_link(struct attachment *a, int fd)
{
	struct bpf_link_info info = {0};
	uint32_t size = sizeof(info);
	char name[IF_NAMESIZE];

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return;
	a->alive = info.xdp.ifindex != 0; /* a TCX link has its own in the same place */
	if (a->here && !if_indextoname(a->ifindex, name) && (errno == ENXIO || errno == ENODEV))
		a->alive = false;
	a->link_id = info.id;
	a->program_id = info.prog_id;
}

static void ask_filter(const struct pin *p, struct attachment *a, int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info), present;

	if (!bpf_obj_get_info_by_fd(fd, &info, &size))
		a->program_id = info.id;
	a->known = a->here;
	if (!a->here)
		return;
	present = our_filter(p, a);
	a->alive = present != 0;
	if (a->alive)
		a->program_id = present;
}

void hook_ask(const struct pin *p, struct attachment *a)
{
	int fd = bpf_obj_get(a->pin);

	a->alive = a->known = true;
	if (fd < 0)
		return;
	if (a->hook == HOOK_CLSACT)
		ask_filter(p, a, fd);
	else
		ask_link(a, fd);
	close(fd);
}

enum load_program hook_program(const struct attachment *a)
{
	struct link_facts link;
	char name[64];

	if (a->hook == HOOK_XDP)
		return LOAD_XDP;
	if (a->here && !link_facts_of(a->ifindex, &link))
		return link_packets(link.type) == LINK_IP ? LOAD_TC_IP : LOAD_TC;
	explain_program(a->program_id, name, sizeof(name)); /* "?" without CAP_SYS_ADMIN */
	return !strcmp(name, "kphi_tc_ip") ? LOAD_TC_IP : !strcmp(name, "kphi_tc") ? LOAD_TC : 0;
}

/* --- attaching --- */

static int pin(const struct pin *p, int fd, struct attachment *a, struct why *w)
{
	int err;

	attach_pin_path(p, a);
	err = bpf_obj_pin(fd, a->pin);
	return err ? why(w, err, "%s: cannot pin what holds %s: %s", a->pin, a->device, why_errno(err)) : 0;
}

static int attach_link(const struct pin *p, struct attachment *a, int program, bool *pinning, struct why *w)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	int link, err;

	if (a->hook == HOOK_TCX)
		opts.flags = BEFORE_FLAG;
	else
		opts.flags = a->mode == ATTACH_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
	link = bpf_link_create(program, (int)a->ifindex, a->hook == HOOK_TCX ? TCX_INGRESS : BPF_XDP, &opts);
	if (link < 0)
		return link;
	*pinning = true;
	err = pin(p, link, a, w);
	close(link);
	return err;
}

/* A filter of ours whose pin somebody has removed is taken over. */
static int add_filter(const struct pin *p, const struct attachment *a, int program)
{
	int err = clsact_add(a->ifindex, a->priority, program);

	if (err == -EEXIST && writes_store(p, clsact_program(a->ifindex, a->priority)))
		err = clsact_replace(a->ifindex, a->priority, program);
	return err;
}

/* The pin comes first: a filter without one would be nobody's, a pin without a filter is only out of date. */
static int attach_filter(const struct pin *p, struct attachment *a, int program, bool *pinning, struct why *w)
{
	int err = clsact_open(a->ifindex);

	if (err < 0)
		return err;
	a->own_qdisc = err;
	for (a->priority = 1, err = -EEXIST; err && a->priority <= CLSACT_PRIORITIES; a->priority++) {
		err = pin(p, program, a, w);
		*pinning = err != 0;
		if (err)
			break;
		err = add_filter(p, a, program);
		if (!err)
			return 0;
		unlink(a->pin);
	}
	if (a->own_qdisc)
		clsact_close(a->ifindex);
	return err;
}

int hook_attach(const struct pin *p, struct attachment *a, int program, bool *pinning, struct why *w)
{
	int err;

	*pinning = false;
	err = a->hook == HOOK_CLSACT ? attach_filter(p, a, program, pinning, w)
				     : attach_link(p, a, program, pinning, w);
	if (!err)
		hook_ask(p, a);
	return err;
}

/* --- changing --- */

static int replace_link(const struct attachment *a, int program)
{
	int fd = bpf_obj_get(a->pin), err;

	if (fd < 0)
		return -errno;
	err = bpf_link_update(fd, program, NULL);
	close(fd);
	return err;
}

static int replace_filter(const struct pin *p, const struct attachment *a, int program)
{
	char new[PIN_PATH];
	int err;

	if (!our_filter(p, a))
		return 0; /* taken off the device meanwhile */
	err = clsact_replace(a->ifindex, a->priority, program);
	if (err)
		return err;
	unlink(pin_path(p, "links/new", new));
	err = bpf_obj_pin(program, new);
	return err ? err : rename(new, a->pin) ? -errno : 0;
}

static void remove_filter(const struct pin *p, const struct attachment *a)
{
	if (!our_filter(p, a))
		return;
	clsact_remove(a->ifindex, a->priority);
	if (a->own_qdisc)
		clsact_close(a->ifindex);
}

/* To where the filter is: 0 if that is here, else as netns_enter(). One that is not to be found has ended,
 * and its filters with it. */
static int go_there(const struct attachment *a)
{
	return a->here ? 0 : netns_enter(a->netns);
}

static void go_back(const struct attachment *a, int from)
{
	if (!a->here)
		netns_return(from);
}

int hook_replace(const struct pin *p, const struct attachment *a, int program)
{
	int from, err;

	if (a->hook != HOOK_CLSACT)
		return replace_link(a, program);
	from = go_there(a);
	if (from < 0)
		return from == -ENOENT ? 0 : from;
	err = replace_filter(p, a, program);
	go_back(a, from);
	return err;
}

void hook_detach(const struct pin *p, const struct attachment *a)
{
	int link, from;

	if (a->hook == HOOK_CLSACT) {
		from = go_there(a);
		if (from < 0)
			return;
		remove_filter(p, a);
		go_back(a, from);
		return;
	}
	link = bpf_obj_get(a->pin);
	if (link < 0)
		return;
	bpf_link_detach(link);
	close(link);
}
