// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* UUIDs and addresses: the identities of parse.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "io/format.h"
#include "io/parse.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* All 32 digits, with a hyphen at each of the four places or at none. */
static bool read_uuid(const char *text, uint8_t uuid[16])
{
	bool hyphens = strlen(text) == UUID_SIZE - 1;

	if (!hyphens && strlen(text) != 32)
		return false;
	for (int i = 0; i < 16; i++, text += 2) {
		int high, low;

		if (hyphens && (i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return false;
		high = hex_digit(text[0]);
		low = high < 0 ? -1 : hex_digit(text[1]);
		if (low < 0)
			return false;
		uuid[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

int parse_uuid(const char *text, uint8_t uuid[16], char *why, size_t size)
{
	static const uint8_t nil[16];
	uint8_t bytes[16];

	if (!read_uuid(text, bytes))
		return refuse(
			-EINVAL, why, size,
			QUOTED
			" is not a UUID: write 32 hex digits, as in 6ba7b810-9dad-11d1-80b4-00c04fd430c8",
			text);
	if (!memcmp(bytes, nil, sizeof(nil)))
		return refuse(-EINVAL, why, size, "the nil UUID identifies nobody: make one with uuidgen");
	memcpy(uuid, bytes, sizeof(bytes));
	return 0;
}

static void map_v4(struct in_addr in4, uint8_t address[16])
{
	memset(address, 0, 10);
	memset(address + 10, 0xff, 2);
	memcpy(address + 12, &in4, sizeof(in4));
}

/* A literal of either family, without scope or port. */
static bool read_address(const char *text, uint8_t address[16])
{
	struct in6_addr in6;
	struct in_addr in4;

	if (inet_pton(AF_INET, text, &in4) == 1)
		map_v4(in4, address);
	else if (inet_pton(AF_INET6, text, &in6) == 1)
		memcpy(address, &in6, sizeof(in6));
	else
		return false;
	return true;
}

static int refuse_address(const char *text, char *why, size_t size)
{
	/* A letter needs a colon in a literal: without one, somebody wrote a name. */
	if (!strchr(text, ':') && text[strspn(text, "0123456789./[]")])
		return refuse(-EINVAL, why, size,
			      QUOTED
			      " is not an IP address: host names are not resolved, write the address itself",
			      text);
	return refuse(-EINVAL, why, size,
		      QUOTED " is not an IP address: write it as in 192.0.2.1 or 2001:db8::1", text);
}

int parse_address(const char *text, uint8_t address[16], char *why, size_t size)
{
	if (strchr(text, '%'))
		return refuse(-EINVAL, why, size,
			      QUOTED " has a device in it: only the address is wanted here", text);
	if (read_address(text, address))
		return 0;
	return refuse_address(text, why, size);
}

/* An endpoint cut into its parts; NULL: not there. */
struct parts {
	char copy[ENDPOINT_SIZE];
	char *host, *device, *port;
};

/* One colon starts a port; more are IPv6, which takes a port only behind its brackets. */
static bool split(const char *text, struct parts *parts)
{
	size_t length = strlen(text);
	char *host = parts->copy, *end;
	bool bracketed = *text == '[';

	if (length >= sizeof(parts->copy))
		return false;
	memcpy(parts->copy, text, length + 1);
	if (bracketed) {
		end = strchr(++host, ']');
		if (!end)
			return false;
		*end++ = '\0';
	} else {
		end = strchrnul(host, ':');
		if (strchr(host, ':') != strrchr(host, ':'))
			end = host + strlen(host);
	}
	parts->port = NULL;
	if (*end == ':') {
		*end = '\0';
		parts->port = end + 1;
	} else if (*end) {
		return false;
	}
	parts->host = host;
	parts->device = strchr(host, '%');
	if (parts->device)
		*parts->device++ = '\0';
	return !bracketed || strchr(host, ':');
}

static bool is_link_local(const struct in6_addr *in6)
{
	return IN6_IS_ADDR_LINKLOCAL(in6) || IN6_IS_ADDR_MC_LINKLOCAL(in6) || IN6_IS_ADDR_MC_NODELOCAL(in6);
}

/* The device's index, which a link-local address needs and no other may have. */
static int read_scope(const char *text, const struct parts *parts, const struct in6_addr *in6,
		      uint32_t *scope, char *why, size_t size)
{
	char ignored[1];
	uint64_t index;

	*scope = 0;
	if (!is_link_local(in6)) {
		if (!parts->device)
			return 0;
		return refuse(-EINVAL, why, size,
			      QUOTED
			      " has a device in it, but only link-local addresses such as fe80::1 take one",
			      text);
	}
	if (!parts->device)
		return refuse(-EINVAL, why, size, QUOTED " is link-local: add the device, as in %s%%eth0",
			      text, parts->host);
	*scope = if_nametoindex(parts->device);
	if (*scope)
		return 0;
	/* format_endpoint() writes a number where the device has gone. */
	if (parse_u64(parts->device, 1, UINT32_MAX, &index, ignored, sizeof(ignored)))
		return refuse(-EINVAL, why, size, "there is no device " QUOTED " here for %s", parts->device,
			      parts->host);
	*scope = (uint32_t)index;
	return 0;
}

static void fill_v4(struct sockaddr_storage *endpoint, const uint8_t address[16], uint16_t port)
{
	struct sockaddr_in *in4 = (struct sockaddr_in *)endpoint;

	memset(endpoint, 0, sizeof(*endpoint));
	in4->sin_family = AF_INET;
	in4->sin_port = htons(port);
	memcpy(&in4->sin_addr, address + 12, sizeof(in4->sin_addr));
}

static void fill_v6(struct sockaddr_storage *endpoint, const struct in6_addr *address, uint16_t port,
		    uint32_t scope)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)endpoint;

	memset(endpoint, 0, sizeof(*endpoint));
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	in6->sin6_addr = *address;
	in6->sin6_scope_id = scope;
}

int parse_endpoint(const char *text, uint16_t default_port, struct sockaddr_storage *endpoint, char *why,
		   size_t size)
{
	uint16_t port = default_port;
	struct parts parts = {0};
	struct in6_addr in6;
	uint32_t scope;
	int error;

	if (!split(text, &parts))
		return refuse_address(text, why, size);
	if (!read_address(parts.host, in6.s6_addr))
		return refuse_address(parts.host, why, size);
	error = read_scope(text, &parts, &in6, &scope, why, size);
	if (!error && parts.port)
		error = parse_port(parts.port, &port, why, size);
	if (error)
		return error;
	if (!port)
		return refuse(-EINVAL, why, size,
			      QUOTED " has no port: write it as in 192.0.2.1:7441 or [2001:db8::1]:7441",
			      text);
	if (IN6_IS_ADDR_V4MAPPED(&in6))
		fill_v4(endpoint, in6.s6_addr, port);
	else
		fill_v6(endpoint, &in6, port, scope);
	return 0;
}
