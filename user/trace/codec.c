// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SMOOTHING   3 /* an interval moves the expectation by an eighth of the difference */
#define VAIN_MOST   2
#define WIDTH_WHOLE 3

#define HEAD_PEER   1U
#define HEAD_CHANGE 2U

/* --- numbers --- */

uint64_t codec_zigzag(uint64_t difference)
{
	return difference << 1 ^ -(difference >> 63);
}

uint64_t codec_unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

uint8_t *codec_put_varint(uint8_t *to, uint64_t value)
{
	while (value > 0x7f) {
		*to++ = (uint8_t)value | 0x80;
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}

bool codec_get_varint(const uint8_t **at, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return shift < 63 || byte < 2;
	}
	return false;
}

static bool get_varint32(const uint8_t **at, uint32_t *value)
{
	uint64_t wide;

	if (!codec_get_varint(at, &wide) || wide > UINT32_MAX)
		return false;
	*value = (uint32_t)wide;
	return true;
}

static uint8_t *put_zigzag(uint8_t *to, uint64_t value, uint64_t expected)
{
	return codec_put_varint(to, codec_zigzag(value - expected));
}

static bool get_zigzag(const uint8_t **at, uint64_t *value)
{
	uint64_t z;

	if (!codec_get_varint(at, &z))
		return false;
	*value += codec_unzigzag(z);
	return true;
}

static uint64_t load64(const uint8_t *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? value : __builtin_bswap64(value);
}

static void store64(uint8_t *to, uint64_t value)
{
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		value = __builtin_bswap64(value);
	memcpy(to, &value, sizeof(value));
}

/* --- what is expected --- */

void codec_init(struct codec *c)
{
	*c = (struct codec){.last = CODEC_NONE};
}

void codec_free(struct codec *c)
{
	free(c->peers);
	codec_init(c);
}

int codec_add(struct codec *c, uint64_t interval_ns)
{
	if (c->count == c->room) {
		uint32_t room = c->room ? 2 * c->room : 16;
		struct codec_peer *peers = reallocarray(c->peers, room, sizeof(*peers));

		if (!peers)
			return -ENOMEM;
		c->peers = peers;
		c->room = room;
	}
	codec_restart_peer(c, c->count++, interval_ns);
	return 0;
}

void codec_restart_peer(struct codec *c, uint32_t peer, uint64_t interval_ns)
{
	memset(&c->peers[peer], 0, sizeof(c->peers[peer]));
	c->peers[peer].interval_ns = interval_ns < KPHI_INTERVAL_MAX_NS ? interval_ns : KPHI_INTERVAL_MAX_NS;
}

void codec_restart(struct codec *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		codec_restart_peer(c, i, 0);
	memset(c->stalls, 0, sizeof(c->stalls));
	c->last = CODEC_NONE;
	c->last_ns = 0;
}

static uint64_t expected_time(const struct codec *c, const struct codec_peer *p)
{
	return p->heard ? p->beat.now_ns + p->interval_ns : c->last_ns;
}

static uint64_t expected_sequence(const struct kphi_beat *b)
{
	uint64_t next = b->sequence + 1;

	if (!b->sequence_bits)
		return b->sequence;
	return b->sequence_bits < 64 ? next & ((1ULL << b->sequence_bits) - 1) : next;
}

/*
 * Smooths the interval. What differs by more than the whole interval counts as just that: an outage does not
 * bend what is expected after it, and yet another rhythm is learned.
 */
static void learn_interval(struct codec_peer *p, uint64_t now_ns, uint64_t expected_ns)
{
	int64_t off = (int64_t)(now_ns - expected_ns), most = (int64_t)p->interval_ns;

	if (!most) {
		p->interval_ns = off > 0 ? (uint64_t)off : 0;
	} else {
		off = off > most ? most : off < -most ? -most : off;
		p->interval_ns += (uint64_t)(off >> SMOOTHING);
	}
	if (p->interval_ns > KPHI_INTERVAL_MAX_NS)
		p->interval_ns = KPHI_INTERVAL_MAX_NS;
}

static void leave_ring(struct codec *c, struct codec_peer *p)
{
	c->peers[p->before].after = p->after;
	c->peers[p->after].before = p->before;
	p->in_ring = false;
}

/* Puts `peer` behind the last one. */
static void enter_ring(struct codec *c, uint32_t peer)
{
	struct codec_peer *p = &c->peers[peer], *last;

	p->in_ring = true;
	p->before = p->after = peer;
	if (c->last == CODEC_NONE)
		return;
	last = &c->peers[c->last];
	p->before = c->last;
	p->after = last->after;
	c->peers[p->after].before = peer;
	last->after = peer;
}

static uint32_t expected_peer(const struct codec *c)
{
	return c->last == CODEC_NONE ? CODEC_NONE : c->peers[c->last].after;
}

/* Somebody else than `expected` arrived. */
static void move_ring(struct codec *c, uint32_t expected, uint32_t peer)
{
	if (expected != CODEC_NONE && expected != c->last && ++c->peers[expected].vain >= VAIN_MOST)
		leave_ring(c, &c->peers[expected]);
	if (peer == c->last)
		return;
	if (c->peers[peer].in_ring)
		leave_ring(c, &c->peers[peer]);
	enter_ring(c, peer);
}

static struct codec_stalls *stalls_of(struct codec *c, uint16_t cpu)
{
	return &c->stalls[cpu % TRACE_CPUS];
}

static inline void has_arrived(struct codec *c, struct codec_peer *p, uint32_t peer)
{
	p->heard = true;
	p->vain = 0;
	c->last = peer;
	c->last_ns = p->beat.now_ns;
}

/* --- what a message says, in two words --- */

void codec_says(const struct kphi_beat *b, uint64_t word[2])
{
	if (b->decoder == KPHI_DECODER_BFD) {
		word[0] = (uint64_t)b->bfd.desired_tx_us << 32 | b->bfd.discriminator;
		word[1] = (uint64_t)b->bfd.required_rx_us << 32 | (uint32_t)b->bfd.state << 24 |
			  (uint32_t)b->bfd.diagnostic << 16 | (uint32_t)b->bfd.multiplier << 8 | b->bfd.flags;
	} else if (b->native) {
		word[0] = b->cluster_version;
		word[1] = (uint64_t)b->load_average << 32 | b->available_capacity;
	} else {
		word[0] = load64((const uint8_t *)&b->speaker[0]);
		word[1] = load64((const uint8_t *)&b->speaker[1]);
	}
}

void codec_set_says(struct kphi_beat *b, const uint64_t word[2])
{
	if (b->decoder == KPHI_DECODER_BFD) {
		b->bfd.discriminator = (uint32_t)word[0];
		b->bfd.desired_tx_us = (uint32_t)(word[0] >> 32);
		b->bfd.flags = (uint8_t)word[1];
		b->bfd.multiplier = (uint8_t)(word[1] >> 8);
		b->bfd.diagnostic = (uint8_t)(word[1] >> 16);
		b->bfd.state = (uint8_t)(word[1] >> 24);
		b->bfd.required_rx_us = (uint32_t)(word[1] >> 32);
	} else if (b->native) {
		b->cluster_version = word[0];
		b->available_capacity = (uint32_t)word[1];
		b->load_average = (uint32_t)(word[1] >> 32);
	} else {
		store64((uint8_t *)&b->speaker[0], word[0]);
		store64((uint8_t *)&b->speaker[1], word[1]);
	}
}

/* --- to bytes --- */

static bool is_afresh(const struct kphi_beat *b, const struct kphi_beat *was)
{
	return b->native != was->native || b->sequence_bits != was->sequence_bits ||
	       b->decoder != was->decoder || b->any_source != was->any_source || b->device != was->device ||
	       b->local_rx_ns != was->local_rx_ns;
}

static unsigned int changes(const struct kphi_beat *b, const struct kphi_beat *was,
			    const struct codec_stalls *s)
{
	unsigned int bits = 0;

	if (b->sequence != expected_sequence(was))
		bits |= TRACE_SEQUENCE;
	if (b->stalled_total_ns != s->total_ns || b->stall_end_ns != s->end_ns ||
	    b->stall_length_ns != s->length_ns)
		bits |= TRACE_STALLS;
	if (b->cpu != was->cpu)
		bits |= TRACE_CPU;
	if (b->speaker[0] != was->speaker[0])
		bits |= TRACE_SAYS_FIRST;
	if (b->speaker[1] != was->speaker[1])
		bits |= TRACE_SAYS_SECOND;
	if (b->type != was->type || b->flags != was->flags)
		bits |= TRACE_TYPE;
	if (b->epoch != was->epoch || b->epoch_limit != was->epoch_limit)
		bits |= TRACE_EPOCH;
	return bits;
}

static uint8_t *put_afresh(uint8_t *to, const struct kphi_beat *b)
{
	*to++ = b->native;
	*to++ = b->sequence_bits;
	*to++ = b->decoder;
	*to++ = b->any_source;
	to = codec_put_varint(to, b->device);
	return codec_put_varint(to, b->local_rx_ns);
}

static uint8_t *put_says(uint8_t *to, unsigned int bits, const struct kphi_beat *b,
			 const struct kphi_beat *was)
{
	uint64_t word[2], old[2] = {0, 0};

	codec_says(b, word);
	if (!(bits & TRACE_AFRESH))
		codec_says(was, old);
	if (bits & TRACE_SAYS_FIRST)
		to = codec_put_varint(to, word[0] ^ old[0]);
	if (bits & TRACE_SAYS_SECOND)
		to = codec_put_varint(to, word[1] ^ old[1]);
	return to;
}

static uint8_t *put_changes(uint8_t *to, unsigned int bits, const struct kphi_beat *b,
			    const struct kphi_beat *was, const struct codec_stalls *s)
{
	*to++ = (uint8_t)bits;
	if (bits & TRACE_AFRESH)
		to = put_afresh(to, b);
	if (bits & TRACE_CPU) {
		*to++ = (uint8_t)b->cpu;
		*to++ = (uint8_t)(b->cpu >> 8);
	}
	if (bits & TRACE_SEQUENCE)
		to = put_zigzag(to, b->sequence, expected_sequence(was));
	if (bits & TRACE_STALLS) {
		to = put_zigzag(to, b->stalled_total_ns, s->total_ns);
		to = put_zigzag(to, b->stall_end_ns, s->end_ns);
		to = put_zigzag(to, b->stall_length_ns, s->length_ns);
	}
	if (bits & (TRACE_SAYS_FIRST | TRACE_SAYS_SECOND))
		to = put_says(to, bits, b, was);
	if (bits & TRACE_TYPE) {
		*to++ = b->type;
		*to++ = b->flags;
	}
	if (bits & TRACE_EPOCH) {
		to = put_zigzag(to, b->epoch, was->epoch);
		to = put_zigzag(to, b->epoch_limit, was->epoch_limit);
	}
	return to;
}

/* The time behind the head: returns which width it took. */
static unsigned int put_time(uint8_t **to, uint64_t time)
{
	uint64_t upper = time >> 4;
	unsigned int width = upper < 1U << 16 ? 0 : upper < 1U << 24 ? 1 : upper < 1ULL << 32 ? 2 : 3;

	store64(*to, width == WIDTH_WHOLE ? time : upper);
	*to += width == WIDTH_WHOLE ? 8 : width + 2;
	return width;
}

size_t codec_put_arrival(struct codec *c, uint8_t *to, uint32_t peer, const struct kphi_beat *b)
{
	static const struct kphi_beat nothing;
	struct codec_peer *p = &c->peers[peer];
	struct codec_stalls *stalls = stalls_of(c, b->cpu);
	bool afresh = is_afresh(b, &p->beat);
	unsigned int bits = changes(b, afresh ? &nothing : &p->beat, stalls) | (afresh ? TRACE_AFRESH : 0);
	uint64_t expected_ns = expected_time(c, p), time = codec_zigzag(b->now_ns - expected_ns);
	uint32_t expected = expected_peer(c);
	unsigned int head = (peer != expected ? HEAD_PEER : 0) | (bits ? HEAD_CHANGE : 0), width;
	uint8_t *at = to + 1;

	if (peer != expected) {
		at = codec_put_varint(at, peer);
		move_ring(c, expected, peer);
	}
	width = put_time(&at, time);
	*to = (uint8_t)(head | width << 2 | (width == WIDTH_WHOLE ? 0 : (time & 15) << 4));
	if (bits)
		at = put_changes(at, bits, b, afresh ? &nothing : &p->beat, stalls);
	*stalls = (struct codec_stalls){b->stalled_total_ns, b->stall_end_ns, b->stall_length_ns};
	if (p->heard)
		learn_interval(p, b->now_ns, expected_ns);
	p->beat = *b;
	has_arrived(c, p, peer);
	return (size_t)(at - to);
}

/* --- from bytes --- */

static bool get_afresh(const uint8_t **at, struct kphi_beat *b)
{
	memset(b, 0, sizeof(*b));
	b->native = *(*at)++;
	b->sequence_bits = *(*at)++;
	b->decoder = *(*at)++;
	b->any_source = *(*at)++;
	return get_varint32(at, &b->device) && codec_get_varint(at, &b->local_rx_ns);
}

static bool get_says(const uint8_t **at, unsigned int bits, struct kphi_beat *b)
{
	uint64_t word[2] = {0, 0}, first = 0, second = 0;

	if (!(bits & TRACE_AFRESH))
		codec_says(b, word);
	if ((bits & TRACE_SAYS_FIRST && !codec_get_varint(at, &first)) ||
	    (bits & TRACE_SAYS_SECOND && !codec_get_varint(at, &second)))
		return false;
	word[0] ^= first;
	word[1] ^= second;
	codec_set_says(b, word);
	return true;
}

/* *b is the peer's last beat, with the sequence number that is expected, and becomes this one but for time
 * and stalls. */
static bool get_changes(struct codec *c, const uint8_t **at, struct kphi_beat *b)
{
	unsigned int bits = *(*at)++;
	struct codec_stalls s;

	if (bits & TRACE_AFRESH && !get_afresh(at, b))
		return false;
	if (bits & TRACE_CPU) {
		b->cpu = (uint16_t)((*at)[0] | (*at)[1] << 8);
		*at += 2;
	}
	if (bits & TRACE_SEQUENCE && !get_zigzag(at, &b->sequence))
		return false;
	s = *stalls_of(c, b->cpu);
	if (bits & TRACE_STALLS &&
	    (!get_zigzag(at, &s.total_ns) || !get_zigzag(at, &s.end_ns) || !get_zigzag(at, &s.length_ns)))
		return false;
	*stalls_of(c, b->cpu) = s;
	if (bits & (TRACE_SAYS_FIRST | TRACE_SAYS_SECOND) && !get_says(at, bits, b))
		return false;
	if (bits & TRACE_TYPE) {
		b->type = *(*at)++;
		b->flags = *(*at)++;
	}
	return !(bits & TRACE_EPOCH) || (get_zigzag(at, &b->epoch) && get_zigzag(at, &b->epoch_limit));
}

static int get_arrival(struct codec *c, const uint8_t **at, unsigned int head, uint32_t *peer,
		       struct kphi_beat *b)
{
	static const uint64_t masks[] = {0xffff, 0xffffff, 0xffffffff, UINT64_MAX};
	unsigned int width = head >> 2 & 3;
	uint32_t expected = expected_peer(c), who = expected;
	const struct codec_stalls *s;
	uint64_t time, expected_ns, now_ns;
	struct codec_peer *p;

	if (head & HEAD_PEER && !get_varint32(at, &who))
		return -EBADMSG;
	if (who >= c->count)
		return -EBADMSG;
	p = &c->peers[who];
	time = load64(*at) & masks[width];
	*at += width == WIDTH_WHOLE ? 8 : width + 2;
	if (width != WIDTH_WHOLE)
		time = time << 4 | head >> 4;
	if (head & HEAD_PEER)
		move_ring(c, expected, who);
	expected_ns = expected_time(c, p);
	now_ns = expected_ns + codec_unzigzag(time);
	if (p->heard)
		learn_interval(p, now_ns, expected_ns);
	p->beat.sequence = expected_sequence(&p->beat);
	if (head & HEAD_CHANGE && !get_changes(c, at, &p->beat))
		return -EBADMSG;
	p->beat.now_ns = now_ns;
	has_arrived(c, p, who);
	*b = p->beat;
	s = stalls_of(c, b->cpu);
	b->stalled_total_ns = s->total_ns;
	b->stall_end_ns = s->end_ns;
	b->stall_length_ns = s->length_ns;
	__builtin_prefetch(&c->peers[p->after], 1);
	*peer = who;
	return TRACE_ARRIVAL;
}

int codec_get(struct codec *c, const uint8_t **at, uint32_t *peer, struct kphi_beat *b)
{
	unsigned int head = *(*at)++;

	if ((head >> 2 & 3) != WIDTH_WHOLE || head >> 4 == TRACE_ARRIVAL)
		return get_arrival(c, at, head, peer, b);
	if (head & (HEAD_PEER | HEAD_CHANGE) || head >> 4 > TRACE_STATE)
		return -EBADMSG;
	return (int)(head >> 4);
}
