// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the ticks say about this host itself: stalls that have ended, and a host that stalls most of the time.
 */
#include <stdlib.h>
#include <string.h>

#include "core/engine_state.h"
#include "core/silence.h"

#define SECOND_NS 1000000000ULL
#define SECONDS   60

/* A CPU's last minute: stalled_total_ns, an open stall included, as it was when each second began. */
struct engine_cpu {
	uint64_t second; /* the latest that has begun; 0: never observed */
	uint64_t stalled_ns; /* as last observed */
	uint64_t began_ns[SECONDS];
	uint64_t stalls; /* told so far */
	bool blind; /* blind_stall was told, and is still so */
};

static void tell_stalls(struct engine *e, struct engine_cpu *c, const struct kphi_tick *t, uint32_t cpu,
			uint64_t now_ns)
{
	uint64_t stalls = t->stalls;

	/* Of more than the ring holds, the oldest are lost to the eye; they still count. */
	if (stalls - c->stalls > KPHI_STALLS)
		c->stalls = stalls - KPHI_STALLS;
	for (; c->stalls < stalls; c->stalls++) {
		const struct kphi_stall *s = &t->stall[c->stalls % KPHI_STALLS];
		struct event event = {
			.type = EVENT_stall,
			.now_ns = now_ns,
			.since_ns = s->end_ns - s->length_ns,
			.cpu = cpu,
			.length_ns = s->length_ns,
		};

		e->host.event(e->host.context, &event);
	}
}

/* How long of the last minute was stalled. A stall that spans seconds in which nobody observed falls to the
 * last. */
static uint64_t stalled_of_minute(struct engine_cpu *c, const struct kphi_tick *t, uint64_t now_ns)
{
	uint64_t second = now_ns / SECOND_NS;
	uint64_t from = c->second + SECONDS > second ? c->second : second - SECONDS;

	for (uint64_t s = from + 1; s <= second; s++)
		c->began_ns[s % SECONDS] = c->stalled_ns;
	c->second = second;
	c->stalled_ns = t->stalled_total_ns + silence_open_stall_ns(t, now_ns);
	/* The tick between our two readings would make it look as if time ran backwards. */
	return c->stalled_ns > c->began_ns[(second + 1) % SECONDS]
		       ? c->stalled_ns - c->began_ns[(second + 1) % SECONDS]
		       : 0;
}

static void meet_cpu(struct engine_cpu *c, const struct kphi_tick *t, uint64_t now_ns)
{
	c->second = now_ns / SECOND_NS;
	c->stalls = t->stalls;
	c->stalled_ns = t->stalled_total_ns + silence_open_stall_ns(t, now_ns);
	for (uint32_t s = 0; s < SECONDS; s++)
		c->began_ns[s] = c->stalled_ns;
}

static void observe(struct engine *e, const struct kphi_tick *t, uint32_t cpu, uint64_t now_ns)
{
	struct engine_cpu *c = &e->cpu[cpu];
	uint64_t stalled;

	if (!c->second)
		meet_cpu(c, t, now_ns);
	tell_stalls(e, c, t, cpu, now_ns);
	stalled = stalled_of_minute(c, t, now_ns);
	if (stalled > SECONDS * SECOND_NS / 2 && !c->blind) {
		struct event event = {
			.type = EVENT_blind_stall,
			.now_ns = now_ns,
			.cpu = cpu,
			.length_ns = stalled,
		};

		e->host.event(e->host.context, &event);
	}
	c->blind = stalled > SECONDS * SECOND_NS / 2;
}

void engine_observe_ticks(struct engine *e, const struct kphi_tick *ticks, uint32_t cpus, uint64_t now_ns)
{
	if (cpus > e->cpus) {
		struct engine_cpu *more = realloc(e->cpu, cpus * sizeof(*more));

		if (!more)
			return;
		memset(more + e->cpus, 0, (cpus - e->cpus) * sizeof(*more));
		e->cpu = more;
		e->cpus = cpus;
	}
	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		observe(e, &ticks[cpu], cpu, now_ns);
}
