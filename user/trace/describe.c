// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer's description, field by field, so that a trace outlives the layout of the maps. In this order, and
 * all of them varints unless said otherwise:
 *
 *   name, host, mute_reason     texts: a varint with the length, then the bytes
 *   id                          kind, protocol, port, device, shape, 16 bytes, match[0], match[1]
 *   settings                    added_ns, interval_ns, min_std_ns, pause_ns, max_interval_ns, model, set,
 *                               watched, mute_until_ns
 *   rule                        match[0], match[1], leave: each value, mask, offset, width; local_rx_ns,
 *                               sequence_offset, sequence_bits, sequence_little, vlan, min_ttl, decoder,
 *                               any_source, preset, device (a text)
 */
#include <errno.h>
#include <string.h>

#include "trace/codec.h"

#define SIZE_OF(member) sizeof(((struct trace_peer *)0)->member)
#define FIELD(member)                                                                                        \
	{                                                                                                    \
		offsetof(struct trace_peer, member), SIZE_OF(member)                                         \
	}
#define MATCH(member) FIELD(member.value), FIELD(member.mask), FIELD(member.offset), FIELD(member.width)

static const struct codec_field texts[] = {
	FIELD(settings.name),
	FIELD(settings.host),
	FIELD(settings.mute_reason),
};

static const struct codec_field numbers[] = {
	FIELD(settings.id.kind),     FIELD(settings.id.protocol),
	FIELD(settings.id.port),     FIELD(settings.id.device),
	FIELD(settings.id.shape),    FIELD(settings.id.match[0]),
	FIELD(settings.id.match[1]), FIELD(settings.added_ns),
	FIELD(settings.interval_ns), FIELD(settings.min_std_ns),
	FIELD(settings.pause_ns),    FIELD(settings.max_interval_ns),
	FIELD(settings.model),       FIELD(settings.set),
	FIELD(settings.watched),     FIELD(settings.mute_until_ns),
	MATCH(rule.match[0]),        MATCH(rule.match[1]),
	MATCH(rule.leave),           FIELD(rule.local_rx_ns),
	FIELD(rule.sequence_offset), FIELD(rule.sequence_bits),
	FIELD(rule.sequence_little), FIELD(rule.vlan),
	FIELD(rule.min_ttl),         FIELD(rule.decoder),
	FIELD(rule.any_source),      FIELD(rule.preset),
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const struct codec_field address = FIELD(settings.id.bytes), device = FIELD(rule.device);

uint64_t codec_field(const void *structure, const struct codec_field *f)
{
	const char *at = (const char *)structure + f->offset;
	uint64_t value = 0;
	uint32_t word;
	uint16_t half;

	switch (f->size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		memcpy(&half, at, sizeof(half));
		return half;
	case 4:
		memcpy(&word, at, sizeof(word));
		return word;
	default:
		memcpy(&value, at, sizeof(value));
		return value;
	}
}

bool codec_set_field(void *structure, const struct codec_field *f, uint64_t value)
{
	char *at = (char *)structure + f->offset;
	uint32_t word = (uint32_t)value;
	uint16_t half = (uint16_t)value;

	if (f->size < 8 && value >> (8 * f->size))
		return false;
	switch (f->size) {
	case 1:
		*(uint8_t *)at = (uint8_t)value;
		break;
	case 2:
		memcpy(at, &half, sizeof(half));
		break;
	case 4:
		memcpy(at, &word, sizeof(word));
		break;
	default:
		memcpy(at, &value, sizeof(value));
	}
	return true;
}

static uint8_t *put_text(uint8_t *to, const struct trace_peer *p, const struct codec_field *f)
{
	const char *text = (const char *)p + f->offset;
	size_t length = strnlen(text, f->size);

	to = codec_put_varint(to, length);
	memcpy(to, text, length);
	return to + length;
}

size_t describe_put(uint8_t *to, const struct trace_peer *p)
{
	uint8_t *at = to;

	for (size_t i = 0; i < LENGTH(texts); i++)
		at = put_text(at, p, &texts[i]);
	memcpy(at, p->settings.id.bytes, address.size);
	at += address.size;
	for (size_t i = 0; i < LENGTH(numbers); i++)
		at = codec_put_varint(at, codec_field(p, &numbers[i]));
	at = put_text(at, p, &device);
	return (size_t)(at - to);
}

/* Leaves a terminating zero. */
static bool get_text(const uint8_t **at, const uint8_t *end, struct trace_peer *p,
		     const struct codec_field *f)
{
	uint64_t length;

	if (!codec_get_varint(at, &length) || *at > end || length >= f->size || length > (size_t)(end - *at))
		return false;
	memcpy((char *)p + f->offset, *at, length);
	*at += length;
	return true;
}

static bool get_fields(const uint8_t *at, const uint8_t *end, struct trace_peer *p)
{
	uint64_t value;

	for (size_t i = 0; i < LENGTH(texts); i++)
		if (!get_text(&at, end, p, &texts[i]))
			return false;
	if (end - at < address.size)
		return false;
	memcpy(p->settings.id.bytes, at, address.size);
	at += address.size;
	for (size_t i = 0; i < LENGTH(numbers); i++)
		if (at >= end || !codec_get_varint(&at, &value) || !codec_set_field(p, &numbers[i], value))
			return false;
	return get_text(&at, end, p, &device);
}

int describe_get(const uint8_t *from, size_t size, struct trace_peer *p)
{
	/* Varints are read without looking where the bytes end. */
	uint8_t copy[TRACE_ENTRY_MAX + 16] = {0};

	memset(p, 0, sizeof(*p));
	if (size > TRACE_ENTRY_MAX)
		return -EBADMSG;
	memcpy(copy, from, size);
	if (!get_fields(copy, copy + size, p))
		return -EBADMSG;
	memcpy(p->name, p->settings.name, sizeof(p->name));
	return 0;
}
