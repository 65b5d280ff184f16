// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/verdicts.h"

#include <string.h>

uint64_t verdicts_token(const struct store *s)
{
	uint64_t highest = 0;

	for (uint32_t i = 0; i < s->header->peers; i++)
		if (s->verdicts[i].token > highest)
			highest = s->verdicts[i].token;
	return highest;
}

int verdicts_write(struct verdicts *v, uint32_t slot, const struct kphi_verdict *verdict, struct why *w)
{
	struct kphi_verdict ours = *verdict;

	ours.life = v->life;
	return control_verdict(v->control, slot, &ours, w);
}

int verdicts_refresh(struct verdicts *v, uint32_t first, uint32_t end, uint64_t valid_until_ns, struct why *w)
{
	int err = 0;

	for (uint32_t some; !err && first < end; first += some) {
		some = end - first < KPHI_REFRESH_SLOTS ? end - first : KPHI_REFRESH_SLOTS;
		err = control_refresh(v->control, first, first + some, v->life, valid_until_ns, w);
	}
	return err;
}

void verdicts_count(const struct verdicts *v, uint32_t count[VERDICT_STATES])
{
	memset(count, 0, VERDICT_STATES * sizeof(*count));
	for (uint32_t i = 0; i < v->slots; i++)
		if (v->map[i].life == v->life && v->map[i].state < VERDICT_STATES)
			count[v->map[i].state]++;
}
