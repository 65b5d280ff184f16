// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads a scenario script. */
#include "scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/models.h"

static char problem[512];

static const char *wrong(const struct script *s, const struct line *l, const char *what)
{
	snprintf(problem, sizeof(problem), "%s:%u: %s: %s", s->path, l->number, what, l->text);
	return problem;
}

bool word_is(const struct line *l, uint32_t at, const char *word)
{
	return at < l->words && l->word[at] && !strcmp(l->word[at], word);
}

bool word_time(const char *word, int64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1},   {"us", 1e3},   {"ms", 1e6},   {"s", 1e9},
		     {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
	char *end;
	double value = strtod(word, &end);

	if (end == word)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].unit)) {
			*ns = llround(value * units[i].ns);
			return true;
		}
	return false;
}

double word_percent(const char *word)
{
	char *end;
	double value = strtod(word, &end);

	return strcmp(end, "%") ? -1 : value;
}

/* The word after `key`, from word `at` on; NULL: there is none. */
static const char *value_of(const struct line *l, uint32_t at, const char *key)
{
	for (; at + 1 < l->words; at++)
		if (word_is(l, at, key))
			return l->word[at + 1];
	return NULL;
}

static bool has(const struct line *l, const char *word)
{
	for (uint32_t i = 0; i < l->words; i++)
		if (word_is(l, i, word))
			return true;
	return false;
}

static uint64_t time_of(const struct line *l, const char *key, uint64_t otherwise)
{
	const char *word = value_of(l, 0, key);
	int64_t ns;

	return word && word_time(word, &ns) && ns >= 0 ? (uint64_t)ns : otherwise;
}

static uint32_t number_of(const struct line *l, const char *key, uint32_t otherwise)
{
	const char *word = value_of(l, 0, key);

	return word ? (uint32_t)strtoul(word, NULL, 10) : otherwise;
}

static q32_t phi_of(const struct line *l, const char *key)
{
	const char *word = value_of(l, 0, key);

	return word ? (q32_t)llround(strtod(word, NULL) * (double)Q32_ONE) : 0;
}

static void cut(struct line *l)
{
	char *rest = l->cut, *word;

	memcpy(l->cut, l->text, sizeof(l->cut));
	l->words = 0;
	while (l->words < SCENARIO_WORDS && (word = strsep(&rest, " \t")))
		if (*word)
			l->word[l->words++] = word;
	for (uint32_t i = l->words; i <= SCENARIO_WORDS; i++)
		l->word[i] = "";
}

/* consumer NAME suspect PHI clear PHI [min_samples N] [peers PATTERN] [correlated off] [shadow] */
static const char *read_consumer(struct script *s, const struct line *l)
{
	struct consumer *c = &s->config.consumer[s->config.consumers];
	const char *peers = value_of(l, 2, "peers");

	if (s->config.consumers == ENGINE_CONSUMERS)
		return wrong(s, l, "too many consumers");
	snprintf(c->name, sizeof(c->name), "%s", l->word[1]);
	c->suspect = phi_of(l, "suspect");
	c->clear = phi_of(l, "clear");
	c->min_samples = number_of(l, "min_samples", 0);
	c->correlated = !value_of(l, 2, "correlated");
	c->shadow = has(l, "shadow");
	if (!c->suspect || !c->clear)
		return wrong(s, l, "suspect and clear are needed");
	snprintf(s->consumer_peers[s->config.consumers++], sizeof(s->consumer_peers[0]), "%s",
		 peers ? peers : "*");
	return NULL;
}

/* peer NAME [xN] interval D [real D] [model M] [jitter P%] [lost P% [burst N]] [phase D] [cpu N] [dev N]
 * [pause D] [min_std D] [cap D] [rule [sequence BITS] | any_source | bfd [local_rx D]] [absent]; `interval
 * 0s`: it learns it. With xN they are NAME1 to NAMEN, spread evenly over the interval. */
static const char *read_peer(struct script *s, const struct line *l)
{
	uint32_t count = l->word[2][0] == 'x' ? (uint32_t)strtoul(l->word[2] + 1, NULL, 10) : 0;
	const char *model = value_of(l, 2, "model"), *jitter = value_of(l, 2, "jitter");
	const char *lost = value_of(l, 2, "lost");
	struct peer_spec p = {
		.interval_ns = time_of(l, "interval", UINT64_MAX),
		.real_ns = time_of(l, "real", time_of(l, "interval", 0)),
		.pause_ns = time_of(l, "pause", 0),
		.min_std_ns = time_of(l, "min_std", 0),
		.cap_ns = time_of(l, "cap", 0),
		.jitter_ppm = jitter ? (uint32_t)lround(word_percent(jitter) * 1e4) : 0,
		.lost_ppm = lost ? (uint32_t)lround(word_percent(lost) * 1e4) : 0,
		.burst = number_of(l, "burst", 1),
		.cpu = number_of(l, "cpu", 0),
		.device = number_of(l, "dev", 1),
		.model = model ? (uint8_t)model_by_name(model) : 0,
		.set = (uint8_t)((value_of(l, 2, "pause") ? KPHI_SET_PAUSE : 0) |
				 (value_of(l, 2, "min_std") ? KPHI_SET_MIN_STD : 0)),
		.rule = has(l, "rule") || has(l, "any_source") || has(l, "bfd"),
		.absent = has(l, "absent"),
		.sequence_bits = (uint8_t)number_of(l, "sequence", 0),
		.bfd = has(l, "bfd"),
		.any_source = has(l, "any_source"),
		.local_rx_ns = time_of(l, "local_rx", 0),
	};

	if (p.interval_ns == UINT64_MAX || !p.real_ns || p.model >= KPHI_MODELS || !p.burst ||
	    p.lost_ppm > 500000 || p.cpu >= SCENARIO_CPUS || !p.device || p.device >= SCENARIO_DEVICES)
		return wrong(s, l, "a peer cannot be so");
	if (p.real_ns < p.local_rx_ns) /* RFC 5880, 6.8.2 */
		p.real_ns = p.local_rx_ns;
	for (uint32_t i = 0; i < (count ? count : 1); i++) {
		if (s->peers == SCENARIO_PEERS)
			return wrong(s, l, "too many peers");
		p.phase_ns = time_of(l, "phase", count ? i * p.real_ns / count : 0);
		if (count)
			snprintf(p.name, sizeof(p.name), "%.40s%u", l->word[1], i + 1);
		else
			snprintf(p.name, sizeof(p.name), "%.40s", l->word[1]);
		s->peer[s->peers++] = p;
	}
	return NULL;
}

/* guard [correlated FRACTION] [min N] [hold_max D] [ttl D] */
static const char *read_guard(struct script *s, const struct line *l)
{
	const char *fraction = value_of(l, 1, "correlated");

	if (fraction)
		s->config.correlated_ppm = (uint32_t)lround(strtod(fraction, NULL) * 1e6);
	s->config.correlated_min = number_of(l, "min", s->config.correlated_min);
	s->config.hold_max_ns = time_of(l, "hold_max", s->config.hold_max_ns);
	s->config.verdict_ttl_ns = time_of(l, "ttl", s->config.verdict_ttl_ns);
	return NULL;
}

/* at T [every D until T] VERB ... */
static const char *read_action(const struct script *s, struct action *a, const struct line *l)
{
	int64_t at, every = 0, until = 0;

	a->line = *l;
	cut(&a->line); /* its words are its own */
	a->first = 2;
	if (!word_time(l->word[1], &at))
		return wrong(s, l, "this is no time");
	if (word_is(l, 2, "every")) {
		if (!word_time(l->word[3], &every) || every <= 0 || !word_is(l, 4, "until") ||
		    !word_time(l->word[5], &until))
			return wrong(s, l, "every D until T");
		a->first = 6;
	}
	a->at_ns = SCENARIO_EPOCH_NS + (uint64_t)at;
	a->every_ns = (uint64_t)every;
	a->until_ns = SCENARIO_EPOCH_NS + (uint64_t)until;
	return NULL;
}

static int find_type(const char *word)
{
	for (int i = 0; i < EVENT_TYPES; i++)
		if (!strcmp(word, event_name((enum event_type)i)))
			return i;
	return -1;
}

static enum event_cause find_cause(const char *word)
{
	for (int i = 1; i < CAUSES; i++)
		if (!strcmp(word, event_cause_name((enum event_cause)i)))
			return (enum event_cause)i;
	return CAUSES;
}

static bool is_key(const char *word)
{
	return !*word || !strcmp(word, "by") || !strcmp(word, "cause") || !strcmp(word, "between") ||
	       !strcmp(word, "at");
}

/* [N | N..M] TYPE [PEER] [by CONSUMER] [cause CAUSE] [between T T | at deadline [D] | at T] */
static const char *read_expectation(const struct script *s, struct expectation *x, const struct line *l,
				    uint32_t at)
{
	const char *by = value_of(l, at, "by"), *cause = value_of(l, at, "cause");
	int64_t from = 0, to = INT64_MAX / 2;
	int type;
	char *end;

	*x = (struct expectation){.line = *l, .least = 1, .most = 1, .cause = CAUSES};
	if (l->word[at][0] >= '0' && l->word[at][0] <= '9') {
		x->least = x->most = (uint32_t)strtoul(l->word[at++], &end, 10);
		if (!strncmp(end, "..", 2))
			x->most = (uint32_t)strtoul(end + 2, NULL, 10);
	}
	type = find_type(l->word[at++]);
	if (type < 0)
		return wrong(s, l, "there is no such event");
	x->type = (enum event_type)type;
	if (!is_key(l->word[at]))
		snprintf(x->peer, sizeof(x->peer), "%s", l->word[at++]);
	if (by)
		snprintf(x->consumer, sizeof(x->consumer), "%s", by);
	if (cause && (x->cause = find_cause(cause)) == CAUSES)
		return wrong(s, l, "there is no such cause");
	for (; at < l->words; at++) {
		if (word_is(l, at, "between") &&
		    !(word_time(l->word[at + 1], &from) && word_time(l->word[at + 2], &to)))
			return wrong(s, l, "between T T");
		if (word_is(l, at, "at") && word_is(l, at + 1, "deadline")) {
			x->at_deadline = true;
			word_time(l->word[at + 2], &x->offset_ns);
		} else if (word_is(l, at, "at")) {
			if (!word_time(l->word[at + 1], &from))
				return wrong(s, l, "at T");
			to = from;
		}
	}
	x->from_ns = SCENARIO_EPOCH_NS + (uint64_t)from;
	x->to_ns = SCENARIO_EPOCH_NS + (uint64_t)to;
	return NULL;
}

/* witness without THING: EXPECTATION, or witness with at ...: EXPECTATION */
static const char *read_witness(const struct script *s, struct witness *w, struct line *l)
{
	char *colon = strchr(l->text, ':');
	struct line change = *l, expectation = *l;
	const char *problem_of;

	if (!colon)
		return wrong(s, l, "witness CHANGE: EXPECTATION");
	w->line = *l;
	change.text[colon - l->text] = '\0';
	cut(&change);
	if (word_is(&change, 1, "with")) {
		w->adds = true;
		memmove(change.text,
			strstr(change.text, "with at") ? strstr(change.text, "with at") + 5 : change.text,
			strlen(change.text) - (size_t)(strstr(change.text, "with at") + 5 - change.text) + 1);
		cut(&change);
		problem_of = read_action(s, &w->with, &change);
		if (problem_of)
			return problem_of;
	} else {
		snprintf(w->without, sizeof(w->without), "%s", change.word[2]);
	}
	memmove(expectation.text, colon + 1, strlen(colon + 1) + 1);
	cut(&expectation);
	problem_of = read_expectation(s, &w->expect, &expectation, 0);
	if (expectation.word[0][0] < '0' || expectation.word[0][0] > '9')
		w->expect.most = UINT32_MAX; /* one at least */
	return problem_of;
}

static const char *read_line(struct script *s, struct line *l)
{
	const char *what = l->word[0];
	int64_t end;

	if (!strcmp(what, "consumer"))
		return read_consumer(s, l);
	if (!strcmp(what, "peer"))
		return read_peer(s, l);
	if (!strcmp(what, "guard"))
		return read_guard(s, l);
	if (!strcmp(what, "end") && word_time(l->word[1], &end)) {
		s->end_ns = SCENARIO_EPOCH_NS + (uint64_t)end;
		return NULL;
	}
	if (s->actions == SCENARIO_LINES || s->expects == SCENARIO_LINES ||
	    s->witnesses == sizeof(s->witness) / sizeof(s->witness[0]))
		return wrong(s, l, "too many lines");
	if (!strcmp(what, "at"))
		return read_action(s, &s->action[s->actions++], l);
	if (!strcmp(what, "expect") && word_is(l, 1, "nothing"))
		return s->expects ? wrong(s, l, "but something is expected above") : NULL;
	if (!strcmp(what, "expect"))
		return read_expectation(s, &s->expect[s->expects++], l, 1);
	if (!strcmp(what, "allow")) {
		const char *problem_of = read_expectation(s, &s->expect[s->expects], l, 1);

		s->expect[s->expects].least = 0;
		s->expect[s->expects++].most = UINT32_MAX;
		return problem_of;
	}
	if (!strcmp(what, "witness"))
		return read_witness(s, &s->witness[s->witnesses++], l);
	return wrong(s, l, "this is no line of a scenario");
}

const char *script_read(struct script *s, const char *path)
{
	FILE *file = fopen(path, "r");
	struct line l = {.number = 0};
	const char *bad = NULL;

	memset(s, 0, sizeof(*s));
	snprintf(s->path, sizeof(s->path), "%s", path);
	s->config.correlated_ppm = 500000;
	s->config.correlated_min = 2;
	s->config.hold_max_ns = 60 * SEC;
	s->config.verdict_ttl_ns = 3 * SEC;
	if (!file)
		return wrong(s, &l, "cannot be opened");
	while (!bad && fgets(l.text, sizeof(l.text), file)) {
		l.number++;
		l.text[strcspn(l.text, "#\n")] = '\0';
		cut(&l);
		if (l.words)
			bad = read_line(s, &l);
	}
	fclose(file);
	return bad ? bad : s->end_ns ? NULL : wrong(s, &l, "it has no end");
}
