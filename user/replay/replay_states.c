// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The yardsticks of a peer: one state a detector, or one a parameter if that decides what is learned. */
#include "replay/replay_peer.h"

/* By the time of the first arrival the detectors' settings are what the normal model would go by. */
static struct detector_settings settings_of(const struct replay *r, struct replay_peer *p)
{
	struct kphi_peer settings = p->settings;

	settings.model = KPHI_MODEL_NORMAL;
	return (struct detector_settings){
		.window = r->plan->window,
		.interval_ns = p->record.window.interval_ns,
		.min_std_ns = effective_min_std_ns(&p->record.window, &settings),
		.pause_ns = effective_pause_ns(&p->record.window, &settings),
	};
}

static uint32_t states_of(const struct replay_group *g)
{
	return g->detector->learns_by_verdict ? g->n : 1;
}

static size_t state_size(const struct replay_plan *plan, const struct replay_group *g)
{
	struct detector_settings settings = {.window = plan->window};

	return (g->detector->size(&settings) + REPLAY_ALIGNMENT - 1) / REPLAY_ALIGNMENT * REPLAY_ALIGNMENT;
}

size_t replay_states_size(const struct replay_plan *plan)
{
	size_t size = 0;

	for (uint32_t i = 0; i < plan->groups; i++)
		if (plan->group[i].detector)
			size += states_of(&plan->group[i]) * state_size(plan, &plan->group[i]);
	return size;
}

/* Runs `statement` for each state there is: of detector d, at `state`, with the parameter of contender c. */
#define FOR_EACH_STATE(r, p, statement)                                                                      \
	do {                                                                                                 \
		unsigned char *state = (p)->states;                                                          \
                                                                                                             \
		for (uint32_t g_ = 0; g_ < (r)->plan->groups; g_++) {                                        \
			const struct replay_group *g = &(r)->plan->group[g_];                                \
			const struct detector *d = g->detector;                                              \
			size_t size = d ? state_size((r)->plan, g) : 0;                                      \
                                                                                                             \
			for (uint32_t c = g->first; d && c < g->first + states_of(g); c++, state += size) {  \
				statement;                                                                   \
			}                                                                                    \
		}                                                                                            \
	} while (0)

void replay_states_begin(const struct replay *r, struct replay_peer *p)
{
	struct detector_settings settings = settings_of(r, p);

	FOR_EACH_STATE(r, p, d->init(state, &settings));
}

void replay_states_arrive(const struct replay *r, struct replay_peer *p, const struct detector_arrival *a)
{
	FOR_EACH_STATE(r, p, d->arrive(state, a, r->plan->parameter[c]));
}

/* Whole nanoseconds, the first at which the deadline has passed. */
static uint64_t whole_ns(double ns)
{
	if (!(ns > 0))
		return 0;
	return ns < 0x1p63 ? (uint64_t)ns + ((double)(uint64_t)ns < ns) : UINT64_MAX;
}

/* One state: of all contenders of the group, or of contender c alone. */
static void judge(const struct replay *r, struct replay_peer *p, const struct replay_group *g,
		  const unsigned char *state, uint32_t c, uint64_t silence_ns, bool all)
{
	uint32_t end = g->detector->learns_by_verdict ? c + 1 : g->first + g->n;

	for (; c < end; c++) {
		struct tally *t = &p->tallies[c];

		t->deadline_ns = whole_ns(g->detector->deadline(state, r->plan->parameter[c]));
		if (!all && g->ascends && replay_is_unmoved(p, c, silence_ns))
			break;
	}
	r->reach[g - r->plan->group] = c - g->first;
}

void replay_states_judge(const struct replay *r, struct replay_peer *p, uint64_t silence_ns, bool all)
{
	FOR_EACH_STATE(r, p, judge(r, p, g, state, c, silence_ns, all));
}
