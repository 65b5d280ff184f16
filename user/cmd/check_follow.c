// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kphi check follow: as they go on saying it. Our side is looked at ten times a second, for the streams they
 * name; what it tells of a silence is exact all the same, because the record says when the last beat came and
 * the model when its silence reached the threshold.
 */
#include <errno.h>
#include <poll.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/track.h"
#include "cmd/check.h"
#include "io/parse.h"

#define CHUNK       65536
#define LOOK_MS     100
#define QUIET_MS    250 /* text without an end of its own ends when nothing came for so long ... */
#define CUT_OFF_MS  900 /* ... and JSON that is not complete by then: its program was killed */
#define NS_PER_MS   1000000ULL
#define RELOAD_NS   1000000000ULL
#define TRACKS_GROW 64

/* One stream of ours as one claim speaks of it. */
struct pair {
	uint32_t slot, generation;
	struct claim claim; /* the last one */
	struct track track;
	uint32_t round; /* of the document that named it last */
	bool ended; /* the stream was deleted */
};

struct follow {
	struct kphi_cli *cli;
	const struct source *source;
	const struct check_input *input;
	struct check_world world;
	struct stream stream;
	struct event_clock clock; /* of the present look */
	uint64_t loaded_ns, looked_ns, heard_ns; /* monotonic */
	uint32_t round; /* documents so far */
	bool refused; /* one of them was not understood */
	int exit; /* not 0: nothing more can be said */
	void *tree; /* of struct pair, for tsearch */
	struct pair **pair;
	uint32_t pairs, room;
	struct pair **named; /* by the present claim */
	uint32_t named_room;
};

/* --- pairs --- */

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return strcmp(x->claim.name, y->claim.name);
}

static struct pair *add_pair(struct follow *f, const struct pair *wanted)
{
	struct pair *made = malloc(sizeof(*made));

	if (made && f->pairs == f->room) {
		uint32_t room = f->room ? 2 * f->room : TRACKS_GROW;
		struct pair **larger = realloc(f->pair, room * sizeof(struct pair *));

		if (larger) {
			f->pair = larger;
			f->room = room;
		}
	}
	if (!made || f->pairs == f->room) {
		free(made);
		return NULL;
	}
	*made = *wanted;
	if (!tsearch(made, &f->tree, by_pair)) {
		free(made);
		return NULL;
	}
	f->pair[f->pairs++] = made;
	return made;
}

static struct pair *find_pair(struct follow *f, const struct match_peer *p, const struct claim *claim)
{
	struct pair wanted = {.slot = p->slot, .generation = p->generation, .claim = *claim};
	struct pair **found = tfind(&wanted, &f->tree, by_pair);

	return found ? *found : add_pair(f, &wanted);
}

static void keep(void *pair)
{
	(void)pair;
}

static void free_pairs(struct follow *f)
{
	tdestroy(f->tree, keep);
	for (uint32_t i = 0; i < f->pairs; i++)
		free(f->pair[i]);
	free(f->pair);
	free(f->named);
}

/* --- telling --- */

static void say_when(struct out *o, const char *key, const struct track_side *side)
{
	char text[EVENT_TIME_SIZE];

	out_string(o, key, NULL, side->dated ? event_time(side->since_ns, text) : NULL);
}

static void say_lead(struct out *o, const char *key, bool it, uint64_t length_ns)
{
	if (it)
		out_u64(o, key, NULL, length_ns);
	else
		out_null(o, key, NULL);
}

static void say_ends(struct out *o, const struct pair *p, const struct track_change *c, const char *how)
{
	say_when(o, "ours_since", &p->track.ours);
	say_when(o, "theirs_since", &p->track.theirs);
	say_lead(o, "we_knew_earlier_by_ns", c->end == TRACK_WE_FIRST, c->length_ns);
	say_lead(o, "they_knew_earlier_by_ns", c->end == TRACK_THEY_FIRST, c->length_ns);
	say_lead(o, "they_took_it_back_after_ns", c->end == TRACK_THEY_RETURNED, c->length_ns);
	say_lead(o, "we_took_it_back_after_ns", c->end == TRACK_WE_RETURNED, c->length_ns);
	out_q32(o, "worst_phi", NULL, c->worst_phi);
	out_string(o, "outcome", NULL, *how ? how : NULL);
}

/* Another stream of its host that is on time now. */
static bool find_audible(struct follow *f, const struct check_seen *seen, struct check_seen *other)
{
	struct claim host = {0};
	const uint32_t *found;
	uint32_t count;

	claim_put(host.name, sizeof(host.name), seen->ours.host);
	found = match_claim(&f->world.match, &host, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct match_peer *p = &f->world.peer[found[i]];

		if (check_world_look(&f->world, p->slot, p->generation, f->clock.monotonic_ns, other) &&
		    other->ours.state == PEER_UP && other->ours.doubt == DOUBT_NONE)
			return true;
	}
	return false;
}

/* A line of text, or an object of JSON. */
static void tell(struct follow *f, const struct pair *p, struct check_seen *seen, const struct claim *claim,
		 const struct track_change *c)
{
	struct check_seen other;
	struct out *o = out_new(stdout, f->cli->mode == OUT_TEXT ? OUT_TEXT : OUT_JSON);
	const char *before = c->first ? NULL : check_verdict_name(c->before);
	char why[CHECK_WHY], how[TRACK_WHY], now[EVENT_TIME_SIZE];

	if (*seen->ours.host && seen->ours.state == PEER_SUSPECT && find_audible(f, seen, &other))
		seen->ours.audible = other.ours.peer;
	check_explain(&seen->ours, claim, f->source->called, why, sizeof(why));
	track_explain(c, f->source->called, how, sizeof(how));
	event_time(f->clock.realtime_ns, now);
	out_open_object(o, NULL);
	out_string(o, "time", NULL, now);
	out_string(o, "source", NULL, f->source->name);
	out_string(o, "before", NULL, before);
	/* To the millisecond: people have to read it. */
	out_text(o, "%.23sZ %s: %s%s%s%s: %s%s%s\n", now, seen->ours.peer,
		 check_verdict_name(p->track.verdict), before ? " (was " : "", before ? before : "",
		 before ? ")" : "", why, *how ? "; " : "", how);
	if (f->cli->mode != OUT_TEXT) {
		check_say(o, seen, claim, f->source->called, &f->clock);
		say_ends(o, p, c, how);
	}
	out_close_object(o);
	f->exit = command_finish(o);
}

/* --- deciding --- */

static void think(struct follow *f, struct pair *p, const struct check_seen *seen)
{
	uint64_t since_ns = seen->gone_ns ? seen->gone_ns : seen->view.record.last_ns;

	if (seen->ours.doubt == DOUBT_NONE)
		track_think(&p->track.ours, seen->ours.state != PEER_UP, check_wall_ns(&f->clock, since_ns));
}

static void decide(struct follow *f, struct pair *p, struct check_seen *seen)
{
	bool named = p->round == f->round || !f->source->whole;
	const struct claim *claim = named ? &p->claim : NULL;
	struct track_change c;

	think(f, p, seen);
	c = track_decide(&p->track, check_decide(&seen->ours, claim), seen->ours.judged ? seen->ours.phi : 0);
	/* That all is well to begin with is no news. */
	if (c.first ? c.end != TRACK_NONE || p->track.verdict != CHECK_agree_up
		    : c.changed || c.end != TRACK_NONE)
		tell(f, p, seen, claim, &c);
}

static void look(struct follow *f, struct pair *p)
{
	struct check_seen seen;

	if (p->ended)
		return;
	p->ended = !check_world_look(&f->world, p->slot, p->generation, f->clock.monotonic_ns, &seen);
	if (!p->ended)
		decide(f, p, &seen);
}

static void look_all(struct follow *f)
{
	f->clock = event_clock_now();
	f->looked_ns = f->clock.monotonic_ns;
	for (uint32_t i = 0; !f->exit && i < f->pairs; i++)
		look(f, f->pair[i]);
}

/* --- hearing them --- */

/* The pairs that a claim is about, into f->named, because who is told about one looks for others. */
static int find_named(struct follow *f, const struct claim *claim, uint32_t *count)
{
	const uint32_t *found = match_claim(&f->world.match, claim, count);

	if (*count > f->named_room) {
		struct pair **larger = realloc(f->named, *count * sizeof(struct pair *));

		if (!larger)
			return -ENOMEM;
		f->named = larger;
		f->named_room = *count;
	}
	for (uint32_t i = 0; i < *count; i++) {
		f->named[i] = find_pair(f, &f->world.peer[found[i]], claim);
		if (!f->named[i])
			return -ENOMEM;
	}
	return 0;
}

/* A claim that says nothing leaves what was said before in force. */
static int take_claim(struct follow *f, const struct claim *claim)
{
	uint64_t since_ns = claim->time_ns ? claim->time_ns : f->clock.realtime_ns;
	uint32_t count;
	int err = find_named(f, claim, &count);

	for (uint32_t i = 0; !err && i < count; i++) {
		struct pair *p = f->named[i];

		p->round = f->round;
		if (claim->state != CLAIM_UNKNOWN || !p->track.theirs.known)
			p->claim = *claim;
		if (claim->state != CLAIM_UNKNOWN)
			track_think(&p->track.theirs, claim->state != CLAIM_UP, since_ns);
		look(f, p);
	}
	return err;
}

static void reload(struct follow *f)
{
	if (f->loaded_ns && f->clock.monotonic_ns - f->loaded_ns < RELOAD_NS)
		return;
	f->loaded_ns = f->clock.monotonic_ns;
	if (!check_world_load(&f->world))
		return;
	fail("check follow %s: no memory for the peers", f->source->name);
	f->exit = KPHI_EXIT_FAILED;
}

static void take_document(struct follow *f, const struct document *d)
{
	struct claims claims = {0};
	char reason[WHY_SIZE];
	int err = f->source->read(d, &claims, reason, sizeof(reason));

	if (err) {
		f->refused = true;
		check_refuse(warn, f->source, f->input, reason);
		claims_free(&claims);
		return;
	}
	f->clock = event_clock_now();
	reload(f);
	f->round++;
	for (uint32_t i = 0; !err && !f->exit && i < claims.count; i++)
		err = take_claim(f, &claims.claim[i]);
	claims_free(&claims);
	if (err) {
		fail("check follow %s: no memory for %u streams", f->source->name, f->pairs);
		f->exit = KPHI_EXIT_FAILED;
	}
	/* Some may be missing. */
	if (f->source->whole)
		look_all(f);
}

static void take_documents(struct follow *f, bool ended)
{
	struct document d;

	while (!f->exit && stream_take(&f->stream, ended, &d))
		take_document(f, &d);
}

/* 1: more may come. 0: the end. */
static int hear(struct follow *f)
{
	char bytes[CHUNK];
	ssize_t got = read(f->input->fd, bytes, sizeof(bytes));
	int err;

	if (got < 0 && errno != EINTR && errno != EAGAIN) {
		fail("check follow %s: %s: cannot read: %s", f->source->name, f->input->name,
		     strerror(errno));
		f->exit = KPHI_EXIT_FAILED;
		return 0;
	}
	if (got <= 0)
		return got < 0;
	err = stream_put(&f->stream, bytes, (size_t)got);
	f->heard_ns = event_clock_now().monotonic_ns;
	if (err) {
		f->refused = true;
		warn("check follow %s: %s: line %u: %s: it is left out", f->source->name, f->input->name,
		     f->stream.line,
		     err == -EMSGSIZE ? "a document of more than 16 MiB" : "no memory for a document");
		stream_drop(&f->stream);
	}
	return 1;
}

/* Has what is there ended without an end of its own? */
static bool is_quiet(const struct follow *f)
{
	const struct stream *s = &f->stream;
	uint64_t quiet_ns = event_clock_now().monotonic_ns - f->heard_ns;

	if (s->used == s->at)
		return false;
	if (s->frame.framing == FRAMING_TEXT)
		return s->text[s->used - 1] == '\n' && quiet_ns >= QUIET_MS * NS_PER_MS;
	return s->frame.framing == FRAMING_JSON && quiet_ns >= CUT_OFF_MS * NS_PER_MS;
}

static void follow(struct follow *f)
{
	struct pollfd ready = {.fd = f->input->fd, .events = POLLIN};
	int more = 1;

	while (more && !f->exit) {
		int got = poll(&ready, 1, LOOK_MS);

		if (got > 0)
			more = hear(f);
		take_documents(f, !more || is_quiet(f));
		if (event_clock_now().monotonic_ns - f->looked_ns >= LOOK_MS * NS_PER_MS)
			look_all(f);
	}
}

static int end_exit(const struct follow *f)
{
	if (f->exit)
		return f->exit;
	if (f->refused || !f->pairs) {
		if (!f->pairs)
			fail("check follow %s: nothing was compared: %s", f->source->name,
			     f->round ? "none of those it names has the name, the host label or the source "
					"address of "
					"a peer here. `kphi peer show` lists them"
				      : "there was nothing to read");
		return KPHI_EXIT_FAILED;
	}
	for (uint32_t i = 0; i < f->pairs; i++)
		if (!f->pair[i]->ended && check_is_disagreement(f->pair[i]->track.verdict))
			return KPHI_EXIT_SUSPECT;
	return KPHI_EXIT_OK;
}

int check_follow(struct kphi_cli *cli, const struct source *source, const struct check_input *input)
{
	struct follow f = {.cli = cli, .source = source, .input = input};
	int exit = check_world_open(&f.world, cli);

	if (!exit) {
		stream_begin(&f.stream, &source->frame);
		follow(&f);
		exit = end_exit(&f);
		stream_end(&f.stream);
	}
	free_pairs(&f);
	check_world_close(&f.world);
	return exit;
}
