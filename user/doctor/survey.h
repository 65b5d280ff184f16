/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the doctor gets its facts: this host, this network namespace, this store. Changes nothing. */
#ifndef KPHI_DOCTOR_SURVEY_H
#define KPHI_DOCTOR_SURVEY_H

#include "doctor/judge.h"
#include "kernel/attach.h"
#include "kernel/pin.h"
#include "kernel/store.h"

/* What is known of one network device. */
struct survey_device {
	struct device_facts facts;
	bool wanted; /* to be judged */
};

struct survey {
	struct host_facts host;
	struct pin pin;
	struct store store; /* mapped if store_facts.readable */
	struct why root_why, store_why;
	struct store_facts store_facts;
	struct traffic_facts traffic;
	struct survey_device *devices; /* of this network namespace */
	uint32_t devices_count;
	struct attachment *attachments; /* of this network namespace */
	uint32_t attachments_count;
	bool attachments_known;
};

/*
 * Reads all of it, and watches the traffic for `watch_ns`. `device` NULL: those that are attached, or, if
 * none is, all Ethernet ones that are up. 0, -ENODEV if there is no such device, or another negative errno,
 * with the reason in `w`. survey_close() is owed in any case.
 */
int survey_open(struct survey *v, const char *root, const char *device, uint64_t watch_ns, struct why *w);

void survey_judge(const struct survey *v, struct findings *f);
void survey_close(struct survey *v);

/* The half of it that reads the store: what it is; its counters; and, after watching, its ticks, its peers
 * and the groups they need. */
void survey_store(struct survey *v, const char *root);
void survey_state(struct survey *v);
void survey_counters(const struct survey *v, uint64_t count[KPHI_COUNTERS]);

#endif
