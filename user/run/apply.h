/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the configuration to the store: keys and peers added, devices attached, ports opened. Nothing is taken
 * away: a peer or a device that the file does not name is left alone. A peer whose identity or settings
 * differ is deleted and added, and what was heard of a native one still counts as heard; every other one
 * keeps its window, also if it has another key.
 */
#ifndef KPHI_RUN_APPLY_H
#define KPHI_RUN_APPLY_H

#include "kernel/control.h"
#include "kernel/pin.h"
#include "kernel/store.h"
#include "run/attacher.h"
#include "run/config.h"

struct apply {
	struct pin *pin;
	const struct store *store;
	struct control *control;
	struct config *config;
	const struct config *former; /* NULL: there is none */
	struct attacher *attacher; /* NULL: attach devices at once, and put this binary's program on those
				      that have another one */
	/* what came of it: */
	uint32_t added, changed, kept, others; /* peers; others: of the store and not of the file */
	uint32_t forgotten; /* of the others, those that the former file named ... */
	const char *first_forgotten; /* ... and the first of these, by its name there */
	uint32_t absent; /* devices that do not exist (yet) */
	char notes[1024]; /* sentences about what is not quite as it was asked for; "" */
};

/*
 * Takes the store's lock for as long as it takes. Peers are checked as a whole before the first is changed.
 * 0, or a negative errno with a sentence; a device that does not exist is no error.
 */
int apply_config(struct apply *a, struct why *w);

/* Devices that were absent, once more: those that exist by now are attached. Needs an attacher. */
int apply_devices(struct apply *a, struct why *w);

/* The keys alone, or the peers and with them the keys; under the lock. Of a name in the file the store has
 * those keys then and no other; a name that is not there stays as it is. */
int apply_keys(struct apply *a, struct why *w);
int apply_peers(struct apply *a, struct why *w);

void apply_note(struct apply *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
