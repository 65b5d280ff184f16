/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A heap of deadlines, one per slot: set or move in O(log n), earliest in O(1). Allocates once. */
#ifndef KPHI_CORE_SCHEDULE_H
#define KPHI_CORE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct schedule;

struct schedule *schedule_new(uint32_t slots); /* NULL if there is no memory */
void schedule_free(struct schedule *s);

void schedule_set(struct schedule *s, uint32_t slot, uint64_t at_ns); /* UINT64_MAX removes */
void schedule_hasten(struct schedule *s, uint32_t slot, uint64_t at_ns); /* unless it is due earlier */
uint64_t schedule_next_ns(const struct schedule *s); /* UINT64_MAX if empty */

/* Takes the earliest entry off if it is due: true, and which. */
bool schedule_take(struct schedule *s, uint64_t now_ns, uint32_t *slot);

#endif
