// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * deadlines TRACE: one line for each arrival of a trace that `kphi trace record` has written, as
 * tab-separated columns
 *
 *     NAME EPOCH SEQUENCE STAMP_NS DEADLINE_NS STALLED_NS
 *
 * DEADLINE_NS is when phi reaches 8, by the very code that runs live, if nothing comes after this arrival and
 * this host does not stall (0: it is not known yet, or the peer has said goodbye). STALLED_NS is what the CPU
 * that heard it has stalled so far. Times are of CLOCK_MONOTONIC. For tools/duel.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/models.h"
#include "core/policy.h"
#include "io/parse.h"
#include "trace/reader.h"

#define PEERS_MAX 256

struct heard {
	struct kphi_record record;
	uint64_t *ring;
};

static int give_up(const char *why)
{
	fprintf(stderr, "deadlines: %s\n", why);
	return 1;
}

static uint64_t deadline_ns(const struct heard *h, const struct kphi_peer *settings)
{
	struct kphi_estimate e;
	uint64_t silence_ns;

	if (h->record.state != KPHI_UP || !estimate_from_window(&e, &h->record.window, settings, h->ring))
		return 0;
	silence_ns = estimate_silence(&e, POLICY_SUSPECT);
	return silence_ns > UINT64_MAX - h->record.last_ns ? 0 : h->record.last_ns + silence_ns;
}

static void take(struct heard *h, const struct trace_peer *p, struct kphi_beat *b, uint32_t window)
{
	uint32_t notes;
	enum kphi_counter outcome = kphi_record_take(&h->record, &p->settings, h->ring, window, b, &notes);

	if (outcome != KPHI_COUNT_beat && outcome != KPHI_COUNT_leave && outcome != KPHI_COUNT_down)
		return;
	printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", p->name,
	       (uint64_t)h->record.epoch, (uint64_t)b->sequence, (uint64_t)b->now_ns,
	       deadline_ns(h, &p->settings), (uint64_t)b->stalled_total_ns);
}

/* A peer that was met for the first time has the window that it begins with. False: there is no memory. */
static bool meet(struct heard *h, const struct trace_peer *p, uint32_t window)
{
	if (h->ring)
		return true;
	h->ring = calloc(KPHI_RING_SIZE(window), sizeof(*h->ring));
	kphi_window_begin(&h->record.window, &p->settings);
	return h->ring != NULL;
}

static int read_all(struct trace *t)
{
	static struct heard heard[PEERS_MAX];
	uint32_t window = trace_start(t)->window, peer;
	struct kphi_beat b;
	int got;

	if (!window)
		return give_up("the trace does not say how large its windows are");
	while ((got = trace_next_of_all(t, &peer, &b)) > 0) {
		if (peer >= PEERS_MAX || !meet(&heard[peer], trace_peer(t, peer), window))
			return give_up("too many peers, or no memory");
		if (got == 2) {
			heard[peer].record = trace_state(t)->record;
			memcpy(heard[peer].ring, trace_state(t)->ring,
			       KPHI_RING_SIZE(window) * sizeof(*heard[peer].ring));
			continue;
		}
		take(&heard[peer], trace_peer(t, peer), &b, window);
	}
	for (uint32_t i = 0; i < PEERS_MAX; i++)
		free(heard[i].ring);
	if (got < 0)
		return give_up(trace_why(t));
	if (trace_lost(t))
		fprintf(stderr, "deadlines: the recorder lost %" PRIu64 " arrivals\n", trace_lost(t));
	return 0;
}

int main(int argc, char **argv)
{
	char why[WHY_SIZE];
	struct trace *t;
	int status;

	if (argc != 2)
		return give_up("usage: deadlines TRACE");
	t = trace_open(argv[1], why, sizeof(why));
	if (!t)
		return give_up(why);
	status = read_all(t);
	trace_close(t);
	return status;
}
