// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Consul's HTTP API: [{"Name", "Addr", "Port", "Status": 0..4, ...}]. The command `consul members` prints no
 * JSON.
 */
#include <string.h>

#include "check/json.h"
#include "check/source.h"

/* By number: serf.MemberStatus. */
static const struct claim_word statuses[] = {
	{"none", CLAIM_UNKNOWN}, {"alive", CLAIM_UP},    {"leaving", CLAIM_UP},
	{"left", CLAIM_LEFT},    {"failed", CLAIM_DOWN},
};

static int take_state(const struct json_item *item, struct claim *c)
{
	struct json_object *value = NULL;
	int64_t number = -1;

	if (!json_object_object_get_ex(item->object, "Status", &value))
		return json_wrong(item, "\"Status\" is missing");
	if (json_object_is_type(value, json_type_int))
		number = json_object_get_int64(value);
	if (number < 0 || number >= (int64_t)(sizeof(statuses) / sizeof(*statuses)))
		return json_wrong(
			item, "\"Status\" is none of 0 (none), 1 (alive), 2 (leaving), 3 (left), 4 (failed)");
	c->state = statuses[number].state;
	claim_put(c->word, sizeof(c->word), statuses[number].word);
	return 0;
}

static int take_port(const struct json_item *item, struct claim *c)
{
	struct json_object *value = NULL;
	int64_t number = 0;

	if (!json_object_object_get_ex(item->object, "Port", &value))
		return 0;
	if (json_object_is_type(value, json_type_int))
		number = json_object_get_int64(value);
	if (number < 1 || number > UINT16_MAX)
		return json_wrong(item, "\"Port\" is no port: it must be between 1 and 65535");
	c->port = (uint16_t)number;
	return 0;
}

static int take(const struct json_item *item, void *claims)
{
	const struct json *j = item->json;
	const char *name, *address;
	struct claim *c;
	int err = json_text(item, "Name", true, &name);

	err = err ? err : json_text(item, "Addr", true, &address);
	err = err ? err : claims_add(claims, item->line, &c, j->why, j->size);
	if (err)
		return err;
	claim_put(c->name, sizeof(c->name), name);
	if (!claim_set_endpoint(c, address))
		return json_wrong(item, "\"Addr\" is \"%.60s\", which is no address", address);
	err = take_port(item, c);
	return err ? err : take_state(item, c);
}

int consul_read(const struct document *d, struct claims *claims, char *why, size_t size)
{
	struct json j;
	int err = json_open(&j, d, json_type_array, why, size);

	err = err ? err : json_each(&j, NULL, true, take, claims);
	json_close(&j);
	return err;
}
