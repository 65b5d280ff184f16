// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "models.h"

#include <kphi/record.h>
#include <string.h>

#include "fixed.h"

#define PAUSE_INTERVALS       3 /* the default pause */
#define SEED_STD_PER_INTERVAL 4

const char *const model_names[KPHI_MODELS + 1] = {
	[KPHI_MODEL_NORMAL] = "normal",           [KPHI_MODEL_AKKA] = "akka",
	[KPHI_MODEL_EXPONENTIAL] = "exponential", [KPHI_MODEL_LOSS] = "loss",
	[KPHI_MODEL_EMPIRICAL] = "empirical",
};

const char *model_name(uint8_t model)
{
	return model < KPHI_MODELS ? model_names[model] : "unknown";
}

int model_by_name(const char *name)
{
	for (int model = 0; model < KPHI_MODELS; model++)
		if (!strcmp(name, model_names[model]))
			return model;
	return -1;
}

bool model_has_pause(uint8_t model)
{
	return model == KPHI_MODEL_NORMAL || model == KPHI_MODEL_AKKA;
}

bool model_has_min_std(uint8_t model)
{
	return model != KPHI_MODEL_EXPONENTIAL;
}

/* n times the standard deviation: the root of n * sum(x^2) - (sum x)^2, never negative (Cauchy-Schwarz). */
static uint64_t scale_of(uint64_t n, uint64_t sum_ns, uint64_t squares_high, uint64_t squares_low)
{
	u128 squares = (u128)squares_high << 64 | squares_low;

	return isqrt128(n * squares - (u128)sum_ns * sum_ns);
}

static uint64_t window_scale_ns(const struct kphi_window *w)
{
	return scale_of(w->n, w->sum_ns, w->squares_high, w->squares_low);
}

uint64_t window_mean_ns(const struct kphi_window *w)
{
	return w->n ? w->sum_ns / w->n : 0;
}

uint64_t window_stddev_ns(const struct kphi_window *w)
{
	return w->n ? window_scale_ns(w) / w->n : 0;
}

uint64_t effective_min_std_ns(const struct kphi_window *w, const struct kphi_peer *p)
{
	uint64_t floor_ns = model_has_min_std(p->model) ? kphi_min_std(w, p) : 0;

	/* No standard deviation is larger than the longest interval, and n times this must fit 64 bits. */
	return floor_ns < KPHI_INTERVAL_MAX_NS ? floor_ns : KPHI_INTERVAL_MAX_NS;
}

uint64_t effective_pause_ns(const struct kphi_window *w, const struct kphi_peer *p)
{
	if (!model_has_pause(p->model))
		return 0;
	return p->set & KPHI_SET_PAUSE ? p->pause_ns : PAUSE_INTERVALS * w->interval_ns;
}

/* Of the window, of its intervals without loss, or of the seed if there are too few. */
bool estimate_moments(struct kphi_estimate *e, const struct kphi_window *w, const struct kphi_peer *p)
{
	uint64_t floor_ns;

	if (!w->interval_ns)
		return false;
	e->model = p->model;
	if (p->model == KPHI_MODEL_LOSS && w->clean_n >= 2) {
		e->n = w->clean_n;
		e->sum_ns = w->clean_sum_ns;
		e->scale_ns = scale_of(e->n, e->sum_ns, w->clean_squares_high, w->clean_squares_low);
	} else if (p->model != KPHI_MODEL_LOSS && w->n >= 2) {
		e->n = w->n;
		e->sum_ns = w->sum_ns;
		e->scale_ns = p->model == KPHI_MODEL_EXPONENTIAL ? 0 : window_scale_ns(w);
	} else {
		e->n = 1;
		e->sum_ns = w->interval_ns;
		e->scale_ns = w->interval_ns / SEED_STD_PER_INTERVAL;
	}
	floor_ns = e->n * effective_min_std_ns(w, p);
	if (e->scale_ns < floor_ns)
		e->scale_ns = floor_ns;
	if (!e->scale_ns)
		e->scale_ns = 1;
	return true;
}

static struct loss_process learn_losses(const struct kphi_losses *l)
{
	struct loss_process process;

	loss_process_learn(&process, l);
	return process;
}

void window_loss_ppm(const struct kphi_window *w, uint64_t *lost_ppm, uint64_t *again_ppm)
{
	struct loss_process process = learn_losses(&w->losses);

	*lost_ppm = div_floor((u128)process.lost * 1000000, process.beats);
	*again_ppm = div_floor((u128)process.again * 1000000, process.losses);
}

static void estimate_losses(struct kphi_estimate *e, const struct kphi_losses *l)
{
	struct loss_process process = learn_losses(l);

	loss_curve_fit(&e->loss, e->n, e->sum_ns, e->scale_ns, &process);
}

/* All but what the empirical model looks into its ring for. */
static bool estimate(struct kphi_estimate *e, const struct kphi_window *w, const struct kphi_peer *p,
		     const uint64_t *ring)
{
	if (!estimate_moments(e, w, p))
		return false;
	e->pause_ns = effective_pause_ns(w, p);
	e->ring = ring;
	if (p->model == KPHI_MODEL_LOSS)
		estimate_losses(e, &w->losses);
	else if (p->model == KPHI_MODEL_EMPIRICAL && (!ring || w->n < 2))
		empirical_seed(&e->empirical, w->interval_ns, effective_min_std_ns(w, p));
	return true;
}

bool estimate_from_window(struct kphi_estimate *e, const struct kphi_window *w, const struct kphi_peer *p,
			  const uint64_t *ring)
{
	if (!estimate(e, w, p, ring))
		return false;
	if (p->model == KPHI_MODEL_EMPIRICAL && ring && w->n >= 2)
		empirical_summarise(&e->empirical, ring, w->n, effective_min_std_ns(w, p));
	return true;
}

bool estimate_from_sorted(struct kphi_estimate *e, const struct kphi_window *w, const struct kphi_peer *p,
			  const uint64_t *sorted)
{
	if (!estimate(e, w, p, sorted))
		return false;
	if (p->model == KPHI_MODEL_EMPIRICAL && w->n >= 2)
		empirical_summarise_sorted(&e->empirical, sorted, w->n, w->sum_ns,
					   effective_min_std_ns(w, p));
	return true;
}

/*
 * z = (t - pause - sum / n) / sd = (n t - (n pause + sum)) / scale, rounded down. Moved up by Z40_LEAST it is
 * never negative, and one unsigned division does. The dividend stays below 2^118: n <= 2^12, and t and pause
 * < 2^64.
 */
static int64_t silence_to_z40(const struct kphi_estimate *e, uint64_t silence_ns)
{
	u128 heard = ((u128)e->n * silence_ns << Z40_FRACTION) + (u128)e->scale_ns * -Z40_LEAST;
	u128 expected = ((u128)e->n * e->pause_ns + e->sum_ns) << Z40_FRACTION;
	uint64_t above_least;

	if (heard < expected)
		return Z40_LEAST;
	above_least = div_floor(heard - expected, e->scale_ns);
	return above_least < Z40_MAX ? (int64_t)above_least + Z40_LEAST : Z40_MAX;
}

/*
 * The smallest t with silence_to_z40(t) >= z40. Both are integers and the quotient was rounded down, so
 * n t >= n pause + sum + ceil(z40 scale / 2^40), and t is that divided by n, rounded up.
 */
static uint64_t z40_to_silence(const struct kphi_estimate *e, int64_t z40)
{
	u128 expected = (u128)e->n * e->pause_ns + e->sum_ns;
	uint64_t distance = z40 < 0 ? -(uint64_t)z40 : (uint64_t)z40;
	u128 offset = (u128)distance * e->scale_ns;

	if (z40 < 0) {
		offset >>= Z40_FRACTION;
		return offset < expected ? div_ceil(expected - offset, e->n) : 0;
	}
	offset = (offset + Z40_ONE - 1) >> Z40_FRACTION;
	return div_ceil(expected + offset, e->n);
}

q32_t estimate_phi(const struct kphi_estimate *e, uint64_t silence_ns)
{
	switch (e->model) {
	case KPHI_MODEL_AKKA:
		return phi_akka(silence_to_z40(e, silence_ns));
	case KPHI_MODEL_EXPONENTIAL:
		return phi_exponential(silence_ns, e->n, e->sum_ns);
	case KPHI_MODEL_LOSS:
		return phi_loss(&e->loss, silence_ns);
	case KPHI_MODEL_EMPIRICAL:
		return phi_empirical(&e->empirical, e->ring, silence_ns);
	default:
		return phi_normal(silence_to_z40(e, silence_ns));
	}
}

static void threshold_prepare_model(struct threshold *t, q32_t phi, uint8_t model)
{
	t->phi = phi;
	if (!phi || phi > PHI_MAX || !model_has_pause(model)) /* those are the ones that judge by z */
		return;
	if (model == KPHI_MODEL_AKKA)
		t->z40[KPHI_MODEL_AKKA] = phi_akka_inverse(phi);
	else
		t->z40[KPHI_MODEL_NORMAL] = phi_normal_inverse(phi);
}

void threshold_prepare(struct threshold *t, q32_t phi)
{
	*t = (struct threshold){.phi = phi};
	for (unsigned model = 0; model < KPHI_MODELS; model++)
		threshold_prepare_model(t, phi, (uint8_t)model);
}

void threshold_prepare_for(struct threshold *t, q32_t phi, uint8_t model)
{
	*t = (struct threshold){0};
	threshold_prepare_model(t, phi, model);
}

uint64_t estimate_silence_at(const struct kphi_estimate *e, const struct threshold *t)
{
	if (!t->phi)
		return 0;
	if (t->phi > PHI_MAX)
		return UINT64_MAX;
	switch (e->model) {
	case KPHI_MODEL_AKKA:
		return z40_to_silence(e, t->z40[KPHI_MODEL_AKKA]);
	case KPHI_MODEL_EXPONENTIAL:
		return phi_exponential_inverse(t->phi, e->n, e->sum_ns);
	case KPHI_MODEL_LOSS:
		return phi_loss_inverse(&e->loss, t->phi);
	case KPHI_MODEL_EMPIRICAL:
		return phi_empirical_inverse(&e->empirical, e->ring, t->phi);
	default:
		return z40_to_silence(e, t->z40[KPHI_MODEL_NORMAL]);
	}
}

uint64_t estimate_silence(const struct kphi_estimate *e, q32_t threshold)
{
	struct threshold t;

	threshold_prepare_for(&t, threshold, e->model);
	return estimate_silence_at(e, &t);
}
