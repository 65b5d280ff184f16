/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A real stall of softirq work, made on purpose: a BPF program that copies memory until it is time. A test
 * run is one run with softirqs disabled, so that nothing else - no packet, no timer - is served on its CPU
 * meanwhile. In the end it may become another program, which then still runs before any timer does.
 */
#ifndef KPHI_TOOLS_HOG_H
#define KPHI_TOOLS_HOG_H

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define HOG_COPY (2 << 20) /* bytes, some 100 us */
#define HOG_MAX  8000 /* copies: the verifier follows 8,192 jumps. Then it begins again, at most 33 times */

struct hog {
	int program;
	int until; /* map: when to end */
	int then; /* map: 0: itself, 1: what it becomes; a map of programs forgets them when it is closed */
};

#define HOG_INSN(c, d, s, o, i)                                                                              \
	{                                                                                                    \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)                          \
	}
#define HOG_MOVE(d, s) HOG_INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define HOG_SET(d, i)  HOG_INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define HOG_ADD(d, i)  HOG_INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define HOG_CALL(f)    HOG_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define HOG_MAP(d, fd)                                                                                       \
	HOG_INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd), HOG_INSN(0, 0, 0, 0, 0)
#define HOG_IF(op, d, i, to)     HOG_INSN(BPF_JMP | (op) | BPF_K, d, 0, to, i)
#define HOG_IF_REG(op, d, s, to) HOG_INSN(BPF_JMP | (op) | BPF_X, d, s, to, 0)
#define HOG_KEY_0(d)             HOG_MOVE(d, 10), HOG_ADD(d, -4)

static inline int hog_load_text(const struct hog *h, int from, int to)
{
	/* As kphi's program is loaded, or it could not become that. */
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_XDP_HAS_FRAGS,
		    .expected_attach_type = BPF_XDP);
	const struct bpf_insn text[] = {
		HOG_MOVE(6, 1), /* the packet */
		HOG_INSN(BPF_ST | BPF_W | BPF_MEM, 10, 0, -4, 0), /* key 0 */
		HOG_MAP(1, h->until),
		HOG_KEY_0(2),
		HOG_CALL(BPF_FUNC_map_lookup_elem),
		HOG_IF(BPF_JEQ, 0, 0, 30), /* never */
		HOG_INSN(BPF_LDX | BPF_DW | BPF_MEM, 8, 0, 0, 0),
		HOG_MAP(1, from),
		HOG_KEY_0(2),
		HOG_CALL(BPF_FUNC_map_lookup_elem),
		HOG_IF(BPF_JEQ, 0, 0, 23), /* never */
		HOG_MOVE(7, 0),
		HOG_SET(9, 0),
		/* again: */
		HOG_MAP(1, to),
		HOG_KEY_0(2),
		HOG_MOVE(3, 7),
		HOG_SET(4, 0),
		HOG_CALL(BPF_FUNC_map_update_elem),
		HOG_CALL(BPF_FUNC_ktime_get_ns),
		HOG_IF_REG(BPF_JGT, 0, 8, 7), /* enough */
		HOG_ADD(9, 1),
		HOG_IF(BPF_JLT, 9, HOG_MAX, -11),
		HOG_MOVE(1, 6),
		HOG_MAP(2, h->then),
		HOG_SET(3, 0),
		HOG_CALL(BPF_FUNC_tail_call),
		/* enough: */
		HOG_MOVE(1, 6),
		HOG_MAP(2, h->then),
		HOG_SET(3, 1),
		HOG_CALL(BPF_FUNC_tail_call),
		HOG_SET(0, XDP_PASS),
		HOG_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	return bpf_prog_load(BPF_PROG_TYPE_XDP, "hog", "GPL", text, sizeof(text) / sizeof(*text), &opts);
}

static inline void hog_close(struct hog *h)
{
	const int fds[] = {h->program, h->until, h->then};

	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* `next`: the program it becomes in the end, or -1. 0 or a negative errno. */
static inline int hog_open(struct hog *h, int next)
{
	int from = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hog_from", 4, HOG_COPY, 1, NULL);
	int to = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hog_to", 4, HOG_COPY, 1, NULL);
	uint32_t self = 0, other = 1;
	int err = 0;

	h->until = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hog_until", 4, 8, 1, NULL);
	h->then = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "hog_then", 4, 4, 2, NULL);
	h->program = hog_load_text(h, from, to);
	if (h->program < 0)
		err = h->program;
	else if (bpf_map_update_elem(h->then, &self, &h->program, BPF_ANY) ||
		 (next >= 0 && bpf_map_update_elem(h->then, &other, &next, BPF_ANY)))
		err = -errno;
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	if (err)
		hog_close(h);
	return err;
}

/* Stalls the CPU it runs on, which should be one the caller is bound to. The packet (14 bytes at least) is
 * for the program that it becomes. 0 or a negative errno. */
static inline int hog_run(const struct hog *h, uint64_t length_ns, const void *packet, uint32_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet, .data_size_in = size);
	struct timespec now;
	uint64_t until_ns;
	uint32_t zero = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	until_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + length_ns;
	if (bpf_map_update_elem(h->until, &zero, &until_ns, BPF_ANY))
		return -errno;
	return bpf_prog_test_run_opts(h->program, &run);
}

#endif
