/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guard's ticks. A CPU that takes beats proves every 10 ms that it still runs softirq work; a tick that
 * comes late says how long it did not. The packet path arms the tick of its own CPU, and a tick without beats
 * ends itself, so no thread looks after them and idle CPUs are never woken.
 */
#ifndef KPHI_BPF_TICK_H
#define KPHI_BPF_TICK_H

#include "maps.h"

#define TIMER_CPU_PIN                                                                                        \
	(1ULL << 1) /* BPF_F_TIMER_CPU_PIN: keep the timer where it was started; since Linux 6.7 */
#define CLOCK_MONOTONIC 1

/* Each load of the program has another number, so that a new one takes the ticks over: the old callback may
 * be gone tomorrow. */
const volatile uint32_t program_number = 1;

/* A late tick: this CPU ran no softirq work from the last one until now. */
static __always_inline void tick_stalled(struct kphi_tick *t, uint64_t now_ns, uint64_t gap_ns)
{
	struct kphi_stall *s = &t->stall[t->stalls % KPHI_STALLS];

	s->end_ns = now_ns;
	s->length_ns = gap_ns;
	t->stalls++;
	t->stalled_total_ns += gap_ns;
	t->stall_end_ns = now_ns;
	if (gap_ns >= t->stall_length_ns || now_ns - t->stall_length_end_ns > KPHI_STALL_FADE_NS) {
		t->stall_length_ns = gap_ns;
		t->stall_length_end_ns = now_ns;
	}
}

/* CLOCK_MONOTONIC stands still in a suspend, so there is nothing to discount, but what drains after it is not
 * learned. */
static __always_inline void tick_suspended(struct kphi_tick *t, uint64_t now_ns)
{
	uint64_t offset = bpf_ktime_get_boot_ns() - now_ns;

	if (t->boot_offset_ns && offset > t->boot_offset_ns + KPHI_TICK_LIMIT_NS) {
		t->suspended_total_ns += offset - t->boot_offset_ns;
		t->stall_end_ns = now_ns;
		t->stall_length_ns = offset - t->boot_offset_ns;
		t->stall_length_end_ns = now_ns;
	}
	t->boot_offset_ns = offset;
}

static __always_inline int tick_start(struct timer *v)
{
	if (!bpf_timer_start(&v->timer, KPHI_TICK_NS, TIMER_CPU_PIN))
		return 0;
	return bpf_timer_start(&v->timer, KPHI_TICK_NS, 0);
}

static int tick(void *map __attribute__((unused)), uint32_t *cpu, struct timer *v)
{
	uint64_t now_ns = bpf_ktime_get_ns(), gap_ns, keep_ns;
	struct kphi_tick *t = bpf_map_lookup_elem(&ticks, cpu);

	if (!t || !t->last_ns) /* stopped meanwhile */
		return 0;
	gap_ns = now_ns - t->last_ns;
	if (gap_ns > t->worst_ns)
		t->worst_ns = gap_ns;
	if (gap_ns > KPHI_TICK_LIMIT_NS)
		tick_stalled(t, now_ns, gap_ns);
	tick_suspended(t, now_ns);
	t->ticks++;
	t->armed_cpu = bpf_get_smp_processor_id();
	keep_ns = KPHI_TICK_KEEP * t->longest_ns;
	if (now_ns > t->beat_ns + (keep_ns > KPHI_TICK_KEEP_NS ? keep_ns : KPHI_TICK_KEEP_NS)) {
		t->last_ns = 0; /* marked as ended, so that nobody takes it for a stall */
		t->longest_ns = 0;
		t->boot_offset_ns = 0;
		t->program = 0;
		return 0;
	}
	t->last_ns = now_ns;
	if (tick_start(v)) { /* better no guard than one that takes its own end for a stall */
		t->last_ns = 0;
		t->program = 0;
	}
	return 0;
}

static __always_inline void tick_arm(struct kphi_tick *t, uint32_t cpu, uint64_t now_ns)
{
	struct timer *v = bpf_map_lookup_elem(&timers, &cpu);

	if (!v)
		return;
	/* -EBUSY: it exists already, from before it ended or from another load of the program. */
	bpf_timer_init(&v->timer, &timers, CLOCK_MONOTONIC);
	if (bpf_timer_set_callback(&v->timer, tick) || (t->last_ns == 0 && tick_start(v)))
		return;
	if (!t->last_ns)
		t->last_ns = now_ns;
	t->program = program_number;
}

/* A packet to one of our ports has come to this CPU. */
static __always_inline struct kphi_tick *tick_keep(uint32_t cpu, uint64_t now_ns)
{
	struct kphi_tick *t = bpf_map_lookup_elem(&ticks, &cpu);

	if (!t)
		return 0;
	t->beat_ns = now_ns;
	if (t->program != program_number)
		tick_arm(t, cpu, now_ns);
	return t;
}

static __always_inline void tick_stop(uint32_t cpu)
{
	struct timer *v = bpf_map_lookup_elem(&timers, &cpu);
	struct kphi_tick *t = bpf_map_lookup_elem(&ticks, &cpu);

	if (!v || !t)
		return;
	bpf_timer_cancel(&v->timer);
	t->last_ns = 0;
	t->boot_offset_ns = 0;
	t->program = 0;
}

#endif
