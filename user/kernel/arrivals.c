// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/arrivals.h"

#include <errno.h>
#include <stdlib.h>

#include "kernel/clock.h"
#include "kernel/ring.h"

/*
 * How many arrivals fill the ring, which are all of one size. Whoever finds that some were lost finds so many
 * that came before them: the ring took nothing more until he came.
 */
#define ENTRY (BPF_RINGBUF_HDR_SZ + sizeof(struct kphi_arrival))
#define TURN  ((KPHI_ARRIVALS_BYTES - 1) / ENTRY)
KPHI_ASSERT_SIZE(struct kphi_arrival, 120); /* a multiple of eight, as entries of the ring are */

struct arrivals {
	const struct store *store;
	struct ring_reader ring;
	arrivals_taker *taker;
	void *context;
	uint32_t left; /* of this turn */
	int said; /* by the taker */
	uint64_t taken, unrecorded; /* by the counters of the store when it began */
	uint64_t received;
	uint64_t did_not_fit, missed;
};

/* Messages that were some peer's, whatever they counted as: record_beat() of the packet path has seen them.
 */
static uint64_t messages(const struct store *s)
{
	uint64_t n = store_count(s, KPHI_COUNT_beat) + store_count(s, KPHI_COUNT_leave) +
		     store_count(s, KPHI_COUNT_down);

	for (enum kphi_counter i = KPHI_COUNT_stale_epoch; i <= KPHI_COUNT_stale_sequence; i++)
		n += store_count(s, i);
	return n;
}

static const struct ring_role role = {
	.name = "arrivals",
	.lock = "recorder",
	.entries = TURN,
	.lease_ns = 10000000000ULL, /* a host that was stopped for less has lost nothing that fits the ring */
	.renew_ns = 1000000000ULL,
	.lease = control_record,
	.taken = "somebody records the arrivals of this store already: there is one recorder at a time",
	.takes_root = "Recording takes root",
};

/* libbpf has handed this one on even if the answer ends the turn. */
static int on_arrival(void *context, void *data, size_t size)
{
	const struct kphi_arrival *arrival = data;
	struct arrivals *a = context;

	if (size < sizeof(*arrival))
		return 0;
	a->received += arrival->version && arrival->what == KPHI_ARRIVAL_MESSAGE;
	a->said = a->taker(a->context, arrival);
	return a->said || !--a->left ? -ECANCELED : 0;
}

static int begin(struct arrivals *a, const struct pin *p, struct why *w)
{
	int err = ring_open(&a->ring, p, &role, on_arrival, a, w);

	if (err)
		return err;
	a->taken = messages(a->store);
	a->unrecorded = store_count(a->store, KPHI_COUNT_unrecorded);
	return ring_lease(&a->ring, clock_monotonic_ns(), w);
}

struct arrivals *arrivals_begin(const struct pin *p, const struct store *store, arrivals_taker *taker,
				void *context, struct why *w)
{
	struct arrivals *a = calloc(1, sizeof(*a));

	if (!a) {
		why(w, -ENOMEM, "no memory to record with");
		return NULL;
	}
	*a = (struct arrivals){.store = store, .taker = taker, .context = context};
	if (!begin(a, p, w))
		return a;
	arrivals_end(a);
	return NULL;
}

int arrivals_fd(const struct arrivals *a)
{
	return ring_buffer__epoll_fd(a->ring.buffer);
}

/*
 * This process did not run for so long that the lease has ended, and the ring is empty now. What came since
 * then nobody has counted as unrecorded, but as messages; a few may have come at the very beginning, before
 * the first lease. There is always one, so that the gap is known for one.
 */
static void count_missed(struct arrivals *a)
{
	uint64_t came = messages(a->store) - a->taken;
	uint64_t known = a->received + a->did_not_fit + a->missed;

	a->missed += came > known ? came - known : 1;
}

int arrivals_turn(struct arrivals *a, struct why *w)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t did_not_fit = store_count(a->store, KPHI_COUNT_unrecorded) - a->unrecorded;
	int err;

	a->left = TURN;
	a->said = 0;
	err = ring_take(&a->ring, w);
	if (err)
		return err;
	if (a->said)
		return a->said;
	a->did_not_fit = did_not_fit;
	if (a->ring.until_ns && now_ns >= a->ring.until_ns)
		count_missed(a);
	if (a->ring.until_ns && now_ns >= a->ring.renew_ns)
		err = ring_lease(&a->ring, clock_monotonic_ns(), w);
	return err ? err : !a->left;
}

uint64_t arrivals_lost(const struct arrivals *a)
{
	return a->did_not_fit + a->missed;
}

bool arrivals_are_over(const struct arrivals *a)
{
	return ring_is_over(&a->ring);
}

int arrivals_stop(struct arrivals *a, struct why *w)
{
	return ring_stop(&a->ring, w);
}

void arrivals_end(struct arrivals *a)
{
	if (a)
		ring_close(&a->ring);
	free(a);
}
