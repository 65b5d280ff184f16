// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The peers of the file: one by one, or a list of them that shares its settings. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "core/models.h"
#include "io/parse.h"
#include "run/config_check.h"

/* A group of one is a peer that stands for itself. */
struct group {
	const struct check *c;
	const struct raw_peer *raw;
	struct yaml_path here;
	struct kphi_peer settings;
};

static int take_settings(struct group *g)
{
	const struct raw_peer *raw = g->raw;
	const struct check *c = g->c;
	struct kphi_peer *p = &g->settings;
	int model = KPHI_MODEL_NORMAL, err;

	err = take_duration(c, &g->here, "interval", raw->interval, PEER_INTERVAL_MIN_NS,
			    PEER_INTERVAL_MAX_NS, &p->interval_ns);
	err = err ? err : take_choice(c, &g->here, "model", raw->model, model_names, KPHI_MODELS, &model);
	err = err ? err
		  : take_duration(c, &g->here, "min_std", raw->min_std, 0, PEER_SETTING_MAX_NS,
				  &p->min_std_ns);
	err = err ? err
		  : take_duration(c, &g->here, "pause", raw->pause, 0, PEER_SETTING_MAX_NS, &p->pause_ns);
	err = err ? err
		  : take_duration(c, &g->here, "max_interval", raw->max_interval, PEER_INTERVAL_MIN_NS,
				  PEER_SETTING_MAX_NS, &p->max_interval_ns);
	if (err)
		return err;
	p->model = (uint8_t)model;
	p->set = (raw->min_std ? KPHI_SET_MIN_STD : 0) | (raw->pause ? KPHI_SET_PAUSE : 0);
	if (model == KPHI_MODEL_EXPONENTIAL && p->set)
		return complain_key(c, &g->here, raw->pause ? "pause" : "min_std",
				    "the exponential model knows the mean only: it has no such setting");
	if (p->max_interval_ns && p->max_interval_ns < p->interval_ns)
		return complain_key(c, &g->here, "max_interval",
				    "it is below `interval`: nothing would ever be learned");
	return 0;
}

static int take_name(const struct check *c, const struct yaml_path *here, const char *key, const char *text,
		     char name[KPHI_NAME_SIZE])
{
	char why[WHY_SIZE];

	if (!text || !parse_name(text, name, why, sizeof(why)))
		return 0;
	return complain_key(c, here, key, why);
}

static int take_identity(const struct check *c, const struct yaml_path *here, const struct raw_member *m,
			 struct kphi_id *id)
{
	char why[WHY_SIZE];

	if (!m->id == !m->from)
		return complain(
			c, here,
			"say who %s is: either `id: UUID` (native heartbeats, `kphi beat` prints it) or "
			"`from: ADDRESS` and `port: PORT` (any UDP packet)",
			m->name);
	if (!m->from != !m->port)
		return complain_key(c, here, m->port ? "port" : "from",
				    "`from` and `port` go together, and not with `id`");
	*id = (struct kphi_id){.kind = m->id ? KPHI_ID_NATIVE : KPHI_ID_RULE,
			       .protocol = m->id ? 0 : IPPROTO_UDP};
	if (m->id && parse_uuid(m->id, id->bytes, why, sizeof(why)))
		return complain_key(c, here, "id", why);
	if (m->from && parse_address(m->from, id->bytes, why, sizeof(why)))
		return complain_key(c, here, "from", why);
	return take_port(c, here, "port", m->port, &id->port);
}

/* What an element of a list leaves out is the group's. */
static struct raw_member inherit(const struct raw_member *m, const struct raw_peer *group)
{
	struct raw_member all = *m;

	if (!all.port && all.from)
		all.port = group->port;
	if (!all.host)
		all.host = group->host;
	return all;
}

static int take_member(const struct group *g, const struct yaml_path *here, const struct raw_member *m,
		       struct kphi_peer *p)
{
	int err;

	*p = g->settings;
	if (!m->name)
		return complain(g->c, here, "a peer needs a `name`");
	err = take_name(g->c, here, "name", m->name, p->name);
	err = err ? err : take_name(g->c, here, "host", m->host, p->host);
	return err ? err : take_identity(g->c, here, m, &p->id);
}

static int take_list(const struct group *g, struct kphi_peer *peers)
{
	struct yaml_path list = yaml_key(g->here, "list");
	int err = 0;

	if (g->raw->name || g->raw->id || g->raw->from)
		return complain(
			g->c, &g->here,
			"either one peer, with its `name`, or a `list` of them that share the settings");
	for (unsigned int i = 0; !err && i < g->raw->list_count; i++) {
		struct raw_member all = inherit(&g->raw->list[i], g->raw);
		struct yaml_path here = yaml_index(list, i);

		err = take_member(g, &here, &all, &peers[i]);
	}
	return err;
}

static uint32_t group_size(const struct raw_peer *raw)
{
	return raw->list ? raw->list_count : 1;
}

/* --- no name and no identity twice --- */

/* Where the peer of this number is in the file. */
static struct yaml_path place_of(const struct raw_config *raw, uint32_t number)
{
	struct yaml_path peers = yaml_key((struct yaml_path){.depth = 0}, "peers");

	for (unsigned int i = 0; i < raw->peers_count; i++) {
		uint32_t size = group_size(&raw->peers[i]);

		if (number < size && raw->peers[i].list)
			return yaml_index(yaml_key(yaml_index(peers, i), "list"), number);
		if (number < size)
			return yaml_index(peers, i);
		number -= size;
	}
	return peers;
}

static int by_identity(const void *a, const void *b)
{
	const struct kphi_peer *const *x = a, *const *y = b;
	int order = memcmp(&(*x)->id, &(*y)->id, sizeof((*x)->id));

	return order ? order : (*x > *y) - (*x < *y);
}

static int by_name_then_place(const void *a, const void *b)
{
	const struct kphi_peer *const *x = a, *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);

	return order ? order : (*x > *y) - (*x < *y);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct kphi_peer *)a)->name, ((const struct kphi_peer *)b)->name);
}

static int refuse_twin(const struct config *config, const struct check *c, const struct kphi_peer *first,
		       const struct kphi_peer *second, const char *what)
{
	struct yaml_path before = place_of(config->raw, (uint32_t)(first - config->peers));
	struct yaml_path at = place_of(config->raw, (uint32_t)(second - config->peers));

	return complain(c, &at, "peer %s has the same %s as %s of line %u", second->name, what, first->name,
			yaml_tree_line(c->tree, &before));
}

static int check_twins(const struct config *config, const struct check *c)
{
	const struct kphi_peer **sorted = calloc(config->peers_count + 1, sizeof(const struct kphi_peer *));
	int err = 0;

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < config->peers_count; i++)
		sorted[i] = &config->peers[i];
	qsort(sorted, config->peers_count, sizeof(const struct kphi_peer *), by_name_then_place);
	for (uint32_t i = 1; !err && i < config->peers_count; i++)
		if (!strcmp(sorted[i - 1]->name, sorted[i]->name))
			err = refuse_twin(config, c, sorted[i - 1], sorted[i], "name");
	qsort(sorted, config->peers_count, sizeof(const struct kphi_peer *), by_identity);
	for (uint32_t i = 1; !err && i < config->peers_count; i++)
		if (!memcmp(&sorted[i - 1]->id, &sorted[i]->id, sizeof(sorted[i]->id)))
			err = refuse_twin(config, c, sorted[i - 1], sorted[i], "identity");
	free(sorted);
	return err;
}

bool config_has_peer(const struct config *config, const char *name)
{
	struct kphi_peer key = {0};

	if (strlen(name) >= KPHI_NAME_SIZE)
		return false;
	memcpy(key.name, name, strlen(name) + 1);
	return bsearch(&key, config->peers, config->peers_count, sizeof(key), by_name);
}

static int take_group(struct config *config, const struct check *c, unsigned int index)
{
	const struct raw_config *raw = config->raw;
	struct group g = {
		.c = c,
		.raw = &raw->peers[index],
		.here = yaml_index(yaml_key((struct yaml_path){.depth = 0}, "peers"), index),
	};
	struct kphi_peer *first = &config->peers[config->peers_count];
	struct raw_member self = {g.raw->name, g.raw->id, g.raw->from, g.raw->port, g.raw->host};
	int err = take_settings(&g);

	if (!err && g.raw->list)
		err = take_list(&g, first);
	else if (!err)
		err = take_member(&g, &g.here, &self, first);
	config->peers_count += group_size(g.raw);
	return err;
}

int config_take_peers(struct config *config, const struct check *c)
{
	const struct raw_config *raw = config->raw;
	size_t total = 0;
	int err = 0;

	for (unsigned int i = 0; i < raw->peers_count; i++)
		total += group_size(&raw->peers[i]);
	if (total > KPHI_PEERS_MAX) {
		struct yaml_path peers = yaml_key((struct yaml_path){.depth = 0}, "peers");

		return complain(c, &peers, "%zu peers: a store holds at most %u", total, KPHI_PEERS_MAX);
	}
	config->peers = calloc(total + 1, sizeof(*config->peers));
	if (!config->peers)
		return -ENOMEM;
	for (unsigned int i = 0; !err && i < raw->peers_count; i++)
		err = take_group(config, c, i);
	err = err ? err : check_twins(config, c);
	if (!err)
		qsort(config->peers, config->peers_count, sizeof(*config->peers), by_name);
	return err;
}
