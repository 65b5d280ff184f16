/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Streams of arrivals that tests make up, and their replay. */
#ifndef KPHI_TESTS_REPLAY_STREAM_H
#define KPHI_TESTS_REPLAY_STREAM_H

#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"

struct stream_arrival {
	uint32_t peer;
	uint64_t lost; /* by the recorder, up to here */
	struct kphi_beat beat;
};

#define STREAM_PEERS 8

struct stream {
	struct stream_arrival *list;
	size_t n, size, at;
	struct kphi_peer settings[STREAM_PEERS];
};

static inline struct kphi_beat *stream_add(struct stream *s, uint32_t peer, const struct kphi_beat *beat)
{
	if (s->n == s->size) {
		s->size = s->size ? 2 * s->size : 64;
		s->list = realloc(s->list, s->size * sizeof(*s->list));
	}
	s->list[s->n] = (struct stream_arrival){peer, 0, *beat};
	return &s->list[s->n++].beat;
}

/* A native beat of epoch 1. */
static inline struct kphi_beat *stream_beat(struct stream *s, uint32_t peer, uint64_t now_ns,
					    uint64_t sequence)
{
	struct kphi_beat b = {
		.now_ns = now_ns,
		.epoch = 1,
		.epoch_limit = 1000000,
		.sequence = sequence,
		.type = KPHI_WIRE_BEAT,
		.native = 1,
	};

	return stream_add(s, peer, &b);
}

static inline void stream_free(struct stream *s)
{
	free(s->list);
	*s = (struct stream){0};
}

static inline int stream_next(void *context, uint32_t *peer, struct kphi_beat *beat)
{
	struct stream *s = context;

	if (s->at == s->n)
		return 0;
	*peer = s->list[s->at].peer;
	*beat = s->list[s->at++].beat;
	return 1;
}

static inline const struct kphi_peer *stream_settings(void *context, uint32_t peer)
{
	return &((struct stream *)context)->settings[peer];
}

static inline uint64_t stream_lost(void *context)
{
	struct stream *s = context;

	return s->list[s->at - 1].lost;
}

/* All of it, from its beginning. */
static inline struct replay *stream_replay(struct stream *s, const struct replay_plan *plan)
{
	struct replay_source source = {
		.next = stream_next, .settings = stream_settings, .lost = stream_lost, .context = s};
	struct replay *r = replay_new(plan);

	s->at = 0;
	assert_non_null(r);
	assert_int_equal(replay_run(r, &source, UINT64_MAX), 0);
	assert_int_equal(replay_arrivals(r), s->n);
	return r;
}

#endif
