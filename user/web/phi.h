/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * POST /api/v1/phi: intervals that are sent along go through the window of the packet path, and each is
 * judged by the models of the daemon before it is learned. The laboratory has no arithmetic of its own.
 */
#ifndef KPHI_WEB_PHI_H
#define KPHI_WEB_PHI_H

#include <stddef.h>
#include <stdint.h>

#include "core/models.h"
#include "io/output.h"

#define PHI_INTERVALS_MAX 4096
#define PHI_BODY_MAX      (256U << 10) /* bytes */

struct phi_request {
	struct kphi_peer settings; /* save for the model */
	uint32_t window;
	struct threshold threshold;
	bool has_fixed;
	uint64_t fixed_ns;
	uint32_t models; /* entries of `model` */
	uint8_t model[KPHI_MODELS];
	uint32_t intervals, steps_count;
	uint64_t interval_ns[PHI_INTERVALS_MAX];
	uint16_t steps[PHI_INTERVALS_MAX]; /* 0: not known */
};

struct phi_point {
	bool judged; /* the rest means something */
	q32_t phi; /* when the interval ended */
	uint64_t reach_ns; /* the silence that reaches the threshold; UINT64_MAX: none does */
};

/* 0, or -EINVAL with a sentence that names the field. */
int phi_parse(struct phi_request *r, const char *body, size_t length, char *why, size_t size);

/* A point for each interval. 0 or -ENOMEM. */
int phi_walk(const struct phi_request *r, uint8_t model, struct phi_point *points);

/* The answer, into an open object. 0 or -ENOMEM. */
int say_phi(struct out *o, const struct phi_request *r);

#endif
