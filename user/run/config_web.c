// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `web` and `metrics`: what the HTTP server is told. It checks again; but a file is refused before it is in
 * force. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "io/parse.h"
#include "io/text.h"
#include "run/config_check.h"

#define UNIX     "unix:"
#define HOST_MAX 253 /* RFC 1035 */

static const struct yaml_path top = {.depth = 0};

static bool is_off(const char *text)
{
	return !strcmp(text, "no") || !strcmp(text, "off") || !strcmp(text, "false");
}

static int take_listen(struct config *config, const struct check *c, const struct yaml_path *here,
		       const char *text)
{
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	struct sockaddr_storage address;
	char why[WHY_SIZE], reason[WHY_SIZE];
	const char *path;

	config->web.listen = text ? text : config->web.listen;
	if (!text)
		return 0;
	if (is_off(text)) {
		config->web.listen = NULL;
		return 0;
	}
	if (!strncmp(text, UNIX, strlen(UNIX)))
		return take_path(c, here, "listen", text + strlen(UNIX), room, &path);
	if (!parse_endpoint(text, CONFIG_WEB_PORT, &address, reason, sizeof(reason)))
		return 0;
	refuse(-EINVAL, why, sizeof(why), "%s; or write unix:/PATH, or no", reason);
	return complain_key(c, here, "listen", why);
}

/* What may stand in front of the port in an URL. A comma would make it two. */
static bool is_host(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr(".-_", name[i]))
			return false;
	return length > 0 && length <= HOST_MAX;
}

static int take_hosts(struct config *config, const struct check *c, const struct yaml_path *here)
{
	const struct raw_web *raw = &((const struct raw_config *)config->raw)->web;
	struct yaml_path list = yaml_key(*here, "hosts");
	size_t size = 1;
	struct text names;

	for (unsigned int i = 0; i < raw->hosts_count; i++) {
		struct yaml_path at = yaml_index(list, i);

		if (!is_host(raw->hosts[i]))
			return complain(c, &at,
					"hosts: " QUOTED " is no host name: letters, digits, dots and "
					"hyphens, without a port",
					raw->hosts[i]);
		size += strlen(raw->hosts[i]) + 1;
	}
	if (!raw->hosts_count)
		return 0;
	config->web.hosts = calloc(size, 1);
	if (!config->web.hosts)
		return -ENOMEM;
	names = (struct text){config->web.hosts, size};
	for (unsigned int i = 0; i < raw->hosts_count; i++)
		text_join(&names, ",", "%s", raw->hosts[i]);
	return 0;
}

static int take_metrics(struct config *config, const struct check *c)
{
	static const char *const whose[] = {"all", "suspect", "none"};
	const struct raw_metrics *raw = &((const struct raw_config *)config->raw)->metrics;
	struct yaml_path here = yaml_key(top, "metrics");
	uint64_t most = config->web.peers_max;
	int which = 0, err = take_choice(c, &here, "per_peer", raw->per_peer, whose, 3, &which);

	err = err ? err : take_u64(c, &here, "peers_max", raw->peers_max, 0, KPHI_PEERS_MAX, &most);
	config->web.per_peer = whose[which];
	config->web.peers_max = (uint32_t)most;
	return err;
}

int config_take_web(struct config *config, const struct check *c)
{
	const struct raw_web *raw = &((const struct raw_config *)config->raw)->web;
	struct yaml_path here = yaml_key(top, "web");
	int err = take_listen(config, c, &here, raw->listen);

	err = err ? err : take_hosts(config, c, &here);
	return err ? err : take_metrics(config, c);
}
