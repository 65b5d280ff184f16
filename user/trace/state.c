// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer's record as it was at one moment, field by field: all that decides what the next message does to it.
 * Sums over the window are not written, but made again of its entries. In this order, all of them varints:
 *
 *   count       of the fields that follow, so that later versions may append some
 *   fields      as in the table below, then what was said last: two words, as in an arrival's change
 *   entries     window.n of the ring, from its beginning, then window.capped_run of those behind it: zigzag
 *               difference to the interval of the one before (0 at first) times two, plus one if the number
 * of steps is not 1 and follows
 */
#include <errno.h>
#include <kphi/window.h>
#include <string.h>

#include "trace/codec.h"

/* Every field of the record is in the table, a sum, or the business of the slot: version and generation. */
KPHI_ASSERT_SIZE(struct kphi_record, 304);

#define FIELD(member) offsetof(struct kphi_record, member), sizeof(((struct kphi_record *)0)->member)

static const struct codec_field fields[] = {
	{FIELD(state)},
	{FIELD(flags)},
	{FIELD(cpu)},
	{FIELD(last_ns)},
	{FIELD(since_ns)},
	{FIELD(stalled_copy_ns)},
	{FIELD(epoch)},
	{FIELD(stale_ns)},
	{FIELD(beats)},
	{FIELD(duplicates)},
	{FIELD(reordered)},
	{FIELD(stale)},
	{FIELD(restarts)},
	{FIELD(capped)},
	{FIELD(retuned)},
	{FIELD(resync)},
	{FIELD(stamp_inverted)},
	{FIELD(unlearned)},
	{FIELD(sequence.first)},
	{FIELD(sequence.highest)},
	{FIELD(sequence.seen)},
	{FIELD(sequence.lost)},
	{FIELD(sequence.settled_lost)},
	{FIELD(window.n)},
	{FIELD(window.next)},
	{FIELD(window.capped_run)},
	{FIELD(window.interval_ns)},
	{FIELD(window.cap_ns)},
	{FIELD(window.losses.beats)},
	{FIELD(window.losses.runs)},
	{FIELD(window.losses.lost)},
	{FIELD(window.losses.lost_long)},
	{FIELD(window.losses.beats_long)},
	{FIELD(device)},
	{FIELD(other_device)},
	{FIELD(other_ns)},
};

#define FIELDS (sizeof(fields) / sizeof(*fields))

/* What the record says last, as if it were a message of this peer's. */
static struct kphi_beat said(const struct trace_peer *peer)
{
	return (struct kphi_beat){.native = peer->settings.id.kind == KPHI_ID_NATIVE,
				  .decoder =
					  peer->settings.id.kind == KPHI_ID_NATIVE ? 0 : peer->rule.decoder};
}

static uint8_t *put_entry(uint8_t *to, uint64_t entry, uint64_t *before_ns)
{
	uint64_t ns = entry & KPHI_RING_NS, steps = entry >> KPHI_RING_STEPS_SHIFT;

	to = codec_put_varint(to, codec_zigzag(ns - *before_ns) << 1 | (steps != 1));
	*before_ns = ns;
	return steps != 1 ? codec_put_varint(to, steps) : to;
}

size_t state_put(uint8_t *to, const struct trace_peer *peer, const struct kphi_record *r,
		 const uint64_t *ring, uint32_t window)
{
	struct kphi_beat b = said(peer);
	uint64_t word[2], before_ns = 0;
	uint8_t *at = codec_put_varint(to, FIELDS + 2);

	for (size_t i = 0; i < FIELDS; i++)
		at = codec_put_varint(at, codec_field(r, &fields[i]));
	memcpy(b.speaker, r->speaker, sizeof(b.speaker));
	codec_says(&b, word);
	at = codec_put_varint(at, word[0]);
	at = codec_put_varint(at, word[1]);
	for (uint32_t i = 0; i < r->window.n; i++)
		at = put_entry(at, ring[i], &before_ns);
	for (uint32_t i = 0; i < r->window.capped_run; i++)
		at = put_entry(at, ring[window + i], &before_ns);
	return (size_t)(at - to);
}

/* Varints of a buffer that may end anywhere. */
struct bytes {
	const uint8_t *at, *end;
};

/* A varint, ten bytes at most, of which all have to be there. */
static bool get(struct bytes *b, uint64_t *value)
{
	uint8_t copy[16] = {0};
	const uint8_t *at = copy;
	size_t left = (size_t)(b->end - b->at);

	memcpy(copy, b->at, left < 10 ? left : 10);
	if (!codec_get_varint(&at, value) || (size_t)(at - copy) > left)
		return false;
	b->at += at - copy;
	return true;
}

static bool get_entry(struct bytes *b, uint64_t *entry, uint64_t *before_ns)
{
	uint64_t value, steps = 1, ns;

	if (!get(b, &value) || (value & 1 && !get(b, &steps)))
		return false;
	ns = *before_ns + codec_unzigzag(value >> 1);
	if (ns > KPHI_INTERVAL_MAX_NS || steps > KPHI_STEPS_MAX)
		return false;
	*before_ns = ns;
	*entry = kphi_ring_entry(ns, steps);
	return true;
}

static bool get_fields(struct bytes *b, const struct trace_peer *peer, struct kphi_record *r)
{
	struct kphi_beat message = said(peer);
	uint64_t count, value, word[2] = {0, 0};

	if (!get(b, &count) || count < FIELDS + 2)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!get(b, &value) || (i < FIELDS && !codec_set_field(r, &fields[i], value)))
			return false;
		if (i >= FIELDS && i < FIELDS + 2)
			word[i - FIELDS] = value;
	}
	codec_set_says(&message, word);
	memcpy(r->speaker, message.speaker, sizeof(r->speaker));
	return true;
}

/* A window that kphi_window_add() can have made: before the ring is full, it is filled from its beginning. */
static bool is_window(const struct kphi_window *w, uint32_t size)
{
	return w->n <= size && w->capped_run < KPHI_RETUNE_RUN && w->cap_ns <= KPHI_INTERVAL_MAX_NS &&
	       (w->n < size ? w->next == w->n : w->next <= size);
}

int state_get(const uint8_t *from, size_t size, const struct trace_peer *peer, struct kphi_record *r,
	      uint64_t *ring, uint32_t window)
{
	struct bytes b = {from, from + size};
	uint64_t before_ns = 0;
	uint32_t n;

	*r = (struct kphi_record){.version = 0};
	if (!get_fields(&b, peer, r) || r->state == KPHI_FREE || r->state > KPHI_DOWN ||
	    !is_window(&r->window, window))
		return -EBADMSG;
	n = r->window.n;
	r->window.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!get_entry(&b, &ring[i], &before_ns))
			return -EBADMSG;
		kphi_window_count(&r->window, ring[i]);
	}
	for (uint32_t i = 0; i < r->window.capped_run; i++)
		if (!get_entry(&b, &ring[window + i], &before_ns))
			return -EBADMSG;
	return b.at == b.end ? 0 : -EBADMSG;
}
