// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * By trying, if this process may load programs; else by the names in the kernel's own type information, which
 * anybody may read; and where neither tells, by the version.
 */
#include "kernel/host_probe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "kernel/drivers.h"

static const struct {
	uint32_t since; /* by version */
	const char *name; /* in an enum of the kernel's; NULL: there is none */
	int helper; /* to be called by an XDP program; 0: nothing to try */
} features[HOST_FEATURES] = {
	[HOST_XDP] = {KERNEL(4, 8), "BPF_PROG_TYPE_XDP", 0},
	[HOST_XDP_LINK] = {KERNEL(5, 9), "BPF_XDP", 0},
	[HOST_XDP_FRAGS] = {KERNEL(5, 18), NULL, 0},
	[HOST_TIMER] = {KERNEL(5, 15), "BPF_FUNC_timer_init", BPF_FUNC_timer_init},
	[HOST_TAI] = {KERNEL(6, 1), "BPF_FUNC_ktime_get_tai_ns", BPF_FUNC_ktime_get_tai_ns},
	[HOST_GROUP_READING] = {KERNEL(6, 0), NULL, 0},
	[HOST_TCX] = {KERNEL(6, 6), "BPF_TCX_INGRESS", 0},
	[HOST_TIMER_PIN] = {KERNEL(6, 7), "BPF_F_TIMER_CPU_PIN", 0},
};

static void found(struct host_facts *f, const char *name)
{
	for (int i = 0; i < HOST_FEATURES; i++)
		if (features[i].name && !strcmp(features[i].name, name))
			f->features[i] = (struct feature){true, FEATURE_BY_BTF};
}

/* What a kernel has that was built without these names cannot be told from their absence. */
static void probe_names(struct host_facts *f)
{
	struct btf *btf = f->btf ? btf__load_vmlinux_btf() : NULL;

	for (uint32_t id = 1; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);

		for (uint32_t i = 0; btf_is_enum(type) && i < btf_vlen(type); i++)
			found(f, btf__name_by_offset(btf, btf_enum(type)[i].name_off));
		for (uint32_t i = 0; btf_is_enum64(type) && i < btf_vlen(type); i++)
			found(f, btf__name_by_offset(btf, btf_enum64(type)[i].name_off));
	}
	btf__free(btf);
}

/* The least XDP program there is: whether it loads, and whether it was compiled. */
static void probe_program(struct host_facts *f)
{
	static const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "kphi_doctor", "GPL", pass, 2, NULL);
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	f->features[HOST_XDP] = (struct feature){fd >= 0, FEATURE_BY_PROBE};
	if (fd < 0)
		return;
	if (f->jit < 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
		f->jit = info.jited_prog_len != 0;
	close(fd);
}

static void probe_helpers(struct host_facts *f)
{
	for (int i = 0; i < HOST_FEATURES; i++) {
		int there = features[i].helper
				    ? libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, features[i].helper, NULL)
				    : -1;

		if (there >= 0)
			f->features[i] = (struct feature){there, FEATURE_BY_PROBE};
	}
}

void host_probe(struct host_facts *f)
{
	for (int i = 0; i < HOST_FEATURES; i++)
		f->features[i] = (struct feature){f->kernel >= features[i].since, FEATURE_BY_VERSION};
	probe_names(f);
	if (!host_may(f, CAP_BPF) || !host_may(f, CAP_NET_ADMIN))
		return;
	probe_program(f);
	if (f->features[HOST_XDP].there)
		probe_helpers(f);
}
