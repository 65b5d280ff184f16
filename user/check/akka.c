// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Akka's and Pekko's management endpoint: {"selfNode", "leader", "members": [{"node", "nodeUid", "status",
 * "roles"}], "unreachable": [{"node", "observedBy": [...]}]}. A node is akka://SYSTEM@HOST:PORT. It is the
 * detector of each observer that decides who is unreachable, by a phi that this endpoint does not tell; a
 * member stays Up meanwhile.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check/json.h"
#include "check/source.h"

static const struct claim_word words[] = {
	{"Joining", CLAIM_UP},
	{"WeaklyUp", CLAIM_UP},
	{"Up", CLAIM_UP},
	{"Leaving", CLAIM_UP},
	{"Exiting", CLAIM_LEFT},
	{"Down", CLAIM_DOWN},
	{"Removed", CLAIM_LEFT},
	{"PreparingForShutdown", CLAIM_UP},
	{"ReadyForShutdown", CLAIM_UP},
};

struct reading {
	struct claims *claims;
	uint32_t first; /* of this document in the list */
	const char *self;
};

static int take_state(const struct json_item *item, const char *status, struct claim *c)
{
	if (claim_set_word(c, words, sizeof(words) / sizeof(*words), status))
		return 0;
	return json_wrong(item, "\"status\" is \"%.40s\", which is none of a member of an Akka cluster",
			  status);
}

/* akka://SYSTEM@HOST:PORT, with any protocol. */
static int add(const struct json_item *item, const char *node, struct reading *r, struct claim **c)
{
	const struct json *j = item->json;
	const char *at = strrchr(node, '@');
	int err = claims_add(r->claims, item->line, c, j->why, j->size);

	if (err)
		return err;
	claim_put((*c)->name, sizeof((*c)->name), node);
	(*c)->itself = r->self && !strcmp(r->self, node);
	if (!strstr(node, "://") || !at || !claim_set_endpoint(*c, at + 1))
		return json_wrong(item, "\"node\" is \"%.60s\" and not akka://SYSTEM@HOST:PORT", node);
	return 0;
}

static int take_member(const struct json_item *item, void *reading)
{
	const char *node, *status, *uid;
	struct claim *c;
	int err = json_text(item, "node", true, &node);

	err = err ? err : json_text(item, "status", true, &status);
	err = err ? err : json_text(item, "nodeUid", false, &uid);
	err = err ? err : add(item, node, reading, &c);
	if (err)
		return err;
	claim_put(c->incarnation, sizeof(c->incarnation), uid ? uid : "");
	return take_state(item, status, c);
}

/* Of the few that are unreachable each is looked up among the members. */
static struct claim *find(const struct reading *r, const char *node)
{
	for (uint32_t i = r->first; i < r->claims->count; i++)
		if (!strcmp(r->claims->claim[i].name, node))
			return &r->claims->claim[i];
	return NULL;
}

static int take_unreachable(const struct json_item *item, void *reading)
{
	struct json_object *observers = NULL;
	struct reading *r = reading;
	struct claim *c = NULL;
	const char *node;
	size_t count = 0;
	int err = json_text(item, "node", true, &node);

	if (!err)
		c = find(r, node);
	if (!err && !c)
		err = add(item, node, r, &c);
	if (err)
		return err;
	if (json_object_object_get_ex(item->object, "observedBy", &observers) &&
	    json_object_is_type(observers, json_type_array))
		count = json_object_array_length(observers);
	claim_add_detail(c, "%s, unreachable for %zu observer%s", *c->word ? c->word : "no member", count,
			 count == 1 ? "" : "s");
	if (c->state == CLAIM_UP || c->state == CLAIM_UNKNOWN) {
		c->state = CLAIM_SUSPECT;
		claim_put(c->word, sizeof(c->word), "unreachable");
	}
	return 0;
}

static int take_self(const struct json *j, const struct document *d, struct reading *r)
{
	const struct json_item root = {.json = j, .object = j->root, .line = d->line, .number = 1};

	return json_text(&root, "selfNode", false, &r->self);
}

int akka_read(const struct document *d, struct claims *claims, char *why, size_t size)
{
	struct reading r = {.claims = claims, .first = claims->count};
	struct json j;
	int err = json_open(&j, d, json_type_object, why, size);

	err = err ? err : take_self(&j, d, &r);
	err = err ? err : json_each(&j, "members", true, take_member, &r);
	err = err ? err : json_each(&j, "unreachable", false, take_unreachable, &r);
	json_close(&j);
	return err;
}
