// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/config.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <kphi/wire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/parse.h"
#include "run/config_check.h"

#define FILE_MAX (64U << 20) /* a million peers take about this */

#define SECOND_NS 1000000000ULL

static const struct yaml_path top = {.depth = 0};

/* --- devices --- */

static int take_device_name(const struct check *c, const struct yaml_path *here, const char *text,
			    struct config_device *d)
{
	char why[WHY_SIZE];

	if (!text || !*text)
		return complain(c, here, "a device needs its `name`");
	if (strlen(text) >= IFNAMSIZ || strpbrk(text, "/ \t\n")) {
		refuse(-EINVAL, why, sizeof(why),
		       QUOTED " is no device: names have at most %d bytes, no blank and no /", text,
		       IFNAMSIZ - 1);
		return complain_key(c, here, "name", why);
	}
	memcpy(d->name, text, strlen(text) + 1);
	return 0;
}

static int take_device(struct config *config, const struct check *c, const struct raw_device *raw,
		       unsigned int index)
{
	struct yaml_path here = yaml_index(yaml_key(top, "devices"), index);
	struct config_device *d = &config->devices[index];
	int mode = ATTACH_AUTO, err;

	*d = (struct config_device){.port = KPHI_WIRE_PORT};
	err = take_device_name(c, &here, raw->name, d);
	err = err ? err : take_choice(c, &here, "mode", raw->mode, attach_modes, ATTACH_MODES, &mode);
	err = err ? err : take_port(c, &here, "port", raw->port, &d->port);
	for (unsigned int i = 0; !err && i < index; i++)
		if (!strcmp(config->devices[i].name, d->name))
			err = complain(c, &here, "device %s is here twice", d->name);
	d->mode = (enum attach_mode)mode;
	return err;
}

static int take_devices(struct config *config, const struct check *c)
{
	const struct raw_config *raw = config->raw;
	int err = 0;

	config->devices = calloc(raw->devices_count + 1, sizeof(*config->devices));
	if (!config->devices)
		return -ENOMEM;
	config->devices_count = raw->devices_count;
	for (unsigned int i = 0; !err && i < raw->devices_count; i++)
		err = take_device(config, c, &raw->devices[i], i);
	return err;
}

/* --- keys --- */

static struct config_key *find_key(const struct config *config, const char *name)
{
	for (unsigned int i = 0; i < config->keys_count; i++)
		if (!strcmp(config->keys[i].name, name))
			return &config->keys[i];
	return NULL;
}

static int take_key_file(const struct check *c, const struct yaml_path *here, const char *file,
			 struct config_key *k)
{
	char why[2 * WHY_SIZE];

	if (!file || *file != '/')
		return complain_key(c, here, "file", "a key needs its `file`, an absolute path");
	if (k->count == KPHI_RING_KEYS)
		return complain(c, here,
				"%s has two keys already, which is enough to change from one to the next",
				k->name);
	if (key_read(file, &k->keys[k->count], why, sizeof(why)))
		return complain_key(c, here, "file", why);
	if (k->count && k->keys[0].id == k->keys[1].id)
		return complain(c, here, "both keys of %s have the number %u", k->name, k->keys[0].id);
	k->count++;
	return 0;
}

static int take_key(struct config *config, const struct check *c, const struct raw_key *raw,
		    unsigned int index)
{
	struct yaml_path here = yaml_index(yaml_key(top, "keys"), index);
	char name[KPHI_NAME_SIZE], why[WHY_SIZE];
	struct config_key *k;

	if (!raw->name)
		return complain(c, &here, "a key needs a `name`");
	if (parse_name(raw->name, name, why, sizeof(why)))
		return complain_key(c, &here, "name", why);
	k = find_key(config, name);
	if (!k) {
		k = &config->keys[config->keys_count++];
		memcpy(k->name, name, sizeof(name));
	}
	return take_key_file(c, &here, raw->file, k);
}

/* Two of one name are its two keys. */
static int take_keys(struct config *config, const struct check *c)
{
	const struct raw_config *raw = config->raw;
	int err = 0;

	config->keys = calloc(raw->keys_count + 1, sizeof(*config->keys));
	if (!config->keys)
		return -ENOMEM;
	for (unsigned int i = 0; !err && i < raw->keys_count; i++)
		err = take_key(config, c, &raw->keys[i], i);
	return err;
}

int config_find_key(const struct config *config, const char *name)
{
	const struct config_key *k = find_key(config, name);

	return k ? (int)(k - config->keys) : -1;
}

/* --- guard, outputs, the rest --- */

static int take_guard(struct config *config, const struct check *c)
{
	const struct raw_guard *raw = &((const struct raw_config *)config->raw)->guard;
	struct yaml_path here = yaml_key(top, "guard");
	struct engine_config *e = &config->engine;
	uint64_t least = e->correlated_min;
	char why[WHY_SIZE];
	int err;

	if (raw->correlated && parse_percent(raw->correlated, &e->correlated_ppm, why, sizeof(why)))
		return complain_key(c, &here, "correlated", why);
	err = take_u64(c, &here, "correlated_min", raw->correlated_min, 2, KPHI_PEERS_MAX, &least);
	err = err ? err
		  : take_duration(c, &here, "hold_max", raw->hold_max, 0, 600 * SECOND_NS, &e->hold_max_ns);
	/* Verdicts are refreshed once a second: less than two of those would expire on a mere delay. */
	err = err ? err
		  : take_duration(c, &here, "verdict_ttl", raw->verdict_ttl, 2 * SECOND_NS, 600 * SECOND_NS,
				  &e->verdict_ttl_ns);
	e->correlated_min = (uint32_t)least;
	return err;
}

static int take_outputs(struct config *config, const struct check *c)
{
	const struct raw_outputs *raw = &((const struct raw_config *)config->raw)->outputs;
	struct yaml_path here = yaml_key(top, "outputs");
	char why[WHY_SIZE];
	int err = take_path(c, &here, "socket", raw->socket, sizeof(((struct sockaddr_un *)0)->sun_path) - 1,
			    &config->socket);

	err = err ? err : take_switch(c, &here, "stdout", raw->standard, &config->standard);
	if (err || !raw->group)
		return err;
	if (!getgrnam(raw->group)) {
		refuse(-EINVAL, why, sizeof(why),
		       "there is no group " QUOTED ". Create it with `groupadd --system %.60s`", raw->group,
		       raw->group);
		return complain_key(c, &here, "group", why);
	}
	config->group = raw->group;
	return 0;
}

static int take_rest(struct config *config, const struct check *c)
{
	const struct raw_config *raw = config->raw;
	uint64_t priority = config->priority;
	int err = take_path(c, &top, "state", raw->state, 4000, &config->state);

	err = err ? err : take_u64(c, &top, "priority", raw->priority, 0, 99, &priority);
	config->priority = (unsigned int)priority;
	return err;
}

/* --- the file --- */

static struct config *config_new(void)
{
	struct config *config = calloc(1, sizeof(*config));

	if (!config)
		return NULL;
	config->socket = CONFIG_SOCKET_DEFAULT;
	config->state = CONFIG_STATE_DEFAULT;
	config->standard = true;
	config->priority = 10;
	config->web = (struct config_web){
		.listen = CONFIG_WEB_DEFAULT, .per_peer = "all", .peers_max = CONFIG_WEB_PEERS};
	config->engine.correlated_ppm = 500000;
	config->engine.correlated_min = 2;
	config->engine.hold_max_ns = 60 * SECOND_NS;
	config->engine.verdict_ttl_ns = 3 * SECOND_NS;
	return config;
}

bool config_has_commands(const struct config *config)
{
	for (uint32_t i = 0; i < config->engine.consumers; i++)
		if (config->consumer[i].exec)
			return true;
	return false;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	if (config->keys)
		explicit_bzero(config->keys, config->keys_count * sizeof(*config->keys));
	free(config->keys);
	free(config->devices);
	free(config->peers);
	free(config->rules);
	free(config->web.hosts);
	free(config->natives);
	raw_free(config->raw);
	free(config);
}

/* The whole file, with a zero after its end. NULL with a reason. */
static char *read_file(const char *file, size_t *size, char *why)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe keeps nobody waiting */
	struct stat st;
	char *text = NULL;
	ssize_t got = -1;

	if (fd < 0 || fstat(fd, &st) < 0) {
		refuse(0, why, CONFIG_WHY_SIZE, "%.512s: cannot open: %s%s", file, strerror(errno),
		       errno == ENOENT ? ". Name another file with `kphi run config FILE`" : "");
	} else if (!S_ISREG(st.st_mode) || st.st_size > (off_t)FILE_MAX) {
		refuse(0, why, CONFIG_WHY_SIZE, "%.512s: not a file of at most %u MiB", file, FILE_MAX >> 20);
	} else {
		text = calloc(1, (size_t)st.st_size + 1);
		got = text ? read(fd, text, (size_t)st.st_size) : -1;
		if (got < 0)
			refuse(0, why, CONFIG_WHY_SIZE, "%.512s: cannot read: %s", file, strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	if (got < 0) {
		free(text);
		return NULL;
	}
	*size = (size_t)got;
	return text;
}

/* 0, -EINVAL with the complaint made, or -ENOMEM. */
static int take_all(struct config *config, struct check *c, const char *text, size_t size)
{
	struct raw_config *raw = NULL;
	char why[WHY_SIZE];
	unsigned int line = 1;
	int err = yaml_tree_new(&c->tree, text, size, &line, why, sizeof(why));

	err = err ? err : raw_load(&raw, c->tree, text, size, &line, why, sizeof(why));
	if (!err && !raw) {
		refuse(0, why, sizeof(why),
		       "nothing is configured here: write `devices`, `peers` and `consumers`");
		err = -EINVAL;
	}
	if (err == -EINVAL)
		refuse(err, c->why, CONFIG_WHY_SIZE, "%.512s:%u: %s", c->file, line, why);
	if (err)
		return err;
	config->raw = raw;
	err = take_keys(config, c);
	err = err ? err : take_devices(config, c);
	err = err ? err : config_take_peers(config, c);
	err = err ? err : config_take_consumers(config, c);
	err = err ? err : take_guard(config, c);
	err = err ? err : take_outputs(config, c);
	err = err ? err : config_take_web(config, c);
	return err ? err : take_rest(config, c);
}

struct config *config_load(const char *file, char *why)
{
	struct check c = {.file = file, .why = why};
	struct config *config;
	size_t size;
	char *text = read_file(file, &size, why);
	int err = -ENOMEM;

	if (!text)
		return NULL;
	config = config_new();
	if (config)
		err = take_all(config, &c, text, size);
	if (err == -ENOMEM)
		refuse(err, why, CONFIG_WHY_SIZE, "%.512s: there is no memory for it", file);
	yaml_tree_free(c.tree);
	free(text);
	if (!err)
		return config;
	config_free(config);
	return NULL;
}
