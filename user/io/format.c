// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/format.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <kphi/maps.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define US_NS 1000ULL
#define MS_NS 1000000ULL
#define S_NS  1000000000ULL
#define M_NS  (60 * S_NS)
#define H_NS  (60 * M_NS)
#define D_NS  (24 * H_NS)

struct unit {
	const char *name;
	uint64_t size;
};

/* Rounds to nearest, ties up. */
static uint64_t rounded(uint64_t value, uint64_t unit)
{
	return value / unit + (value % unit >= unit - unit / 2);
}

/*
 * Three digits of value / unit without trailing zeros: 4.21, 12.3, 100. `end` is how many units make the next
 * one: where rounding reaches it, nothing is written and 0 returned, so that 999.9us becomes 1ms and not
 * 1000us.
 */
static int format_scaled(uint64_t value, const struct unit *unit, uint64_t end, char *text)
{
	static const unsigned int tens[] = {1, 10, 100};
	uint64_t whole = value / unit->size;
	unsigned int decimals = whole < 10 ? 2 : whole < 100 ? 1 : 0;
	unsigned __int128 digits = (unsigned __int128)value * tens[decimals];
	uint64_t n = (uint64_t)((digits + unit->size / 2) / unit->size);

	while (decimals && n % 10 == 0) {
		n /= 10;
		decimals--;
	}
	if (n / tens[decimals] >= end)
		return 0;
	if (!decimals)
		return snprintf(text, FORMAT_SIZE, "%" PRIu64 "%s", n, unit->name);
	return snprintf(text, FORMAT_SIZE, "%" PRIu64 ".%0*" PRIu64 "%s", n / tens[decimals], (int)decimals,
			n % tens[decimals], unit->name);
}

char *format_duration(uint64_t ns, char text[FORMAT_SIZE])
{
	static const struct unit units[] = {{"ns", 1}, {"us", US_NS}, {"ms", MS_NS}, {"s", S_NS}};
	uint64_t n;

	for (size_t i = 0; i < LENGTH(units); i++)
		if (format_scaled(ns, &units[i], units[i].size == S_NS ? 60 : 1000, text))
			return text;
	n = rounded(ns, S_NS);
	if (n < 3600) {
		snprintf(text, FORMAT_SIZE, "%" PRIu64 "m%02" PRIu64 "s", n / 60, n % 60);
		return text;
	}
	n = rounded(ns, M_NS);
	if (n < 24 * 60) {
		snprintf(text, FORMAT_SIZE, "%" PRIu64 "h%02" PRIu64 "m", n / 60, n % 60);
		return text;
	}
	n = rounded(ns, H_NS);
	snprintf(text, FORMAT_SIZE, "%" PRIu64 "d%02" PRIu64 "h", n / 24, n % 24);
	return text;
}

char *format_duration_exact(uint64_t ns, char text[FORMAT_SIZE])
{
	static const struct unit units[] = {{"d", D_NS},   {"h", H_NS},   {"m", M_NS}, {"s", S_NS},
					    {"ms", MS_NS}, {"us", US_NS}, {"ns", 1}};
	size_t i = 0;

	while (!ns || ns % units[i].size)
		if (units[++i].size == 1)
			break;
	snprintf(text, FORMAT_SIZE, "%" PRIu64 "%s", ns / units[i].size, units[i].name);
	return text;
}

char *format_bytes(uint64_t bytes, char text[FORMAT_SIZE])
{
	static const struct unit units[] = {
		{"B", 1}, {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}, {"TiB", 1ULL << 40},
	};
	size_t i = 0;

	/* The last unit has no next one. */
	while (!format_scaled(bytes, &units[i], i + 1 < LENGTH(units) ? 1024 : UINT64_MAX, text))
		i++;
	return text;
}

char *format_q32(uint64_t q32, unsigned int decimals, char text[FORMAT_SIZE])
{
	uint64_t scale = 1, whole = q32 >> 32, digits, rest;

	if (decimals > 9)
		decimals = 9;
	for (unsigned int i = 0; i < decimals; i++)
		scale *= 10;
	digits = (q32 & UINT32_MAX) * scale; /* < 2^32 * 10^9 < 2^62 */
	rest = digits & UINT32_MAX;
	digits >>= 32;
	/* A tie goes to the even neighbour, which without decimals is the whole number's. */
	if (rest > 1ULL << 31 || (rest == 1ULL << 31 && ((decimals ? digits : whole) & 1)))
		digits++;
	whole += digits / scale;
	if (decimals)
		snprintf(text, FORMAT_SIZE, "%" PRIu64 ".%0*" PRIu64, whole, (int)decimals, digits % scale);
	else
		snprintf(text, FORMAT_SIZE, "%" PRIu64, whole);
	return text;
}

char *format_percent(uint32_t ppm, char text[FORMAT_SIZE])
{
	uint32_t fraction = ppm % 10000;
	int decimals = 4;

	if (!fraction) {
		snprintf(text, FORMAT_SIZE, "%" PRIu32 "%%", ppm / 10000);
		return text;
	}
	while (fraction % 10 == 0) {
		fraction /= 10;
		decimals--;
	}
	snprintf(text, FORMAT_SIZE, "%" PRIu32 ".%0*" PRIu32 "%%", ppm / 10000, decimals, fraction);
	return text;
}

char *format_uuid(const uint8_t uuid[16], char text[UUID_SIZE])
{
	size_t at = 0;

	for (size_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		snprintf(text + at, UUID_SIZE - at, "%02x", uuid[i]);
		at += 2;
	}
	return text;
}

char *format_address(const uint8_t address[16], char text[ADDRESS_SIZE])
{
	struct in6_addr in6;

	memcpy(&in6, address, sizeof(in6));
	if (IN6_IS_ADDR_V4MAPPED(&in6))
		inet_ntop(AF_INET, address + 12, text, ADDRESS_SIZE);
	else
		inet_ntop(AF_INET6, address, text, ADDRESS_SIZE);
	return text;
}

char *format_match(const struct kphi_match *match, char text[MATCH_SIZE])
{
	uint64_t all = UINT64_MAX >> (8 - match->width) * 8;
	int digits = match->width * 2;
	int length = snprintf(text, MATCH_SIZE, "%u:%0*" PRIx64, match->offset, digits, match->value);

	if (match->mask != all)
		snprintf(text + length, MATCH_SIZE - (size_t)length, "/%0*" PRIx64, digits, match->mask);
	return text;
}

char *format_sequence(const struct kphi_rule *rule, char text[FORMAT_SIZE])
{
	snprintf(text, FORMAT_SIZE, "%u:%u%s", rule->sequence_offset, rule->sequence_bits,
		 rule->sequence_little ? "le" : "");
	return text;
}

char *format_endpoint(const struct sockaddr_storage *endpoint, char text[ENDPOINT_SIZE])
{
	const struct sockaddr_in *in4 = (const struct sockaddr_in *)endpoint;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)endpoint;
	char address[ADDRESS_SIZE], device[IF_NAMESIZE] = "";

	if (endpoint->ss_family == AF_INET) {
		inet_ntop(AF_INET, &in4->sin_addr, address, sizeof(address));
		snprintf(text, ENDPOINT_SIZE, "%s:%u", address, ntohs(in4->sin_port));
	} else if (endpoint->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, address, sizeof(address));
		/* A device may be gone by now: its number is still a valid scope. */
		if (in6->sin6_scope_id && !if_indextoname(in6->sin6_scope_id, device))
			snprintf(device, sizeof(device), "%" PRIu32, in6->sin6_scope_id);
		snprintf(text, ENDPOINT_SIZE, "[%s%s%s]:%u", address, *device ? "%" : "", device,
			 ntohs(in6->sin6_port));
	} else {
		snprintf(text, ENDPOINT_SIZE, "?");
	}
	return text;
}
