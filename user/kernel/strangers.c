// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/strangers.h"

#include <errno.h>

#include "kernel/clock.h"

#define ENTRY (BPF_RINGBUF_HDR_SZ + sizeof(struct kphi_stranger))
#define TURN  ((KPHI_STRANGERS_BYTES - 1) / ENTRY)

static const struct ring_role role = {
	.name = "strangers",
	.lock = "discoverer",
	.entries = TURN,
	.lease_ns = 2000000000ULL, /* how long the kernel tells on when this process was killed, at most */
	.renew_ns = 500000000ULL,
	.lease = control_discover,
	.taken =
		"somebody discovers peers of this store already: there is one `kphi peer discover` at a time",
	.takes_root = "Discovering takes root",
};

static int on_stranger(void *context, void *data, size_t size)
{
	struct strangers *s = context;

	if (size >= sizeof(struct kphi_stranger))
		s->taker(s->context, data);
	return --s->left ? 0 : -ECANCELED;
}

int strangers_begin(struct strangers *s, const struct pin *p, const struct store *store,
		    strangers_taker *taker, void *context, struct why *w)
{
	int err;

	*s = (struct strangers){.store = store, .taker = taker, .context = context};
	err = ring_open(&s->ring, p, &role, on_stranger, s, w);
	if (err)
		return err;
	s->undiscovered = store_count(store, KPHI_COUNT_undiscovered);
	return ring_lease(&s->ring, clock_monotonic_ns(), w);
}

static int take(struct strangers *s, struct why *w)
{
	s->left = TURN;
	return ring_take(&s->ring, w);
}

int strangers_turn(struct strangers *s, struct why *w)
{
	uint64_t now_ns = clock_monotonic_ns();
	int err = take(s, w);

	if (now_ns >= s->ring.until_ns)
		s->pauses++;
	return !err && now_ns >= s->ring.renew_ns ? ring_lease(&s->ring, now_ns, w) : err;
}

uint64_t strangers_lost(const struct strangers *s)
{
	return store_count(s->store, KPHI_COUNT_undiscovered) - s->undiscovered;
}

bool strangers_are_over(const struct strangers *s)
{
	return ring_is_over(&s->ring);
}

void strangers_stop(struct strangers *s)
{
	struct why ignored;

	if (!s->ring.until_ns)
		return;
	ring_stop(&s->ring, &ignored); /* else the lease ends by itself */
	take(s, &ignored);
}

void strangers_end(struct strangers *s)
{
	strangers_stop(s);
	ring_close(&s->ring);
}
