/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A verdict in the maps says which consumers suspect the peer as bits, bit i for consumer i of the
 * configuration. A restarted daemon may have another configuration, so the names behind the bits are kept in
 * a file, and with them how long a verdict was valid, which tells when the last one was refreshed.
 */
#ifndef KPHI_RUN_NAMES_H
#define KPHI_RUN_NAMES_H

#include "core/engine.h"

struct names {
	uint64_t ttl_ns; /* 0: not known */
	uint32_t count;
	char name[ENGINE_CONSUMERS][KPHI_NAME_SIZE];
};

/* 0 or -errno. Reading a file that does not exist, or is damaged, gives no names. */
int names_write(const char *directory, const struct names *names);
int names_read(const char *directory, struct names *names);

void names_of(struct names *names, const struct engine_config *config);

/* map[i]: which of the new names the old one of index i is, or -1. */
void names_map(const struct names *old, const struct names *new, int map[ENGINE_CONSUMERS]);

/* The bits of the old consumers as bits of the new ones. */
uint32_t names_move(uint32_t bits, const int map[ENGINE_CONSUMERS]);

#endif
