// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Senders, what a script does to them and to the host, and the order of all that happens. */
#include "scenario.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- senders --- */

static uint64_t noise(struct world *w)
{
	w->random = w->random * 6364136223846793005U + 1442695040888963407U;
	return w->random >> 33;
}

/* BFD counts from packet to packet, and is early by up to a quarter (RFC 5880, 6.8.7). */
static void next_packet(struct world *w, struct sim_peer *p)
{
	uint64_t real_ns = p->polls ? p->poll_real_ns : p->real_ns;

	if (p->due_ns == UINT64_MAX)
		p->due_ns = w->now_ns;
	p->due_ns += real_ns - noise(w) % (real_ns / 4 + 1);
}

static void next_beat(struct world *w, struct sim_peer *p)
{
	uint64_t real_ns = p->real_ns;
	uint64_t spread_ns = real_ns / 1000000 * p->spec->jitter_ppm;

	if (p->spec->bfd) {
		next_packet(w, p);
		return;
	}
	p->due_ns = p->start_ns + ++p->beats * real_ns;
	if (spread_ns)
		p->due_ns += noise(w) % (2 * spread_ns + 1) - spread_ns;
}

static struct packet packet_of(const struct world *w, const struct sim_peer *p, uint8_t type)
{
	const struct peer_spec *spec = p->spec;
	struct packet packet = {
		.peer = (uint32_t)(p - w->peer),
		.beat =
			{
				.epoch = spec->rule ? 0 : p->epoch,
				.sequence = spec->rule && !spec->sequence_bits ? 0 : p->sequence,
				.sequence_bits = spec->sequence_bits,
				.device = spec->device,
				.cpu = (uint16_t)spec->cpu,
				.type = type,
				.flags = p->flags,
				.native = !spec->rule,
				.any_source = spec->any_source,
			},
	};
	struct kphi_beat *b = &packet.beat;

	if (spec->any_source)
		b->speaker[1] = p->speaker + 1; /* 0 is nobody */
	if (!spec->bfd)
		return packet;
	b->decoder = KPHI_DECODER_BFD;
	b->local_rx_ns = spec->local_rx_ns;
	b->bfd = p->bfd;
	b->bfd.discriminator = (uint32_t)p->epoch;
	if (p->polls)
		b->bfd.flags |= KPHI_BFD_POLL;
	if (kphi_bfd_is_quiet(&b->bfd))
		b->type = KPHI_WIRE_LEAVE; /* as identify_rule() of bpf/identify.h */
	return packet;
}

static void send(struct world *w, struct sim_peer *p, uint8_t type)
{
	struct packet packet;

	p->sequence++;
	packet = packet_of(w, p, type);
	p->polls -= p->polls > 0;
	kernel_deliver(w, &packet);
}

/* As Gilbert's chain has it, so that `lost` and `burst` are what comes of it in the long run. */
static bool is_lost(struct world *w, struct sim_peer *p)
{
	uint64_t lost = p->spec->lost_ppm, burst = p->spec->burst;

	if (!lost)
		return false;
	if (p->losing)
		p->losing = noise(w) % burst != 0;
	else
		p->losing = noise(w) % (burst * (1000000 - lost)) < lost;
	p->sequence += p->losing;
	return p->losing;
}

static void start(struct world *w, struct sim_peer *p)
{
	p->beats = 0;
	p->start_ns = w->now_ns + p->spec->phase_ns;
	p->due_ns = p->start_ns;
}

/* --- what the control program does --- */

static void clear(struct world *w, struct sim_peer *p)
{
	uint32_t generation = p->record.generation;

	memset(&p->record, 0, sizeof(p->record));
	p->record.generation = generation;
	p->record.state = KPHI_WAITING;
	p->record.since_ns = w->now_ns;
	kphi_window_begin(&p->record.window, &p->peer);
}

static void add(struct world *w, struct sim_peer *p)
{
	const struct peer_spec *spec = p->spec;

	memset(&p->peer, 0, sizeof(p->peer));
	memcpy(p->peer.name, spec->name, sizeof(p->peer.name));
	p->peer.added_ns = w->now_ns;
	p->peer.interval_ns = spec->bfd ? 0 : spec->interval_ns;
	p->peer.min_std_ns = spec->min_std_ns;
	p->peer.pause_ns = spec->pause_ns;
	p->peer.max_interval_ns = spec->cap_ns;
	p->peer.model = spec->model;
	p->peer.set = spec->set;
	p->peer.id.kind = spec->rule ? KPHI_ID_RULE : KPHI_ID_NATIVE;
	p->rule = (struct kphi_rule){
		.local_rx_ns = spec->local_rx_ns,
		.sequence_bits = spec->sequence_bits,
		.decoder = spec->bfd ? KPHI_DECODER_BFD : KPHI_DECODER_NONE,
		.any_source = spec->any_source,
	};
	clear(w, p);
}

/* --- the verbs of `at T VERB ...`; `word` is the one after the verb --- */

static uint64_t time_at(const struct line *l, uint32_t word)
{
	int64_t ns = 0;

	word_time(l->word[word], &ns);
	return (uint64_t)ns;
}

static void agree(struct world *w, const struct action *a, uint64_t at_ns)
{
	if (w->agenda_length < SCENARIO_LINES)
		w->agenda[w->agenda_length++] = (struct sim_action){a, at_ns};
	else
		world_broken(w, "the agenda is full");
}

static void miss(struct world *w, struct sim_peer *p)
{
	p->sequence++;
	next_beat(w, p);
}

/* beat P [at deadline D] [ahead D] [epoch N]: one beat, now, or that long after the first consumer's
 * deadline. */
static void beat(struct world *w, struct sim_peer *p, const struct line *l, uint32_t word)
{
	struct packet packet;

	if (word_is(l, word + 1, "at")) {
		p->start_ns = host_deadline_ns(w, (uint32_t)(p - w->peer), 0) + time_at(l, word + 3);
		p->beats = 0;
		p->due_ns = p->start_ns;
		return;
	}
	p->sequence++;
	packet = packet_of(w, p, KPHI_WIRE_BEAT);
	for (uint32_t i = word + 1; i + 1 < l->words; i += 2) {
		if (word_is(l, i, "ahead"))
			packet.beat.now_ns = time_at(l, i + 1);
		if (word_is(l, i, "epoch"))
			packet.beat.epoch +=
				strtoull(l->word[i + 1], NULL, 10); /* modulo 2^64: -1 is one less */
	}
	kernel_deliver(w, &packet);
}

static void forge(struct world *w, struct sim_peer *p)
{
	struct packet packet = packet_of(w, p, KPHI_WIRE_LEAVE);

	packet.beat.sequence = p->record.sequence.highest + 1;
	kernel_deliver(w, &packet);
}

static void mute(struct world *w, struct sim_peer *p, const struct line *l, uint32_t word)
{
	p->peer.mute_until_ns = w->now_ns + time_at(l, word + 2);
	snprintf(p->peer.mute_reason, sizeof(p->peer.mute_reason), "%s", l->word[word + 4]);
}

static void restart(struct world *w, struct sim_peer *p, const struct line *l, uint32_t word)
{
	int64_t by = word_is(l, word + 1, "epoch") ? strtoll(l->word[word + 2], NULL, 10) : 1;

	p->epoch += (uint64_t)by;
	p->sequence = 0;
	start(w, p);
}

/* session P STATE [tx D] [real D] [polls N]: what it says of its BFD session from now on, and at once. */
static void session(struct world *w, struct sim_peer *p, const struct line *l, uint32_t word)
{
	static const char *const states[] = {"admin_down", "down", "init", "up", "demand"};
	uint64_t tx_ns;

	for (uint8_t i = 0; i < 5; i++)
		if (word_is(l, word + 1, states[i])) {
			p->bfd.state = i < 5 - 1 ? i : KPHI_BFD_UP;
			p->bfd.flags = i < 5 - 1 ? 0 : KPHI_BFD_DEMAND;
		}
	p->poll_real_ns = p->real_ns;
	for (uint32_t i = word + 2; i + 1 < l->words; i += 2) {
		if (word_is(l, i, "tx")) {
			tx_ns = time_at(l, i + 1);
			p->bfd.desired_tx_us = (uint32_t)(tx_ns / 1000);
			p->real_ns = tx_ns > p->spec->local_rx_ns ? tx_ns : p->spec->local_rx_ns;
		}
		if (word_is(l, i, "real"))
			p->real_ns = time_at(l, i + 1);
		if (word_is(l, i, "polls"))
			p->polls = (uint32_t)strtoul(l->word[i + 1], NULL, 10);
	}
	p->due_ns = w->now_ns;
}

static void remove_peer(struct sim_peer *p)
{
	p->record.state = KPHI_FREE;
	p->record.generation++;
}

/* True if the verb is about peers. */
static bool act_on_peer(struct world *w, struct sim_peer *p, const struct line *l, uint32_t at)
{
	const char *verb = l->word[at];

	if (!strcmp(verb, "start"))
		start(w, p);
	else if (!strcmp(verb, "stop"))
		p->due_ns = UINT64_MAX;
	else if (!strcmp(verb, "resume"))
		next_beat(w, p);
	else if (!strcmp(verb, "miss"))
		miss(w, p);
	else if (!strcmp(verb, "beat"))
		beat(w, p, l, at + 1);
	else if (!strcmp(verb, "leave"))
		send(w, p, KPHI_WIRE_LEAVE);
	else if (!strcmp(verb, "down"))
		send(w, p, KPHI_WIRE_DOWN);
	else if (!strcmp(verb, "forge-leave"))
		forge(w, p);
	else if (!strcmp(verb, "degrade"))
		p->flags = word_is(l, at + 2, "on") ? KPHI_WIRE_DEGRADED : 0;
	else if (!strcmp(verb, "restart"))
		restart(w, p, l, at + 1);
	else if (!strcmp(verb, "session"))
		session(w, p, l, at + 1);
	else if (!strcmp(verb, "speaker"))
		p->speaker = strtoul(l->word[at + 2], NULL, 10);
	else if (!strcmp(verb, "mute"))
		mute(w, p, l, at + 1);
	else if (!strcmp(verb, "reset"))
		clear(w, p);
	else if (!strcmp(verb, "add"))
		add(w, p);
	else if (!strcmp(verb, "delete"))
		remove_peer(p);
	else
		return false;
	return true;
}

/* stall host|cpuN for D. The host's stall is the daemon's too. */
static void stall(struct world *w, const struct line *l, uint32_t at)
{
	bool host = word_is(l, at + 1, "host");
	uint64_t until_ns = w->now_ns + time_at(l, at + 3);

	for (uint32_t cpu = 0; cpu < SCENARIO_CPUS; cpu++)
		if (host || (uint32_t)(l->word[at + 1][3] - '0') == cpu)
			w->cpu[cpu].stalled_until_ns = until_ns;
	if (host)
		w->frozen_until_ns = until_ns;
}

static void device(struct world *w, const struct line *l, uint32_t at)
{
	struct sim_device *d = &w->device[strtoul(l->word[at + 1], NULL, 10) % SCENARIO_DEVICES];
	bool on = word_is(l, at + 2, "on");

	if (word_is(l, at, "carrier"))
		d->carrier = on;
	else
		d->hook = on;
	if (d->carrier && d->hook)
		d->since_ns = w->now_ns;
	host_scan(w);
}

static bool act_on_host(struct world *w, const struct line *l, uint32_t at)
{
	const char *verb = l->word[at];

	if (!strcmp(verb, "stall")) {
		stall(w, l, at);
	} else if (!strcmp(verb, "carrier") || !strcmp(verb, "hook")) {
		device(w, l, at);
	} else if (!strcmp(verb, "wall")) {
		w->wall_ns += (int64_t)time_at(l, at + 1);
	} else if (!strcmp(verb, "suspend")) {
		w->boot_offset_ns += time_at(l, at + 1);
	} else if (!strcmp(verb, "freeze")) {
		w->frozen_until_ns = w->now_ns + time_at(l, at + 2);
	} else if (!strcmp(verb, "lose")) {
		w->deaf_until_ns = w->now_ns + time_at(l, at + 3);
	} else if (!strcmp(verb, "crash")) {
		host_stop(w);
		w->frozen_until_ns = w->now_ns + time_at(l, at + 2);
	} else if (!strcmp(verb, "scan")) {
		host_scan(w);
	} else if (!strcmp(verb, "check")) {
		host_check(w, l, at + 1);
	} else {
		return false;
	}
	return true;
}

static void act(struct world *w, const struct action *a)
{
	const struct line *l = &a->line;
	uint32_t at = a->first, matched = 0;

	if (world_without(w, l->word[at]) || (w->without_wall && word_is(l, at, "wall")))
		return;
	if (act_on_host(w, l, at))
		return;
	for (uint32_t i = 0; i < w->script->peers; i++)
		if (!fnmatch(l->word[at + 1], w->script->peer[i].name, 0))
			matched += act_on_peer(w, &w->peer[i], l, at);
	if (!matched)
		world_broken(w, "line %u: nobody to do this: %s", l->number, l->text);
	/* The command line tells the daemon of what it changes. */
	if (word_is(l, at, "mute") || word_is(l, at, "reset") || word_is(l, at, "add") ||
	    word_is(l, at, "delete"))
		host_scan(w);
}

/* --- time --- */

/* The earliest of what is due; what it is by which of the out parameters is set. */
struct due {
	uint64_t at_ns;
	uint32_t action, sender, tick, stall; /* UINT32_MAX: not this */
};

static void sooner(struct due *due, uint64_t at_ns, struct due is)
{
	if (at_ns < due->at_ns) {
		*due = is;
		due->at_ns = at_ns;
	}
}

/* At one instant: what the script says, beats, ends of stalls, ticks. */
static struct due find_due(const struct world *w)
{
	const uint32_t no = UINT32_MAX;
	struct due due = {UINT64_MAX, no, no, no, no};

	for (uint32_t i = 0; i < w->agenda_length; i++)
		sooner(&due, w->agenda[i].at_ns, (struct due){0, i, no, no, no});
	for (uint32_t i = 0; i < w->script->peers; i++)
		sooner(&due, w->peer[i].due_ns, (struct due){0, no, i, no, no});
	for (uint32_t i = 0; i < SCENARIO_CPUS; i++) {
		const struct sim_cpu *c = &w->cpu[i];

		if (c->stalled_until_ns)
			sooner(&due, c->stalled_until_ns, (struct due){0, no, no, no, i});
		else
			sooner(&due, c->timer_ns, (struct due){0, no, no, i, no});
	}
	return due;
}

static void run_action(struct world *w, uint32_t i)
{
	const struct action *a = w->agenda[i].action;
	uint64_t at_ns = w->agenda[i].at_ns;

	memmove(&w->agenda[i], &w->agenda[i + 1], (--w->agenda_length - i) * sizeof(w->agenda[0]));
	if (a->every_ns && at_ns + a->every_ns < a->until_ns)
		agree(w, a, at_ns + a->every_ns);
	act(w, a);
}

static void step(struct world *w, const struct due *due)
{
	if (due->action != UINT32_MAX) {
		run_action(w, due->action);
	} else if (due->sender != UINT32_MAX) {
		struct sim_peer *p = &w->peer[due->sender];

		next_beat(w, p);
		if (!is_lost(w, p))
			send(w, p, KPHI_WIRE_BEAT);
	} else if (due->stall != UINT32_MAX) {
		/* Whoever wakes first: the daemon may look before the queue is drained, and between that and
		 * the tick. */
		host_run(w);
		kernel_end_stall(w, due->stall);
		host_run(w);
	} else {
		kernel_tick(w, due->tick);
	}
}

static struct world *world_new(const struct script *s, const struct witness *witness, bool without_wall)
{
	struct world *w = calloc(1, sizeof(*w));

	w->script = s;
	w->witness = witness;
	w->without_wall = without_wall;
	w->now_ns = SCENARIO_EPOCH_NS;
	w->end_ns = s->end_ns;
	w->boot_offset_ns = 5 * SEC; /* it has been suspended before */
	w->random = 1;
	for (uint32_t i = 0; i < SCENARIO_DEVICES; i++)
		w->device[i] = (struct sim_device){true, true, SCENARIO_EPOCH_NS};
	for (uint32_t i = 0; i < s->peers; i++) {
		w->peer[i].spec = &s->peer[i];
		w->peer[i].due_ns = UINT64_MAX;
		w->peer[i].epoch = SCENARIO_WALL_S;
		w->peer[i].real_ns = s->peer[i].real_ns;
		w->peer[i].bfd = (struct kphi_bfd){.state = KPHI_BFD_UP, .multiplier = 3};
		w->peer[i].bfd.desired_tx_us = (uint32_t)(s->peer[i].interval_ns / 1000);
		w->peer[i].ring = calloc(KPHI_RING_SIZE(KPHI_WINDOW_DEFAULT), sizeof(uint64_t));
		if (!s->peer[i].absent)
			add(w, &w->peer[i]);
	}
	for (uint32_t i = 0; i < s->actions; i++)
		agree(w, &s->action[i], s->action[i].at_ns);
	if (witness && witness->adds)
		agree(w, &witness->with, witness->with.at_ns);
	return w;
}

void world_free(struct world *w)
{
	host_stop(w);
	for (uint32_t i = 0; i < w->script->peers; i++)
		free(w->peer[i].ring);
	for (uint32_t i = 0; i < SCENARIO_CPUS; i++)
		free(w->cpu[i].queue);
	free(w->said);
	free(w);
}

struct world *world_run(const struct script *s, const struct witness *witness, bool without_wall)
{
	struct world *w = world_new(s, witness, without_wall);

	kernel_begin(w);
	host_start(w);
	while (!w->broken[0]) {
		struct due due = find_due(w);
		uint64_t host_ns = host_next_ns(w);

		if ((due.at_ns < host_ns ? due.at_ns : host_ns) > w->end_ns)
			break;
		/* Draining a queue takes time: what was due meanwhile is late. */
		if ((due.at_ns < host_ns ? due.at_ns : host_ns) > w->now_ns)
			w->now_ns = due.at_ns < host_ns ? due.at_ns : host_ns;
		if (due.at_ns <= host_ns)
			step(w, &due);
		else
			host_run(w);
	}
	return w;
}

bool world_without(const struct world *w, const char *what)
{
	return w->witness && !strcmp(w->witness->without, what);
}

void world_broken(struct world *w, const char *format, ...)
{
	va_list ap;

	if (w->broken[0])
		return;
	va_start(ap, format);
	vsnprintf(w->broken, sizeof(w->broken), format, ap);
	va_end(ap);
}
