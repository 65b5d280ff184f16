/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What one message does to a peer's record. Pure: the clock, the lock and the maps are the caller's. The
 * kernel runs it under the peer's lock; replay and the tests run the same text.
 */
#ifndef KPHI_RECORD_H
#define KPHI_RECORD_H

#include "bfd.h"
#include "maps.h"
#include "sequence.h"
#include "window.h"
#include "wire.h"

#define KPHI_EPOCH_AHEAD_S 86400 /* an epoch may be this far beyond the observer's wall clock */

/* One message, as the packet path understood it. */
struct kphi_beat {
	uint64_t now_ns; /* stamp, taken before the lock */
	uint64_t epoch; /* native only */
	uint64_t sequence; /* of sequence_bits */
	uint64_t epoch_limit; /* higher epochs are refused */
	uint64_t local_rx_ns; /* BFD: this host's required minimum receive interval; 0: not known */
	uint64_t stalled_total_ns, stall_end_ns,
		stall_length_ns; /* of the CPU that took it; an open stall included */
	uint32_t device; /* ifindex it came by */
	uint16_t cpu;
	uint8_t type; /* enum kphi_wire_type */
	uint8_t flags; /* enum kphi_wire_flag; KPHI_WIRE_SIGNED: its tag was verified */
	uint8_t native; /* has an epoch; the packets of a rule have none */
	uint8_t sequence_bits; /* 8 to 64; 0: it has no sequence number */
	uint8_t decoder; /* enum kphi_decoder */
	uint8_t any_source; /* the speaker may change */
	union { /* as in the record */
		struct {
			uint64_t cluster_version;
			uint32_t load_average, available_capacity;
		};
		struct kphi_bfd bfd;
		uint64_t speaker[2];
	};
};

/*
 * What the tick of the CPU that took it says of this host's stalls. Queued packets are delivered before a
 * late tick can say that it was late, so an overdue tick is a stall that is still open: what it has cost so
 * far is taken as the tick will take it.
 */
KPHI_INLINE void kphi_beat_meets_tick(struct kphi_beat *b, const struct kphi_tick *t)
{
	uint64_t gap_ns = t->last_ns && b->now_ns > t->last_ns ? b->now_ns - t->last_ns : 0;

	b->stalled_total_ns = t->stalled_total_ns;
	b->stall_end_ns = t->stall_end_ns;
	b->stall_length_ns = t->stall_length_ns;
	if (gap_ns > KPHI_TICK_LIMIT_NS) {
		b->stalled_total_ns += gap_ns;
		b->stall_end_ns = b->now_ns;
		if (gap_ns > b->stall_length_ns)
			b->stall_length_ns = gap_ns;
	}
}

/* An empty window, with the interval in force: configured, said by BFD, or to be learned. */
KPHI_INLINE void kphi_record_empty(struct kphi_record *r, const struct kphi_peer *peer,
				   const struct kphi_beat *b)
{
	kphi_window_begin(&r->window, peer);
	if (b->decoder == KPHI_DECODER_BFD) {
		r->window.interval_ns = kphi_bfd_interval_ns(&b->bfd, b->local_rx_ns);
		r->window.cap_ns = kphi_window_cap(r->window.interval_ns, peer->max_interval_ns);
	}
}

/* A new life: what was learned of the last one says nothing about it. */
KPHI_INLINE void kphi_record_begin(struct kphi_record *r, const struct kphi_peer *peer,
				   const struct kphi_beat *b)
{
	kphi_record_empty(r, peer, b);
	kphi_sequence_begin(&r->sequence, b->sequence);
	/* The lives of who has no epoch are counted, so that whoever reads a record can tell them apart. */
	r->epoch = b->native ? b->epoch : r->epoch + (r->state != KPHI_WAITING);
	r->state = KPHI_UP;
	r->since_ns = b->now_ns;
}

/* Least standard deviation: what is shorter than this is nothing to this peer. */
KPHI_INLINE uint64_t kphi_min_std(const struct kphi_window *w, const struct kphi_peer *peer)
{
	return peer->set & KPHI_SET_MIN_STD ? peer->min_std_ns : w->interval_ns / KPHI_MIN_STD_SHARE;
}

/*
 * May the interval that ends now be learned? Not if this host stalled during it, or was still draining a
 * stall: what was queued arrives in a burst.
 */
KPHI_INLINE uint32_t kphi_record_clean(const struct kphi_record *r, const struct kphi_peer *peer,
				       const struct kphi_beat *b)
{
	uint64_t rest = r->window.interval_ns > KPHI_CLEAN_MIN_NS ? r->window.interval_ns : KPHI_CLEAN_MIN_NS;

	if (!b->stall_end_ns || b->stall_length_ns < kphi_min_std(&r->window, peer))
		return 1;
	return r->last_ns >= b->stall_end_ns + rest;
}

/* By which devices is this peer heard? The last one, and the one before that which was another. */
KPHI_INLINE void kphi_record_path(struct kphi_record *r, const struct kphi_beat *b)
{
	if (r->device == b->device)
		return;
	r->other_device = r->device;
	r->other_ns = b->now_ns;
	r->device = b->device;
}

/*
 * An accepted message of the life that is going on, sequence already taken: the interval, then the arrival.
 * `steps` of the sequence lie between it and the last one; 0: it is not known.
 */
KPHI_INLINE uint32_t kphi_record_arrive(struct kphi_record *r, const struct kphi_peer *peer, uint64_t *ring,
					uint32_t size, const struct kphi_beat *b, uint32_t learn,
					uint64_t steps)
{
	uint32_t notes = 0;

	if (b->now_ns < r->last_ns) {
		r->stamp_inverted++;
		return KPHI_NOTE(stamp_inverted);
	}
	if (learn && !kphi_record_clean(r, peer, b)) {
		r->unlearned++;
		r->window.capped_run = 0;
		notes = KPHI_NOTE(unlearned);
	} else if (learn) {
		notes = kphi_window_take(&r->window, ring, size, peer->max_interval_ns,
					 b->now_ns - r->last_ns, steps);
		if (notes & KPHI_NOTE(capped))
			r->capped++;
		if (notes & KPHI_NOTE(retuned))
			r->retuned++;
	}
	r->last_ns = b->now_ns;
	r->cpu = b->cpu;
	r->stalled_copy_ns = b->stalled_total_ns;
	return notes;
}

KPHI_INLINE uint32_t kphi_record_same_speaker(const struct kphi_record *r, const struct kphi_beat *b)
{
	return b->speaker[0] == r->speaker[0] && b->speaker[1] == r->speaker[1];
}

/*
 * The same for the packets of a rule, which have no epoch. A restarted BFD speaker has a new discriminator.
 * Another speaker, where there may be one, counts its own numbers.
 */
KPHI_INLINE enum kphi_counter kphi_record_judge_rule(struct kphi_record *r, const struct kphi_beat *b,
						     uint32_t *fresh)
{
	if (b->decoder == KPHI_DECODER_BFD && b->bfd.discriminator != r->bfd.discriminator)
		*fresh = 1;
	if (*fresh || !b->sequence_bits)
		return KPHI_COUNT_beat;
	if (b->any_source && !kphi_record_same_speaker(r, b)) {
		kphi_sequence_begin(&r->sequence, b->sequence);
		r->resync = 0;
		return KPHI_COUNT_beat;
	}
	return kphi_sequence_resync(&r->sequence, b->sequence, b->sequence_bits, &r->resync, fresh);
}

/* Epoch and sequence: KPHI_COUNT_beat if the message is news, else why not. *fresh: it begins a new life. */
KPHI_INLINE enum kphi_counter kphi_record_judge(struct kphi_record *r, const struct kphi_beat *b,
						uint32_t *fresh)
{
	*fresh = r->state == KPHI_WAITING;
	if (!b->native)
		return kphi_record_judge_rule(r, b, fresh);
	if (b->epoch < r->epoch)
		return KPHI_COUNT_stale_epoch;
	if (b->epoch > r->epoch) {
		if (b->epoch > b->epoch_limit)
			return KPHI_COUNT_future_epoch;
		*fresh = 1;
	}
	/* One that was heard before the peer was added again: the highest is what is known of that life. */
	if (r->state == KPHI_WAITING && b->epoch == r->epoch && r->sequence.highest &&
	    b->sequence <= r->sequence.highest)
		return KPHI_COUNT_stale_sequence;
	if (*fresh)
		return KPHI_COUNT_beat;
	if (r->state == KPHI_DOWN)
		return KPHI_COUNT_after_down;
	return kphi_sequence_take(&r->sequence, b->sequence);
}

KPHI_INLINE void kphi_record_refuse(struct kphi_record *r, enum kphi_counter why, uint64_t now_ns)
{
	if (why == KPHI_COUNT_duplicate)
		r->duplicates++;
	if (why == KPHI_COUNT_reordered)
		r->reordered++;
	if (why == KPHI_COUNT_stale_epoch || why == KPHI_COUNT_stale_sequence) {
		r->stale++;
		r->stale_ns = now_ns;
	}
}

/*
 * What the sender says of its own rhythm. Packets of a poll, and the one after, say nothing about it; the
 * interval that a poll announces is in force from the first packet that has neither the P bit nor, as the
 * answer to a poll of ours, the F bit (RFC 5880, 6.8.3). After such an answer, what this host requires may
 * have changed, and with it the rhythm, if it is not known.
 */
KPHI_INLINE uint32_t kphi_record_rhythm(struct kphi_record *r, const struct kphi_peer *peer,
					struct kphi_beat *b, uint32_t *learn)
{
	if (kphi_bfd_is_poll(&b->bfd) || kphi_bfd_is_poll(&r->bfd))
		*learn = 0;
	if (kphi_bfd_is_poll(&b->bfd)) {
		b->bfd.desired_tx_us = r->bfd.desired_tx_us;
		return 0;
	}
	if (b->bfd.desired_tx_us == r->bfd.desired_tx_us &&
	    (b->local_rx_ns || !(r->bfd.flags & KPHI_BFD_FINAL)))
		return 0;
	kphi_record_empty(r, peer, b);
	*learn = 0;
	return KPHI_NOTE(renegotiated);
}

/* The interval from one speaker to the next is neither's. */
KPHI_INLINE uint32_t kphi_record_speaker(const struct kphi_record *r, const struct kphi_beat *b,
					 uint32_t *learn)
{
	if (kphi_record_same_speaker(r, b))
		return 0;
	*learn = 0;
	return KPHI_NOTE(handover);
}

/* What the last message said, whatever kind it is of. */
KPHI_INLINE void kphi_record_say(struct kphi_record *r, const struct kphi_beat *b)
{
	r->flags = b->flags;
	r->speaker[0] = b->speaker[0];
	r->speaker[1] = b->speaker[1];
}

/*
 * Fold one message into record r of `peer`; `ring` is the peer's window of `size` intervals, with room for
 * KPHI_RING_SIZE(size). Returns the
 * outcome that the message counts as, and in *notes what else it did. Only an outcome of beat, leave or down
 * refreshes liveness.
 */
KPHI_INLINE enum kphi_counter kphi_record_take(struct kphi_record *r, const struct kphi_peer *peer,
					       uint64_t *ring, uint32_t size, struct kphi_beat *b,
					       uint32_t *notes)
{
	uint64_t before = r->sequence.highest;
	uint32_t fresh, learn;
	enum kphi_counter outcome = kphi_record_judge(r, b, &fresh);

	*notes = 0;
	if (outcome == KPHI_COUNT_beat || outcome == KPHI_COUNT_duplicate)
		kphi_record_path(r, b);
	if (outcome != KPHI_COUNT_beat) {
		kphi_record_refuse(r, outcome, b->now_ns);
		return outcome;
	}
	learn = !fresh && r->state == KPHI_UP && b->type == KPHI_WIRE_BEAT;
	if (fresh) {
		if (r->state != KPHI_WAITING) {
			r->restarts++;
			*notes |= KPHI_NOTE(restart);
		}
		kphi_record_begin(r, peer, b);
	} else if (b->decoder == KPHI_DECODER_BFD) {
		*notes |= kphi_record_rhythm(r, peer, b, &learn);
	} else if (b->any_source) {
		*notes |= kphi_record_speaker(r, b, &learn);
	}
	*notes |= kphi_record_arrive(r, peer, ring, size, b, learn, r->sequence.highest - before);
	kphi_record_say(r, b);
	if (b->type == KPHI_WIRE_BEAT) {
		r->beats++;
		if (r->state == KPHI_LEFT) {
			r->state = KPHI_UP;
			r->since_ns = b->now_ns;
		}
		return KPHI_COUNT_beat;
	}
	/* One that is said again and again, as AdminDown is, began when it was said first. */
	if (r->state != KPHI_LEFT || b->type != KPHI_WIRE_LEAVE)
		r->since_ns = b->now_ns;
	r->state = b->type == KPHI_WIRE_LEAVE ? KPHI_LEFT : KPHI_DOWN;
	return b->type == KPHI_WIRE_LEAVE ? KPHI_COUNT_leave : KPHI_COUNT_down;
}

enum kphi_arrival_what {
	KPHI_ARRIVAL_MESSAGE = 0, /* some peer's: all that kphi_record_take() goes by */
	KPHI_ARRIVAL_CLEARED =
		1, /* added or reset at beat.now_ns: beat.epoch and beat.sequence are the record's
		    */
	KPHI_ARRIVAL_OTHER = 2, /* deleted, or a setting was changed that no record depends on */
};

/* What a recorder gets of each change of a record. */
struct kphi_arrival {
	uint32_t slot, generation;
	uint64_t version; /* of the record when it was done: the next change's is higher by two. 0: it was
			     not, for the peer had gone */
	uint32_t what; /* enum kphi_arrival_what */
	uint32_t unused;
	struct kphi_beat beat;
};

#endif
