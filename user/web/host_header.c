// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/host_header.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define NAME_SIZE 256 /* no name of a host is longer */

static bool is_port(const char *text)
{
	return strspn(text, "0123456789") == strlen(text) && strlen(text) <= 5;
}

/* [::1]:7441, a link-local device behind a per cent sign included. */
static bool is_bracketed(char *value)
{
	struct in6_addr address;
	char *end = strchr(value, ']');

	if (!end || (end[1] && (end[1] != ':' || !is_port(end + 2))))
		return false;
	*end = '\0';
	value[1 + strcspn(value + 1, "%")] = '\0';
	return inet_pton(AF_INET6, value + 1, &address) == 1;
}

static bool is_same(const char *name, const char *of, size_t length)
{
	return length && strlen(name) == length && !strncasecmp(name, of, length);
}

static bool is_in(const char *name, const char *list)
{
	while (list && *list) {
		size_t length = strcspn(list, ", ");

		if (is_same(name, list, length))
			return true;
		list += length;
		list += strspn(list, ", ");
	}
	return false;
}

bool host_header_is_ours(const char *value, const char *own, const char *further)
{
	struct in_addr address;
	char name[NAME_SIZE], *port;
	size_t length;

	if (!value)
		return true;
	length = strlen(value);
	if (!length || length >= sizeof(name))
		return false;
	memcpy(name, value, length + 1);
	if (*name == '[')
		return is_bracketed(name);
	port = strchr(name, ':');
	if (port) {
		if (!is_port(port + 1))
			return false;
		*port = '\0';
	}
	if (inet_pton(AF_INET, name, &address) == 1)
		return true;
	length = strlen(name);
	if (length && name[length - 1] == '.') /* the root's dot */
		name[length - 1] = '\0';
	return is_same(name, "localhost", strlen("localhost")) || is_same(name, own, strlen(own)) ||
	       is_same(name, own, strcspn(own, ".")) || is_in(name, further);
}
