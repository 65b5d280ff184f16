// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/phi.h"

#include <errno.h>
#include <kphi/window.h>
#include <stdlib.h>

int phi_walk(const struct phi_request *r, uint8_t model, struct phi_point *points)
{
	uint64_t *ring = calloc(KPHI_RING_SIZE(r->window), sizeof(*ring));
	struct kphi_peer settings = r->settings;
	struct kphi_window w;

	if (!ring)
		return -ENOMEM;
	settings.model = model;
	kphi_window_begin(&w, &settings);
	for (uint32_t i = 0; i < r->intervals; i++) {
		struct kphi_estimate e;

		points[i] = (struct phi_point){.judged = estimate_from_window(&e, &w, &settings, ring)};
		if (points[i].judged) {
			points[i].phi = estimate_phi(&e, r->interval_ns[i]);
			points[i].reach_ns = estimate_silence_at(&e, &r->threshold);
		}
		kphi_window_take(&w, ring, r->window, settings.max_interval_ns, r->interval_ns[i],
				 i < r->steps_count ? r->steps[i] : 0);
	}
	free(ring);
	return 0;
}

static void say_model(struct out *o, const struct phi_request *r, uint8_t model,
		      const struct phi_point *points)
{
	out_open_row(o);
	out_string(o, "model", NULL, model_name(model));
	out_open_array(o, "phi");
	for (uint32_t i = 0; i < r->intervals; i++)
		if (points[i].judged)
			out_q32(o, NULL, NULL, points[i].phi);
		else
			out_null(o, NULL, NULL);
	out_close_array(o);
	out_open_array(o, "reach_ns");
	for (uint32_t i = 0; i < r->intervals; i++)
		if (points[i].judged && points[i].reach_ns != UINT64_MAX)
			out_u64(o, NULL, NULL, points[i].reach_ns);
		else
			out_null(o, NULL, NULL);
	out_close_array(o);
	out_open_array(o, "detections");
	for (uint32_t i = 0; i < r->intervals; i++)
		if (points[i].judged && points[i].phi >= r->threshold.phi)
			out_u64(o, NULL, NULL, i);
	out_close_array(o);
	out_close_row(o);
}

static void say_fixed(struct out *o, const struct phi_request *r)
{
	if (!r->has_fixed) {
		out_null(o, "fixed", NULL);
		return;
	}
	out_open_object(o, "fixed");
	out_u64(o, "timeout_ns", NULL, r->fixed_ns);
	out_open_array(o, "breaches");
	for (uint32_t i = 0; i < r->intervals; i++)
		if (r->interval_ns[i] > r->fixed_ns)
			out_u64(o, NULL, NULL, i);
	out_close_array(o);
	out_close_object(o);
}

int say_phi(struct out *o, const struct phi_request *r)
{
	struct phi_point *points = calloc(PHI_INTERVALS_MAX, sizeof(*points));
	int err = points ? 0 : -ENOMEM;

	out_open_table(o, "models");
	for (uint32_t i = 0; !err && i < r->models; i++) {
		err = phi_walk(r, r->model[i], points);
		if (!err)
			say_model(o, r, r->model[i], points);
	}
	out_close_table(o);
	say_fixed(o, r);
	free(points);
	return err;
}
