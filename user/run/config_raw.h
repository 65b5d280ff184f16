/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The configuration file as it was written: every scalar is the user's own text, NULL if it was left out.
 * What the texts mean is decided in config.c, so that every refusal is a sentence of ours with a line.
 */
#ifndef KPHI_RUN_CONFIG_RAW_H
#define KPHI_RUN_CONFIG_RAW_H

#include <stddef.h>

#include "rule/preset.h"
#include "run/yaml_tree.h"

struct raw_device {
	char *name, *mode, *port;
};

struct raw_key {
	char *name, *file;
};

/* One peer, or an element of `list`. */
struct raw_member {
	char *name, *id, *host;
	char *key, *min_epoch; /* of a native sender */
	char *rule[RULE_WORD_KINDS]; /* but for RULE_MATCH, which is a list: */
	char **match;
	unsigned int match_count;
};

struct raw_peer {
	struct raw_member self; /* with a `list`: what its elements share */
	char *interval, *model, *min_std, *pause, *max_interval;
	struct raw_member *list;
	unsigned int list_count;
};

struct raw_consumer {
	char *name, *suspect, *clear, *min_samples, *correlated, *shadow;
	char *exec, *exec_timeout, *exec_per_minute, *exec_burst;
	char **peers;
	unsigned int peers_count;
};

struct raw_guard {
	char *correlated, *correlated_min, *hold_max, *verdict_ttl;
};

struct raw_outputs {
	char *socket, *group, *standard;
};

struct raw_web {
	char *listen;
	char **hosts;
	unsigned int hosts_count;
};

struct raw_metrics {
	char *per_peer, *peers_max;
};

struct raw_config {
	struct raw_device *devices;
	unsigned int devices_count;
	struct raw_key *keys;
	unsigned int keys_count;
	struct raw_peer *peers;
	unsigned int peers_count;
	struct raw_consumer *consumers;
	unsigned int consumers_count;
	struct raw_guard guard;
	struct raw_outputs outputs;
	struct raw_web web;
	struct raw_metrics metrics;
	char *state, *priority;
};

/*
 * Reads `text` of `size` bytes. *raw is NULL if there is nothing in it. Otherwise 0, -ENOMEM, or -EINVAL:
 * then *line and `why` say what has no place in a configuration.
 */
int raw_load(struct raw_config **raw, struct yaml_tree *tree, const char *text, size_t size,
	     unsigned int *line, char *why, size_t why_size);
void raw_free(struct raw_config *raw);

#endif
