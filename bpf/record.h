/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recording a beat: find the peer, stamp, lock, fold in, count. */
#ifndef KPHI_BPF_RECORD_H
#define KPHI_BPF_RECORD_H

#include "arrivals.h"
#include "glance.h"
#include "identify.h"
#include "maps.h"
#include "strangers.h"
#include "tick.h"
#include "verify.h"

/* A helper call, so it is asked only of a packet that is longer than the first buffer. */
KPHI_INLINE uint64_t frame_length(const struct frame *f)
{
	return f->socket_buffer ? ((struct __sk_buff *)f->context)->len : bpf_xdp_get_buff_len(f->context);
}

KPHI_INLINE long frame_copy(const struct frame *f, uint32_t offset, void *to, uint32_t size)
{
	return f->socket_buffer ? bpf_skb_load_bytes(f->context, offset, to, size)
				: bpf_xdp_load_bytes(f->context, offset, to, size);
}

/*
 * The wall clock is asked only when a message claims an epoch the record has not reached, and whose sender
 * has not proved that it may. The peek is made without the lock: epochs only rise, so what passes here for
 * known is known; a reset in between refuses one message at worst.
 */
static __always_inline uint64_t record_epoch_limit(const struct kphi_record *r, const struct kphi_beat *b)
{
	uint64_t known = *(volatile const uint64_t *)&r->epoch;

	if (b->epoch <= known)
		return known;
	if (b->flags & KPHI_WIRE_SIGNED)
		return b->epoch;
	return bpf_ktime_get_tai_ns() / 1000000000 + KPHI_EPOCH_AHEAD_S;
}

static __always_inline void record_notes(uint32_t cpu, uint32_t notes)
{
	struct kphi_counters *c = bpf_map_lookup_elem(&counters, &cpu);

	if (!c)
		return;
#define X(name, help) c->count[KPHI_COUNT_##name] += !!(notes & KPHI_NOTE(name));
	KPHI_NOTES(X)
#undef X
}

/* Tells whoever runs verdicts to look at this peer now. Nobody has to be listening. */
static __always_inline void record_hint(uint32_t slot, uint32_t generation)
{
	struct kphi_hint hint = {.slot = slot, .generation = generation};

	bpf_ringbuf_output(&hints, &hint, sizeof(hint), 0);
}

/* What such a listener has to hear of at once when it changes. */
static __always_inline uint32_t record_face(const struct kphi_record *r)
{
	return r->state | r->flags << 8;
}

/*
 * Fold *b into the record of the peer in `slot`, if that still has this generation; b->now_ns is stamped
 * already, before anything that can wait. Returns the outcome.
 */
static __always_inline int record_beat(struct kphi_beat *b, uint32_t slot, uint32_t generation)
{
	enum kphi_counter outcome = KPHI_COUNT_unknown_peer;
	uint32_t notes = 0, changed = 0;
	struct telling telling;
	struct kphi_tick *t;
	struct place p;

	t = tick_keep(b->cpu, b->now_ns);
	if (!t || place_find(&p, slot))
		return KPHI_COUNT_internal;
	kphi_beat_meets_tick(b, t);
	if (p.record->window.interval_ns > t->longest_ns)
		t->longest_ns = p.record->window.interval_ns;
	b->epoch_limit = record_epoch_limit(p.record, b);

	telling = arrival_begin(slot, generation, KPHI_ARRIVAL_MESSAGE, b->now_ns);
	if (telling.on)
		telling.arrival->beat = *b;

	bpf_spin_lock(&p.lock->lock);
	if (p.record->generation == generation && p.record->state != KPHI_FREE) {
		version_move(p.record);
		changed = record_face(p.record);
		outcome = kphi_record_take(p.record, p.peer, p.ring, window_size, b, &notes);
		changed ^= record_face(p.record);
		version_move(p.record);
		arrival_order(&telling, p.record);
	}
	bpf_spin_unlock(&p.lock->lock);
	arrival_end(&telling);

	if (notes)
		record_notes(b->cpu, notes);
	if (changed ||
	    notes & (KPHI_NOTE(restart) | KPHI_NOTE(retuned) | KPHI_NOTE(renegotiated) |
		     KPHI_NOTE(handover)) ||
	    (p.peer->watched && outcome == KPHI_COUNT_beat))
		record_hint(slot, generation);
	return outcome;
}

static __always_inline struct frame frame_of_packet(struct xdp_md *ctx)
{
	return (struct frame){(void *)(long)ctx->data, (void *)(long)ctx->data_end, ctx, 0};
}

static __always_inline struct frame frame_of_buffer(struct __sk_buff *skb)
{
	return (struct frame){(void *)(long)skb->data, (void *)(long)skb->data_end, skb, 1};
}

/* Is there a rule of shape number `n` that this packet fits, and asks for more than the one found so far? */
static __always_inline int record_try(const struct frame *f, struct probe *p, uint32_t n)
{
	const struct kphi_shape *s = &ports.shape[n & 15];
	uint32_t rank = kphi_shape_rank(s);
	struct kphi_slot *to;
	struct kphi_id id;

	if (!p || (p->found && rank <= p->rank) || identify_shape(f, p, s, n, &id))
		return 0;
	to = bpf_map_lookup_elem(&ids, &id);
	if (!to)
		return 0;
	p->found = 1;
	p->rank = rank;
	p->to = *to;
	return 0;
}

/* Functions of their own, so that the verifier looks into them once and not once a shape. */
__attribute__((noinline)) int record_try_packet(struct xdp_md *ctx, struct probe *p, uint32_t n)
{
	struct frame f = frame_of_packet(ctx);

	return record_try(&f, p, n);
}

__attribute__((noinline)) int record_try_buffer(struct __sk_buff *skb, struct probe *p, uint32_t n)
{
	struct frame f = frame_of_buffer(skb);

	return record_try(&f, p, n);
}

/*
 * The rule that this packet fits. The shapes of its port are tried one after the other, each by one look-up;
 * there are few, and most ports have one. Of several the one that asks for most has it.
 */
static __always_inline void record_probe(const struct frame *f, const struct datagram *d, uint32_t device,
					 uint32_t bits, struct probe *p)
{
	*p = (struct probe){.device = device,
			    .payload = d->payload,
			    .length = d->length,
			    .port = d->port,
			    .protocol = d->protocol};
	identify_source(f, d, p->source);
	for (uint32_t n = 1; n <= KPHI_SHAPES && bits >> n; n++) {
		if (!(bits >> n & 1))
			continue;
		if (f->socket_buffer)
			record_try_buffer(f->context, p, n);
		else
			record_try_packet(f->context, p, n);
	}
}

/* What the packet counts as where a rule may have it; `missed` is what it is if none has. */
static __always_inline int record_rule(const struct frame *f, const struct datagram *d, uint32_t bits,
				       struct kphi_beat *b, int missed)
{
	enum kphi_counter fits;
	struct kphi_rule *rule;
	struct probe p;

	record_probe(f, d, b->device, bits, &p);
	if (!p.found)
		return missed;
	rule = bpf_map_lookup_elem(&rules, &p.to.slot);
	if (!rule)
		return KPHI_COUNT_internal;
	fits = identify_rule(f, d, rule, b);
	return fits == KPHI_COUNT_beat ? record_beat(b, p.to.slot, p.to.generation) : fits;
}

/* Does the message show what its peer demands? KPHI_COUNT_beat, or what it lacks. */
static __always_inline int record_verify(const struct frame *f, struct claim *c)
{
	enum kphi_counter shown;
	struct kphi_peer *peer;
	struct kphi_rule *rule;
	struct kphi_seal *seal;
	struct kphi_keys *ring;
	uint32_t slot, number;

	if (!c)
		return KPHI_COUNT_internal;
	slot = c->slot; /* on the stack: before 6.3 a key cannot be where an argument points */
	peer = bpf_map_lookup_elem(&peers, &slot);
	rule = bpf_map_lookup_elem(&rules, &slot);
	seal = bpf_map_lookup_elem(&seals, &slot);
	if (!peer || !rule || !seal)
		return KPHI_COUNT_internal;
	shown = verify_path(f, c, peer->demands, rule);
	if (shown == KPHI_COUNT_beat && peer->demands & KPHI_DEMAND_KEY) {
		number = peer->ring;
		ring = bpf_map_lookup_elem(&keys, &number);
		shown = ring ? verify_tag(f, c, ring) : KPHI_COUNT_internal;
	}
	if (shown == KPHI_COUNT_beat)
		return shown;
	__sync_fetch_and_add(&seal->refused, 1);
	seal->refused_ns = c->now_ns;
	seal->refused_as = shown;
	return shown;
}

/* Functions of their own: peers that demand nothing pay nothing for this, and the verifier has less to carry.
 */
__attribute__((noinline)) int record_verify_packet(struct xdp_md *ctx, struct claim *c)
{
	struct frame f = frame_of_packet(ctx);

	return record_verify(&f, c);
}

__attribute__((noinline)) int record_verify_buffer(struct __sk_buff *skb, struct claim *c)
{
	struct frame f = frame_of_buffer(skb);

	return record_verify(&f, c);
}

/* Which key was last in use, for who looks. */
static __always_inline void record_key(uint32_t slot, uint32_t key_id)
{
	struct kphi_seal *seal = bpf_map_lookup_elem(&seals, &slot);

	if (seal && seal->key_id != key_id)
		seal->key_id = key_id;
}

/* For a peer that has demands: KPHI_COUNT_beat if they are met, with *key_id; 0: none of them is a key. */
static __always_inline int record_prove(const struct frame *f, const struct datagram *d, struct kphi_beat *b,
					uint32_t slot, uint32_t *key_id)
{
	struct claim claim = claim_of(d, slot, b->device);
	int shown;

	claim.now_ns = b->now_ns;
	shown = f->socket_buffer ? record_verify_buffer(f->context, &claim)
				 : record_verify_packet(f->context, &claim);
	*key_id = claim.key_id;
	if (claim.key_id)
		b->flags |= KPHI_WIRE_SIGNED;
	return shown;
}

static __always_inline int record_native(const struct frame *f, const struct datagram *d, struct kphi_beat *b)
{
	uint32_t key_id = 0;
	struct kphi_peer *peer;
	struct kphi_slot *found, to;
	struct kphi_id id;
	int outcome = identify_native(f, d, &id, b);

	if (outcome != KPHI_COUNT_beat)
		return outcome;
	found = bpf_map_lookup_elem(&ids, &id);
	if (!found) {
		stranger_tell(f, d, &id, b);
		return KPHI_COUNT_unknown_peer;
	}
	to = *found; /* once: what is proved for one peer must not be recorded for the next one there */
	peer = bpf_map_lookup_elem(&peers, &to.slot);
	if (!peer)
		return KPHI_COUNT_internal;
	if (peer->demands) {
		outcome = record_prove(f, d, b, to.slot, &key_id);
		if (outcome != KPHI_COUNT_beat)
			return outcome;
	}
	outcome = record_beat(b, to.slot, to.generation);
	if (key_id && outcome <= KPHI_COUNT_down)
		record_key(to.slot, key_id);
	return outcome;
}

/* Does an outcome say that no native peer has sent this? */
static __always_inline int record_is_nobodys(int outcome)
{
	return outcome >= KPHI_COUNT_wire_short && outcome <= KPHI_COUNT_unknown_peer;
}

/* Which bits of `ports` stand for this packet. */
static __always_inline uint32_t record_bits(const struct datagram *d)
{
	return d->protocol == IPPROTO_UDP ? port_bits(d->port) : protocol_bits(d->protocol);
}

#define RECORD_RULES 0x100 /* in an outcome: rules may have it; what it is if none has is in the low byte */
#define RECORD_LOW   0xff

/*
 * A parsed packet and native peers. A node id asks for more than any rule, so where both are listened for, a
 * native peer comes first. FOREIGN: it is for nobody here.
 */
static __always_inline int record_first(const struct frame *f, const struct datagram *d, struct kphi_beat *b)
{
	uint32_t bits = record_bits(d);
	int outcome;

	if (!bits)
		return FOREIGN;
	if (d->fragment)
		return KPHI_COUNT_fragment;
	if (!(bits & KPHI_PORT_NATIVE))
		return RECORD_RULES | KPHI_COUNT_no_rule;
	b->now_ns = bpf_ktime_get_ns();
	b->type = KPHI_WIRE_BEAT;
	outcome = record_native(f, d, b);
	return bits >> 1 && record_is_nobodys(outcome) ? RECORD_RULES | outcome : outcome;
}

/* Returns what is left to do: RECORD_RULES and so on, or 0. */
static __always_inline int record_end(uint32_t cpu, int outcome)
{
	if (outcome != FOREIGN && outcome & RECORD_RULES)
		return outcome;
	if (outcome != FOREIGN)
		count(cpu, outcome);
	return 0;
}

/*
 * A frame that may be ours. Not inlined, so that the program that calls it needs none of the registers that
 * would have to be saved, for every packet of the host, first.
 */
__attribute__((noinline)) int record_packet(struct xdp_md *ctx)
{
	struct kphi_beat b = {.device = ctx->ingress_ifindex, .cpu = bpf_get_smp_processor_id()};
	struct frame f = frame_of_packet(ctx);
	struct datagram d = {};
	int verdict = parse_frame(&f, &d);

	return record_end(b.cpu, verdict == PARSED ? record_first(&f, &d, &b) : verdict);
}

/*
 * The same for rules. They have a function of their own, which parses once more, because that is cheaper than
 * what the verifier and the 512 bytes of stack would make of both in one. `first` is what record_packet() has
 * returned.
 */
__attribute__((noinline)) int record_packet_rules(struct xdp_md *ctx, uint32_t first)
{
	struct kphi_beat b = {.device = ctx->ingress_ifindex, .cpu = bpf_get_smp_processor_id()};
	struct frame f = frame_of_packet(ctx);
	struct datagram d = {};

	b.now_ns = bpf_ktime_get_ns();
	if (parse_frame(&f, &d) == PARSED)
		count(b.cpu, record_rule(&f, &d, record_bits(&d), &b, first & RECORD_LOW));
	return 0;
}

/* The whole packet path: every frame leaves it as it came. */
static __always_inline void record_frame(struct xdp_md *ctx)
{
	int first;

	if (glance_foreign((void *)(long)ctx->data, (void *)(long)ctx->data_end))
		return;
	first = record_packet(ctx);
	if (first)
		record_packet_rules(ctx, first);
}

#define SKB_HEADERS 256 /* that have to lie in one piece */

/* May this packet begin with the headers of a GRE tunnel, over either IP? */
static __always_inline int buffer_has_tunnel(const uint8_t *at)
{
	if (at[0] >> 4 == 4)
		return at[9] == IPPROTO_GRE;
	return at[0] >> 4 == 6 && (at[6] == IPPROTO_GRE || at[6] == IPPROTO_DSTOPTS);
}

/*
 * Where IP begins on a device without Ethernet. With the first byte, but for GRE tunnels with many remote
 * ends: they hand over their own headers first, and only the kernel's network header tells; how far that is
 * from the first byte follows from the length of what begins there.
 */
static __always_inline uint32_t buffer_network(struct __sk_buff *skb, const struct frame *f)
{
	const uint8_t *first = frame_at(f, 0, 20);
	uint64_t head = 0, begin = 0;
	uint32_t length;

	if (!first || !buffer_has_tunnel(first) ||
	    bpf_skb_load_bytes_relative(skb, 0, &head, sizeof(head), BPF_HDR_START_NET))
		return 0;
	__builtin_memcpy(&begin, first, sizeof(begin));
	if (begin == head)
		return 0;
	head = bpf_be64_to_cpu(head);
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		length = sizeof(struct ipv6hdr) + (head >> 16 & 0xffff);
	else
		length = head >> 32 & 0xffff;
	return length < skb->len ? skb->len - length : 0;
}

/*
 * The same for a socket buffer, for the hooks behind XDP. The kernel has taken the outermost tag off; a
 * device without Ethernet (a tunnel) has none to begin with.
 */
static __always_inline int record_parse(struct __sk_buff *skb, int ethernet, struct frame *f,
					struct datagram *d)
{
	*d = (struct datagram){.vlan = skb->vlan_present ? skb->vlan_tci & VLAN_ID : 0};
	*f = frame_of_buffer(skb);
	if (ethernet)
		return parse_frame(f, d);
	return parse_network(f, f->data + (buffer_network(skb, f) & OFFSET_MASK), skb->protocol, d);
}

static __always_inline int record_buffer_first(struct __sk_buff *skb, int ethernet)
{
	struct kphi_beat b = {.device = skb->ifindex, .cpu = bpf_get_smp_processor_id()};
	struct datagram d;
	struct frame f;
	int verdict;

	if (skb->data_end - skb->data < SKB_HEADERS && skb->data_end - skb->data < skb->len)
		bpf_skb_pull_data(skb, skb->len < SKB_HEADERS ? skb->len : SKB_HEADERS);
	verdict = record_parse(skb, ethernet, &f, &d);
	return record_end(b.cpu, verdict == PARSED ? record_first(&f, &d, &b) : verdict);
}

static __always_inline int record_buffer_rules(struct __sk_buff *skb, int ethernet, uint32_t first)
{
	struct kphi_beat b = {.device = skb->ifindex, .cpu = bpf_get_smp_processor_id()};
	struct datagram d;
	struct frame f;

	b.now_ns = bpf_ktime_get_ns();
	if (record_parse(skb, ethernet, &f, &d) == PARSED)
		count(b.cpu, record_rule(&f, &d, record_bits(&d), &b, first & RECORD_LOW));
	return 0;
}

__attribute__((noinline)) int record_ethernet(struct __sk_buff *skb)
{
	return record_buffer_first(skb, 1);
}

__attribute__((noinline)) int record_ethernet_rules(struct __sk_buff *skb, uint32_t first)
{
	return record_buffer_rules(skb, 1, first);
}

__attribute__((noinline)) int record_ip(struct __sk_buff *skb)
{
	return record_buffer_first(skb, 0);
}

__attribute__((noinline)) int record_ip_rules(struct __sk_buff *skb, uint32_t first)
{
	return record_buffer_rules(skb, 0, first);
}

/* The first look at a packet that begins with IP, or with the headers of a tunnel. */
static __always_inline int glance_ip(uint8_t *at, void *end, uint16_t proto)
{
	return (void *)(at + 20) <= end && !buffer_has_tunnel(at) && glance_network(at, end, proto);
}

static __always_inline void record_buffer(struct __sk_buff *skb, int ethernet)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	int first;

	if (ethernet ? glance_foreign(data, end) : glance_ip(data, end, skb->protocol))
		return;
	first = ethernet ? record_ethernet(skb) : record_ip(skb);
	if (first && ethernet)
		record_ethernet_rules(skb, first);
	else if (first)
		record_ip_rules(skb, first);
}

#endif
