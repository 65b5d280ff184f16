/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the benchmarks share. Every figure is the median of rounds, and every round measures the thing and its
 * baseline one after the other, so that what the machine does meanwhile (another guest, another frequency)
 * hits both.
 */
#ifndef KPHI_BENCH_H
#define KPHI_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "frames.h"
#include "kernel/control.h"
#include "kernel/pin.h"
#include "kernel/store.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* What one thing took in each round, in one unit. */
#define SERIES_MAX 512
struct series {
	double values[SERIES_MAX];
	size_t n;
};

void series_add(struct series *s, double value);

/* The value that `share` (0 to 1) of the rounds did not exceed: 0 is the least, 0.5 the median, 1 the
 * greatest. */
double series_at(const struct series *s, double share);

/* The median of a - b, round by round. */
double series_median_over(const struct series *a, const struct series *b);

/* Between two rounds: leaves the CPU to others before the kernel takes it, as it does from real-time tasks
 * after 95 %. */
void rest(void);

void sleep_until(uint64_t monotonic_ns);

/* A cheap generator with a seed: bench runs are alike. */
uint64_t random_below(uint64_t *state, uint64_t limit);

/* Prints the sentence and ends the process. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* A new store in the room's bpffs, and the programs that are measured over it. */
struct place {
	struct pin pin;
	struct store store;
	struct control control;
	struct bench_bpf *bench;
	struct kphi_bpf *kphi;
};

void place_begin(struct place *p, const struct store_size *size);
void place_end(struct place *p);

/* Nothing is added from here on: lets other commands have the store's lock. */
void place_share(struct place *p);

/* Adds a peer to the first free slot at or after `slot`; returns the one it took. */
uint32_t place_add(struct place *p, struct kphi_peer *peer, uint32_t slot);

/* The same for a peer whose identity `rule` completes. */
uint32_t place_add_rule(struct place *p, struct kphi_peer *peer, const struct kphi_rule *rule, uint32_t slot);

/* Runs a program `repeat` times over one packet; returns the nanoseconds of one run by the kernel's own
 * watch. */
uint32_t place_run(int program, const void *packet, uint32_t size, uint32_t repeat);

/* A heartbeat of the node to a port; its sequence number is 0. */
struct bench_frame frame_make(uint16_t port, const uint8_t node_id[16]);

/* -log10 of the upper tail of the normal distribution, by libm: z below some 37. */
double libm_normal(double z);

/* Adds a peer that has beaten every 100 ms, with jitter, and was last heard up to a second ago: each number
 * at another moment. */
void scan_add(struct place *p, uint32_t number);

/* Judges everybody; returns how many there were. */
uint32_t scan_judge(const struct store *s, uint64_t now_ns);

void bench_packets(void);
void bench_phi(void);
void bench_scan(void);
void bench_library(void);
void bench_scrape(void);
void bench_replay(void);
void bench_verdict_lateness(void);
void bench_run_cpu(void);
void bench_quality(void);
void bench_quality_quick(void);

#endif
