// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One silence under every model, and what may not be made of the figures. */
#include <stdio.h>
#include <string.h>

#include "cmd/peer_explain.h"
#include "io/format.h"

#define TITLE_SIZE (FORMAT_SIZE + 8)

/* One table is as wide as a terminal; the second has the same rows, counted from another moment. */
enum counted { AFTER_LAST_BEAT, FROM_NOW };

/* "PHI 8", "PHI 2.5" */
static const char *threshold_title(q32_t phi, char title[TITLE_SIZE])
{
	char number[FORMAT_SIZE];
	size_t length;

	format_q32(phi, 9, number);
	length = strlen(number);
	while (number[length - 1] == '0')
		length--;
	length -= number[length - 1] == '.';
	snprintf(title, TITLE_SIZE, "PHI %.*s", (int)length, number);
	return title;
}

/* "in 106ms", "1.84s ago" */
static void say_when(struct out *o, const char *title, uint64_t silence_ns, uint64_t reach_ns)
{
	char time[FORMAT_SIZE], text[FORMAT_SIZE + 8];
	bool reached = reach_ns <= silence_ns;

	format_duration(reached ? silence_ns - reach_ns : reach_ns - silence_ns, time);
	snprintf(text, sizeof(text), reached ? "%s ago" : "in %s", time);
	out_bool(o, "reached", NULL, reached);
	if (reached)
		out_null(o, "in_ns", NULL);
	else
		out_u64(o, "in_ns", NULL, reach_ns - silence_ns);
	if (reached)
		out_u64(o, "ago_ns", NULL, silence_ns - reach_ns);
	else
		out_null(o, "ago_ns", NULL);
	out_string(o, "when", title, text);
}

static void say_never(struct out *o, const char *after, const char *when)
{
	out_null(o, "silence_ns", NULL);
	out_null(o, "after_last_beat_ns", after);
	out_bool(o, "reached", NULL, false);
	out_null(o, "in_ns", NULL);
	out_null(o, "ago_ns", NULL);
	out_string(o, "when", when, "never");
}

/* What is discounted of the silence comes on top, counted from the last beat. */
static void say_crossing(struct out *o, const struct view *v, q32_t threshold, uint64_t reach_ns,
			 enum counted counted)
{
	char title[TITLE_SIZE];
	const char *after = counted == AFTER_LAST_BEAT ? threshold_title(threshold, title) : NULL;
	const char *when = counted == FROM_NOW ? threshold_title(threshold, title) : NULL;
	uint64_t after_ns;

	out_open_object(o, NULL);
	out_q32(o, "threshold", NULL, threshold);
	if (reach_ns == UINT64_MAX || __builtin_add_overflow(reach_ns, v->discount_ns, &after_ns)) {
		say_never(o, after, when);
	} else {
		out_duration(o, "silence_ns", NULL, reach_ns);
		out_duration(o, "after_last_beat_ns", after, after_ns);
		say_when(o, when, v->opinion.silence_ns, reach_ns);
	}
	out_close_object(o);
}

/* Never 0% and never 100%: nothing is certain by this rule. */
static void say_posterior(struct out *o, uint32_t prior_ppb, q32_t phi, const char *title)
{
	double posterior;
	char text[32];

	if (!prior_ppb) {
		out_null(o, "posterior", NULL);
		return;
	}
	posterior = prior_posterior(prior_ppb, phi);
	if (posterior < 0.0001)
		snprintf(text, sizeof(text), "<0.01%%");
	else if (posterior > 0.9999)
		snprintf(text, sizeof(text), ">99.99%%");
	else
		snprintf(text, sizeof(text), "%.2f%%", posterior * 100);
	out_q32(o, "posterior", NULL, (uint64_t)(posterior * (double)Q32_ONE + 0.5));
	out_string(o, "posterior_percent", title, text);
}

static void say_model(struct out *o, const struct explain *x, uint8_t model, enum counted counted)
{
	const struct explain_model *m = &x->models[model];
	bool first = counted == AFTER_LAST_BEAT;

	out_open_row(o);
	out_string(o, "model", "MODEL", model_name(model));
	out_bool(o, "own", "OWN", model == x->view.peer.model);
	out_q32(o, "phi", first ? "PHI NOW" : NULL, m->phi);
	say_posterior(o, x->prior_ppb, m->phi, first ? "FAILED" : NULL);
	out_open_array(o, "thresholds");
	for (size_t i = 0; i < x->thresholds.n; i++)
		say_crossing(o, &x->view, x->thresholds.at[i].phi, m->reach_ns[i], counted);
	out_close_array(o);
	out_close_row(o);
}

static void say_table(struct out *o, const struct explain *x, enum counted counted)
{
	out_open_table(o, "models");
	for (unsigned model = 0; x->view.opinion.judged && model < KPHI_MODELS; model++)
		say_model(o, x, (uint8_t)model, counted);
	out_close_table(o);
}

static void say_prior(struct out *o, const struct explain *x)
{
	char text[640], prior[32];

	if (!x->prior_ppb) {
		out_null(o, "prior", NULL);
		explain_prose(o, "bayes",
			      "Phi alone is not a failure probability: it tells how rare such a silence is "
			      "while the peer lives. `prior P` says what follows from it.");
		return;
	}
	out_q32(o, "prior", NULL, (((uint64_t)x->prior_ppb << 32) + 500000000) / 1000000000);
	snprintf(text, sizeof(text),
		 "Phi alone is not a failure probability: it tells how rare such a silence is while the peer "
		 "lives. FAILED is Bayes' rule, P(failed | silent) = p/(p+(1-p)10^-phi), for a peer "
		 "that had failed by now with a chance of p = %s before its silence was looked at. It is as "
		 "good as p, and as the model.",
		 prior_format(x->prior_ppb, prior, sizeof(prior)));
	explain_prose(o, "bayes", text);
}

void explain_say_models(struct out *o, const struct explain *x)
{
	bool judged = x->view.opinion.judged;

	if (judged)
		out_text(o, "\nThis silence under every model, and how long after the last beat each would\n"
			    "reach a threshold, if nothing arrives:\n\n");
	say_table(o, x, AFTER_LAST_BEAT);
	if (judged && x->text) {
		out_text(o, "\nThe same thresholds, counted from now:\n\n");
		say_table(o, x, FROM_NOW);
	}
	if (!judged) {
		out_null(o, "ranking", NULL);
		out_null(o, "prior", NULL);
		out_null(o, "bayes", NULL);
		return;
	}
	out_text(o, "\n");
	explain_prose(
		o, "ranking",
		"A threshold has meaning only with its model: phi 8 of one is not phi 8 of another, and "
		"the model with the higher figure is not more certain. The order of the rows is fixed "
		"and ranks nothing.");
	out_text(o, "\n");
	say_prior(o, x);
}
