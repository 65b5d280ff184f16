/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long has a peer been silent, as far as this host could hear? */
#ifndef KPHI_CORE_SILENCE_H
#define KPHI_CORE_SILENCE_H

#include <kphi/maps.h>
#include <stdint.h>

#define SILENCE_TICK_LIMIT_NS 50000000ULL /* a tick later than this is a stall: five ticks of 10 ms */

/*
 * now - last arrival, less what the CPU that took the arrival was stalled since, the stall that may be going
 * on included. Never negative: an arrival newer than `now` is a silence of 0. `tick` is that CPU's element of
 * `ticks`. In nanoseconds; the record must have heard something.
 */
uint64_t silence_ns(const struct kphi_record *record, const struct kphi_tick *tick, uint64_t now_ns);

/* What silence_ns() took off, of it. */
uint64_t silence_discount_ns(const struct kphi_record *record, const struct kphi_tick *tick, uint64_t now_ns);

#endif
