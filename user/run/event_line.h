/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events as JSON, one object a line. Keys and their order are fixed for each of two kinds, so that a program
 * never has to ask whether a key is there; what an event has no value for is null.
 *
 *   every line    type, seq, monotonic_ns, time, and `current`: true if it tells the state and not a change
 *   about a peer
 *     peer, host (its label), slot, generation, epoch, consumer, cause, model, phi, threshold, silence_ns,
 *     since_ns, token, interval_ns (the new one: retuned, renegotiated), speaker (the new one: handover),
 * detail about this host subject (device, file or command), peer, consumer, cause, cpu, length_ns, detail
 *
 * `seq` rises by one with each event. A line of the current state bears the number of the last event before
 * it. `time` is RFC 3339 in UTC with nanoseconds, made from the wall clock when the line is written.
 */
#ifndef KPHI_RUN_EVENT_LINE_H
#define KPHI_RUN_EVENT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

/* Both clocks at one instant. */
struct event_clock {
	uint64_t monotonic_ns, realtime_ns;
};

struct event_clock event_clock_now(void);

#define EVENT_TIME_SIZE 40
char *event_time(uint64_t realtime_ns, char text[EVENT_TIME_SIZE]);

/* The line with its newline, to be freed; NULL if there is no memory. */
char *event_line(const struct event *event, uint64_t seq, bool current, const struct event_clock *clock,
		 size_t *length);

/* {"type":"lost","count":N}: so many events of a slow reader's are gone. */
char *event_lost_line(uint64_t count, size_t *length);

/* {"type":"state","seq":N,"count":K}: the end of the current state, which had K lines. */
char *event_state_line(uint64_t seq, uint64_t count, size_t *length);

/* {"error":"..."}: to a client. */
char *event_error_line(const char *message, size_t *length);

#endif
