/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of the daemon share. Nobody else includes this. */
#ifndef KPHI_RUN_DAEMON_H
#define KPHI_RUN_DAEMON_H

#include <systemd/sd-event.h>

#include "core/engine.h"
#include "kernel/control.h"
#include "kernel/devices.h"
#include "kernel/pin.h"
#include "kernel/pin_again.h"
#include "kernel/store.h"
#include "run/apply.h"
#include "run/attacher.h"
#include "run/census.h"
#include "run/config.h"
#include "run/exec.h"
#include "run/feed.h"
#include "run/names.h"
#include "run/report.h"
#include "run/token.h"
#include "run/verdicts.h"
#include "run/web_child.h"

struct ring_buffer;

struct daemon {
	const char *file; /* of the configuration */
	const char *pin_root; /* as it was said; NULL: it was not */
	struct config *config;
	struct pin pin;
	struct store store;
	struct control control;
	int lock; /* the store's folder, locked: there is one daemon to a store */
	uint32_t hidden; /* rounds since the bpffs was unmounted; 0: it is there */
	const char *missing; /* a pin that is; NULL: none */
	struct token token;
	struct names names;
	struct verdicts verdicts;
	struct report report;
	struct devices *devices;
	struct attacher *attacher;
	struct ring_buffer *hints;
	struct engine *engine;
	uint64_t ring[KPHI_WINDOW_MAX]; /* what the engine looks at now */
	struct feed *feed;
	struct exec *exec;
	uint64_t exec_bucket[ENGINE_CONSUMERS];
	struct census census;
	struct web_child *web;

	sd_event *loop;
	sd_event_source *deadline, *round;
	uint64_t deadline_ns; /* when the engine wants to be called; UINT64_MAX: never */
	uint64_t woken_ns; /* by a deadline, last */
	uint64_t awake_ns; /* by anything, last */
	uint64_t round_ns; /* when the next part of a round is due */
	uint32_t parts, part; /* of a round, which takes a second */
	char attach_failure[1200]; /* as it was last said: it is tried again every second */
	int devices_error; /* why they could not be looked at; 0: they could */
	uint32_t absent; /* devices of the file that do not exist yet */
	uint32_t reload_waits; /* rounds that a reload has waited for the store's lock; 0: none waits */
	struct kphi_histogram lateness; /* of deadlines, in this life */
	uint64_t late_bucket;
	uint64_t late_unsaid; /* times the loop was late since that was last said */
	bool gave_up;
	bool tame; /* it has started without commands, so none will have root's privileges in this life */
	char status[160]; /* as systemd was last told */
};

/* --- host.c: what the engine asks for --- */

struct engine_host daemon_host(struct daemon *d);
void daemon_event(void *context, const struct event *event); /* context: the daemon */

/* What it lives for cannot be done: says so once, and ends the loop. */
void daemon_give_up(struct daemon *d, int err, const struct why *w);

/* An event about the configuration; `detail` is a sentence. */
void daemon_say_config(struct daemon *d, bool in_force, const char *detail);

/* For the attacher: context is the daemon. */
void daemon_attached(void *context, const char *device, bool attached, const char *said);

/* Prints what came of applying a configuration into `text`. */
void daemon_describe(const struct apply *a, const struct config *config, char *text, size_t size);

/* The HTTP server as the configuration wants it. False: no memory, and it stays as it is. */
bool daemon_serve(struct daemon *d);

/* --- open.c: from a file to a daemon that could run, and back --- */

int daemon_open(struct daemon *d, const char *file, const char *pin);
void daemon_close(struct daemon *d);

/* Gives up what it needs no more: after all that takes root's privileges, before anybody can talk to us. */
void daemon_settle(struct daemon *d);

/* --- reload.c --- */

void daemon_reload(struct daemon *d);

/* --- loop.c --- */

int daemon_loop(struct daemon *d);

/* Runs what is due, measured against `wanted_ns`; says so if that was long ago. */
void daemon_note_lateness(struct daemon *d, uint64_t wanted_ns, uint64_t now_ns);

/* --- round.c: what is done once a second, a part of the slots at a time --- */

void daemon_round(struct daemon *d, uint64_t now_ns);

#endif
