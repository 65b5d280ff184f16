// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rule/words.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "io/args.h"

#define LOCAL_RX_MIN_NS 1000ULL
#define LOCAL_RX_MAX_NS 4294967295000ULL /* BFD has 32 bits of microseconds */

const struct rule_spelling rule_command_line = {.name = RULE_SPELLING("from", "local-rx", "dev"),
						.abbreviates = true};

const struct rule_spelling rule_yaml = {.name = RULE_SPELLING("from", "local_rx", "device")};

/* What a word that a preset cannot do without stands for. */
static const char *const meanings[RULE_WORD_KINDS] = {
	[RULE_PROTOCOL] = "the number of the IP protocol",
	[RULE_VRID] = "the number of the virtual router",
	[RULE_FROM] = "the address that it sends from",
	[RULE_PORT] = "the UDP port that it sends to",
};

/* What is being read. */
struct reading {
	const struct rule_text *text;
	const struct rule_spelling *spelling;
	struct kphi_peer *peer;
	struct kphi_rule *rule;
	struct rule_fault *fault;
	const struct preset *preset;
	uint32_t given; /* RULE_BIT()s */
};

static uint32_t given(const struct rule_text *text)
{
	uint32_t bits = 0;

	for (int i = 0; i < RULE_WORD_KINDS; i++)
		bits |= (uint32_t)(text->word[i] != NULL) << i;
	for (int i = 0; i < KPHI_MATCHES; i++)
		bits |= text->match[i] ? RULE_BIT(MATCH) : 0;
	return bits;
}

bool rule_is_written(const struct rule_text *text)
{
	return given(text) != 0;
}

/* The first word of a set that is not empty. */
static enum rule_word first(uint32_t words)
{
	return (enum rule_word)__builtin_ctz(words);
}

#define at_fault(r, where, ...)                                                                              \
	((r)->fault->at = (where), refuse(-EINVAL, (r)->fault->why, sizeof((r)->fault->why), __VA_ARGS__))

/* For parsers of io/: the sentence is theirs. */
static int blame(const struct reading *r, enum rule_word at, int err)
{
	r->fault->at = at;
	return err ? -EINVAL : 0;
}

static int take_preset(struct reading *r)
{
	const char *word = r->text->word[RULE_PROTO];
	char *why = r->fault->why;
	int which =
		word ? keyword_match(word, preset_names, PRESETS, why, sizeof(r->fault->why)) : PRESET_UDP;

	if (which < 0)
		return blame(r, RULE_PROTO, which);
	if (word && !r->spelling->abbreviates && strcmp(word, preset_names[which]) != 0)
		return at_fault(r, RULE_PROTO, QUOTED " is abbreviated: write '%s'", word,
				preset_names[which]);
	r->preset = &presets[which];
	*r->rule = r->preset->rule;
	r->rule->preset = (uint8_t)which;
	return 0;
}

/* "`port`, `vlan` and `dev`" */
static void list_words(const struct reading *r, uint32_t words, char *list, size_t size)
{
	size_t length = 0;

	*list = '\0';
	for (int i = 0; i < RULE_WORD_KINDS && length < size; i++) {
		const char *comma = !length ? "" : words >> i == 1 ? " and " : ", ";

		if (words >> i & 1)
			length += (size_t)snprintf(list + length, size - length, "%s`%s`", comma,
						   r->spelling->name[i]);
	}
}

/* Are these the words that the preset wants? */
static int check_words(const struct reading *r)
{
	const struct preset *p = r->preset;
	uint32_t foreign = r->given & ~(p->needs | p->takes | RULE_BIT(PROTO));
	uint32_t missing = p->needs & ~r->given;
	const char *const *names = r->spelling->name;
	char takes[256];

	if (foreign) {
		list_words(r, p->needs | p->takes, takes, sizeof(takes));
		return at_fault(r, first(foreign), "`proto %s` takes %s, but no `%s`", p->name, takes,
				names[first(foreign)]);
	}
	if (!missing)
		return 0;
	if (!(r->given & RULE_BIT(PROTO)))
		return at_fault(r, first(r->given),
				"`from` and `port` go together: say to which UDP port it sends, or name its "
				"protocol with `proto`");
	return at_fault(r, RULE_PROTO, "`proto %s` needs `%s`: %s", p->name, names[first(missing)],
			meanings[first(missing)]);
}

/* A number of a word that was given. */
static int take_number(const struct reading *r, enum rule_word at, uint64_t min, uint64_t max,
		       uint64_t *value)
{
	const char *text = r->text->word[at];

	return !text ? 0
		     : blame(r, at, parse_u64(text, min, max, value, r->fault->why, sizeof(r->fault->why)));
}

static int take_protocol(const struct reading *r)
{
	uint64_t number = r->preset->protocol;
	int err = take_number(r, RULE_PROTOCOL, 1, 255, &number);

	if (!err && number == IPPROTO_UDP && !r->preset->protocol)
		return at_fault(r, RULE_PROTOCOL,
				"17 is UDP, which has ports: write `proto udp`, with a `port`");
	r->peer->id.protocol = (uint8_t)number;
	return err;
}

static int take_source(const struct reading *r)
{
	const char *text = r->text->word[RULE_FROM];
	struct rule_fault *f = r->fault;

	r->rule->any_source = !text;
	if (text)
		return blame(r, RULE_FROM, parse_address(text, r->peer->id.bytes, f->why, sizeof(f->why)));
	/* One that keys on something else than the source has a match of its own. */
	if (r->given & RULE_BIT(MATCH) || r->rule->match[0].width)
		return 0;
	return at_fault(
		r, RULE_WORD_KINDS,
		"a rule without `from` needs a `match`: whatever anybody sends there would be its beat");
}

static int take_port(const struct reading *r)
{
	const char *text = r->text->word[RULE_PORT];
	const struct preset *p = r->preset;
	struct rule_fault *f = r->fault;
	uint16_t port = p->port;

	if (text && parse_port(text, &port, f->why, sizeof(f->why)))
		return blame(r, RULE_PORT, -EINVAL);
	r->peer->id.port = port;
	for (int i = 0; i < PRESET_PORTS && p->ports[0].port; i++) {
		if (p->ports[i].port != port)
			continue;
		r->rule->min_ttl = p->ports[i].min_ttl;
		return 0;
	}
	return !p->ports[0].port
		       ? 0
		       : at_fault(r, RULE_PORT, "`proto %s` has the ports %u, %u and %u, and not %u", p->name,
				  p->ports[0].port, p->ports[1].port, p->ports[2].port, port);
}

/* Byte `i` of the payload, as the match has it; its mask is 0 where it does not look. */
static uint8_t byte_of(const struct kphi_match *m, uint64_t bytes, unsigned int i)
{
	if (i < m->offset || i >= (unsigned int)m->offset + m->width)
		return 0;
	return (uint8_t)(bytes >> (m->width - 1 - (i - m->offset)) * 8);
}

static bool contradict(const struct kphi_match *a, const struct kphi_match *b)
{
	for (unsigned int i = a->offset; i < (unsigned int)a->offset + a->width; i++)
		if ((byte_of(a, a->value, i) ^ byte_of(b, b->value, i)) & byte_of(a, a->mask, i) &
		    byte_of(b, b->mask, i))
			return true;
	return false;
}

static bool stands_before(const struct kphi_match *a, const struct kphi_match *b)
{
	if (a->offset != b->offset)
		return a->offset < b->offset;
	return a->width != b->width ? a->width < b->width : a->mask < b->mask;
}

/* In the order of their offsets, so that two rules that ask for the same are the same. */
static int take_matches(const struct reading *r)
{
	struct kphi_match *m = r->rule->match;
	struct rule_fault *f = r->fault;
	int n = 0;

	for (int i = 0; i < KPHI_MATCHES; i++)
		if (r->text->match[i] && parse_match(r->text->match[i], &m[n++], f->why, sizeof(f->why)))
			return blame(r, RULE_MATCH, -EINVAL);
	if (n < 2)
		return 0;
	if (contradict(&m[0], &m[1]))
		return at_fault(r, RULE_MATCH, "no packet can have both %s and %s", r->text->match[0],
				r->text->match[1]);
	if (stands_before(&m[1], &m[0])) {
		struct kphi_match first_one = m[1];

		m[1] = m[0];
		m[0] = first_one;
	}
	if (!memcmp(&m[0], &m[1], sizeof(m[0])))
		m[1] = (struct kphi_match){0};
	return 0;
}

/* What other presets look for in the payload. */
static int take_numbers(const struct reading *r)
{
	uint64_t vrid = 0, discriminator = 0;
	struct kphi_match *m = &r->rule->match[0];
	int err = take_number(r, RULE_VRID, 1, 255, &vrid);

	err = err ? err : take_number(r, RULE_DISCRIMINATOR, 1, UINT32_MAX, &discriminator);
	m->value |= vrid;
	if (!err && discriminator)
		*m = (struct kphi_match){.value = discriminator, .mask = UINT32_MAX, .offset = 4, .width = 4};
	return err;
}

static int take_payload(const struct reading *r)
{
	const char *sequence = r->text->word[RULE_SEQUENCE], *leave = r->text->word[RULE_LEAVE];
	struct rule_fault *f = r->fault;
	int err = take_matches(r);

	err = err ? err : take_numbers(r);
	if (!err && sequence)
		err = blame(r, RULE_SEQUENCE, parse_sequence(sequence, r->rule, f->why, sizeof(f->why)));
	if (!err && leave)
		err = blame(r, RULE_LEAVE, parse_match(leave, &r->rule->leave, f->why, sizeof(f->why)));
	return err;
}

static int take_rest(const struct reading *r)
{
	const char *rx = r->text->word[RULE_LOCAL_RX], *device = r->text->word[RULE_DEVICE];
	uint64_t ttl = r->rule->min_ttl, vlan = 0;
	struct kphi_rule *rule = r->rule;
	struct rule_fault *f = r->fault;
	int err = take_number(r, RULE_TTL, 1, 255, &ttl);

	err = err ? err : take_number(r, RULE_VLAN, 1, 4094, &vlan);
	if (!err && rx)
		err = blame(r, RULE_LOCAL_RX,
			    parse_duration(rx, LOCAL_RX_MIN_NS, LOCAL_RX_MAX_NS, &rule->local_rx_ns, f->why,
					   sizeof(f->why)));
	if (!err && device)
		err = blame(r, RULE_DEVICE, parse_device(device, rule->device, f->why, sizeof(f->why)));
	rule->min_ttl = (uint8_t)ttl;
	rule->vlan = (uint16_t)vlan;
	return err;
}

int rule_parse(const struct rule_text *text, const struct rule_spelling *spelling, struct kphi_peer *peer,
	       struct kphi_rule *rule, struct rule_fault *fault)
{
	struct reading r = {text, spelling, peer, rule, fault, &presets[PRESET_UDP], given(text)};
	int err = take_preset(&r);

	peer->id = (struct kphi_id){.kind = KPHI_ID_RULE};
	err = err ? err : check_words(&r);
	err = err ? err : take_protocol(&r);
	err = err ? err : take_source(&r);
	err = err ? err : take_port(&r);
	err = err ? err : take_payload(&r);
	return err ? err : take_rest(&r);
}

int rule_settle(const struct kphi_rule *rule, const struct rule_spelling *spelling, bool has_model,
		struct kphi_peer *peer, char *why, size_t size)
{
	const struct preset *p = preset_of(&peer->id, rule);

	if (rule->decoder == KPHI_DECODER_BFD && peer->interval_ns)
		return refuse(-EINVAL, why, size,
			      "BFD says its `interval` itself: leave it out, and give this host's required "
			      "minimum receive interval as `%s`",
			      spelling->name[RULE_LOCAL_RX]);
	if (has_model)
		return 0;
	if (p->model == KPHI_MODEL_EXPONENTIAL && peer->set)
		return refuse(
			-EINVAL, why, size,
			"`proto %s` is judged by the exponential model, which knows the mean only: it has "
			"no floor of the deviation and no pause. Leave them out, or name another `model`",
			p->name);
	peer->model = p->model;
	return 0;
}
