// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/event_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/models.h"
#include "io/format.h"
#include "io/output.h"

#define SECOND_NS 1000000000ULL

static const bool about_peer[] = {
#define X(name, peer, help) [EVENT_##name] = peer,
	KPHI_EVENTS(X)
#undef X
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

struct event_clock event_clock_now(void)
{
	return (struct event_clock){clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_REALTIME)};
}

char *event_time(uint64_t realtime_ns, char text[EVENT_TIME_SIZE])
{
	time_t seconds = (time_t)(realtime_ns / SECOND_NS);
	struct tm tm;
	size_t length;

	gmtime_r(&seconds, &tm);
	length = strftime(text, EVENT_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + length, EVENT_TIME_SIZE - length, ".%09uZ", (unsigned int)(realtime_ns % SECOND_NS));
	return text;
}

static void say_u64_unless_0(struct out *o, const char *key, uint64_t value)
{
	if (value)
		out_u64(o, key, NULL, value);
	else
		out_null(o, key, NULL);
}

static void say_judgement(struct out *o, const struct event *e)
{
	if (!e->judged) {
		out_null(o, "model", NULL);
		out_null(o, "phi", NULL);
		out_null(o, "threshold", NULL);
		out_null(o, "silence_ns", NULL);
		return;
	}
	out_string(o, "model", NULL, model_name(e->model));
	out_q32(o, "phi", NULL, e->phi);
	out_q32(o, "threshold", NULL, e->threshold);
	out_u64(o, "silence_ns", NULL, e->silence_ns);
}

static void say_speaker(struct out *o, const struct event *e)
{
	char address[ADDRESS_SIZE];

	if (e->speaker[0] || e->speaker[1])
		out_string(o, "speaker", NULL, format_address((const uint8_t *)e->speaker, address));
	else
		out_null(o, "speaker", NULL);
}

static void say_peer(struct out *o, const struct event *e)
{
	out_string(o, "peer", NULL, e->peer);
	out_string(o, "host", NULL, e->host);
	out_u64(o, "slot", NULL, e->slot);
	out_u64(o, "generation", NULL, e->generation);
	out_u64(o, "epoch", NULL, e->epoch);
	out_string(o, "consumer", NULL, e->consumer);
	out_string(o, "cause", NULL, event_cause_name(e->cause));
	say_judgement(o, e);
	say_u64_unless_0(o, "since_ns", e->since_ns);
	say_u64_unless_0(o, "token", e->token);
	say_u64_unless_0(o, "interval_ns", e->interval_ns);
	say_speaker(o, e);
}

static void say_host(struct out *o, const struct event *e)
{
	out_string(o, "subject", NULL, e->subject);
	out_string(o, "peer", NULL, e->peer);
	out_string(o, "consumer", NULL, e->consumer);
	out_string(o, "cause", NULL, event_cause_name(e->cause));
	if (e->type == EVENT_stall || e->type == EVENT_blind_stall)
		out_u64(o, "cpu", NULL, e->cpu);
	else
		out_null(o, "cpu", NULL);
	say_u64_unless_0(o, "length_ns", e->length_ns);
}

/* One line on a stream of memory, so that every foreign byte in it is escaped. */
struct line {
	char *text;
	size_t length;
	FILE *stream;
	struct out *out;
};

static bool line_begin(struct line *l)
{
	*l = (struct line){0};
	l->stream = open_memstream(&l->text, &l->length);
	l->out = l->stream ? out_new(l->stream, OUT_JSON) : NULL;
	if (l->out) {
		out_open_object(l->out, NULL);
		return true;
	}
	if (l->stream)
		fclose(l->stream);
	free(l->text);
	return false;
}

static char *line_end(struct line *l, size_t *length)
{
	int err;

	out_close_object(l->out);
	err = out_finish(l->out);
	if (fclose(l->stream) || err) {
		free(l->text);
		return NULL;
	}
	*length = l->length;
	return l->text;
}

char *event_line(const struct event *event, uint64_t seq, bool current, const struct event_clock *clock,
		 size_t *length)
{
	char time[EVENT_TIME_SIZE];
	struct line l;

	if (!line_begin(&l))
		return NULL;
	out_string(l.out, "type", NULL, event_name(event->type));
	out_u64(l.out, "seq", NULL, seq);
	out_u64(l.out, "monotonic_ns", NULL, event->now_ns);
	/* The event is a little older than the clocks. Unsigned differences survive a wall clock behind 1970.
	 */
	out_string(l.out, "time", NULL,
		   event_time(clock->realtime_ns - (clock->monotonic_ns - event->now_ns), time));
	out_bool(l.out, "current", NULL, current);
	if (about_peer[event->type])
		say_peer(l.out, event);
	else
		say_host(l.out, event);
	out_string(l.out, "detail", NULL, event->detail);
	return line_end(&l, length);
}

char *event_lost_line(uint64_t count, size_t *length)
{
	struct line l;

	if (!line_begin(&l))
		return NULL;
	out_string(l.out, "type", NULL, "lost");
	out_u64(l.out, "count", NULL, count);
	return line_end(&l, length);
}

char *event_state_line(uint64_t seq, uint64_t count, size_t *length)
{
	struct line l;

	if (!line_begin(&l))
		return NULL;
	out_string(l.out, "type", NULL, "state");
	out_u64(l.out, "seq", NULL, seq);
	out_u64(l.out, "count", NULL, count);
	return line_end(&l, length);
}

char *event_error_line(const char *message, size_t *length)
{
	struct line l;

	if (!line_begin(&l))
		return NULL;
	out_string(l.out, "error", NULL, message);
	return line_end(&l, length);
}
