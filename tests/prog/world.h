/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A store of a test's own with the real program over it, and packets through it by BPF_PROG_TEST_RUN. Include
 * it in one test program each; it brings cmocka.
 */
#ifndef KPHI_TESTS_WORLD_H
#define KPHI_TESTS_WORLD_H

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <kphi.skel.h>
#include <kphi/maps.h>
#include <linux/bpf.h>

#include "kernel/clock.h"
#include "kernel/control.h"
#include "kernel/load.h"
#include "kernel/pin.h"
#include "kernel/store.h"
#include "prog/packet.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum { NOTHING = -1 }; /* in place of a counter: none moves */

#define WORLD_MIN_FRAME 14 /* what the kernel takes for a test run */

struct world {
	struct pin pin;
	struct store store;
	struct control control;
	struct kphi_bpf *skeleton;
	struct why why;
	int xdp;
	uint32_t made; /* peers so far: each gets an identity of its own */
	bool loose;
};

static const char *const counter_names[] = {
#define X(name, help) #name,
	KPHI_OUTCOMES(X) KPHI_NOTES(X)
#undef X
};

static inline void run_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* Everything as `kphi store create` and `kphi net attach` do it, device excepted, with a lock held for the
 * test's changes. */
static inline void world_open(struct world *w, const char *name, uint32_t peers, uint32_t window)
{
	const struct store_size size = {.peers = peers, .window = window};
	static uint32_t worlds; /* one that a failed test left open must not hold up the next */
	const char *pin = getenv("KPHI_PIN");
	char root[256];
	int err;

	assert_non_null(pin); /* started by tests/run */
	*w = (struct world){.control.program = -1};
	run_on_cpu(0);
	load_quiet();
	snprintf(root, sizeof(root), "%s/%s-%u", pin, name, worlds++);
	err = pin_open(&w->pin, root, true, &w->why);
	err = err ?: pin_lock(&w->pin, &w->why);
	err = err ?: store_create(&w->pin, &size, NULL, &w->why);
	err = err ?: store_open(&w->store, &w->pin, &w->why);
	err = err ?: control_open(&w->control, &w->pin, &w->why);
	err = err ?: load_over(&w->skeleton, &w->pin, w->store.header, &w->why);
	err = err ?: control_listen(&w->control, MESSAGE_PORT, true, &w->why);
	if (err)
		fail_msg("no world: %s", w->why.text);
	w->xdp = load_xdp_fd(w->skeleton);
}

static inline const void *world_map(const struct bpf_map *map)
{
	const uint64_t size = (uint64_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	const void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/*
 * The same program over maps that are neither pinned nor frozen, so that a test may write into them what no
 * packet can bring about: a stall, a stamp in the future.
 */
static inline void world_open_loose(struct world *w, uint32_t peers, uint32_t window)
{
	const struct kphi_store header = {
		.peers = peers, .window = window, .cpus = libbpf_num_possible_cpus()};
	const uint32_t zero = 0;
	struct kphi_bpf *s;

	*w = (struct world){.loose = true, .pin.lock = -1};
	run_on_cpu(0);
	load_quiet();
	w->skeleton = s = kphi_bpf__open();
	assert_non_null(s);
	bpf_map__set_max_entries(s->maps.peers, peers);
	bpf_map__set_max_entries(s->maps.rules, peers);
	bpf_map__set_max_entries(s->maps.records, peers);
	bpf_map__set_max_entries(s->maps.windows, peers);
	bpf_map__set_value_size(s->maps.windows, KPHI_RING_SIZE(window) * sizeof(uint64_t));
	bpf_map__set_max_entries(s->maps.locks, peers);
	bpf_map__set_max_entries(s->maps.seals, peers);
	bpf_map__set_max_entries(s->maps.counters, header.cpus);
	bpf_map__set_max_entries(s->maps.ticks, header.cpus);
	bpf_map__set_max_entries(s->maps.arrivals, (uint32_t)getpagesize()); /* a test fills it, and this: */
	bpf_map__set_max_entries(s->maps.strangers, (uint32_t)getpagesize());
	s->rodata->window_size = window;
	assert_int_equal(kphi_bpf__load(s), 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(s->maps.store), &zero, &header, BPF_ANY), 0);
	w->store.header = world_map(s->maps.store);
	w->store.peers = world_map(s->maps.peers);
	w->store.rules = world_map(s->maps.rules);
	w->store.records = world_map(s->maps.records);
	w->store.windows = world_map(s->maps.windows);
	w->store.seals = world_map(s->maps.seals);
	w->store.rings = world_map(s->maps.rings);
	w->store.counters = world_map(s->maps.counters);
	w->store.ticks = world_map(s->maps.ticks);
	w->control.program = dup(load_control_fd(s));
	w->xdp = load_xdp_fd(s);
	assert_int_equal(control_listen(&w->control, MESSAGE_PORT, true, &w->why), 0);
}

static inline void world_close(struct world *w)
{
	control_close(&w->control);
	load_free(w->skeleton);
	store_close(&w->store);
	if (!w->loose)
		assert_int_equal(pin_purge(&w->pin, NULL, &w->why), 0);
	pin_close(&w->pin);
}

/* Adds a peer with the identity and settings in `settings` (NULL: native, interval learned) and, if it is
 * known by a rule, all that the rule asks for (NULL: no more than the identity); returns its slot. */
static inline uint32_t world_add_rule(struct world *w, const struct kphi_peer *settings,
				      const struct kphi_rule *rule)
{
	struct kphi_peer peer = settings ? *settings : (struct kphi_peer){.id.kind = KPHI_ID_NATIVE};
	uint32_t slot = 0;

	snprintf(peer.name, sizeof(peer.name), "peer-%u", w->made++);
	if (peer.id.kind == KPHI_ID_NATIVE)
		memcpy(peer.id.bytes, &w->made, sizeof(w->made));
	if (control_add(&w->control, &w->store, &peer, rule, &slot, &w->why))
		fail_msg("%s", w->why.text);
	return slot;
}

static inline uint32_t world_add(struct world *w, const struct kphi_peer *settings)
{
	return world_add_rule(w, settings, NULL);
}

/* A beat of the native peer in `slot`. */
static inline struct message world_message(const struct world *w, uint32_t slot, uint64_t epoch,
					   uint64_t sequence)
{
	struct message m = {.type = 1, .epoch = epoch, .sequence = sequence};

	memcpy(m.id, w->store.peers[slot].id.bytes, sizeof(m.id));
	return m;
}

/* One request to the control program as it is, without the help of user/kernel/control.c: its answer. */
static inline int world_ask(const struct world *w, const void *request, uint32_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = request, .data_size_in = size);

	int err = bpf_prog_test_run_opts(w->control.program, &run);

	return err ? err : (int)run.retval;
}

/* Runs a packet. Returns -EINVAL if this kernel cannot have a first buffer of p->linear bytes. */
static inline int world_try(const struct world *w, const struct packet *p)
{
	static uint8_t out[PACKET_MAX];
	struct xdp_md context = {.data_end = p->linear ?: p->length, .ingress_ifindex = p->device};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = p->bytes, .data_size_in = p->length, .data_out = out,
		    .data_size_out = sizeof(out));
	int err;

	if (p->linear || p->device) {
		run.ctx_in = &context;
		run.ctx_size_in = sizeof(context);
	}
	err = bpf_prog_test_run_opts(w->xdp, &run);
	if (err)
		return err;
	assert_int_equal(run.retval, XDP_PASS);
	assert_int_equal(run.data_size_out, p->length);
	assert_memory_equal(out, p->bytes, p->length);
	return 0;
}

static inline void world_counts(const struct world *w, uint64_t counts[KPHI_COUNTERS])
{
	for (int i = 0; i < KPHI_COUNTERS; i++)
		counts[i] = store_count(&w->store, i);
}

/* Asserts that since `before` the outcome (or NOTHING) and the notes moved by one, and nothing else did. */
static inline void assert_moved(const struct world *w, const uint64_t before[KPHI_COUNTERS], int outcome,
				uint32_t notes, const char *what, uint32_t at)
{
	uint64_t after[KPHI_COUNTERS];

	world_counts(w, after);
	for (int i = 0; i < KPHI_COUNTERS; i++) {
		bool note = i >= KPHI_COUNT_restart && notes >> (i - KPHI_COUNT_restart) & 1;
		uint64_t expected = i == outcome || note;

		if (after[i] - before[i] != expected)
			fail_msg("%s (%u): %s moved by %" PRIu64 ", expected %" PRIu64, what, at,
				 counter_names[i], after[i] - before[i], expected);
	}
}

/* Runs a packet, which has to pass unchanged and to move exactly this. */
static inline void expect(const struct world *w, const struct packet *p, int outcome, uint32_t notes,
			  const char *what)
{
	uint64_t before[KPHI_COUNTERS];
	int err;

	world_counts(w, before);
	err = world_try(w, p);
	if (err)
		fail_msg("%s: %u bytes cannot be run: %s", what, p->length, strerror(-err));
	assert_moved(w, before, outcome, notes, what, p->length);
}

/* The same for a message in the plainest of frames. */
static inline void expect_message(const struct world *w, const struct message *m, int outcome, uint32_t notes,
				  const char *what)
{
	static const struct shape plain = {.version = 4};
	static struct packet p;

	packet_build(&p, &plain, m);
	expect(w, &p, outcome, notes, what);
}

static inline struct kphi_record world_record(const struct world *w, uint32_t slot)
{
	struct kphi_record r;

	assert_int_equal(store_read(&w->store, slot, &r, NULL), 0);
	return r;
}

/* A peer's element of `windows`. */
static inline const uint64_t *world_ring(const struct world *w, uint32_t slot)
{
	return &w->store.windows[(uint64_t)slot * KPHI_RING_SIZE(w->store.header->window)];
}

#endif
