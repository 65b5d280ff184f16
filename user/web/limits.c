// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/limits.h"

#include <stdlib.h>
#include <sys/socket.h>

static void take_out(struct limits *l, struct visitor *v)
{
	*(v->before ? &v->before->after : &l->first) = v->after;
	*(v->after ? &v->after->before : &l->last) = v->before;
	v->before = v->after = NULL;
}

/* A phase begins now, so its place is the last. */
static void put_last(struct limits *l, struct visitor *v)
{
	v->before = l->last;
	v->after = NULL;
	*(l->last ? &l->last->after : &l->first) = v;
	l->last = v;
}

static void enter_phase(struct limits *l, struct visitor *v, enum visitor_phase phase, size_t bytes,
			uint64_t now_ns)
{
	if (v->phase == VISITOR_GOES)
		return;
	l->answers_bytes += bytes;
	l->answers_bytes -= v->bytes;
	v->phase = phase;
	v->bytes = bytes;
	v->since_ns = now_ns;
	take_out(l, v);
	put_last(l, v);
}

void limits_send_away(struct limits *l, struct visitor *v)
{
	if (v->phase == VISITOR_GOES)
		return;
	l->answers_bytes -= v->bytes;
	v->bytes = 0;
	v->phase = VISITOR_GOES;
	l->count--;
	l->sent_away++;
	shutdown(v->fd, SHUT_RDWR);
}

/* Who has not even asked goes before who still reads. */
static bool send_oldest_away(struct limits *l, enum visitor_phase phase, const struct visitor *but)
{
	for (struct visitor *v = l->first; v; v = v->after) {
		if (v->phase != phase || v == but)
			continue;
		limits_send_away(l, v);
		return true;
	}
	return false;
}

struct visitor *limits_enter(struct limits *l, int fd, uint64_t now_ns)
{
	struct visitor *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	*v = (struct visitor){.fd = fd, .phase = VISITOR_ASKS, .since_ns = now_ns};
	put_last(l, v);
	if (++l->count > l->connections - LIMITS_RESERVE && !send_oldest_away(l, VISITOR_ASKS, v))
		send_oldest_away(l, VISITOR_READS, v);
	return v;
}

void limits_leave(struct limits *l, struct visitor *v)
{
	if (!v)
		return;
	l->answers_bytes -= v->bytes;
	l->count -= v->phase != VISITOR_GOES;
	take_out(l, v);
	free(v);
}

void limits_answer(struct limits *l, struct visitor *v, size_t bytes, uint64_t now_ns)
{
	size_t most =
		LIMITS_ANSWERS * bytes > LIMITS_ANSWERS_BYTES ? LIMITS_ANSWERS * bytes : LIMITS_ANSWERS_BYTES;

	enter_phase(l, v, VISITOR_READS, bytes, now_ns);
	while (l->answers_bytes > most && send_oldest_away(l, VISITOR_READS, v))
		;
}

void limits_stream(struct limits *l, struct visitor *v, uint64_t now_ns)
{
	enter_phase(l, v, VISITOR_STREAMS, 0, now_ns);
}

void limits_answered(struct limits *l, struct visitor *v, uint64_t now_ns)
{
	enter_phase(l, v, VISITOR_ASKS, 0, now_ns);
}

void limits_check(struct limits *l, uint64_t now_ns)
{
	static const uint64_t patience_ns[] = {
		[VISITOR_ASKS] = LIMITS_REQUEST_NS,
		[VISITOR_READS] = LIMITS_ANSWER_NS,
		[VISITOR_STREAMS] = UINT64_MAX,
		[VISITOR_GOES] = UINT64_MAX,
	};

	for (struct visitor *v = l->first; v; v = v->after)
		if (now_ns - v->since_ns > patience_ns[v->phase])
			limits_send_away(l, v);
}
