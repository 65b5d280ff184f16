// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reading the mapped store while the kernel writes it. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "kernel/store.h"

#define TRIES 1000 /* a writer holds the record for some 100 ns */

/*
 * Word by word, because the kernel may be writing the same words: what is torn is thrown away by the version
 * check, but each load must be one load.
 */
static void copy_words(void *to, const void *from, size_t bytes)
{
	const uint64_t *source = from;
	uint64_t *target = to;

	for (size_t i = 0; i < bytes / sizeof(*source); i++)
		target[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

static bool begin(const uint64_t *word, uint64_t *version)
{
	*version = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	return !(*version & 1);
}

static bool unchanged(const uint64_t *word, uint64_t version)
{
	atomic_thread_fence(memory_order_acquire);
	return __atomic_load_n(word, __ATOMIC_RELAXED) == version;
}

int store_read(const struct store *s, uint32_t slot, struct kphi_record *record, struct kphi_peer *peer)
{
	const struct kphi_record *r = &s->records[slot];
	uint64_t version;

	for (int i = 0; i < TRIES; i++) {
		if (!begin(&r->version, &version))
			continue;
		copy_words(record, r, sizeof(*r));
		if (peer)
			copy_words(peer, &s->peers[slot], sizeof(*peer));
		if (unchanged(&r->version, version))
			return 0;
	}
	return -EBUSY;
}

int store_read_whole(const struct store *s, uint32_t slot, struct kphi_record *record, struct kphi_peer *peer,
		     uint64_t *ring)
{
	const struct kphi_record *r = &s->records[slot];
	size_t entries = KPHI_RING_SIZE(s->header->window);
	uint64_t version;

	for (int i = 0; i < TRIES; i++) {
		if (!begin(&r->version, &version))
			continue;
		copy_words(record, r, sizeof(*r));
		copy_words(peer, &s->peers[slot], sizeof(*peer));
		if (record->state != KPHI_FREE)
			copy_words(ring, &s->windows[slot * entries], entries * sizeof(*ring));
		if (unchanged(&r->version, version))
			return 0;
	}
	return -EBUSY;
}

int store_read_ring(const struct store *s, uint32_t slot, struct kphi_record *record, uint64_t *ring)
{
	const struct kphi_record *r = &s->records[slot];
	uint32_t size = s->header->window;
	const uint64_t *from = &s->windows[(uint64_t)slot * KPHI_RING_SIZE(size)];
	uint64_t version;

	for (int i = 0; i < TRIES; i++) {
		uint32_t n, next;

		if (!begin(&r->version, &version))
			continue;
		copy_words(record, r, sizeof(*r));
		n = record->window.n <= size ? record->window.n : 0;
		next = record->window.next < size ? record->window.next : 0;
		for (uint32_t k = 0; k < n; k++)
			ring[k] = __atomic_load_n(&from[(next + size - n + k) % size], __ATOMIC_RELAXED);
		if (unchanged(&r->version, version))
			return 0;
	}
	return -EBUSY;
}

bool store_verdict(const struct store *s, uint32_t slot, uint64_t now_ns, struct kphi_verdict *verdict)
{
	const struct kphi_verdict *v = &s->verdicts[slot];
	uint64_t version;

	for (int i = 0; i < TRIES; i++) {
		if (!begin(&v->version, &version))
			continue;
		copy_words(verdict, v, sizeof(*v));
		if (unchanged(&v->version, version))
			return verdict->valid_until_ns > now_ns;
	}
	return false;
}

/* The kernel copies an element while it may be written, so the version decides here, too. */
bool store_daemon(const struct store *s, uint64_t now_ns, struct kphi_daemon *daemon)
{
	struct kphi_daemon again;
	uint32_t zero = 0;

	for (int i = 0; i < TRIES; i++) {
		if (bpf_map_lookup_elem(s->daemon, &zero, daemon) ||
		    bpf_map_lookup_elem(s->daemon, &zero, &again))
			return false;
		if (!(daemon->version & 1) && daemon->version == again.version)
			return daemon->alive_until_ns > now_ns;
	}
	return false;
}

const struct kphi_tick *store_tick(const struct store *s, uint32_t cpu)
{
	return &s->ticks[cpu < s->header->cpus ? cpu : 0];
}

uint32_t store_used(const struct store *s)
{
	uint32_t used = 0;

	for (uint32_t slot = 0; slot < s->header->peers; slot++)
		used += s->records[slot].state != KPHI_FREE;
	return used;
}

uint64_t store_count(const struct store *s, enum kphi_counter which)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < s->header->cpus; cpu++)
		sum += __atomic_load_n(&s->counters[cpu].count[which], __ATOMIC_RELAXED);
	return sum;
}

int64_t store_find(const struct store *s, const char *name)
{
	struct kphi_record record;
	struct kphi_peer peer;

	for (uint32_t slot = 0; slot < s->header->peers; slot++) {
		/* A glance without a copy rules out almost every slot; the copy decides, if it can be had. */
		if (s->records[slot].state == KPHI_FREE || strncmp(s->peers[slot].name, name, KPHI_NAME_SIZE))
			continue;
		if (store_read(s, slot, &record, &peer) ||
		    (record.state != KPHI_FREE && !strcmp(peer.name, name)))
			return slot;
	}
	return -1;
}
