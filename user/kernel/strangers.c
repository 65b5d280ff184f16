// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/strangers.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "kernel/clock.h"
#include "kernel/ring.h"

#define LEASE_NS 2000000000ULL /* how long the kernel tells on when this process was killed, at most */
#define RENEW_NS 500000000ULL

#define ENTRY (BPF_RINGBUF_HDR_SZ + sizeof(struct kphi_stranger))
#define TURN  ((KPHI_STRANGERS_BYTES - 1) / ENTRY)

static int on_stranger(void *context, void *data, size_t size)
{
	struct strangers *s = context;

	if (size >= sizeof(struct kphi_stranger))
		s->taker(s->context, data);
	return --s->left ? 0 : -ECANCELED;
}

static int lease(struct strangers *s, uint64_t now_ns, struct why *w)
{
	s->until_ns = now_ns + LEASE_NS;
	s->renew_ns = now_ns + RENEW_NS;
	return control_discover(&s->control, s->until_ns, w);
}

int strangers_begin(struct strangers *s, const struct pin *p, const struct store *store,
		    strangers_taker *taker, void *context, struct why *w)
{
	static const struct ring_role role = {
		"somebody discovers peers of this store already: there is one `kphi peer discover` at a time",
		"Discovering takes root"};
	int err;

	*s = (struct strangers){.store = store, .taker = taker, .context = context, .control.program = -1};
	s->lock = ring_lock(p, "discoverer", &role, w);
	if (s->lock < 0)
		return s->lock;
	err = control_open(&s->control, p, w);
	if (err)
		return err;
	s->ring = ring_open(p, "strangers", TURN, on_stranger, s, w);
	if (!s->ring)
		return -EACCES;
	s->undiscovered = store_count(store, KPHI_COUNT_undiscovered);
	return lease(s, clock_monotonic_ns(), w);
}

static int take(struct strangers *s, struct why *w)
{
	int err;

	s->left = TURN;
	err = ring_buffer__consume(s->ring);
	return err < 0 && err != -ECANCELED ? why(w, err, "cannot read the ring buffer: %s", why_errno(err))
					    : 0;
}

int strangers_turn(struct strangers *s, struct why *w)
{
	uint64_t now_ns = clock_monotonic_ns();
	int err = take(s, w);

	if (now_ns >= s->until_ns)
		s->pauses++;
	return !err && now_ns >= s->renew_ns ? lease(s, now_ns, w) : err;
}

uint64_t strangers_lost(const struct strangers *s)
{
	return store_count(s->store, KPHI_COUNT_undiscovered) - s->undiscovered;
}

bool strangers_are_over(const struct strangers *s)
{
	return ring_is_over(s->lock);
}

void strangers_stop(struct strangers *s)
{
	struct why ignored;

	if (!s->until_ns)
		return;
	s->until_ns = 0;
	control_discover(&s->control, 0, &ignored); /* else the lease ends by itself */
	take(s, &ignored);
}

void strangers_end(struct strangers *s)
{
	if (s->ring)
		strangers_stop(s);
	ring_buffer__free(s->ring);
	control_close(&s->control);
	if (s->lock >= 0)
		close(s->lock);
}
