// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/control.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/clock.h"

int control_open(struct control *c, const struct pin *p, struct why *w)
{
	char path[PIN_PATH];

	*c = (struct control){.program = bpf_obj_get(pin_path(p, "control", path))};
	if (c->program >= 0)
		return 0;
	return why_pin(w, -errno, path, " the control program");
}

void control_close(struct control *c)
{
	if (c->program >= 0)
		close(c->program);
	c->program = -1;
}

/* Returns an enum kphi_control_result, or a negative errno if the program could not be run. */
static int ask(struct control *c, struct kphi_control *q)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = q, .data_size_in = sizeof(*q));
	int err;

	q->now_ns = clock_monotonic_ns();
	err = bpf_prog_test_run_opts(c->program, &run);
	return err ? err : (int)run.retval;
}

static int answer(int result, struct why *w, const char *what)
{
	static const int err_of[] = {
		[KPHI_CONTROL_OK] = 0,
		[KPHI_CONTROL_BAD] = -EINVAL,
		[KPHI_CONTROL_NO_SLOT] = -ENOSPC,
		[KPHI_CONTROL_BUSY] = -EBUSY,
		[KPHI_CONTROL_TAKEN] = -EEXIST,
		[KPHI_CONTROL_GONE] = -ESTALE,
		[KPHI_CONTROL_FULL] = -ENOSPC,
		[KPHI_CONTROL_KEYLESS] = -EPERM,
	};
	static const char *const sentence[] = {
		[KPHI_CONTROL_OK] = "",
		[KPHI_CONTROL_BAD] = "the control program does not know this request",
		[KPHI_CONTROL_NO_SLOT] = "the slot is beyond the store's capacity",
		[KPHI_CONTROL_BUSY] = "the slot is taken",
		[KPHI_CONTROL_TAKEN] = "another peer has this identity already",
		[KPHI_CONTROL_GONE] = "the peer has been deleted meanwhile",
		[KPHI_CONTROL_FULL] = "the table of identities is full",
		[KPHI_CONTROL_KEYLESS] = "every native peer of this store must have a key: say which with "
					 "`key NAME`",
	};

	if (result < 0)
		return why(w, result, "%s: the control program cannot be run: %s%s%s", what,
			   why_errno(result), why_denied(result) ? "; " : "", why_denied(result) ?: "");
	if (result >= (int)(sizeof(err_of) / sizeof(*err_of)))
		return why(w, -EPROTO, "%s: the control program answers %d", what, result);
	return result ? why(w, err_of[result], "%s: %s", what, sentence[result]) : 0;
}

int control_ask(struct control *c, struct kphi_control *q, struct why *w, const char *what)
{
	return answer(ask(c, q), w, what);
}

/* Where a rule looks. */
static struct kphi_shape shape_of(const struct kphi_rule *rule)
{
	struct kphi_shape shape = {.flags = rule->any_source ? 0 : KPHI_SHAPE_SOURCE};

	if (*rule->device)
		shape.flags |= KPHI_SHAPE_DEVICE;
	for (int i = 0; i < KPHI_MATCHES; i++) {
		if (!rule->match[i].width)
			continue;
		shape.offset[i] = rule->match[i].offset;
		shape.width[i] = rule->match[i].width;
		shape.mask[i] = rule->match[i].mask;
		shape.bits += (uint8_t)__builtin_popcountll(rule->match[i].mask);
	}
	return shape;
}

bool control_shapes_take(struct control_shapes *c, const struct kphi_rule *rule)
{
	struct kphi_shape shape = shape_of(rule);

	for (uint32_t i = 0; i < c->count; i++)
		if (!memcmp(&c->shape[i], &shape, sizeof(shape)))
			return true;
	if (c->count == KPHI_SHAPES)
		return false;
	c->shape[c->count++] = shape;
	return true;
}

/* What is free keeps its identity, so that one is looked at first: it is one line of cache. */
static bool is_rule(const struct store *s, uint32_t slot)
{
	return s->peers[slot].id.kind == KPHI_ID_RULE && s->records[slot].state != KPHI_FREE;
}

/* Is there a rule of this shape in the slot? */
static bool has_shape(const struct store *s, uint32_t slot, const struct kphi_shape *shape)
{
	struct kphi_shape other;

	if (slot >= s->header->peers || !is_rule(s, slot))
		return false;
	other = shape_of(&s->rules[slot]);
	return !memcmp(&other, shape, sizeof(other));
}

/*
 * The number of this shape: the one it has already, or one that no rule uses. 0: there is none left. Whoever
 * adds many rules of a shape finds the one before at once.
 */
static uint8_t shape_number(const struct control *c, const struct store *s, const struct kphi_shape *shape)
{
	bool used[KPHI_SHAPES + 1] = {false};

	for (uint8_t n = 1; n <= KPHI_SHAPES; n++)
		if (has_shape(s, c->shaped[n], shape))
			return s->peers[c->shaped[n]].id.shape;
	for (uint32_t i = 0; i < s->header->peers; i++) {
		uint8_t n = s->peers[i].id.shape;

		if (n > KPHI_SHAPES || used[n] || !is_rule(s, i))
			continue;
		if (has_shape(s, i, shape))
			return n;
		used[n] = true;
	}
	for (uint8_t n = 1; n <= KPHI_SHAPES; n++)
		if (!used[n])
			return n;
	return 0;
}

/* The identity that a rule amounts to. */
static int complete_rule(struct kphi_control *q, const struct control *c, const struct store *s,
			 struct kphi_peer *peer, struct why *w)
{
	q->shape = shape_of(&q->rule);
	peer->id.shape = shape_number(c, s, &q->shape);
	for (int i = 0; i < KPHI_MATCHES; i++)
		peer->id.match[i] = q->rule.match[i].value;
	if (peer->id.shape)
		return 0;
	return why(w, -ENOSPC,
		   "%s: the rules of this store look at packets in %d ways already, and this one is yet "
		   "another. Delete rules of one kind, or give this one the same offsets and masks as others",
		   peer->name, KPHI_SHAPES);
}

int control_restore(struct control *c, const struct store *s, struct kphi_peer *peer,
		    const struct kphi_rule *rule, const struct control_floor *floor, uint32_t *slot,
		    struct why *w)
{
	struct kphi_control q = {
		.op = KPHI_CONTROL_ADD, .epoch_floor = floor->epoch, .sequence_floor = floor->sequence};
	int err;

	if (rule)
		q.rule = *rule;
	err = peer->id.kind == KPHI_ID_RULE ? complete_rule(&q, c, s, peer, w) : 0;
	if (err)
		return err;
	for (uint32_t i = *slot; i < s->header->peers; i++) {
		int result;

		if (s->records[i].state != KPHI_FREE)
			continue;
		peer->added_ns = clock_monotonic_ns();
		q.peer = *peer;
		q.slot = i;
		result = ask(c, &q);
		if (result == KPHI_CONTROL_BUSY)
			continue;
		*slot = i;
		c->shaped[peer->id.shape % (KPHI_SHAPES + 1)] = i;
		return answer(result, w, peer->name);
	}
	return why(w, -ENOSPC,
		   "%s: the store is full: all %u slots are taken. Delete a peer, or make a larger store "
		   "(`kphi store purge`, "
		   "then `kphi store create peers N`)",
		   peer->name, s->header->peers);
}

int control_add(struct control *c, const struct store *s, struct kphi_peer *peer,
		const struct kphi_rule *rule, uint32_t *slot, struct why *w)
{
	static const struct control_floor none;

	return control_restore(c, s, peer, rule, &none, slot, w);
}

/* Is there no other rule of the same shape for the packets of the peer in `slot`? */
static bool last_of_shape(const struct store *s, uint32_t slot)
{
	const struct kphi_id *id = &s->peers[slot].id;

	if (id->kind != KPHI_ID_RULE)
		return false;
	for (uint32_t i = 0; i < s->header->peers; i++) {
		const struct kphi_id *other = &s->peers[i].id;

		if (i != slot && other->protocol == id->protocol && other->port == id->port &&
		    other->shape == id->shape && is_rule(s, i))
			return false;
	}
	return true;
}

/* The ifindex by which packets are held against the device that the peer in `slot` names. */
static uint32_t bound_to(const struct store *s, uint32_t slot)
{
	return is_rule(s, slot) ? s->peers[slot].id.device : s->rules[slot].ifindex;
}

int control_follow(struct control *c, const struct store *s, const char *device, uint32_t ifindex,
		   struct why *w)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < s->header->peers; i++) {
		struct kphi_control q = {
			.op = KPHI_CONTROL_MOVE, .slot = i, .generation = s->records[i].generation};

		if (s->records[i].state == KPHI_FREE || !*s->rules[i].device ||
		    strncmp(s->rules[i].device, device, KPHI_DEVICE_SIZE) || bound_to(s, i) == ifindex)
			continue;
		q.peer.id.device = ifindex;
		err = answer(ask(c, &q), w, s->peers[i].name);
	}
	return err;
}

static int delete_one(struct control *c, uint32_t slot, uint32_t generation, bool last, struct why *w)
{
	struct kphi_control q = {
		.op = KPHI_CONTROL_DELETE, .slot = slot, .generation = generation, .last_of_shape = last};

	return answer(ask(c, &q), w, "delete");
}

int control_delete(struct control *c, const struct store *s, uint32_t slot, uint32_t generation,
		   struct why *w)
{
	return delete_one(c, slot, generation, last_of_shape(s, slot), w);
}

/* How many rules of a shape there are for a UDP port or another protocol: 4 MiB, most of them never touched.
 */
struct tally {
	uint32_t rules[KPHI_PORT_ROWS][KPHI_SHAPES + 1];
};

static uint32_t *tally_of(struct tally *tally, const struct kphi_id *id)
{
	uint32_t row = id->protocol == IPPROTO_UDP ? id->port : (uint32_t)KPHI_PORTS + id->protocol;

	return &tally->rules[row][id->shape % (KPHI_SHAPES + 1)];
}

int control_delete_all(struct control *c, const struct store *s, const struct kphi_slot *which,
		       uint32_t count, struct why *w)
{
	struct tally *tally = calloc(1, sizeof(*tally));
	int err = 0;

	if (!tally)
		return why(w, -ENOMEM, "no memory to delete %u peers", count);
	for (uint32_t i = 0; i < s->header->peers; i++)
		if (is_rule(s, i))
			++*tally_of(tally, &s->peers[i].id);
	for (uint32_t i = 0; !err && i < count; i++) {
		const struct kphi_id *id = &s->peers[which[i].slot].id;
		bool last = id->kind == KPHI_ID_RULE && !--*tally_of(tally, id);

		err = delete_one(c, which[i].slot, which[i].generation, last, w);
	}
	free(tally);
	return err;
}

int control_reset(struct control *c, uint32_t slot, uint32_t generation, struct why *w)
{
	struct kphi_control q = {.op = KPHI_CONTROL_RESET, .slot = slot, .generation = generation};

	return answer(ask(c, &q), w, "reset");
}

int control_mute(struct control *c, uint32_t slot, uint32_t generation, uint64_t until_ns, const char *reason,
		 struct why *w)
{
	struct kphi_control q = {.op = KPHI_CONTROL_MUTE, .slot = slot, .generation = generation};

	q.peer.mute_until_ns = until_ns;
	snprintf(q.peer.mute_reason, sizeof(q.peer.mute_reason), "%s", reason ?: "");
	return answer(ask(c, &q), w, until_ns ? "mute" : "unmute");
}

int control_watch(struct control *c, uint32_t slot, uint32_t generation, bool on, struct why *w)
{
	struct kphi_control q = {
		.op = on ? KPHI_CONTROL_WATCH : KPHI_CONTROL_UNWATCH, .slot = slot, .generation = generation};

	return answer(ask(c, &q), w, on ? "watch" : "unwatch");
}

int control_stop_ticks(struct control *c, const struct store *s, struct why *w)
{
	int err = 0;

	for (uint32_t cpu = 0; !err && cpu < s->header->cpus; cpu++) {
		struct kphi_control q = {.op = KPHI_CONTROL_STOP_TICK, .slot = cpu};

		if (s->ticks[cpu].program)
			err = answer(ask(c, &q), w, "stop the guard's ticks");
	}
	return err;
}

int control_listen(struct control *c, uint16_t port, bool on, struct why *w)
{
	struct kphi_control q = {.op = on ? KPHI_CONTROL_LISTEN : KPHI_CONTROL_DEAFEN, .port = port};

	return answer(ask(c, &q), w, on ? "listen" : "deafen");
}

int control_record(struct control *c, uint64_t until_ns, struct why *w)
{
	struct kphi_control q = {.op = KPHI_CONTROL_RECORD, .until_ns = until_ns};

	return answer(ask(c, &q), w, "record");
}

int control_discover(struct control *c, uint64_t until_ns, struct why *w)
{
	struct kphi_control q = {.op = KPHI_CONTROL_DISCOVER, .until_ns = until_ns};

	return answer(ask(c, &q), w, "discover");
}

int control_verdict(struct control *c, uint32_t slot, const struct kphi_verdict *verdict, struct why *w)
{
	struct kphi_control q = {.op = KPHI_CONTROL_VERDICT, .slot = slot, .verdict = *verdict};

	return answer(ask(c, &q), w, "publish a verdict");
}

int control_refresh(struct control *c, uint32_t first, uint32_t end, uint32_t life, uint64_t until_ns,
		    struct why *w)
{
	struct kphi_control q = {.op = KPHI_CONTROL_REFRESH,
				 .slot = first,
				 .end = end,
				 .until_ns = until_ns,
				 .verdict.life = life};

	return answer(ask(c, &q), w, "refresh the verdicts");
}
