// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/complete.h"

#include <ctype.h>
#include <net/if.h>
#include <string.h>

#include "check/source.h"
#include "kernel/pin.h"
#include "kernel/store.h"
#include "rule/preset.h"

/* What stands in a usage line for a name that is known here. */
enum live {
	LIVE_NONE,
	LIVE_FILES,
	LIVE_DEVICES,
	LIVE_PEERS,
	LIVE_HOSTS,
	LIVE_KEYS,
	LIVE_PRESETS,
	LIVE_SOURCES,
};

/* By the OBJECT, the word before it and what the table calls it; the first line that fits. NULL fits all. */
static const struct {
	const char *object, *command, *keyword, *value;
	enum live live;
} meanings[] = {
	{NULL, NULL, NULL, "FILE", LIVE_FILES},     {NULL, NULL, NULL, "OUT", LIVE_FILES},
	{NULL, NULL, NULL, "IN", LIVE_FILES},       {NULL, NULL, NULL, "PATH", LIVE_FILES},
	{NULL, NULL, NULL, "DEVICE", LIVE_DEVICES}, {NULL, NULL, "dev", "NAME", LIVE_DEVICES},
	{NULL, NULL, "host", "LABEL", LIVE_HOSTS},  {NULL, NULL, "peer", "NAME", LIVE_PEERS},
	{NULL, NULL, "key", "NAME", LIVE_KEYS},     {NULL, NULL, "proto", "PRESET", LIVE_PRESETS},
	{"key", NULL, NULL, "NAME", LIVE_KEYS},     {"peer", "add", NULL, "NAME", LIVE_NONE},
	{"peer", NULL, NULL, "NAME", LIVE_PEERS},   {"check", NULL, NULL, "SOURCE", LIVE_SOURCES},
};

void complete_offer(const char *begun, const char *word, const char *help)
{
	if (strncmp(word, begun, strlen(begun)) != 0)
		return;
	printf(help && *help ? "%s\t%s\n" : "%s\n", word, help ? help : "");
}

static void offer_devices(const char *begun)
{
	struct if_nameindex *list = if_nameindex();

	for (struct if_nameindex *i = list; i && i->if_index; i++)
		complete_offer(begun, i->if_name, NULL);
	if (list)
		if_freenameindex(list);
}

static void offer_stored(const struct store *s, enum live live, const char *begun)
{
	if (live == LIVE_KEYS) {
		for (uint32_t i = 0; i < KPHI_RINGS; i++)
			if (*s->rings[i].name)
				complete_offer(begun, s->rings[i].name, NULL);
		return;
	}
	for (uint32_t i = 0; i < s->header->peers; i++) {
		const char *name = live == LIVE_PEERS ? s->peers[i].name : s->peers[i].host;

		if (s->records[i].state != KPHI_FREE && *name)
			complete_offer(begun, name, NULL); /* shells take care of what comes twice */
	}
}

/* Without a store, or without the right to read it, there are no names. */
static void offer_from_store(const struct kphi_cli *cli, enum live live, const char *begun)
{
	struct store s = {0};
	struct pin pin;
	struct why why;

	if (!pin_open(&pin, cli->pin, false, &why) && !store_open(&s, &pin, &why))
		offer_stored(&s, live, begun);
	store_close(&s);
	pin_close(&pin);
}

static void offer_live(const struct kphi_cli *cli, enum live live, const char *begun)
{
	switch (live) {
	case LIVE_NONE:
		return;
	case LIVE_FILES:
		puts(":files");
		return;
	case LIVE_DEVICES:
		offer_devices(begun);
		return;
	case LIVE_PRESETS:
		for (int i = 0; i < PRESETS; i++)
			complete_offer(begun, preset_names[i], presets[i].beat);
		return;
	case LIVE_SOURCES:
		for (size_t i = 0; i < sources_count; i++)
			complete_offer(begun, sources[i].name, sources[i].from);
		return;
	case LIVE_PEERS:
	case LIVE_HOSTS:
	case LIVE_KEYS:
		offer_from_store(cli, live, begun);
	}
}

/*
 * The next word of a usage line, without its brackets and dots: its length, 0 at the end. *depth: how many
 * brackets are open before it.
 */
static size_t next_word(const char **usage, int *depth, char *word, size_t size)
{
	const char *at = *usage;
	size_t length;

	for (; *at && !isalpha((unsigned char)*at); at++)
		*depth += (*at == '[') - (*at == ']');
	length = strcspn(at, " []|.:");
	snprintf(word, size, "%.*s", (int)length, at);
	*usage = at + length;
	return length;
}

struct place {
	const char *object, *command;
	const char
		*before; /* the word before the one in question; "" if that is the first of the COMMAND's */
	const char *begun; /* what there is of it */
};

static enum live live_of(const struct place *at, const char *keyword, const char *value)
{
	for (size_t i = 0; i < COUNT(meanings); i++) {
		if ((!meanings[i].object || !strcmp(meanings[i].object, at->object)) &&
		    (!meanings[i].command || !strcmp(meanings[i].command, at->command)) &&
		    (!meanings[i].keyword || !strcmp(meanings[i].keyword, keyword)) &&
		    !strcmp(meanings[i].value, value))
			return meanings[i].live;
	}
	return LIVE_NONE;
}

/* The value that belongs to a keyword. */
static void offer_value(const struct kphi_cli *cli, const struct place *at, const struct option_spec *spec)
{
	char text[256], value[64];
	const char *rest = text;
	int depth = 0;

	if (spec->type == OPT_CHOICE) {
		for (size_t i = 0; spec->choices[i]; i++)
			complete_offer(at->begun, spec->choices[i], NULL);
		return;
	}
	options_syntax(spec, text, sizeof(text));
	next_word(&rest, &depth, value, sizeof(value));
	if (next_word(&rest, &depth, value, sizeof(value)))
		offer_live(cli, live_of(at, spec->name, value), at->begun);
}

/*
 * What the usage line has before the keyword arguments: words as they are, and names. Behind a word of it
 * comes what stands behind it there; else, at the first place of all, everything up to what must be there.
 */
static bool offer_usage(const struct kphi_cli *cli, const struct place *at, const char *usage)
{
	char word[64], last[64] = "";
	bool answered = false;
	int depth = 0;

	while (next_word(&usage, &depth, word, sizeof(word))) {
		bool behind = *last && !strcmp(last, at->before);

		if (isupper((unsigned char)*word) && (behind || !*at->before))
			offer_live(cli, live_of(at, last, word), at->begun);
		else if (!*at->before)
			complete_offer(at->begun, word, NULL);
		answered = answered || (behind && isupper((unsigned char)*word));
		if (!depth && isupper((unsigned char)*word))
			break;
		snprintf(last, sizeof(last), "%s", islower((unsigned char)*word) ? word : "");
	}
	return answered;
}

/* argv: the words behind the COMMAND. */
static void offer_arguments(const struct kphi_cli *cli, const struct object *object, const struct command *c,
			    int argc, char **argv)
{
	struct place at = {object->name, c->name, argc > 1 ? argv[argc - 2] : "", argv[argc - 1]};

	for (size_t i = 0; i < c->specs_count; i++) {
		if (c->specs[i].type != OPT_FLAG && !strcmp(c->specs[i].name, at.before)) {
			offer_value(cli, &at, &c->specs[i]);
			return;
		}
	}
	if (offer_usage(cli, &at, c->usage))
		return;
	for (size_t i = 0; i < c->specs_count; i++) {
		int used = 0;

		for (int j = 0; j < argc - 1; j++)
			used += !strcmp(argv[j], c->specs[i].name);
		if (!used || used < (int)c->specs[i].times)
			complete_offer(at.begun, c->specs[i].name, c->specs[i].help);
	}
}

int complete_words(const struct kphi_cli *cli, const struct object *object, int argc, char **argv)
{
	const struct command *c = object->commands;

	if (argc && !*c->name) {
		offer_arguments(cli, object, c, argc, argv);
		argc = argc == 1 ? 1 : 0;
	}
	for (size_t i = 0; i < object->n && *c->name; i++, c++) {
		if (argc == 1 && isupper((unsigned char)*c->name))
			offer_live(cli, live_of(&(struct place){object->name, "", "", ""}, "", c->name),
				   argv[0]);
		else if (argc == 1)
			complete_offer(argv[0], c->name, c->help);
		else if (argc > 1 && !strcmp(argv[0], c->name))
			offer_arguments(cli, object, c, argc - 1, argv + 1);
	}
	if (argc == 1)
		complete_offer(argv[0], "help", NULL);
	return fflush(stdout) ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
}
