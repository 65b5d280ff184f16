// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The peers of the file: one by one, or a list of them that shares its settings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/models.h"
#include "io/parse.h"
#include "rule/native.h"
#include "rule/same.h"
#include "rule/words.h"
#include "run/config_check.h"

struct entry {
	struct kphi_peer peer;
	struct kphi_rule rule;
	struct config_native native;
};

/* All of them, in the order of the file. */
struct list {
	struct entry *entry;
	uint32_t count;
};

/* A group of one is a peer that stands for itself. */
struct group {
	const struct config *config;
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
	if (raw->pause && !model_has_pause(p->model))
		return complain_key(c, &g->here, "pause",
				    "its model has none: it learns from what it hears how long to wait");
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

static int take_native(const struct group *g, const struct yaml_path *here, const struct raw_member *m,
		       struct entry *e)
{
	char why[WHY_SIZE];

	e->peer.id.kind = KPHI_ID_NATIVE;
	if (parse_uuid(m->id, e->peer.id.bytes, why, sizeof(why)))
		return complain_key(g->c, here, "id", why);
	if (m->key) {
		e->native.key = config_find_key(g->config, m->key);
		e->peer.demands |= KPHI_DEMAND_KEY;
	}
	if (m->key && e->native.key < 0)
		return complain_key(g->c, here, "key", "there is no such name in `keys`");
	return take_u64(g->c, here, "min_epoch", m->min_epoch, 0, UINT64_MAX, &e->native.min_epoch);
}

static int take_rule(const struct group *g, const struct yaml_path *here, const struct raw_member *m,
		     const struct rule_text *text, struct entry *e)
{
	struct rule_fault fault;
	int err = m->id ? native_bind(text, &rule_yaml, &e->peer, &e->rule, &fault)
			: rule_parse(text, &rule_yaml, &e->peer, &e->rule, &fault);

	if (err && fault.at != RULE_WORD_KINDS)
		return complain_key(g->c, here, rule_yaml.name[fault.at], fault.why);
	if (!err && m->id)
		return take_native(g, here, m, e);
	if (!err && (m->key || m->min_epoch))
		return complain_key(
			g->c, here, m->key ? "key" : "min_epoch",
			"it goes with an `id`: only native heartbeats are signed and have epochs");
	err = err ? err
		  : rule_settle(&e->rule, &rule_yaml, g->raw->model, &e->peer, fault.why, sizeof(fault.why));
	return err ? complain(g->c, here, "%s", fault.why) : 0;
}

static int take_identity(const struct group *g, const struct yaml_path *here, const struct raw_member *m,
			 struct entry *e)
{
	struct rule_text text;

	memcpy(text.word, m->rule, sizeof(text.word));
	if (m->match_count > KPHI_MATCHES)
		return complain_key(g->c, here, "match", "a rule looks at two places at most");
	for (unsigned int i = 0; i < KPHI_MATCHES; i++)
		text.match[i] = i < m->match_count ? m->match[i] : NULL;
	if (!m->id && !rule_is_written(&text))
		return complain(
			g->c, here,
			"say who %s is: either `id: UUID` (native heartbeats, `kphi beat` prints it), or "
			"a rule: `from: ADDRESS` and `port: PORT` (any UDP packet), or `proto: PRESET` "
			"(`kphi peer presets`)",
			m->name);
	return take_rule(g, here, m, &text, e);
}

/* What an element of a list leaves out is the group's; a native sender has no rule, but may be bound. */
static struct raw_member inherit(const struct raw_member *m, const struct raw_member *group)
{
	struct raw_member all = *m;

	for (int i = 0; i < RULE_WORD_KINDS; i++)
		if (!all.rule[i] && (!all.id || i == RULE_DEVICE || i == RULE_TTL))
			all.rule[i] = group->rule[i];
	if (all.id && !all.key)
		all.key = group->key;
	if (all.id && !all.min_epoch)
		all.min_epoch = group->min_epoch;
	if (!all.match && !all.id) {
		all.match = group->match;
		all.match_count = group->match_count;
	}
	if (!all.host)
		all.host = group->host;
	return all;
}

static int take_member(const struct group *g, const struct yaml_path *here, const struct raw_member *m,
		       struct entry *e)
{
	int err;

	*e = (struct entry){.peer = g->settings, .native.key = -1};
	if (!m->name)
		return complain(g->c, here, "a peer needs a `name`");
	err = take_name(g->c, here, "name", m->name, e->peer.name);
	err = err ? err : take_name(g->c, here, "host", m->host, e->peer.host);
	return err ? err : take_identity(g, here, m, e);
}

static int take_list(const struct group *g, struct entry *entries)
{
	struct yaml_path list = yaml_key(g->here, "list");
	int err = 0;

	if (g->raw->self.name || g->raw->self.id || g->raw->self.rule[RULE_FROM])
		return complain(
			g->c, &g->here,
			"either one peer, with its `name`, or a `list` of them that share the settings");
	for (unsigned int i = 0; !err && i < g->raw->list_count; i++) {
		struct raw_member all = inherit(&g->raw->list[i], &g->raw->self);
		struct yaml_path here = yaml_index(list, i);

		err = take_member(g, &here, &all, &entries[i]);
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
	const struct entry *const *x = a, *const *y = b;
	int order = rule_compare_identity(&(*x)->peer, &(*x)->rule, &(*y)->peer, &(*y)->rule);

	return order ? order : (*x > *y) - (*x < *y);
}

static int by_name_then_place(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;
	int order = strcmp((*x)->peer.name, (*y)->peer.name);

	return order ? order : (*x > *y) - (*x < *y);
}

/* For arrays of entries as well as of peers: both begin with the name. */
static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct kphi_peer *)a)->name, ((const struct kphi_peer *)b)->name);
}

static int refuse_twin(const struct config *config, const struct check *c, const struct list *list,
		       const struct entry *first, const struct entry *second, const char *what)
{
	struct yaml_path before = place_of(config->raw, (uint32_t)(first - list->entry));
	struct yaml_path at = place_of(config->raw, (uint32_t)(second - list->entry));

	return complain(c, &at, "peer %s has the same %s as %s of line %u", second->peer.name, what,
			first->peer.name, yaml_tree_line(c->tree, &before));
}

static int check_twins(const struct config *config, const struct check *c, const struct list *list)
{
	const struct entry **sorted = calloc((size_t)list->count + 1, sizeof(const struct entry *));
	int err = 0;

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < list->count; i++)
		sorted[i] = &list->entry[i];
	qsort(sorted, list->count, sizeof(const struct entry *), by_name_then_place);
	for (uint32_t i = 1; !err && i < list->count; i++)
		if (!strcmp(sorted[i - 1]->peer.name, sorted[i]->peer.name))
			err = refuse_twin(config, c, list, sorted[i - 1], sorted[i], "name");
	qsort(sorted, list->count, sizeof(const struct entry *), by_identity);
	for (uint32_t i = 1; !err && i < list->count; i++)
		if (!rule_compare_identity(&sorted[i - 1]->peer, &sorted[i - 1]->rule, &sorted[i]->peer,
					   &sorted[i]->rule))
			err = refuse_twin(config, c, list, sorted[i - 1], sorted[i], "identity");
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

static int take_group(const struct config *config, const struct check *c, unsigned int index,
		      struct list *list)
{
	const struct raw_config *raw = config->raw;
	struct group g = {
		.config = config,
		.c = c,
		.raw = &raw->peers[index],
		.here = yaml_index(yaml_key((struct yaml_path){.depth = 0}, "peers"), index),
	};
	struct entry *first = &list->entry[list->count];
	int err = take_settings(&g);

	if (!err && g.raw->list)
		err = take_list(&g, first);
	else if (!err)
		err = take_member(&g, &g.here, &g.raw->self, first);
	list->count += group_size(g.raw);
	return err;
}

/* In the order of names from now on. */
static int keep(struct config *config, struct list *list)
{
	qsort(list->entry, list->count, sizeof(*list->entry), by_name);
	config->peers = calloc((size_t)list->count + 1, sizeof(*config->peers));
	config->rules = calloc((size_t)list->count + 1, sizeof(*config->rules));
	config->natives = calloc((size_t)list->count + 1, sizeof(*config->natives));
	if (!config->peers || !config->rules || !config->natives)
		return -ENOMEM;
	for (uint32_t i = 0; i < list->count; i++) {
		config->peers[i] = list->entry[i].peer;
		config->rules[i] = list->entry[i].rule;
		config->natives[i] = list->entry[i].native;
	}
	config->peers_count = list->count;
	return 0;
}

int config_take_peers(struct config *config, const struct check *c)
{
	const struct raw_config *raw = config->raw;
	struct list list = {NULL, 0};
	size_t total = 0;
	int err = 0;

	for (unsigned int i = 0; i < raw->peers_count; i++)
		total += group_size(&raw->peers[i]);
	if (total > KPHI_PEERS_MAX) {
		struct yaml_path peers = yaml_key((struct yaml_path){.depth = 0}, "peers");

		return complain(c, &peers, "%zu peers: a store holds at most %u", total, KPHI_PEERS_MAX);
	}
	list.entry = calloc(total + 1, sizeof(*list.entry));
	if (!list.entry)
		return -ENOMEM;
	for (unsigned int i = 0; !err && i < raw->peers_count; i++)
		err = take_group(config, c, i, &list);
	err = err ? err : check_twins(config, c, &list);
	err = err ? err : keep(config, &list);
	free(list.entry);
	return err;
}
