/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the parts of saved.c: a line of the file as a JSON object. */
#ifndef KPHI_IO_SAVED_LINE_H
#define KPHI_IO_SAVED_LINE_H

#include <json-c/json.h>
#include <kphi/maps.h>
#include <stdbool.h>
#include <stddef.h>

/* One that is being read. Its readers return 0, or -EINVAL with a sentence that begins with "line N: ". */
struct saved_line {
	struct json_object *object;
	uint32_t number; /* in the file, from 1 */
	char *why;
	size_t why_size;
};

int saved_wrong(const struct saved_line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A whole number of 0 to `max`. What is missing stays as it is, unless it is required. */
int saved_number(const struct saved_line *l, const char *key, bool required, uint64_t max, uint64_t *value);

/* *value: NULL if it is missing; otherwise it lives as long as the object. */
int saved_string(const struct saved_line *l, const char *key, const char **value);

/* A key that is not known may be a setting that matters: it is not for an older kphi to leave it out. */
int saved_only(const struct saved_line *l, const char *const *keys);

void saved_add_string(struct json_object *line, const char *key, const char *value);
void saved_add_number(struct json_object *line, const char *key, uint64_t value);

/* The part of a peer's line that says how it is recognised; the rule is one of zeros if it is native. */
#define SAVED_RULE_KEYS                                                                                      \
	"from", "port", "protocol", "preset", "decoder", "match", "leave", "sequence", "local_rx_ns", "ttl", \
		"vlan", "device"
void saved_add_identity(struct json_object *line, const struct kphi_id *id, const struct kphi_rule *rule);
int saved_parse_identity(const struct saved_line *l, struct kphi_id *id, struct kphi_rule *rule);

/* What a native peer demands of its messages. */
struct saved_peer;
#define SAVED_NATIVE_KEYS "bound_from", "bound_device", "bound_ttl", "key", "last_sequence"
void saved_add_demands(struct json_object *line, const struct saved_peer *p);
int saved_parse_demands(const struct saved_line *l, struct saved_peer *p);

/* Does version 1 have words for it? */
bool saved_is_plain(const struct kphi_id *id, const struct kphi_rule *rule);

#endif
