// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kernel's side of a scenario: packets, softirq queues, ticks, devices. */
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

/* --- what bpf/tick.h needs of the kernel --- */

static struct world *kernel; /* of the world that runs */
static uint32_t kernel_cpu; /* on which the present softirq runs */

struct timer {
	int timer;
};
static struct timer timers[SCENARIO_CPUS];
static struct kphi_tick ticks[SCENARIO_CPUS];

#define KPHI_BPF_MAPS_H               /* its maps are these arrays */
#define bpf_map_lookup_elem(map, key) (&(*(map))[*(key)])
#define bpf_ktime_get_ns()            (kernel->now_ns)
#define bpf_ktime_get_boot_ns()       (kernel->now_ns + kernel->boot_offset_ns)
#define bpf_get_smp_processor_id()    kernel_cpu
#define bpf_timer_init(timer, map, clock)

static int bpf_timer_start(const int *timer, uint64_t after_ns, uint64_t flags)
{
	(void)flags;
	kernel->cpu[(const struct timer *)timer - timers].timer_ns = kernel->now_ns + after_ns;
	return 0;
}

static void bpf_timer_cancel(const int *timer)
{
	kernel->cpu[(const struct timer *)timer - timers].timer_ns = UINT64_MAX;
}

typedef int (*timer_callback)(void *map, uint32_t *cpu, struct timer *v);
static timer_callback tick_callback;

static int bpf_timer_set_callback(const int *timer, timer_callback callback)
{
	(void)timer;
	tick_callback = callback;
	return 0;
}

#include "../bpf/tick.h"

void kernel_begin(struct world *w)
{
	kernel = w;
	memset(ticks, 0, sizeof(ticks));
	for (uint32_t i = 0; i < SCENARIO_CPUS; i++)
		w->cpu[i].timer_ns = UINT64_MAX;
}

/* --- XDP --- */

static uint64_t epoch_limit(const struct world *w)
{
	int64_t wall_s = (int64_t)(SCENARIO_WALL_S + (w->now_ns - SCENARIO_EPOCH_NS) / SEC) +
			 w->wall_ns / (int64_t)SEC;

	return (uint64_t)wall_s + KPHI_EPOCH_AHEAD_S;
}

/* As record_beat() of bpf/record.h. */
static void record_beat(struct world *w, const struct packet *packet)
{
	struct sim_peer *p = &w->peer[packet->peer];
	struct kphi_beat b = packet->beat;
	struct kphi_tick *t = tick_keep(b.cpu, w->now_ns);
	uint32_t notes = 0, changed;
	enum kphi_counter outcome;

	b.now_ns += w->now_ns;
	if (!world_without(w, "ticks"))
		kphi_beat_meets_tick(&b, t);
	if (p->record.window.interval_ns > t->longest_ns)
		t->longest_ns = p->record.window.interval_ns;
	b.epoch_limit = b.epoch <= p->record.epoch ? p->record.epoch : epoch_limit(w);
	if (p->record.state == KPHI_FREE)
		return;
	changed = p->record.state | (uint32_t)p->record.flags << 8;
	outcome = kphi_record_take(&p->record, &p->peer, p->ring, KPHI_WINDOW_DEFAULT, &b, &notes);
	changed ^= p->record.state | (uint32_t)p->record.flags << 8;
	if (changed ||
	    notes & (KPHI_NOTE(restart) | KPHI_NOTE(retuned) | KPHI_NOTE(renegotiated) |
		     KPHI_NOTE(handover)) ||
	    (p->peer.watched && outcome == KPHI_COUNT_beat))
		host_hint(w, packet->peer);
}

static bool is_heard(const struct world *w, uint32_t device)
{
	return w->device[device].carrier && w->device[device].hook;
}

/* A packet on the wire: lost, queued behind a stall, or taken at once. */
void kernel_deliver(struct world *w, const struct packet *packet)
{
	struct sim_cpu *c = &w->cpu[packet->beat.cpu];

	if (!is_heard(w, packet->beat.device))
		return;
	if (!c->stalled_until_ns) {
		kernel_cpu = packet->beat.cpu;
		record_beat(w, packet);
		return;
	}
	if (c->queued == c->room) {
		c->room = c->room ? 2 * c->room : 64;
		c->queue = realloc(c->queue, c->room * sizeof(*c->queue));
	}
	c->queue[c->queued++] = *packet;
}

/* NET_RX runs before HRTIMER: first what was queued, a microsecond each, then the tick that is late. */
void kernel_end_stall(struct world *w, uint32_t cpu)
{
	struct sim_cpu *c = &w->cpu[cpu];

	c->stalled_until_ns = 0;
	kernel_cpu = cpu;
	for (uint32_t i = 0; i < c->queued; i++) {
		record_beat(w, &c->queue[i]);
		w->now_ns += 1000;
	}
	c->queued = 0;
}

void kernel_tick(struct world *w, uint32_t cpu)
{
	w->cpu[cpu].timer_ns = UINT64_MAX;
	kernel_cpu = cpu;
	tick_callback(NULL, &cpu, &timers[cpu]);
}

/* What witnesses "ticks" and "grace" take away, the engine does not see. */
const struct kphi_tick *world_tick(struct world *w, uint32_t cpu)
{
	struct kphi_tick *seen = &w->seen_tick[cpu];

	*seen = ticks[cpu];
	if (world_without(w, "ticks"))
		memset(seen, 0, sizeof(*seen));
	if (world_without(w, "grace")) {
		memset(seen->stall, 0, sizeof(seen->stall));
		seen->stall_end_ns = seen->stall_length_ns = seen->stall_length_end_ns = 0;
	}
	return seen;
}

/* --- devices --- */

struct engine_hearing world_hearing(const struct world *w, const struct kphi_record *r)
{
	struct engine_hearing h = {CAUSE_NONE, UINT64_MAX};
	uint32_t first = r->device ? r->device : 1, last = r->device ? r->device : SCENARIO_DEVICES - 1;

	if (world_without(w, "hearing"))
		return (struct engine_hearing){CAUSE_NONE, SCENARIO_EPOCH_NS};
	for (uint32_t d = first; d <= last; d++) {
		if (is_heard(w, d) && w->device[d].since_ns < h.since_ns)
			h.since_ns = w->device[d].since_ns;
		if (!is_heard(w, d))
			h.blind = w->device[d].carrier ? CAUSE_HOOK : CAUSE_CARRIER;
	}
	if (h.since_ns == UINT64_MAX)
		h.since_ns = w->device[first].since_ns;
	else
		h.blind = CAUSE_NONE;
	return h;
}
