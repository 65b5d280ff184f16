/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The configuration of `kphi run`: YAML, read as a whole and refused as a whole. What it may hold is shown in
 * dist/kphi.yaml.
 */
#ifndef KPHI_RUN_CONFIG_H
#define KPHI_RUN_CONFIG_H

#include <kphi/maps.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine.h"
#include "io/key_file.h"
#include "kernel/attach.h"

#define CONFIG_DEFAULT        "/etc/kphi/kphi.yaml"
#define CONFIG_SOCKET_DEFAULT "/run/kphi/event.sock"
#define CONFIG_STATE_DEFAULT  "/var/lib/kphi"
#define CONFIG_WEB_DEFAULT    "127.0.0.1:7441"
#define CONFIG_WEB_PORT       7441
#define CONFIG_WEB_PEERS      10000
#define CONFIG_WHY_SIZE       2048

struct config_device {
	char name[IFNAMSIZ];
	enum attach_mode mode;
	uint16_t port; /* native heartbeats */
	bool tried; /* the daemon has tried to attach it since it appeared */
};

/* What the engine need not know of a consumer. Strings belong to the configuration. */
struct config_consumer {
	char **peers; /* names and globs */
	unsigned int peers_count; /* 0: all peers */
	const char *exec; /* for /bin/sh -c; NULL: none */
	uint64_t exec_timeout_ns;
	uint64_t exec_per_minute, exec_burst;
};

/* The HTTP server, and whose metrics it shows. */
struct config_web {
	const char *listen; /* ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH; NULL: there is to be none */
	char *hosts; /* further names of this host, with commas; NULL: none */
	const char *per_peer; /* all, suspect or none */
	uint32_t peers_max;
};

/* A name and its keys, in the order of the file. */
struct config_key {
	char name[KPHI_NAME_SIZE];
	struct key keys[KPHI_RING_KEYS];
	uint32_t count;
};

/* What the store knows of a native peer by other words. */
struct config_native {
	int key; /* index into keys; -1: it has none */
	uint64_t min_epoch;
};

struct config {
	struct config_key *keys; /* wiped when the configuration is freed */
	unsigned int keys_count;
	struct config_device *devices;
	unsigned int devices_count;
	struct kphi_peer *peers; /* name, identity and settings, in the order of names */
	struct kphi_rule *rules; /* of the peer of the same index */
	struct config_native *natives; /* the same */
	uint32_t peers_count;
	struct engine_config engine; /* the consumers' names and thresholds are here */
	struct config_consumer consumer[ENGINE_CONSUMERS]; /* of the same index */
	const char *socket, *state; /* absolute paths */
	const char *group; /* who may connect to the socket; NULL: the store's default */
	bool standard; /* events on standard output too */
	struct config_web web;
	unsigned int priority; /* SCHED_FIFO; 0: leave the scheduler alone */
	void *raw; /* holds the strings */
};

/*
 * Reads and checks the file. NULL if it cannot be used: then `why` (of CONFIG_WHY_SIZE) is one sentence with
 * file and line.
 */
struct config *config_load(const char *file, char *why);
void config_free(struct config *config);

/* Does any consumer have a command? */
bool config_has_commands(const struct config *config);

/*
 * A decimal number above 0 and at most PHI_MAX with up to nine decimals, to the nearest 2^-32: whole numbers,
 * halves and quarters are exact. 0 or -EINVAL with a reason.
 */
int config_threshold(const char *text, q32_t *threshold, char *why, size_t size);

#endif
