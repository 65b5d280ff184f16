// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Serf: {"members": [{"name", "addr": "IP:PORT", "status", "tags", ...}]}. A member that fails is `failed`
 * only after it was suspected for some seconds, which Serf does not show.
 */
#include <string.h>

#include "check/json.h"
#include "check/source.h"

static const struct claim_word words[] = {
	{"alive", CLAIM_UP},    {"leaving", CLAIM_UP},   {"left", CLAIM_LEFT},
	{"failed", CLAIM_DOWN}, {"none", CLAIM_UNKNOWN},
};

static int take_state(const struct json_item *item, const char *status, struct claim *c)
{
	if (claim_set_word(c, words, sizeof(words) / sizeof(*words), status))
		return 0;
	return json_wrong(
		item, "\"status\" is \"%.40s\", which is none of Serf's: alive, leaving, left, failed, none",
		status);
}

static int take(const struct json_item *item, void *claims)
{
	const struct json *j = item->json;
	const char *name, *address, *status;
	struct claim *c;
	int err = json_text(item, "name", true, &name);

	err = err ? err : json_text(item, "addr", true, &address);
	err = err ? err : json_text(item, "status", true, &status);
	err = err ? err : claims_add(claims, item->line, &c, j->why, j->size);
	if (err)
		return err;
	claim_put(c->name, sizeof(c->name), name);
	if (!claim_set_endpoint(c, address))
		return json_wrong(item, "\"addr\" is \"%.60s\", which is no address with a port", address);
	return take_state(item, status, c);
}

int serf_read(const struct document *d, struct claims *claims, char *why, size_t size)
{
	struct json j;
	int err = json_open(&j, d, json_type_object, why, size);

	err = err ? err : json_each(&j, "members", true, take, claims);
	json_close(&j);
	return err;
}
