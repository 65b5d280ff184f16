/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The families of metrics, by what they are about. */
#ifndef KPHI_METRICS_FAMILIES_H
#define KPHI_METRICS_FAMILIES_H

#include "kernel/pin.h"
#include "kernel/store.h"
#include "metrics/facts.h"
#include "metrics/openmetrics.h"

/* This program, the store, packets and why they were refused, stalls. */
void families_host(struct om *m, const struct store *s, const struct facts *f, uint64_t now_ns);

/* Who listens; only root may ask. `pin` may be NULL. */
void families_devices(struct om *m, const struct pin *pin, uint64_t now_ns);

/* `alive`: what is more than counted means something, too. */
void families_daemon(struct om *m, const struct kphi_daemon *d, bool alive, const struct facts *f,
		     uint64_t now_ns);

/* Each peer for itself; `d` is NULL when no daemon lives. */
void families_peer(struct om *m, const struct facts *f, const struct kphi_daemon *d);

#endif
