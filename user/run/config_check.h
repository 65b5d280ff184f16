/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the parts of config.c: from the user's texts to values, each refusal with its line. */
#ifndef KPHI_RUN_CONFIG_CHECK_H
#define KPHI_RUN_CONFIG_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "run/config.h"
#include "run/config_raw.h"

struct check {
	const char *file;
	struct yaml_tree *tree;
	char *why; /* CONFIG_WHY_SIZE */
};

/* Writes "FILE:LINE: ..." and returns -EINVAL. */
int complain(const struct check *c, const struct yaml_path *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same about the value of `key` in the mapping at `in`. */
int complain_key(const struct check *c, const struct yaml_path *in, const char *key, const char *reason);

/*
 * The value of `key` in the mapping at `in`, whose text is `text`. NULL: it was left out, and the value stays
 * as it is. 0, or -EINVAL with the complaint made.
 */
int take_u64(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
	     uint64_t min, uint64_t max, uint64_t *value);
int take_duration(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
		  uint64_t min_ns, uint64_t max_ns, uint64_t *ns);
int take_switch(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
		bool *value); /* on off, yes no, true false */
int take_choice(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
		const char *const *choices, size_t n, int *value);
int take_threshold(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
		   q32_t *threshold);
int take_port(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
	      uint16_t *port);
int take_path(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
	      size_t max, const char **path);

/* The index of the keys of this name, or -1. */
int config_find_key(const struct config *config, const char *name);

int config_take_peers(struct config *config, const struct check *c);
int config_take_consumers(struct config *config, const struct check *c);
int config_take_web(struct config *config, const struct check *c);

/* Which of the configuration's peers has this name? Only once config_take_peers() has sorted them. */
bool config_has_peer(const struct config *config, const char *name);

#endif
