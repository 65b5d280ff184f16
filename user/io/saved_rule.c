// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How a peer is recognised, in a saved store. */
#include <netinet/in.h>
#include <string.h>

#include "io/format.h"
#include "io/parse.h"
#include "io/saved_line.h"

#define LOCAL_RX_MAX_NS 4294967295000ULL /* BFD has 32 bits of microseconds */
#define BFD             "bfd" /* the only decoder */

/* --- to text --- */

bool saved_is_plain(const struct kphi_id *id, const struct kphi_rule *rule)
{
	static const struct kphi_rule plain;

	return id->kind == KPHI_ID_NATIVE ||
	       (id->protocol == IPPROTO_UDP &&
		!memcmp((const void *)rule, (const void *)&plain, sizeof(plain)));
}

static void add_matches(struct json_object *line, const struct kphi_rule *rule)
{
	struct json_object *list = NULL;
	char text[MATCH_SIZE];

	for (int i = 0; i < KPHI_MATCHES; i++) {
		if (!rule->match[i].width)
			continue;
		list = list ? list : json_object_new_array();
		json_object_array_add(list, json_object_new_string(format_match(&rule->match[i], text)));
	}
	if (list)
		json_object_object_add(line, "match", list);
	if (rule->leave.width)
		saved_add_string(line, "leave", format_match(&rule->leave, text));
}

static void add_if(struct json_object *line, const char *key, uint64_t value)
{
	if (value)
		saved_add_number(line, key, value);
}

static void add_rule(struct json_object *line, const struct kphi_rule *rule)
{
	char text[FORMAT_SIZE], device[KPHI_DEVICE_SIZE + 1] = "";

	add_if(line, "preset", rule->preset);
	if (rule->decoder == KPHI_DECODER_BFD)
		saved_add_string(line, "decoder", BFD);
	add_matches(line, rule);
	if (rule->sequence_bits)
		saved_add_string(line, "sequence", format_sequence(rule, text));
	add_if(line, "local_rx_ns", rule->local_rx_ns);
	add_if(line, "ttl", rule->min_ttl);
	add_if(line, "vlan", rule->vlan);
	memcpy(device, rule->device, KPHI_DEVICE_SIZE);
	if (*device)
		saved_add_string(line, "device", device);
}

void saved_add_identity(struct json_object *line, const struct kphi_id *id, const struct kphi_rule *rule)
{
	char text[ADDRESS_SIZE > UUID_SIZE ? ADDRESS_SIZE : UUID_SIZE];

	if (id->kind == KPHI_ID_NATIVE) {
		saved_add_string(line, "id", format_uuid(id->bytes, text));
		return;
	}
	if (!rule->any_source)
		saved_add_string(line, "from", format_address(id->bytes, text));
	if (id->protocol == IPPROTO_UDP)
		saved_add_number(line, "port", id->port);
	else
		saved_add_number(line, "protocol", id->protocol);
	add_rule(line, rule);
}

/* --- from text --- */

static int parse_matches(const struct saved_line *l, struct kphi_rule *rule)
{
	struct json_object *list;
	char reason[WHY_SIZE];
	size_t n;

	if (!json_object_object_get_ex(l->object, "match", &list))
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return saved_wrong(l, "\"match\" is no list");
	n = json_object_array_length(list);
	if (n > KPHI_MATCHES)
		return saved_wrong(l, "\"match\" has %zu elements: %d are the most", n, KPHI_MATCHES);
	for (size_t i = 0; i < n; i++) {
		struct json_object *one = json_object_array_get_idx(list, i);

		if (!json_object_is_type(one, json_type_string))
			return saved_wrong(l, "\"match\" has an element that is no text");
		if (parse_match(json_object_get_string(one), &rule->match[i], reason, sizeof(reason)))
			return saved_wrong(l, "\"match\": %s", reason);
	}
	return 0;
}

/* Texts that people write, too. */
static int parse_texts(const struct saved_line *l, struct kphi_rule *rule)
{
	const char *leave, *sequence, *device, *decoder;
	char reason[WHY_SIZE];
	int err = saved_string(l, "leave", &leave);

	err = err ? err : saved_string(l, "sequence", &sequence);
	err = err ? err : saved_string(l, "device", &device);
	err = err ? err : saved_string(l, "decoder", &decoder);
	if (err)
		return err;
	if (leave && parse_match(leave, &rule->leave, reason, sizeof(reason)))
		return saved_wrong(l, "\"leave\": %s", reason);
	if (sequence && parse_sequence(sequence, rule, reason, sizeof(reason)))
		return saved_wrong(l, "\"sequence\": %s", reason);
	if (device && parse_device(device, rule->device, reason, sizeof(reason)))
		return saved_wrong(l, "\"device\": %s", reason);
	if (decoder && strcmp(decoder, BFD) != 0)
		return saved_wrong(l, "\"decoder\" is none that this kphi knows");
	rule->decoder = decoder ? KPHI_DECODER_BFD : KPHI_DECODER_NONE;
	return 0;
}

static int parse_rule(const struct saved_line *l, struct kphi_rule *rule)
{
	uint64_t preset = 0, ttl = 0, vlan = 0;
	int err = parse_matches(l, rule);

	err = err ? err : parse_texts(l, rule);
	err = err ? err : saved_number(l, "preset", false, UINT8_MAX, &preset);
	err = err ? err : saved_number(l, "local_rx_ns", false, LOCAL_RX_MAX_NS, &rule->local_rx_ns);
	err = err ? err : saved_number(l, "ttl", false, UINT8_MAX, &ttl);
	err = err ? err : saved_number(l, "vlan", false, 4094, &vlan);
	rule->preset = (uint8_t)preset;
	rule->min_ttl = (uint8_t)ttl;
	rule->vlan = (uint16_t)vlan;
	return err;
}

static int parse_source(const struct saved_line *l, struct kphi_id *id, struct kphi_rule *rule)
{
	const char *from;
	char reason[WHY_SIZE];
	int err = saved_string(l, "from", &from);

	rule->any_source = !err && !from;
	if (err || !from)
		return err;
	return parse_address(from, id->bytes, reason, sizeof(reason)) ? saved_wrong(l, "%s", reason) : 0;
}

static int parse_by_rule(const struct saved_line *l, struct kphi_id *id, struct kphi_rule *rule)
{
	uint64_t protocol = IPPROTO_UDP, port = 0;
	int err = saved_number(l, "protocol", false, UINT8_MAX, &protocol);

	err = err ? err : saved_number(l, "port", protocol == IPPROTO_UDP, UINT16_MAX, &port);
	err = err ? err : parse_source(l, id, rule);
	err = err ? err : parse_rule(l, rule);
	if (err)
		return err;
	if ((protocol == IPPROTO_UDP) != (port != 0))
		return saved_wrong(l, "UDP has a \"port\" above 0, and no other protocol has one");
	if (rule->any_source && !rule->match[0].width)
		return saved_wrong(l, "a rule has a \"from\", or a \"match\", or both");
	if (rule->decoder && protocol != IPPROTO_UDP)
		return saved_wrong(l, "BFD is UDP");
	id->kind = KPHI_ID_RULE;
	id->protocol = (uint8_t)protocol;
	id->port = (uint16_t)port;
	return 0;
}

int saved_parse_identity(const struct saved_line *l, struct kphi_id *id, struct kphi_rule *rule)
{
	static const char *const keys[] = {SAVED_RULE_KEYS};
	const char *uuid;
	char reason[WHY_SIZE];
	bool has_rule = false;
	int err = saved_string(l, "id", &uuid);

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		has_rule |= json_object_object_get_ex(l->object, keys[i], NULL);
	if (err)
		return err;
	if (!uuid == !has_rule)
		return saved_wrong(
			l, "an identity is either an \"id\", or a rule: \"from\", \"port\" and so on");
	if (!uuid)
		return parse_by_rule(l, id, rule);
	id->kind = KPHI_ID_NATIVE;
	return parse_uuid(uuid, id->bytes, reason, sizeof(reason)) ? saved_wrong(l, "%s", reason) : 0;
}
