// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/arrivals.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel/clock.h"
#include "kernel/control.h"
#include "kernel/ring.h"

#define LEASE_NS 10000000000ULL /* a host that was stopped for less has lost nothing that fits the ring */
#define RENEW_NS 1000000000ULL

/*
 * How many arrivals fill the ring, which are all of one size. Whoever finds that some were lost finds so many
 * that came before them: the ring took nothing more until he came.
 */
#define ENTRY (BPF_RINGBUF_HDR_SZ + sizeof(struct kphi_arrival))
#define TURN  ((KPHI_ARRIVALS_BYTES - 1) / ENTRY)
KPHI_ASSERT_SIZE(struct kphi_arrival, 120); /* a multiple of eight, as entries of the ring are */

struct arrivals {
	const struct store *store;
	struct control control;
	struct ring_buffer *ring;
	int lock;
	arrivals_taker *taker;
	void *context;
	bool stopped;
	uint32_t left; /* of this turn */
	int said; /* by the taker */
	uint64_t until_ns, renew_ns;
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

static int lease(struct arrivals *a, uint64_t now_ns, struct why *w)
{
	int err = control_record(&a->control, now_ns + LEASE_NS, w);

	if (err)
		return err;
	a->until_ns = now_ns + LEASE_NS;
	a->renew_ns = now_ns + RENEW_NS;
	return 0;
}

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
	static const struct ring_role role = {
		"somebody records the arrivals of this store already: there is one recorder at a time",
		"Recording takes root"};
	int err;

	a->lock = ring_lock(p, "recorder", &role, w);
	if (a->lock < 0)
		return a->lock;
	err = control_open(&a->control, p, w);
	if (err)
		return err;
	a->ring = ring_open(p, "arrivals", TURN, on_arrival, a, w);
	if (!a->ring)
		return -EACCES;
	a->taken = messages(a->store);
	a->unrecorded = store_count(a->store, KPHI_COUNT_unrecorded);
	return lease(a, clock_monotonic_ns(), w);
}

struct arrivals *arrivals_begin(const struct pin *p, const struct store *store, arrivals_taker *taker,
				void *context, struct why *w)
{
	struct arrivals *a = calloc(1, sizeof(*a));

	if (!a) {
		why(w, -ENOMEM, "no memory to record with");
		return NULL;
	}
	*a = (struct arrivals){
		.store = store, .taker = taker, .context = context, .lock = -1, .control.program = -1};
	if (!begin(a, p, w))
		return a;
	a->stopped = !a->until_ns;
	arrivals_end(a);
	return NULL;
}

int arrivals_fd(const struct arrivals *a)
{
	return ring_buffer__epoll_fd(a->ring);
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
	err = ring_buffer__consume(a->ring);
	if (err < 0 && err != -ECANCELED)
		return why(w, err, "cannot read the ring buffer: %s", why_errno(err));
	if (a->said)
		return a->said;
	a->did_not_fit = did_not_fit;
	if (!a->stopped && now_ns >= a->until_ns)
		count_missed(a);
	err = !a->stopped && now_ns >= a->renew_ns ? lease(a, clock_monotonic_ns(), w) : 0;
	return err ? err : !a->left;
}

uint64_t arrivals_lost(const struct arrivals *a)
{
	return a->did_not_fit + a->missed;
}

bool arrivals_are_over(const struct arrivals *a)
{
	return ring_is_over(a->lock);
}

int arrivals_stop(struct arrivals *a, struct why *w)
{
	if (a->stopped)
		return 0;
	a->stopped = true;
	return control_record(&a->control, 0, w);
}

void arrivals_end(struct arrivals *a)
{
	struct why w;

	if (!a)
		return;
	arrivals_stop(a, &w); /* else the lease ends by itself */
	ring_buffer__free(a->ring);
	control_close(&a->control);
	if (a->lock >= 0)
		close(a->lock);
	free(a);
}
