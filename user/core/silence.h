/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long has a peer been silent, as far as this host could hear? */
#ifndef KPHI_CORE_SILENCE_H
#define KPHI_CORE_SILENCE_H

#include <kphi/maps.h>
#include <stdint.h>

/* A tick that is overdue for longer than this is taken for dead, not late: a stall must not hide a silence
 * for ever. */
#define SILENCE_OPEN_MAX_NS 60000000000ULL

/*
 * No more than this, and ten of the peer's intervals, is ever taken off one silence: a host whose ticks are
 * always late must not hide a death for ever. After a longer stall, grace gives the peers the time to be
 * heard again.
 */
#define SILENCE_DISCOUNT_MAX_NS    60000000000ULL
#define SILENCE_DISCOUNT_INTERVALS 10

/*
 * now - last arrival, less what the CPU that took the arrival was stalled since, the stall that may be going
 * on included. Never negative: an arrival newer than `now` is a silence of 0. `tick` is that CPU's element of
 * `ticks`. In nanoseconds; the record must have heard something.
 */
uint64_t silence_ns(const struct kphi_record *record, const struct kphi_tick *tick, uint64_t now_ns);

/* How long the CPU of this tick has run no softirq work until now, if that is a stall; else 0. */
uint64_t silence_open_stall_ns(const struct kphi_tick *tick, uint64_t now_ns);

/* What silence_ns() took off, of it. */
uint64_t silence_discount_ns(const struct kphi_record *record, const struct kphi_tick *tick, uint64_t now_ns);

#endif
