// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A circuit breaker for every process of a cgroup: connect() to a suspected peer fails at once with
 * ECONNREFUSED rather than after the minutes that TCP takes, but for one probe a second. Whoever is not
 * known, and whoever nobody has a valid verdict on, is connected to: it fails open. Linux 6.1.
 */
#include <linux/bpf.h>

#include <asm-generic/errno.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <kphi.h>

#include "breaker.h"

#define TRIES 4 /* a verdict is written in some 50 ns */

/* The store's: the loader puts it in this one's place, sizes included. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kphi_judgement);
} verdicts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BREAKER_TARGETS);
	__type(key, struct breaker_address);
	__type(value, struct breaker_target);
} breaker_targets SEC(".maps");

#define LOAD(word) (*(const volatile typeof(word) *)&(word))

/* An exchange is a full barrier on every architecture; BPF has no lighter one before 6.14. */
static __always_inline uint64_t load_version(const struct kphi_judgement *v, struct breaker_target *t)
{
	uint64_t version = LOAD(v->version);

	__sync_lock_test_and_set(&t->looked, version);
	return version;
}

static __always_inline bool suspected(struct breaker_target *t, uint64_t now_ns)
{
	const struct kphi_judgement *v = bpf_map_lookup_elem(&verdicts, &t->slot);

	if (!v)
		return false;
	for (int i = 0; i < TRIES; i++) {
		uint64_t version = load_version(v, t);
		uint64_t valid_until_ns = LOAD(v->valid_until_ns);
		uint32_t generation = LOAD(v->generation), consumers = LOAD(v->consumers);

		if (version & 1 || load_version(v, t) != version)
			continue;
		return valid_until_ns > now_ns && generation == t->generation && consumers & t->consumers;
	}
	return false;
}

/* Whoever moves the word to the next second is the probe. */
static __always_inline bool may_probe(struct breaker_target *t, uint64_t now_ns)
{
	uint64_t due_ns = LOAD(t->probe_ns);

	return now_ns >= due_ns &&
	       __sync_val_compare_and_swap(&t->probe_ns, due_ns, now_ns + BREAKER_PROBE_NS) == due_ns;
}

static __always_inline int decide(const struct breaker_address *to)
{
	struct breaker_target *t = bpf_map_lookup_elem(&breaker_targets, to);
	uint64_t now_ns = bpf_ktime_get_ns();

	if (!t || !suspected(t, now_ns))
		return 1;
	if (may_probe(t, now_ns)) {
		__sync_fetch_and_add(&t->probes, 1);
		return 1;
	}
	__sync_fetch_and_add(&t->refused, 1);
	bpf_set_retval(-ECONNREFUSED); /* else it would be EPERM */
	return 0;
}

SEC("cgroup/connect4")
int breaker4(struct bpf_sock_addr *ctx)
{
	struct breaker_address to = {};
	uint32_t mapped = bpf_htonl(0xffff), address = ctx->user_ip4;

	__builtin_memcpy(to.bytes + 8, &mapped, sizeof(mapped));
	__builtin_memcpy(to.bytes + 12, &address, sizeof(address));
	return decide(&to);
}

SEC("cgroup/connect6")
int breaker6(struct bpf_sock_addr *ctx)
{
	struct breaker_address to;
	uint32_t words[4] = {ctx->user_ip6[0], ctx->user_ip6[1], ctx->user_ip6[2], ctx->user_ip6[3]};

	__builtin_memcpy(to.bytes, words, sizeof(to.bytes));
	return decide(&to);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
