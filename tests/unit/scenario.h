/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The scenario runner: a small world in which time is a number. Beats go through the kernel's own
 * kphi_record_take(), ticks are the text of bpf/tick.h, and the engine decides; only what connects them -
 * queues, hints, timers, devices - is made up here. The language of the scripts is described in
 * tests/scenario/README.md.
 *
 *   scenario_script.c   reads a script
 *   scenario_kernel.c   packets, softirq queues, ticks, devices
 *   scenario_world.c    senders, what the script does to them, and the order of all that happens
 *   scenario_host.c     the engine's host: what the run loop is in `kphi run`
 *   scenario_test.c     runs every script and compares what was said with what was expected
 */
#ifndef KPHI_TESTS_SCENARIO_H
#define KPHI_TESTS_SCENARIO_H

#include <kphi/record.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/engine.h"

#define MS  1000000ULL
#define SEC (1000 * MS)

#define SCENARIO_EPOCH_NS (1000 * SEC) /* CLOCK_MONOTONIC at 0s of a script */
#define SCENARIO_WALL_S   1700000000ULL /* and the wall clock */
#define SCENARIO_PEERS    256
#define SCENARIO_CPUS     4
#define SCENARIO_DEVICES  4
#define SCENARIO_WORDS    24
#define SCENARIO_LINES    256

/* One line, cut into words; `word[words]` is "". */
struct line {
	char text[256], cut[256];
	const char *word[SCENARIO_WORDS + 1];
	uint32_t words, number;
};

/* `at T ...`: what happens when. `first`: the word after the time. */
struct action {
	struct line line;
	uint64_t at_ns, every_ns, until_ns;
	uint32_t first;
};

struct expectation {
	struct line line;
	enum event_type type;
	char peer[64], consumer[64]; /* patterns; empty: any */
	enum event_cause cause; /* CAUSES: any */
	uint64_t from_ns, to_ns; /* of now_ns */
	bool at_deadline; /* now_ns is the computed deadline, plus offset_ns */
	int64_t offset_ns;
	uint32_t least, most, seen;
};

/* `witness without THING: TYPE PEER` or `witness with at ...: TYPE PEER`. */
struct witness {
	struct line line;
	char without[32];
	bool adds;
	struct action with;
	struct expectation expect;
};

struct peer_spec {
	char name[KPHI_NAME_SIZE];
	uint64_t interval_ns; /* configured */
	uint64_t real_ns; /* of the sender */
	uint64_t phase_ns, pause_ns, min_std_ns, cap_ns;
	uint32_t jitter_ppm, cpu, device;
	uint32_t lost_ppm, burst; /* of its beats, and how many in a row on average */
	uint8_t model, set;
	bool rule, absent;
	bool bfd, any_source; /* rules of their own kind */
	uint8_t sequence_bits; /* of a rule */
	uint64_t local_rx_ns; /* as this host knows it */
};

struct script {
	char path[128];
	struct engine_config config;
	char consumer_peers[ENGINE_CONSUMERS][64];
	struct peer_spec peer[SCENARIO_PEERS];
	struct action action[SCENARIO_LINES];
	struct expectation expect[SCENARIO_LINES];
	struct witness witness[16];
	uint32_t peers, actions, expects, witnesses;
	uint64_t end_ns;
};

/* NULL, or what is wrong and where (a static text). */
const char *script_read(struct script *s, const char *path);

bool word_is(const struct line *l, uint32_t at, const char *word);
/* "1.5s", "300us", "-2ms", "1d". False: it is no time. */
bool word_time(const char *word, int64_t *ns);
double word_percent(const char *word);

/* --- the world --- */

struct said {
	struct event event;
	char peer[KPHI_NAME_SIZE], consumer[KPHI_NAME_SIZE], detail[160];
	uint64_t deadline_ns; /* the consumer's, of the peer as it was then; 0: none */
	bool expected;
};

struct packet {
	struct kphi_beat beat;
	uint32_t peer;
};

struct sim_peer {
	const struct peer_spec *spec;
	struct kphi_peer peer;
	struct kphi_rule rule;
	struct kphi_record record;
	uint64_t *ring;
	uint64_t start_ns, beats; /* the sender's grid, and how many slots of it are past */
	uint64_t due_ns; /* its next beat; UINT64_MAX: it is silent */
	uint64_t real_ns; /* its interval now, and ... */
	uint64_t poll_real_ns; /* ... while it polls, so many packets long */
	uint32_t polls;
	uint64_t epoch, sequence, speaker;
	struct kphi_bfd bfd;
	uint8_t flags;
	bool losing; /* its last beat was lost on the way */
};

struct sim_cpu {
	uint64_t timer_ns; /* its tick is due then; UINT64_MAX: none */
	uint64_t stalled_until_ns;
	struct packet *queue;
	uint32_t queued, room;
};

struct sim_device {
	bool carrier, hook;
	uint64_t since_ns;
};

struct sim_action {
	const struct action *action;
	uint64_t at_ns;
};

struct world {
	const struct script *script;
	const struct witness *witness; /* what is different from the script; NULL: nothing */
	bool without_wall;
	uint64_t now_ns, end_ns, boot_offset_ns;
	int64_t wall_ns; /* steps of the wall clock so far */
	uint64_t random;
	struct sim_peer peer[SCENARIO_PEERS];
	struct sim_cpu cpu[SCENARIO_CPUS];
	struct kphi_tick seen_tick[SCENARIO_CPUS]; /* as a witness may see it */
	struct sim_device device[SCENARIO_DEVICES];
	struct sim_action agenda[SCENARIO_LINES];
	uint32_t agenda_length;

	/* the daemon */
	struct engine *engine;
	bool dead;
	uint64_t frozen_until_ns; /* or dead until */
	uint64_t deaf_until_ns; /* hints are lost */
	uint32_t hint[4096], hints;
	uint64_t second_ns; /* of its housekeeping */
	struct kphi_verdict verdict[SCENARIO_PEERS];
	uint64_t token;
	bool watched_wrongly;
	struct said *said;
	uint32_t said_length, said_room;
	char broken[256]; /* the first rule of the runner itself that was broken */
};

/* Runs a script from beginning to end. Free it with world_free(). */
struct world *world_run(const struct script *s, const struct witness *w, bool without_wall);
void world_free(struct world *w);

/* Has the witness taken this away? */
bool world_without(const struct world *w, const char *what);
__attribute__((format(printf, 2, 3))) void world_broken(struct world *w, const char *format, ...);

void kernel_begin(struct world *w); /* one world at a time */
void kernel_deliver(struct world *w, const struct packet *packet);
void kernel_end_stall(struct world *w, uint32_t cpu);
void kernel_tick(struct world *w, uint32_t cpu);
const struct kphi_tick *world_tick(struct world *w, uint32_t cpu);
struct engine_hearing world_hearing(const struct world *w, const struct kphi_record *r);

void host_start(struct world *w);
void host_stop(struct world *w);
void host_run(struct world *w); /* everything that is due, if it is awake */
void host_scan(struct world *w); /* something changed of which no hint tells */
void host_hint(struct world *w, uint32_t slot);
uint64_t host_next_ns(const struct world *w);
/* When the consumer will suspect the peer if nothing arrives; UINT64_MAX: never. */
uint64_t host_deadline_ns(struct world *w, uint32_t slot, uint32_t consumer);
void host_check(struct world *w, const struct line *l, uint32_t at);

#endif
