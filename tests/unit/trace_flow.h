/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A conversion that ends in memory, from known bytes: what its tests share. */
#ifndef KPHI_TESTS_TRACE_FLOW_H
#define KPHI_TESTS_TRACE_FLOW_H

#include "trace/flow.h"
#include "unit/trace_file.h"

#define S             1000000000ULL
#define ARRIVALS_MOST 4000

/* --- a sink that remembers --- */

struct got {
	struct trace_peer peers[16];
	uint32_t count;
	struct {
		uint32_t peer;
		struct kphi_beat beat;
	} arrivals[ARRIVALS_MOST];
	uint64_t n;
};

static struct got got;

static inline int got_begin(struct flow *f, const struct trace_start *start)
{
	(void)start;
	f->sink = &got;
	got.count = 0;
	got.n = 0;
	return 0;
}

static inline int got_peer(struct flow *f, uint32_t number, const struct trace_peer *peer)
{
	(void)f;
	assert_int_equal(number, got.count);
	assert_true(memchr(peer->name, '\0', sizeof(peer->name)) != NULL);
	if (got.count < 16)
		got.peers[got.count] = *peer;
	got.count++;
	return 0;
}

static inline int got_arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat)
{
	(void)f;
	assert_true(number < got.count);
	if (got.n < ARRIVALS_MOST) {
		got.arrivals[got.n].peer = number;
		got.arrivals[got.n].beat = *beat;
	}
	got.n++;
	return 0;
}

static const struct sink_kind remember = {.begin = got_begin, .peer = got_peer, .arrival = got_arrival};

/* --- sources of known bytes --- */

static inline int run(struct flow *f, enum trace_format from)
{
	f->kind = &remember;
	return flow_source(f, from);
}

/* Reads the bytes as if they were a file. */
static inline int run_bytes(struct flow *f, enum trace_format from, const void *bytes, size_t size)
{
	char path[64];
	int fd = bytes_fd(bytes, size), err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	got.count = 0;
	got.n = 0;
	*f = (struct flow){.from = path, .options = f->options};
	err = run(f, from);
	close(fd);
	flow_free(f);
	return err;
}

static inline int run_text(struct flow *f, enum trace_format from, const char *text)
{
	return run_bytes(f, from, text, strlen(text));
}

#endif
