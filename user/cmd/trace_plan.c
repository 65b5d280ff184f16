// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who is to judge a trace, as people type it: model normal,akka threshold 5,8 detector bfd:3:5,chen:500ms */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/trace_replay.h"
#include "core/policy.h"
#include "io/parse.h"
#include "run/config.h"

#define OWN       "own"
#define LIST_MAX  64
#define NAMES_MAX 256

/* The words of a list, one after the other; 1, 0 at the end, -EINVAL for an empty or a long one. */
static int next_word(const char **text, const char *separators, char word[NAMES_MAX])
{
	size_t length;

	if (!*text)
		return 0;
	length = strcspn(*text, separators);
	if (!length || length >= NAMES_MAX)
		return -EINVAL;
	memcpy(word, *text, length);
	word[length] = '\0';
	*text = (*text)[length] ? *text + length + 1 : NULL;
	return 1;
}

static int bad_list(const char *where, const char *what, const char *text)
{
	fail("%s: %s: " QUOTED " is no list: write words with single commas between them", where, what, text);
	return -EINVAL;
}

static int too_many(const char *where)
{
	fail("%s: more than %d models and detectors with their thresholds at once", where,
	     REPLAY_CONTENDERS_MAX);
	return -EINVAL;
}

/* "normal, akka, exponential" */
static const char *all_models(char text[NAMES_MAX])
{
	size_t length = 0;

	*text = '\0';
	for (int i = 0; i < KPHI_MODELS && length < NAMES_MAX; i++)
		length += (size_t)snprintf(text + length, NAMES_MAX - length, "%s%s", i ? ", " : "",
					   model_names[i]);
	return text;
}

static const char *all_detectors(char text[NAMES_MAX])
{
	size_t length = 0;

	*text = '\0';
	for (size_t i = 0; detectors[i] && length < NAMES_MAX; i++)
		length += (size_t)snprintf(text + length, NAMES_MAX - length, "%s%s", i ? ", " : "",
					   detectors[i]->name);
	return text;
}

static int read_model(const char *where, const char *word, bool own, int *model)
{
	char names[NAMES_MAX];

	*model = own && !strcmp(word, OWN) ? REPLAY_OWN_MODEL : model_by_name(word);
	if (*model >= 0 || (own && !strcmp(word, OWN)))
		return 0;
	fail("%s: model: " QUOTED " is unknown: there are %s%s", where, word, all_models(names),
	     own ? ", and own for what each peer was given" : "");
	return -EINVAL;
}

int trace_read_models(const char *where, const char *text, int models[KPHI_MODELS + 1])
{
	const char *list = text;
	char word[NAMES_MAX];
	int got, n = 0;

	for (; !text && n < KPHI_MODELS; n++)
		models[n] = n;
	while ((got = next_word(&text, ",", word)) > 0) {
		if (n == KPHI_MODELS + 1)
			return too_many(where);
		if (read_model(where, word, false, &models[n++]))
			return -EINVAL;
	}
	return got ? bad_list(where, "model", list) : n;
}

static int read_thresholds(const char *where, const char *text, q32_t thresholds[LIST_MAX])
{
	const char *list = text;
	char word[NAMES_MAX], why[WHY_SIZE];
	int got, n = 0;

	if (!text) {
		thresholds[0] = POLICY_SUSPECT;
		return 1;
	}
	while ((got = next_word(&text, ",", word)) > 0) {
		if (n == LIST_MAX)
			return too_many(where);
		if (config_threshold(word, &thresholds[n++], why, sizeof(why))) {
			fail("%s: threshold: %s", where, why);
			return -EINVAL;
		}
	}
	return got ? bad_list(where, "threshold", list) : n;
}

static int plan_models(struct replay_plan *plan, const char *where, const char *models,
		       const char *thresholds)
{
	const char *list = models;
	q32_t threshold[LIST_MAX];
	char word[NAMES_MAX];
	int model, got, n = read_thresholds(where, thresholds, threshold);

	if (n < 0)
		return n;
	while ((got = next_word(&models, ",", word)) > 0) {
		if (read_model(where, word, true, &model))
			return -EINVAL;
		if (replay_plan_model(plan, model, threshold, (uint32_t)n))
			return too_many(where);
	}
	return got ? bad_list(where, "model", list) : 0;
}

/* A time with its unit, or a number. */
static int read_parameter(const struct detector *d, const char *word, double *parameter, char *why,
			  size_t size)
{
	uint64_t ns;
	char *end;
	int err;

	if (d->unit == DETECTOR_TIME) {
		err = parse_duration(word, 0, KPHI_INTERVAL_MAX_NS, &ns, why, size);
		*parameter = err ? 0 : (double)ns;
		return err;
	}
	*parameter = strtod(word, &end);
	if (*end || end == word || !isfinite(*parameter) || *parameter < 0)
		return refuse(-EINVAL, why, size, QUOTED " is no number", word);
	return 0;
}

/* NAME[:PARAMETER]... */
static int plan_detector(struct replay_plan *plan, const char *where, const char *text)
{
	char word[NAMES_MAX], names[NAMES_MAX], why[WHY_SIZE];
	const struct detector *d;
	double parameter[LIST_MAX];
	int got = next_word(&text, ":", word), n = 0;

	d = got > 0 ? detector_by_name(word) : NULL;
	if (!d) {
		fail("%s: detector: " QUOTED " is unknown: there are %s", where, word, all_detectors(names));
		return -EINVAL;
	}
	while ((got = next_word(&text, ":", word)) > 0) {
		if (n == LIST_MAX)
			return too_many(where);
		if (read_parameter(d, word, &parameter[n++], why, sizeof(why))) {
			fail("%s: detector %s: %s: %s", where, d->name, d->parameter, why);
			return -EINVAL;
		}
	}
	if (!n)
		parameter[n++] = d->usual;
	if (got || !parameter[0]) {
		fail("%s: detector: %s needs its %s: write %s:%s", where, d->name, d->parameter, d->name,
		     d->unit == DETECTOR_TIME ? "500ms" : "8");
		return -EINVAL;
	}
	return replay_plan_detector(plan, d, parameter, (uint32_t)n) ? too_many(where) : 0;
}

int trace_read_plan(struct replay_plan *plan, const char *where, const char *models, const char *thresholds,
		    const char *yardsticks)
{
	const char *list = yardsticks;
	char word[NAMES_MAX];
	int got, err;

	if (models || thresholds || !yardsticks) {
		err = plan_models(plan, where, models ? models : OWN, thresholds);
		if (err)
			return err;
	}
	while ((got = next_word(&yardsticks, ",", word)) > 0) {
		err = plan_detector(plan, where, word);
		if (err)
			return err;
	}
	return got ? bad_list(where, "detector", list) : 0;
}
