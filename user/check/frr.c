// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * FRR's bfdd: [{"peer", "local", "interface", "label", "id", "remote-id", "status", "diagnostic",
 * "remote-diagnostic",
 * ...}]. `shutdown` is this side's own doing; a session that is down because the other side signalled
 * AdminDown tells it by the remote diagnostic.
 */
#include <string.h>

#include "check/json.h"
#include "check/source.h"

static const struct claim_word words[] = {
	{"up", CLAIM_UP},           {"down", CLAIM_DOWN},
	{"init", CLAIM_UNKNOWN},    {"shutdown", CLAIM_UNKNOWN},
	{"unknown", CLAIM_UNKNOWN},
};

static int take_state(const struct json_item *item, const char *status, struct claim *c)
{
	if (claim_set_word(c, words, sizeof(words) / sizeof(*words), status))
		return 0;
	return json_wrong(
		item, "\"status\" is \"%.40s\", which is none of bfdd's: up, down, init, shutdown, unknown",
		status);
}

static int take_diagnostics(const struct json_item *item, struct claim *c)
{
	const char *ours, *theirs;
	int err = json_text(item, "diagnostic", false, &ours);

	err = err ? err : json_text(item, "remote-diagnostic", false, &theirs);
	if (err || c->state == CLAIM_UP)
		return err;
	if (c->state == CLAIM_DOWN && theirs && !strcmp(theirs, "administratively down"))
		c->state = CLAIM_LEFT;
	if (ours && strcmp(ours, "ok") != 0)
		claim_add_detail(c, "%s", ours);
	if (theirs && strcmp(theirs, "ok") != 0)
		claim_add_detail(c, "remote: %s", theirs);
	return 0;
}

static int take(const struct json_item *item, void *claims)
{
	const struct json *j = item->json;
	const char *peer, *status, *label, *interface, *id;
	struct claim *c;
	int err = json_text(item, "peer", true, &peer);

	err = err ? err : json_text(item, "status", true, &status);
	err = err ? err : json_text(item, "label", false, &label);
	err = err ? err : json_text(item, "interface", false, &interface);
	err = err ? err : json_text(item, "remote-id", false, &id);
	err = err ? err : claims_add(claims, item->line, &c, j->why, j->size);
	if (err)
		return err;
	if (!claim_set_endpoint(c, peer) || !c->has_address)
		return json_wrong(item, "\"peer\" is \"%.60s\", which is no address", peer);
	c->path = true;
	claim_put(c->host, sizeof(c->host), peer);
	if (label && *label)
		claim_put(c->name, sizeof(c->name), label);
	else
		claim_name_session(c, peer, interface);
	if (id && strcmp(id, "0") != 0)
		claim_put(c->incarnation, sizeof(c->incarnation), id);
	err = take_state(item, status, c);
	return err ? err : take_diagnostics(item, c);
}

int frr_read(const struct document *d, struct claims *claims, char *why, size_t size)
{
	struct json j;
	int err = json_open(&j, d, json_type_array, why, size);

	err = err ? err : json_each(&j, NULL, true, take, claims);
	json_close(&j);
	return err;
}
