// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What people type: values, and rules. What is accepted is written back so that it reads the same. */
#include <sys/socket.h>

#include "fuzz/fuzz.h"
#include "io/format.h"
#include "io/parse.h"
#include "rule/describe.h"
#include "rule/words.h"

static char why[WHY_SIZE];

static void duration(const char *text)
{
	char again[FORMAT_SIZE];
	uint64_t ns, same;

	if (parse_duration(text, 0, UINT64_MAX, &ns, why, sizeof(why))) {
		must_say(why);
		return;
	}
	format_duration_exact(ns, again);
	must(!parse_duration(again, 0, UINT64_MAX, &same, why, sizeof(why)) && same == ns);
}

static void address(const char *text)
{
	uint8_t bytes[16], same[16];
	char again[ADDRESS_SIZE];

	if (parse_address(text, bytes, why, sizeof(why))) {
		must_say(why);
		return;
	}
	must(!parse_address(format_address(bytes, again), same, why, sizeof(why)));
	must(!memcmp(bytes, same, sizeof(same)));
}

static void others(const char *text)
{
	char name[KPHI_NAME_SIZE], device[KPHI_DEVICE_SIZE];
	struct sockaddr_storage endpoint;
	struct kphi_match match;
	struct kphi_rule rule;
	uint8_t uuid[16];
	uint32_t ppm;
	uint16_t port;

	if (!parse_name(text, name, why, sizeof(why)))
		must(!strcmp(name, text));
	if (!parse_match(text, &match, why, sizeof(why)))
		must(match.width >= 1 && match.width <= 8);
	parse_sequence(text, &rule, why, sizeof(why));
	parse_device(text, device, why, sizeof(why));
	parse_endpoint(text, 7441, &endpoint, why, sizeof(why));
	parse_uuid(text, uuid, why, sizeof(why));
	parse_percent(text, &ppm, why, sizeof(why));
	parse_port(text, &port, why, sizeof(why));
}

/* "WORD VALUE WORD VALUE ...", each word by its number as a letter from 'a' on. */
static void rule(char *text)
{
	struct rule_text t = {0};
	struct rule_fault fault;
	struct kphi_peer peer = {0};
	struct kphi_rule r = {0};
	char words[RULE_WORDS], *value;
	size_t matches = 0;

	while ((value = strsep(&text, " "))) {
		unsigned int which = (unsigned char)*value - 'a';

		if (which >= RULE_WORD_KINDS)
			continue;
		if (which != RULE_MATCH)
			t.word[which] = value + 1;
		else if (matches < KPHI_MATCHES)
			t.match[matches++] = value + 1;
	}
	if (!rule_is_written(&t))
		return;
	if (rule_parse(&t, &rule_command_line, &peer, &r, &fault)) {
		must_say(fault.why);
		return;
	}
	peer.id.kind = KPHI_ID_RULE;
	rule_words(&peer, &r, words);
	must(strlen(words) < RULE_WORDS - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);

	duration(text);
	address(text);
	others(text);
	rule(text);
	free(text);
	return 0;
}
