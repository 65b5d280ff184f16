/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the models are worth, on simulated paths: how often silence really exceeded a phi, and how soon a
 * crash is detected when all detectors make equally many mistakes.
 *
 * On one path every detector that thresholds silence can be set to make the same mistakes. So each has one
 * threshold for all paths here, and the mistakes and detection times of all paths are pooled. A mistake is an
 * interval at whose end phi, by the window before it, had reached the threshold; the rate of mistakes is per
 * beat heard. Detection time is from the crash, which comes at any moment alike, to the threshold. The same
 * beats are simulated twice: once to find the thresholds, once to ask when they are reached.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kphi/window.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/models.h"
#include "random.h"

#define MS         1000000ULL
#define INTERVAL   (100 * MS)
#define MIN_STD    (10 * MS)
#define CAP        (10 * INTERVAL) /* what is longer is not learned */
#define WINDOW     1000
#define BEATS      150000 /* sent, per path */
#define WARM       100 /* intervals heard before anything is judged */
#define SAMPLE     1000 /* beats between two looks at when a threshold would be reached */
#define QUIET      (115 * MS) /* no model says phi 2 at this silence, and no threshold below is that low */
#define HONEST_MAX 8
#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))

/* --- paths
 * ----------------------------------------------------------------------------------------------------- */

enum jitter {
	SMALL, /* the delay's standard deviation is 0.6 ms */
	LARGE, /* 10 ms */
	SKEWED, /* exponential, mean 20 ms; packets keep their order */
	JITTERS,
};

static const char *const jitter_names[JITTERS] = {"0.6 ms", "10 ms", "20 ms exp"};

/* Beats lost, all told, and how likely a lost one is followed by another; pauses per beat sent. */
struct path {
	double loss, again, pause;
	enum jitter jitter;
};

static const struct path lossy[] = {
	{0, 0, 0, SMALL},          {0.001, 0.001, 0, SMALL}, {0.01, 0.01, 0, SMALL},
	{0.05, 0.05, 0, SMALL},    {0.001, 0.5, 0, SMALL},   {0.01, 0.5, 0, SMALL},
	{0.05, 0.5, 0, SMALL},     {0, 0, 0, LARGE},         {0.001, 0.001, 0, LARGE},
	{0.01, 0.01, 0, LARGE},    {0.05, 0.05, 0, LARGE},   {0.001, 0.5, 0, LARGE},
	{0.01, 0.5, 0, LARGE},     {0.05, 0.5, 0, LARGE},    {0, 0, 0, SKEWED},
	{0.001, 0.001, 0, SKEWED}, {0.01, 0.01, 0, SKEWED},  {0.05, 0.05, 0, SKEWED},
	{0.001, 0.5, 0, SKEWED},   {0.01, 0.5, 0, SKEWED},   {0.05, 0.5, 0, SKEWED},
};

/* Like a garbage collector: after one beat in fifty nothing is sent for 800 ms. */
static const struct path pausing[] = {{0, 0, 0.02, SMALL}, {0, 0, 0.02, LARGE}, {0.01, 0.01, 0.02, SMALL}};

struct sender {
	const struct path *path;
	uint64_t random;
	double sent_ns, arrived_ns;
	bool lost; /* the last beat */
};

static double uniform(uint64_t *random)
{
	return ((double)(random_bits(random) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *random)
{
	return sqrt(-2 * log(uniform(random))) * cos(2 * M_PI * uniform(random));
}

static double delay(struct sender *s)
{
	switch (s->path->jitter) {
	case SMALL:
		return fabs(normal(&s->random)) * 1e6;
	case LARGE:
		return fmax(40e6 + normal(&s->random) * 1e7, 0);
	default:
		return -log(uniform(&s->random)) * 2e7;
	}
}

/* Sends one beat; whether it arrives, and if so after which interval. The loss process is Gilbert's. */
static bool send_beat(struct sender *s, uint64_t *interval_ns)
{
	const struct path *path = s->path;
	double lost = s->lost ? path->again : path->loss * (1 - path->again) / (1 - path->loss);
	double at;

	s->sent_ns += uniform(&s->random) < path->pause ? 800e6 : (double)INTERVAL;
	s->lost = uniform(&s->random) < lost;
	if (s->lost)
		return false;
	at = fmax(s->sent_ns + delay(s), s->arrived_ns);
	*interval_ns = (uint64_t)(at - s->arrived_ns);
	s->arrived_ns = at;
	return true;
}

/* --- the window
 * ------------------------------------------------------------------------------------------------ */

struct window {
	struct kphi_window window;
	uint64_t ring[KPHI_RING_SIZE(WINDOW)];
};

static void window_add(struct window *w, uint64_t interval_ns, uint64_t steps)
{
	kphi_window_add(&w->window, w->ring, WINDOW, kphi_ring_entry(interval_ns, steps));
	kphi_losses_take(&w->window.losses, steps);
}

/* --- detectors
 * ------------------------------------------------------------------------------------------------- */

enum detector {
	LOSS,
	EMPIRICAL,
	NORMAL_PAUSE,
	NORMAL,
	AKKA_PAUSE,
	EXPONENTIAL,
	FIXED,
	DETECTORS,
};

static const char *const detector_names[DETECTORS] = {
	"loss", "empirical", "normal, pause 3", "normal, pause 0", "akka, pause 3", "exponential", "fixed",
};

/* By enum detector: all but the fixed timeout are the product's models, and these settings. */
static const struct kphi_peer settings[DETECTORS] = {
	[LOSS] = {.model = KPHI_MODEL_LOSS, .min_std_ns = MIN_STD, .set = KPHI_SET_MIN_STD},
	[EMPIRICAL] = {.model = KPHI_MODEL_EMPIRICAL, .min_std_ns = MIN_STD, .set = KPHI_SET_MIN_STD},
	[NORMAL_PAUSE] = {.min_std_ns = MIN_STD, .set = KPHI_SET_MIN_STD},
	[NORMAL] = {.min_std_ns = MIN_STD, .set = KPHI_SET_MIN_STD | KPHI_SET_PAUSE},
	[AKKA_PAUSE] = {.model = KPHI_MODEL_AKKA, .min_std_ns = MIN_STD, .set = KPHI_SET_MIN_STD},
	[EXPONENTIAL] = {.model = KPHI_MODEL_EXPONENTIAL},
};

/* A window made ready for all of them. */
struct judge {
	struct kphi_estimate estimate[DETECTORS];
};

static void judge_prepare(struct judge *j, const struct window *w)
{
	for (enum detector d = 0; d < FIXED; d++)
		assert_true(estimate_from_window(&j->estimate[d], &w->window, &settings[d], w->ring));
}

/* Phi; of the fixed timeout, the time. */
static uint64_t judge_score(const struct judge *j, enum detector d, uint64_t silence_ns)
{
	return d == FIXED ? silence_ns : estimate_phi(&j->estimate[d], silence_ns);
}

static uint64_t judge_silence(const struct judge *j, enum detector d, uint64_t threshold)
{
	return d == FIXED ? threshold : estimate_silence(&j->estimate[d], threshold);
}

/* --- simulation
 * ------------------------------------------------------------------------------------------------ */

#define RATES 3

static const double rates[RATES] = {1e-3, 1e-4, 1e-5};

struct result {
	uint64_t *score[DETECTORS]; /* of every interval that is not quiet */
	size_t scores;
	double heard, sum, squares; /* intervals that were judged */
	uint64_t exceeded[DETECTORS][HONEST_MAX + 1]; /* how often phi was reached */
	uint64_t threshold[DETECTORS][RATES];
	double silence[DETECTORS][RATES]; /* sums over the samples */
	double samples;
};

static void take_score(struct result *r, const struct window *w, uint64_t interval_ns)
{
	struct judge judge;

	r->heard++;
	r->sum += (double)interval_ns;
	r->squares += (double)interval_ns * (double)interval_ns;
	if (interval_ns < QUIET)
		return;
	judge_prepare(&judge, w);
	for (enum detector d = 0; d < DETECTORS; d++) {
		uint64_t score = judge_score(&judge, d, interval_ns);

		r->score[d][r->scores] = score;
		for (uint64_t phi = 1; phi <= HONEST_MAX && score >= phi * Q32_ONE; phi++)
			r->exceeded[d][phi]++;
	}
	r->scores++;
}

static void take_sample(struct result *r, const struct window *w)
{
	struct judge judge;

	judge_prepare(&judge, w);
	for (enum detector d = 0; d < DETECTORS; d++)
		for (int rate = 0; rate < RATES; rate++)
			r->silence[d][rate] += (double)judge_silence(&judge, d, r->threshold[d][rate]);
	r->samples++;
}

static void run_path(struct result *r, const struct path *path, uint64_t seed, bool sampling)
{
	struct sender sender = {.path = path, .random = seed};
	struct window w = {.window.interval_ns = INTERVAL};
	uint64_t interval_ns, steps = 0;

	for (unsigned beat = 0; beat < BEATS; beat++) {
		steps++;
		if (sampling && w.window.n >= WARM && beat % SAMPLE == 0)
			take_sample(r, &w);
		if (!send_beat(&sender, &interval_ns))
			continue;
		if (w.window.n >= WARM && !sampling)
			take_score(r, &w, interval_ns);
		if (interval_ns <= CAP && beat)
			window_add(&w, interval_ns, steps);
		steps = 0;
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The least thresholds at which the mistakes are not more than the rates allow; 0 if that is below QUIET. */
static void find_thresholds(struct result *r)
{
	for (enum detector d = 0; d < DETECTORS; d++) {
		qsort(r->score[d], r->scores, sizeof(r->score[d][0]), by_size);
		for (int rate = 0; rate < RATES; rate++) {
			size_t allowed = (size_t)(rates[rate] * r->heard);

			r->threshold[d][rate] = allowed < r->scores ? r->score[d][allowed] + 1 : 0;
		}
	}
}

static void simulate(struct result *r, const struct path *paths, size_t count)
{
	memset(r, 0, sizeof(*r));
	for (enum detector d = 0; d < DETECTORS; d++) {
		r->score[d] = malloc(count * BEATS * sizeof(r->score[d][0]));
		assert_non_null(r->score[d]);
	}
	for (size_t i = 0; i < count; i++)
		run_path(r, &paths[i], i + 1, false);
	find_thresholds(r);
	for (size_t i = 0; i < count; i++)
		run_path(r, &paths[i], i + 1, true);
	for (enum detector d = 0; d < DETECTORS; d++)
		free(r->score[d]);
}

/* In ms, from the crash: at any moment the silence has lasted the mean of x^2 / 2 over the mean of x already.
 */
static double detection_ms(const struct result *r, enum detector d, int rate)
{
	return (r->silence[d][rate] / r->samples - r->squares / r->sum / 2) / (double)MS;
}

/* How often silence reached this phi, as a multiple of what it should be. */
static double honesty(const struct result *r, enum detector d, unsigned phi)
{
	return (double)r->exceeded[d][phi] / r->heard * pow(10, phi);
}

static void print_result(const struct result *r, const char *title)
{
	print_message("# %s, %d beats of 100 ms each\n# %-15s", title, BEATS, "mistakes a beat:");
	for (int rate = 0; rate < RATES; rate++)
		print_message("  %16.0e", rates[rate]);
	print_message("   silence beyond phi 2, 3 ... %d, times 10^phi\n", HONEST_MAX);
	for (enum detector d = 0; d < DETECTORS; d++) {
		print_message("# %-15s", detector_names[d]);
		for (int rate = 0; rate < RATES; rate++)
			print_message("  %5.0f ms (%5.1f)", detection_ms(r, d, rate),
				      d == FIXED ? 0 : (double)r->threshold[d][rate] / (double)Q32_ONE);
		for (unsigned phi = 2; d != FIXED && phi <= HONEST_MAX; phi++)
			print_message(" %8.2g", honesty(r, d, phi));
		print_message("\n");
	}
}

/* --- tests
 * ----------------------------------------------------------------------------------------------------- */

static struct result pooled;

static int simulate_lossy(void **state)
{
	(void)state;
	simulate(&pooled, lossy, COUNT(lossy));
	print_result(&pooled, "21 lossy paths");
	return 0;
}

/*
 * A fifth faster than all of them, but for one: a normal model without a pause, at a threshold of 21, is
 * nearly as fast at one mistake in a thousand beats, because it makes most of them on the paths that lose a
 * twentieth of the beats, where not to make them takes longest. The paths do not depend on chance, but on the
 * mathematical library a little: hence the margins.
 */
static void loss_is_faster_at_equal_mistakes(void **state)
{
	(void)state;
	for (int rate = 0; rate < RATES; rate++)
		for (enum detector d = NORMAL_PAUSE; d < DETECTORS; d++) {
			double ratio = detection_ms(&pooled, LOSS, rate) / detection_ms(&pooled, d, rate);

			print_message("# at %.0e: loss detects %2.0f %% sooner than %s\n", rates[rate],
				      100 - 100 * ratio, detector_names[d]);
			assert_true(ratio < (d == NORMAL && rate == 0 ? 1 : 0.8));
		}
}

/* From phi 2 to phi 5, within a factor of ten; the witness is a model that is not. */
static void loss_is_honest(void **state)
{
	(void)state;
	for (unsigned phi = 2; phi <= 5; phi++) {
		assert_true(honesty(&pooled, LOSS, phi) < 10);
		assert_true(honesty(&pooled, LOSS, phi) > 0.1);
	}
	assert_true(honesty(&pooled, NORMAL, 5) > 100);
}

/* On a single path nothing is to be won; what may be lost is printed. */
static void each_path_alone(void **state)
{
	static struct result r;

	(void)state;
	print_message("# detection time of loss, and of the best other one, at 1e-3 and 1e-4; loss beyond "
		      "phi 2 ... "
		      "5, times 10^phi\n");
	for (size_t i = 0; i < COUNT(lossy); i++) {
		simulate(&r, &lossy[i], 1);
		print_message("# loss %4.1f %% (bursts of %.1f), jitter %-9s", 100 * lossy[i].loss,
			      1 / (1 - lossy[i].again), jitter_names[lossy[i].jitter]);
		for (int rate = 0; rate < 2; rate++) {
			enum detector best = NORMAL_PAUSE;

			for (enum detector d = NORMAL_PAUSE; d < DETECTORS; d++)
				if (r.silence[d][rate] < r.silence[best][rate])
					best = d;
			if (r.threshold[LOSS][rate])
				print_message("  %4.0f ms, %4.0f (%-14s)", detection_ms(&r, LOSS, rate),
					      detection_ms(&r, best, rate), detector_names[best]);
			else
				print_message("  %31s", "(below 115 ms)");
		}
		for (unsigned phi = 2; phi <= 5; phi++)
			print_message(" %7.2g", honesty(&r, LOSS, phi));
		print_message("\n");
	}
}

/* Pauses that are a fiftieth of the beats are beyond phi 8 to a bell curve, and usual to their own window. */
static void pauses_are_for_the_empirical_model(void **state)
{
	static struct result r;

	(void)state;
	simulate(&r, pausing, COUNT(pausing));
	print_result(&r, "3 senders that pause for 800 ms after one beat in fifty");
	assert_true(r.exceeded[NORMAL][8] > r.heard / 1000);
	for (unsigned phi = 2; phi <= 5; phi++)
		assert_true(honesty(&r, EMPIRICAL, phi) < 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss_is_faster_at_equal_mistakes),
		cmocka_unit_test(loss_is_honest),
		cmocka_unit_test(each_path_alone),
		cmocka_unit_test(pauses_are_for_the_empirical_model),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("quality", tests, simulate_lossy, NULL);
}
