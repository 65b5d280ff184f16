// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where a rule looks in a packet, and what it wants to see there: the rest of parse.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "io/format.h"
#include "io/parse.h"
#include "io/utf8.h"

#define BYTES_MAX 8

/* The number before the colon; *rest is what stands behind it. */
static int read_offset(const char *text, uint16_t *offset, const char **rest, const char *like, char *why,
		       size_t size)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long n = digits && digits < 6 ? strtoul(text, NULL, 10) : PARSE_OFFSET_MAX + 1;

	if (!digits || text[digits] != ':')
		return refuse(-EINVAL, why, size, QUOTED " does not begin with an offset: write it as in %s",
			      text, like);
	if (n > PARSE_OFFSET_MAX)
		return refuse(-ERANGE, why, size, QUOTED " looks too far: an offset is at most %d", text,
			      PARSE_OFFSET_MAX);
	*offset = (uint16_t)n;
	*rest = text + digits + 1;
	return 0;
}

/* The hex digits at `text`: how many there are, and the number that they make if they are not too many. */
static size_t read_hex(const char *text, uint64_t *value)
{
	size_t digits = strspn(text, "0123456789abcdefABCDEF");

	*value = digits && digits <= 2 * BYTES_MAX ? strtoull(text, NULL, 16) : 0;
	return digits;
}

/* HEX or HEX/MASK. */
static int read_bytes(const char *text, const char *bytes, struct kphi_match *m, char *why, size_t size)
{
	size_t digits = read_hex(bytes, &m->value), mask_digits = digits;
	const char *end = bytes + digits;

	if (*end == '/') {
		mask_digits = read_hex(end + 1, &m->mask);
		end += 1 + mask_digits;
	} else if (digits && digits <= 2 * BYTES_MAX) {
		m->mask = UINT64_MAX >> (64 - 4 * digits);
	}
	if (!digits || *end)
		return refuse(-EINVAL, why, size,
			      QUOTED " is no match: write OFFSET:HEX or OFFSET:HEX/MASK, as in 0:0181 or "
				     "0:30/f0",
			      text);
	if (digits % 2 || digits > 2 * BYTES_MAX)
		return refuse(-EINVAL, why, size,
			      QUOTED " has %zu hex digits: two make a byte, and %d bytes are the most", text,
			      digits, BYTES_MAX);
	if (mask_digits != digits)
		return refuse(-EINVAL, why, size,
			      QUOTED " has a mask of another length: it wants %zu hex digits, too", text,
			      digits);
	m->width = (uint8_t)(digits / 2);
	return 0;
}

int parse_match(const char *text, struct kphi_match *match, char *why, size_t size)
{
	struct kphi_match m = {0};
	const char *bytes = text;
	int error = read_offset(text, &m.offset, &bytes, "0:0181", why, size);

	error = error ? error : read_bytes(text, bytes, &m, why, size);
	if (error)
		return error;
	if (!m.mask)
		return refuse(-EINVAL, why, size, QUOTED " asks for nothing: its mask is zero", text);
	if (m.value & ~m.mask)
		return refuse(-EINVAL, why, size,
			      QUOTED " can never match: the value has bits outside its mask", text);
	*match = m;
	return 0;
}

int parse_sequence(const char *text, struct kphi_rule *rule, char *why, size_t size)
{
	static const struct {
		const char *name;
		uint8_t bits, little;
	} widths[] = {{"8", 8, 0},     {"16", 16, 0},   {"32", 32, 0},  {"64", 64, 0},
		      {"16le", 16, 1}, {"32le", 32, 1}, {"64le", 64, 1}};
	const char *width = text;
	uint16_t offset = 0;
	int error = read_offset(text, &offset, &width, "23:16", why, size);

	if (error)
		return error;
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		if (strcmp(width, widths[i].name) != 0)
			continue;
		rule->sequence_offset = offset;
		rule->sequence_bits = widths[i].bits;
		rule->sequence_little = widths[i].little;
		return 0;
	}
	return refuse(-EINVAL, why, size,
		      QUOTED " is no place of a sequence number: behind the colon goes its width, 8, 16, 32 "
			     "or 64, with le for little endian as in 4:32le",
		      text);
}

/* What the kernel takes for a name, as long as it is text. */
static bool is_device(const char *text)
{
	size_t length = strlen(text), step;
	uint32_t code;

	if (!strcmp(text, ".") || !strcmp(text, ".."))
		return false;
	for (size_t at = 0; at < length; at += step) {
		step = utf8_decode(text + at, length - at, &code);
		if (!step || utf8_is_control(code) || utf8_is_blank(code) || code == '/' || code == ':')
			return false;
	}
	return true;
}

int parse_device(const char *text, char device[KPHI_DEVICE_SIZE], char *why, size_t size)
{
	size_t length = strlen(text);

	if (!length || length >= KPHI_DEVICE_SIZE || !is_device(text))
		return refuse(-EINVAL, why, size,
			      QUOTED " is no device: names have 1 to %d bytes, no blank, no / and no :", text,
			      KPHI_DEVICE_SIZE - 1);
	memset(device, 0, KPHI_DEVICE_SIZE);
	memcpy(device, text, length);
	return 0;
}
