// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The shape of the file, and what libcyaml says about one of another shape, in our words. */
#include "run/config_raw.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "io/args.h"
#include "io/parse.h"

#define KEYS_MAX 32 /* of a mapping */

#define TEXT(structure, key, member)                                                                         \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_OPTIONAL, structure, member, 0, CYAML_UNLIMITED)
#define LIST(structure, member, entry)                                                                       \
	CYAML_FIELD_SEQUENCE(#member, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, structure, member, entry, 0, \
			     CYAML_UNLIMITED)

static const cyaml_schema_value_t text_value = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 0, CYAML_UNLIMITED),
};

static const cyaml_schema_field_t device_fields[] = {
	TEXT(struct raw_device, "name", name),
	TEXT(struct raw_device, "mode", mode),
	TEXT(struct raw_device, "port", port),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t device_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_device, device_fields),
};

static const cyaml_schema_field_t key_fields[] = {
	TEXT(struct raw_key, "name", name),
	TEXT(struct raw_key, "file", file),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t key_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_key, key_fields),
};

/* Of a struct raw_member that is, or is part of, a structure. */
#define MEMBER(structure, at)                                                                                \
	TEXT(structure, "name", at name), TEXT(structure, "id", at id), TEXT(structure, "key", at key),      \
		TEXT(structure, "min_epoch", at min_epoch), TEXT(structure, "from", at rule[RULE_FROM]),     \
		TEXT(structure, "port", at rule[RULE_PORT]), TEXT(structure, "proto", at rule[RULE_PROTO]),  \
		TEXT(structure, "protocol", at rule[RULE_PROTOCOL]),                                         \
		TEXT(structure, "vrid", at rule[RULE_VRID]),                                                 \
		TEXT(structure, "discriminator", at rule[RULE_DISCRIMINATOR]),                               \
		TEXT(structure, "local_rx", at rule[RULE_LOCAL_RX]),                                         \
		CYAML_FIELD_SEQUENCE("match", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, structure, at match, \
				     &text_value, 0, CYAML_UNLIMITED),                                       \
		TEXT(structure, "sequence", at rule[RULE_SEQUENCE]),                                         \
		TEXT(structure, "leave", at rule[RULE_LEAVE]), TEXT(structure, "ttl", at rule[RULE_TTL]),    \
		TEXT(structure, "vlan", at rule[RULE_VLAN]),                                                 \
		TEXT(structure, "device", at rule[RULE_DEVICE]), TEXT(structure, "host", at host)

static const cyaml_schema_field_t member_fields[] = {
	MEMBER(struct raw_member, ),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t member_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_member, member_fields),
};

static const cyaml_schema_field_t peer_fields[] = {
	MEMBER(struct raw_peer, self.),
	TEXT(struct raw_peer, "interval", interval),
	TEXT(struct raw_peer, "model", model),
	TEXT(struct raw_peer, "min_std", min_std),
	TEXT(struct raw_peer, "pause", pause),
	TEXT(struct raw_peer, "max_interval", max_interval),
	LIST(struct raw_peer, list, &member_value),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t peer_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_peer, peer_fields),
};

static const cyaml_schema_field_t consumer_fields[] = {
	TEXT(struct raw_consumer, "name", name),
	TEXT(struct raw_consumer, "suspect", suspect),
	TEXT(struct raw_consumer, "clear", clear),
	TEXT(struct raw_consumer, "min_samples", min_samples),
	TEXT(struct raw_consumer, "correlated", correlated),
	TEXT(struct raw_consumer, "shadow", shadow),
	TEXT(struct raw_consumer, "exec", exec),
	TEXT(struct raw_consumer, "exec_timeout", exec_timeout),
	TEXT(struct raw_consumer, "exec_per_minute", exec_per_minute),
	TEXT(struct raw_consumer, "exec_burst", exec_burst),
	LIST(struct raw_consumer, peers, &text_value),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t consumer_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_consumer, consumer_fields),
};

static const cyaml_schema_field_t guard_fields[] = {
	TEXT(struct raw_guard, "correlated", correlated),
	TEXT(struct raw_guard, "correlated_min", correlated_min),
	TEXT(struct raw_guard, "hold_max", hold_max),
	TEXT(struct raw_guard, "verdict_ttl", verdict_ttl),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t outputs_fields[] = {
	TEXT(struct raw_outputs, "socket", socket),
	TEXT(struct raw_outputs, "group", group),
	TEXT(struct raw_outputs, "stdout", standard),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t web_fields[] = {
	TEXT(struct raw_web, "listen", listen),
	LIST(struct raw_web, hosts, &text_value),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t metrics_fields[] = {
	TEXT(struct raw_metrics, "per_peer", per_peer),
	TEXT(struct raw_metrics, "peers_max", peers_max),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t top_fields[] = {
	LIST(struct raw_config, devices, &device_value),
	LIST(struct raw_config, keys, &key_value),
	LIST(struct raw_config, peers, &peer_value),
	LIST(struct raw_config, consumers, &consumer_value),
	CYAML_FIELD_MAPPING("guard", CYAML_FLAG_OPTIONAL, struct raw_config, guard, guard_fields),
	CYAML_FIELD_MAPPING("outputs", CYAML_FLAG_OPTIONAL, struct raw_config, outputs, outputs_fields),
	CYAML_FIELD_MAPPING("web", CYAML_FLAG_OPTIONAL, struct raw_config, web, web_fields),
	CYAML_FIELD_MAPPING("metrics", CYAML_FLAG_OPTIONAL, struct raw_config, metrics, metrics_fields),
	TEXT(struct raw_config, "state", state),
	TEXT(struct raw_config, "priority", priority),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t top_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_config, top_fields),
};

/* --- what libcyaml logs: a message, then the way to the place, innermost first --- */

struct trouble {
	char message[256];
	struct {
		char key[64]; /* empty: an element of a sequence */
		unsigned int index;
	} step[YAML_DEPTH];
	unsigned int depth;
};

static void take_log(cyaml_log_t level, void *context, const char *format, va_list args)
{
	struct trouble *t = context;
	char line[512], key[64] = "";
	unsigned int index = 0;

	(void)level;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "  in mapping field '%63[^']'", key) == 1 ||
	    sscanf(line, "  in sequence entry '%u'", &index) == 1) {
		if (t->depth == YAML_DEPTH)
			return;
		memcpy(t->step[t->depth].key, key, sizeof(key));
		t->step[t->depth++].index = index ? index - 1 : 0;
	} else if (!t->message[0] && !strncmp(line, "Load: ", 6) && strcmp(line, "Load: Backtrace:") != 0) {
		snprintf(t->message, sizeof(t->message), "%.255s", line + 6);
	}
}

static struct yaml_path path_of(const struct trouble *t)
{
	struct yaml_path path = {.depth = 0};

	for (unsigned int i = t->depth; i-- > 0;)
		path = *t->step[i].key ? yaml_key(path, t->step[i].key) : yaml_index(path, t->step[i].index);
	return path;
}

/* The fields of the mapping that the path leads to or through last. */
static const cyaml_schema_field_t *fields_at(const struct yaml_path *path)
{
	const cyaml_schema_field_t *fields = top_fields;

	for (unsigned int i = 0; i < path->depth; i++) {
		const cyaml_schema_field_t *f = fields;

		if (!path->step[i].key)
			continue;
		while (f->key && strcmp(f->key, path->step[i].key) != 0)
			f++;
		if (!f->key)
			break;
		if (f->value.type == CYAML_MAPPING)
			fields = f->value.mapping.fields;
		else if (f->value.type == CYAML_SEQUENCE && f->value.sequence.entry->type == CYAML_MAPPING)
			fields = f->value.sequence.entry->mapping.fields;
	}
	return fields;
}

static void explain_key(const struct yaml_path *path, const char *key, char *why, size_t size)
{
	const char *names[KEYS_MAX];
	const cyaml_schema_field_t *fields = fields_at(path);
	char choices[WHY_SIZE];
	size_t n = 0;
	int which;

	for (; n < sizeof(names) / sizeof(*names) && fields[n].key; n++)
		names[n] = fields[n].key;
	which = keyword_match(key, names, n, choices, sizeof(choices));
	if (which >= 0)
		refuse(-EINVAL, why, size, "unknown key " QUOTED ": keys are not abbreviated; write '%s'",
		       key, names[which]);
	else
		refuse(-EINVAL, why, size, "unknown key: %s", choices);
}

/* "Expecting SEQUENCE, got event: SCALAR" */
static void explain_shape(const char *message, char *why, size_t size)
{
	const char *wanted = strstr(message, "SEQUENCE,")  ? "a list (lines that begin with '- ')"
			     : strstr(message, "MAPPING,") ? "keys with values ('key: value')"
							   : "a single value";

	refuse(-EINVAL, why, size, "%s is wanted here", wanted);
}

static int explain(const struct trouble *t, cyaml_err_t err, struct yaml_tree *tree, unsigned int *line,
		   char *why, size_t size)
{
	struct yaml_path path = path_of(t);
	const char *key = t->message + strlen("Unexpected key: ");

	if (err == CYAML_ERR_INVALID_KEY) {
		explain_key(&path, key, why, size);
		path = yaml_key(path, key);
	} else if (!strncmp(t->message, "Expecting ", 10)) {
		explain_shape(t->message, why, size);
	} else if (!strncmp(t->message, "Mapping field already seen: ", 28)) {
		refuse(-EINVAL, why, size, "the key '%.60s' is here twice", t->message + 28);
	} else if (err == CYAML_ERR_ALIAS) {
		refuse(-EINVAL, why, size,
		       "an alias (*name): repeat the value, or put the peers that share it in one `list`");
	} else {
		refuse(-EINVAL, why, size, "%s", *t->message ? t->message : cyaml_strerror(err));
	}
	*line = yaml_tree_line(tree, &path);
	return -EINVAL;
}

static cyaml_config_t quiet_config(struct trouble *t)
{
	return (cyaml_config_t){
		.log_fn = take_log,
		.log_ctx = t,
		.log_level = CYAML_LOG_WARNING,
		.mem_fn = cyaml_mem,
		.flags = CYAML_CFG_NO_ALIAS,
	};
}

int raw_load(struct raw_config **raw, struct yaml_tree *tree, const char *text, size_t size,
	     unsigned int *line, char *why, size_t why_size)
{
	struct trouble t = {.depth = 0};
	cyaml_config_t config = quiet_config(&t);
	cyaml_data_t *data = NULL;
	cyaml_err_t err = cyaml_load_data((const uint8_t *)text, size, &config, &top_value, &data, NULL);

	*raw = data;
	if (err == CYAML_OK)
		return 0;
	*raw = NULL;
	if (err == CYAML_ERR_OOM)
		return -ENOMEM;
	return explain(&t, err, tree, line, why, why_size);
}

void raw_free(struct raw_config *raw)
{
	struct trouble t = {.depth = 0};
	cyaml_config_t config = quiet_config(&t);

	if (raw)
		cyaml_free(&config, &top_value, raw, 0);
}
