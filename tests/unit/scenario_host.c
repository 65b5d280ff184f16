// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the run loop is in `kphi run`: hints, deadlines, housekeeping once a second, verdicts, events. */
#include "scenario.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/models.h"
#include "core/silence.h"

/* --- struct engine_host --- */

static bool read_slot(void *context, uint32_t slot, struct kphi_record *record, struct kphi_peer *peer)
{
	struct world *w = context;

	if (slot >= w->script->peers) {
		record->state = KPHI_FREE;
		return true;
	}
	*record = w->peer[slot].record;
	*peer = w->peer[slot].peer;
	return true;
}

static const struct kphi_tick *read_tick(void *context, uint32_t cpu)
{
	return world_tick(context, cpu);
}

static const struct kphi_rule *read_rule(void *context, uint32_t slot)
{
	return &((struct world *)context)->peer[slot].rule;
}

static const uint64_t *read_ring(void *context, uint32_t slot, struct kphi_record *record)
{
	static uint64_t room[KPHI_WINDOW_DEFAULT]; /* good until the next call, and no longer */

	(void)record;
	memcpy(room, ((struct world *)context)->peer[slot].ring, sizeof(room));
	return room;
}

static struct engine_hearing hearing(void *context, const struct kphi_record *record)
{
	return world_hearing(context, record);
}

static uint32_t consumers(void *context, const struct kphi_peer *peer)
{
	const struct script *s = ((struct world *)context)->script;
	uint32_t mask = 0;

	for (uint32_t i = 0; i < s->config.consumers; i++)
		if (!fnmatch(s->consumer_peers[i], peer->name, 0))
			mask |= 1U << i;
	return mask;
}

static int consumer_by_name(const struct script *s, const char *name)
{
	for (uint32_t i = 0; i < s->config.consumers; i++)
		if (!strcmp(s->config.consumer[i].name, name))
			return (int)i;
	return -1;
}

/* What holds of every event, in every scenario. */
static void check_event(struct world *w, const struct event *event)
{
	const struct kphi_record *r = &w->peer[event->slot].record;
	const struct kphi_verdict *v = &w->verdict[event->slot];

	if (!event->peer)
		return;
	if (event->generation != r->generation || event->epoch != r->epoch)
		world_broken(w, "%s of %s is of another life", event_name(event->type), event->peer);
	if (event->now_ns != w->now_ns)
		world_broken(w, "%s of %s is not of now", event_name(event->type), event->peer);
	if (event->crossed_ns > event->now_ns || (event->crossed_ns && event->type != EVENT_suspect))
		world_broken(w, "%s of %s crossed what it has not reached", event_name(event->type),
			     event->peer);
	if (event->token && (event->token != v->token || v->generation != r->generation))
		world_broken(w, "%s of %s has a token that is not in the map", event_name(event->type),
			     event->peer);
}

/* Where phi decides and silence counts from the last arrival, the crossing is the deadline, to the
 * nanosecond.
 */
static void check_crossing(struct world *w, const struct said *said, int consumer)
{
	const struct event *event = &said->event;
	const struct kphi_record *r = &w->peer[event->slot].record;

	if (event->crossed_ns && event->judged &&
	    r->window.n >= w->script->config.consumer[consumer].min_samples &&
	    world_hearing(w, r).since_ns <= r->last_ns && event->crossed_ns != said->deadline_ns)
		world_broken(w, "suspect of %s crossed its threshold %lld ns after its deadline", said->peer,
			     (long long)(event->crossed_ns - said->deadline_ns));
}

static void say(void *context, const struct event *event)
{
	struct world *w = context;
	struct said *said;
	int consumer;

	check_event(w, event);
	if (w->said_length == w->said_room) {
		w->said_room = w->said_room ? 2 * w->said_room : 64;
		w->said = realloc(w->said, w->said_room * sizeof(*w->said));
	}
	said = &w->said[w->said_length++];
	memset(said, 0, sizeof(*said));
	said->event = *event;
	snprintf(said->peer, sizeof(said->peer), "%s", event->peer ? event->peer : "");
	snprintf(said->consumer, sizeof(said->consumer), "%s", event->consumer ? event->consumer : "");
	snprintf(said->detail, sizeof(said->detail), "%s", event->detail ? event->detail : "");
	consumer = consumer_by_name(w->script, said->consumer);
	if (event->peer && consumer >= 0)
		said->deadline_ns = host_deadline_ns(w, event->slot, (uint32_t)consumer);
	check_crossing(w, said, consumer);
}

static void watch(void *context, uint32_t slot, uint32_t generation, bool on)
{
	struct world *w = context;

	if (w->peer[slot].record.generation == generation)
		w->peer[slot].peer.watched = on;
}

static bool contradicts(const struct script *s, const struct kphi_verdict *v)
{
	static const uint8_t state_of[] = {
		[KPHI_BECAUSE_SILENCE] = KPHI_VERDICT_SUSPECT,
		[KPHI_BECAUSE_NEVER_HEARD] = KPHI_VERDICT_SUSPECT,
		[KPHI_BECAUSE_DECLARED_DOWN] = KPHI_VERDICT_SUSPECT,
		[KPHI_BECAUSE_STALL] = KPHI_VERDICT_HELD,
		[KPHI_BECAUSE_CORRELATED] = KPHI_VERDICT_HELD,
		[KPHI_BECAUSE_CARRIER] = KPHI_VERDICT_BLIND,
		[KPHI_BECAUSE_HOOK] = KPHI_VERDICT_BLIND,
		[KPHI_BECAUSE_MUTE] = KPHI_VERDICT_UNKNOWN,
	};
	uint32_t shadows = 0;

	for (uint32_t i = 0; i < s->config.consumers; i++)
		shadows |= (uint32_t)s->config.consumer[i].shadow << i;
	if (v->cause ? state_of[v->cause] != v->state : v->state > KPHI_VERDICT_TRUST)
		return true;
	if (v->state == KPHI_VERDICT_HELD && !(v->held & ~shadows))
		return true;
	return (v->state == KPHI_VERDICT_SUSPECT) != !!v->consumers || v->consumers & shadows ||
	       v->shadows & ~shadows || v->held & (v->consumers | v->shadows);
}

static void publish(void *context, uint32_t slot, const struct kphi_verdict *verdict)
{
	struct world *w = context;
	const struct kphi_record *r = &w->peer[slot].record;

	if (verdict->generation != r->generation || (r->state != KPHI_FREE && verdict->epoch != r->epoch))
		world_broken(w, "a verdict on a life of %s that has ended", w->peer[slot].peer.name);
	if (verdict->token < w->verdict[slot].token)
		world_broken(w, "the token of %s falls", w->peer[slot].peer.name);
	if (contradicts(w->script, verdict))
		world_broken(w, "the verdict on %s contradicts itself", w->peer[slot].peer.name);
	w->verdict[slot] = *verdict;
}

static uint64_t token(void *context)
{
	return ++((struct world *)context)->token;
}

/* --- the loop --- */

void host_start(struct world *w)
{
	const struct engine_host host = {
		.context = w,
		.read = read_slot,
		.tick = read_tick,
		.rule = read_rule,
		.ring = read_ring,
		.hearing = hearing,
		.consumers = consumers,
		.event = say,
		.watch = watch,
		.verdict = publish,
		.token = token,
	};
	struct engine_config config = w->script->config;

	for (uint32_t i = 0; i < config.consumers; i++) {
		if (world_without(w, "correlated"))
			config.consumer[i].correlated = false;
		if (world_without(w, "min_samples"))
			config.consumer[i].min_samples = 0;
		if (world_without(w, "hysteresis"))
			config.consumer[i].clear = config.consumer[i].suspect;
	}
	w->engine = engine_new(&config, &host, SCENARIO_PEERS);
	w->dead = false;
	for (uint32_t i = 0; i < w->script->peers; i++)
		engine_recall(w->engine, i, &w->verdict[i]);
	w->second_ns = w->now_ns;
	engine_scan(w->engine, w->now_ns);
}

/* The map is as fresh as it is kept while the daemon lives. */
void host_stop(struct world *w)
{
	for (uint32_t i = 0; i < w->script->peers; i++)
		if (w->verdict[i].valid_until_ns && !w->dead)
			w->verdict[i].valid_until_ns = w->now_ns + w->script->config.verdict_ttl_ns;
	engine_free(w->engine);
	w->engine = NULL;
	w->dead = true;
}

static bool asleep(const struct world *w)
{
	return w->now_ns < w->frozen_until_ns;
}

/* What waits is one bit a slot: that a hint came is all it says. */
void host_hint(struct world *w, uint32_t slot)
{
	if (w->dead || w->now_ns < w->deaf_until_ns)
		return;
	for (uint32_t i = 0; i < w->hints; i++)
		if (w->hint[i] == slot)
			return;
	w->hint[w->hints++] = slot;
}

void host_scan(struct world *w)
{
	for (uint32_t i = 0; i < w->script->peers; i++)
		host_hint(w, i);
}

static void housekeep(struct world *w)
{
	struct kphi_tick ticks[SCENARIO_CPUS];

	for (uint32_t i = 0; i < SCENARIO_CPUS; i++)
		ticks[i] = *world_tick(w, i);
	engine_observe_ticks(w->engine, ticks, SCENARIO_CPUS, w->now_ns);
	if (engine_unsettled(w->engine))
		engine_repair(w->engine, w->now_ns);
	w->second_ns = w->now_ns + SEC;
}

void host_run(struct world *w)
{
	if (asleep(w))
		return;
	if (w->dead)
		host_start(w);
	for (uint32_t i = 0; i < w->hints; i++)
		engine_hint(w->engine, w->hint[i], w->now_ns);
	w->hints = 0;
	engine_advance(w->engine, w->now_ns);
	if (engine_next_ns(w->engine) <= w->now_ns)
		world_broken(w, "the engine is never content");
	if (w->now_ns >= w->second_ns)
		housekeep(w);
}

uint64_t host_next_ns(const struct world *w)
{
	uint64_t next_ns;

	if (w->dead)
		return w->frozen_until_ns;
	next_ns = engine_next_ns(w->engine);
	if (w->second_ns < next_ns)
		next_ns = w->second_ns;
	if (w->hints)
		next_ns = w->now_ns;
	return next_ns > w->frozen_until_ns ? next_ns : w->frozen_until_ns;
}

/* From the record alone, by another way than the engine's: no prepared thresholds, no memory. */
uint64_t host_deadline_ns(struct world *w, uint32_t slot, uint32_t consumer)
{
	const struct sim_peer *p = &w->peer[slot];
	const struct kphi_tick *tick = world_tick(w, p->record.cpu);
	struct kphi_estimate e;

	if (p->record.state != KPHI_UP || !estimate_from_window(&e, &p->record.window, &p->peer, p->ring))
		return UINT64_MAX;
	return p->record.last_ns + silence_discount_ns(&p->record, tick, w->now_ns) +
	       estimate_silence(&e, w->script->config.consumer[consumer].suspect);
}

/* --- at T check ... --- */

static int verdict_named(const char *word)
{
	static const char *const names[] = {"unknown", "trust", "suspect", "held", "blind"};

	for (int i = 0; i < 5; i++)
		if (!strcmp(word, names[i]))
			return i;
	return -1;
}

static bool verdict_is(const struct kphi_verdict *v, const char *state, const char *cause)
{
	static const char *const causes[] = {"nothing",    "silence", "never_heard", "declared_down", "stall",
					     "correlated", "carrier", "hook",        "mute"};

	return v->state == verdict_named(state) && (!*cause || !strcmp(cause, causes[v->cause]));
}

static bool mean_is(const struct sim_peer *p, const struct line *l, uint32_t at)
{
	double mean = (double)window_mean_ns(&p->record.window), within = word_percent(l->word[at + 3]);
	int64_t ns = 0;

	word_time(l->word[at + 2], &ns);
	return p->record.window.n && mean >= (double)ns * (1 - within / 100) &&
	       mean <= (double)ns * (1 + within / 100);
}

static bool silence_is(struct world *w, const struct sim_peer *p, const struct line *l, uint32_t at)
{
	int64_t ns = -1;

	word_time(l->word[at + 2], &ns);
	return silence_ns(&p->record, world_tick(w, p->record.cpu), w->now_ns) == (uint64_t)ns;
}

/* check mean P D P% | silence P D | verdict P STATE [CAUSE] | shadows P MASK | unlearned P N | watched P
 * yes|no | asleep */
void host_check(struct world *w, const struct line *l, uint32_t at)
{
	uint32_t checked = 0;

	host_run(w);
	for (uint32_t i = 0; i < w->script->peers; i++) {
		const struct sim_peer *p = &w->peer[i];
		bool holds = false;

		if (fnmatch(l->word[at + 1], p->spec->name, 0))
			continue;
		checked++;
		if (word_is(l, at, "mean"))
			holds = mean_is(p, l, at);
		else if (word_is(l, at, "silence"))
			holds = silence_is(w, p, l, at);
		else if (word_is(l, at, "verdict"))
			holds = verdict_is(&w->verdict[i], l->word[at + 2], l->word[at + 3]);
		else if (word_is(l, at, "shadows"))
			holds = w->verdict[i].shadows == strtoul(l->word[at + 2], NULL, 10);
		else if (word_is(l, at, "unlearned"))
			holds = p->record.unlearned == strtoull(l->word[at + 2], NULL, 10);
		else if (word_is(l, at, "watched"))
			holds = p->peer.watched == word_is(l, at + 2, "yes");
		if (!holds && !w->witness)
			world_broken(w, "line %u: not so for %s (mean %.6f s, verdict %d, unlearned %lu):%s",
				     l->number, p->spec->name,
				     (double)window_mean_ns(&p->record.window) / 1e9, w->verdict[i].state,
				     (unsigned long)p->record.unlearned, l->text);
	}
	if (!checked)
		world_broken(w, "line %u: nobody to check: %s", l->number, l->text);
}
