// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>

#include "replay/replay.h"

/* By so much phi of `loss` may be above that of the normal model for what it takes to be rounding. */
#define Z40_ROUNDING (1LL << 24)

static struct replay_group *add_group(struct replay_plan *plan, uint32_t n)
{
	struct replay_group *g = &plan->group[plan->groups];

	if (plan->groups == REPLAY_GROUPS_MAX || n > REPLAY_CONTENDERS_MAX - plan->contenders)
		return NULL;
	*g = (struct replay_group){.first = plan->contenders, .n = n};
	plan->groups++;
	plan->contenders += n;
	return g;
}

/*
 * Where a group's hastiest contender is, if the model judges by z. That of `loss` is not hastier than the
 * normal model over the clean intervals: whatever beats may have been lost, the silence is only likelier.
 */
static int64_t z40_of(const struct threshold *hastiest, int model)
{
	if (!hastiest->phi || hastiest->phi > PHI_MAX)
		return -1;
	switch (model) {
	case KPHI_MODEL_AKKA:
		return hastiest->z40[KPHI_MODEL_AKKA];
	case KPHI_MODEL_NORMAL:
		return hastiest->z40[KPHI_MODEL_NORMAL];
	case KPHI_MODEL_LOSS:
		return hastiest->z40[KPHI_MODEL_NORMAL] - Z40_ROUNDING;
	default:
		return -1;
	}
}

static bool ascend(const double *parameters, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (parameters[i] < parameters[i - 1])
			return false;
	return true;
}

int replay_plan_model(struct replay_plan *plan, int model, const q32_t *thresholds, uint32_t n)
{
	return replay_plan_tuned(plan, model, &(struct replay_tuning){0}, thresholds, n);
}

int replay_plan_tuned(struct replay_plan *plan, int model, const struct replay_tuning *tuning,
		      const q32_t *thresholds, uint32_t n)
{
	struct replay_group *g = add_group(plan, n);

	if (!g)
		return -ENOSPC;
	g->model = model;
	g->tuning = *tuning;
	g->hastiest = g->first;
	for (uint32_t i = 0; i < n; i++) {
		plan->parameter[g->first + i] = (double)thresholds[i] / (double)Q32_ONE;
		threshold_prepare(&plan->threshold[g->first + i], thresholds[i]);
		if (thresholds[i] < plan->threshold[g->hastiest].phi)
			g->hastiest = g->first + i;
	}
	g->z40 = z40_of(&plan->threshold[g->hastiest], model);
	plan->sorts |= model == KPHI_MODEL_EMPIRICAL || model == REPLAY_OWN_MODEL;
	g->ascends = ascend(&plan->parameter[g->first], n);
	return 0;
}

int replay_plan_detector(struct replay_plan *plan, const struct detector *detector, const double *parameters,
			 uint32_t n)
{
	struct replay_group *g = add_group(plan, n);

	if (!g)
		return -ENOSPC;
	plan->yardsticks = true;
	g->detector = detector;
	for (uint32_t i = 0; i < n; i++)
		plan->parameter[g->first + i] = parameters[i];
	g->ascends = !detector->learns_by_verdict && ascend(parameters, n);
	return 0;
}

void replay_tune(struct kphi_peer *peer, const struct replay_tuning *tuning, const struct kphi_window *w)
{
	if (tuning->pause) {
		peer->set |= KPHI_SET_PAUSE;
		peer->pause_ns = w->interval_ns * tuning->pause_permille / 1000;
	}
	if (tuning->min_std) {
		peer->set |= KPHI_SET_MIN_STD;
		peer->min_std_ns = w->interval_ns * tuning->min_std_permille / 1000;
	}
}

const struct replay_group *replay_plan_group(const struct replay_plan *plan, uint32_t contender)
{
	const struct replay_group *g = plan->group;

	while (contender >= g->first + g->n)
		g++;
	return g;
}
