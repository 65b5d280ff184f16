// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/utf8.h"

#include <locale.h>
#include <string.h>
#include <wchar.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct range {
	uint32_t first, last;
};

static bool in_ranges(const struct range *ranges, size_t n, uint32_t code)
{
	for (size_t i = 0; i < n; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

size_t utf8_decode(const char *bytes, size_t size, uint32_t *code)
{
	/* The smallest code point that needs so many bytes: anything below is an overlong spelling. */
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t first = size ? (uint8_t)bytes[0] : 0xff;
	size_t length;
	uint32_t c;

	if (first < 0x80) {
		*code = first;
		return 1;
	}
	length = first >= 0xf8 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
	if (!length || length > size)
		return 0;
	c = first & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if (((uint8_t)bytes[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | ((uint8_t)bytes[i] & 0x3f);
	}
	if (c < least[length] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
		return 0;
	*code = c;
	return length;
}

bool utf8_is_control(uint32_t code)
{
	static const struct range controls[] = {
		{0x00, 0x1f},     {0x7f, 0x9f}, {0x061c, 0x061c}, /* Arabic letter mark */
		{0x200e, 0x200f}, /* left-to-right and right-to-left marks */
		{0x2028, 0x202e}, /* line and paragraph separators, embeddings and overrides */
		{0x2066, 0x2069}, /* isolates */
	};

	return in_ranges(controls, LENGTH(controls), code);
}

bool utf8_is_blank(uint32_t code)
{
	/* Unicode's White_Space, less the control characters among them. */
	static const struct range blanks[] = {
		{0x20, 0x20},     {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
		{0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
	};

	return in_ranges(blanks, LENGTH(blanks), code);
}

/*
 * wcwidth() asks the thread's locale, and this program runs in "C", which knows no character beyond ASCII. So
 * it is asked in C.UTF-8, which glibc has built in since 2.35; where that is missing everything is one column
 * wide.
 */
static size_t width_of(uint32_t code)
{
	static locale_t utf8;
	locale_t before;
	int width;

	if (code < 0x80)
		return 1;
	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (!utf8)
		return 1;
	before = uselocale(utf8);
	width = wcwidth((wchar_t)code);
	uselocale(before);
	return width < 0 ? 1 : (size_t)width;
}

size_t utf8_width(const char *bytes, size_t size)
{
	size_t width = 0, length;
	uint32_t code;

	for (size_t at = 0; at < size; at += length ? length : 1) {
		length = utf8_decode(bytes + at, size - at, &code);
		width += length ? width_of(code) : 1;
	}
	return width;
}

size_t utf8_print(FILE *to, const char *bytes, size_t size, enum utf8_escape escape)
{
	size_t width = 0, length;
	uint32_t code;

	for (size_t at = 0; at < size; at += length) {
		bool edge = escape == UTF8_VALUE && (at == 0 || at + 1 == size);
		bool newline = escape == UTF8_PROSE && bytes[at] == '\n';

		length = utf8_decode(bytes + at, size - at, &code);
		if (length && (newline || !utf8_is_control(code)) && !(edge && code == ' ')) {
			fwrite(bytes + at, 1, length, to);
			width += width_of(code);
			continue;
		}
		if (!length)
			length = 1;
		for (size_t i = 0; i < length; i++)
			fprintf(to, "\\x%02x", (uint8_t)bytes[at + i]);
		width += 4 * length;
	}
	return width;
}
