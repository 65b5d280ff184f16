// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a native peer demands of its messages, in a saved store: the name of its key, never the key. */
#include <stdlib.h>
#include <string.h>

#include "io/format.h"
#include "io/parse.h"
#include "io/saved.h"
#include "io/saved_line.h"

/* --- to text --- */

void saved_add_demands(struct json_object *line, const struct saved_peer *p)
{
	struct json_object *list;
	char text[ADDRESS_SIZE];

	if (p->peer.demands & KPHI_DEMAND_SOURCE) {
		list = json_object_new_array();
		for (int i = 0; i < p->rule.sources && i < KPHI_SOURCES; i++)
			json_object_array_add(list, json_object_new_string(format_address(
							    (const uint8_t *)p->rule.source[i], text)));
		json_object_object_add(line, "bound_from", list);
	}
	if (p->peer.demands & KPHI_DEMAND_DEVICE)
		saved_add_string(line, "bound_device", p->rule.device);
	if (p->peer.demands & KPHI_DEMAND_TTL)
		saved_add_number(line, "bound_ttl", p->rule.min_ttl);
	if (!(p->peer.demands & KPHI_DEMAND_KEY))
		return;
	saved_add_string(line, "key", p->key);
	saved_add_number(line, "last_sequence", p->sequence);
}

/* --- from text --- */

static int parse_sources(const struct saved_line *l, struct saved_peer *p)
{
	struct json_object *list;
	char reason[WHY_SIZE];
	size_t n;

	if (!json_object_object_get_ex(l->object, "bound_from", &list))
		return 0;
	n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	if (n < 1 || n > KPHI_SOURCES)
		return saved_wrong(l, "\"bound_from\" is no list of 1 to %d addresses", KPHI_SOURCES);
	for (size_t i = 0; i < n; i++) {
		struct json_object *one = json_object_array_get_idx(list, i);

		if (!json_object_is_type(one, json_type_string))
			return saved_wrong(l, "\"bound_from\" has an element that is no text");
		if (parse_address(json_object_get_string(one), (uint8_t *)p->rule.source[i], reason,
				  sizeof(reason)))
			return saved_wrong(l, "\"bound_from\": %s", reason);
	}
	p->rule.sources = (uint8_t)n;
	p->peer.demands |= KPHI_DEMAND_SOURCE;
	return 0;
}

static int parse_device_and_ttl(const struct saved_line *l, struct saved_peer *p)
{
	char reason[WHY_SIZE];
	const char *device;
	uint64_t ttl = 0;
	int err = saved_string(l, "bound_device", &device);

	err = err ? err : saved_number(l, "bound_ttl", false, UINT8_MAX, &ttl);
	if (err)
		return err;
	if (device && parse_device(device, p->rule.device, reason, sizeof(reason)))
		return saved_wrong(l, "\"bound_device\": %s", reason);
	p->rule.min_ttl = (uint8_t)(ttl ? ttl : p->rule.min_ttl);
	p->peer.demands |= (device ? KPHI_DEMAND_DEVICE : 0) | (ttl ? KPHI_DEMAND_TTL : 0);
	return 0;
}

static int parse_key(const struct saved_line *l, struct saved_peer *p)
{
	char reason[WHY_SIZE];
	const char *key;
	int err = saved_string(l, "key", &key);

	if (err || !key)
		return err;
	if (parse_name(key, p->key, reason, sizeof(reason)))
		return saved_wrong(l, "\"key\": %s", reason);
	p->peer.demands |= KPHI_DEMAND_KEY;
	return saved_number(l, "last_sequence", true, UINT64_MAX, &p->sequence);
}

int saved_parse_demands(const struct saved_line *l, struct saved_peer *p)
{
	static const char *const keys[] = {SAVED_NATIVE_KEYS};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(keys) / sizeof(*keys); i++)
		if (p->peer.id.kind != KPHI_ID_NATIVE && json_object_object_get_ex(l->object, keys[i], NULL))
			err = saved_wrong(l, "\"%s\" goes with an \"id\" only", keys[i]);
	err = err ? err : parse_sources(l, p);
	err = err ? err : parse_device_and_ttl(l, p);
	return err ? err : parse_key(l, p);
}
