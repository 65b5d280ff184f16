/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "beat/destinations.h"

#include <errno.h>
#include <kphi/wire.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/parse.h"

/* Class selector 6, network control: what routers keep for routing protocols when a link is full (RFC 4594).
 */
#define DSCP_CS6_TOS 0xc0

void destinations_init(struct destinations *destinations)
{
	memset(destinations, 0, sizeof(*destinations));
	destinations->fd4 = -1;
	destinations->fd6 = -1;
}

static socklen_t length_of(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

int destinations_add(struct destinations *destinations, const struct sockaddr_storage *address)
{
	struct destination *fresh = &destinations->list[destinations->count];

	if (destinations->count == DESTINATIONS_MAX)
		return -E2BIG;
	fresh->address = *address;
	format_endpoint(address, fresh->name);
	for (size_t i = 0; i < destinations->count; i++)
		if (strcmp(destinations->list[i].name, fresh->name) == 0)
			return -EEXIST;
	destinations->count++;
	return 0;
}

int destinations_read(struct destinations *destinations, const char *text, char *why, size_t size)
{
	struct sockaddr_storage address;
	int err = parse_endpoint(text, KPHI_WIRE_PORT, &address, why, size);

	if (err)
		return err;
	err = destinations_add(destinations, &address);
	if (err == -EEXIST)
		return refuse(err, why, size, "%s is there twice", text);
	return err ? refuse(err, why, size, "more than %d addresses", DESTINATIONS_MAX) : 0;
}

static int open_socket(int family)
{
	int tos = DSCP_CS6_TOS, hops = 255, err;
	int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	/* From 255 on each router takes one, so that an observer can tell who is on its own link (RFC 5082).
	 */
	if (family == AF_INET)
		err = setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos))
			      ?: setsockopt(fd, IPPROTO_IP, IP_TTL, &hops, sizeof(hops));
	else
		err = setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos))
			      ?: setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, sizeof(hops));
	if (err < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int *socket_for(struct destinations *destinations, const struct destination *destination)
{
	return destination->address.ss_family == AF_INET ? &destinations->fd4 : &destinations->fd6;
}

int destinations_open(struct destinations *destinations)
{
	for (size_t i = 0; i < destinations->count; i++) {
		const struct destination *destination = &destinations->list[i];
		int *fd = socket_for(destinations, destination);

		if (*fd < 0)
			*fd = open_socket(destination->address.ss_family);
		if (*fd < 0)
			return *fd;
	}
	return 0;
}

int destinations_send(struct destinations *destinations, const void *bytes, size_t size, uint64_t now_ns)
{
	int first = 0;

	for (size_t i = 0; i < destinations->count; i++) {
		struct destination *to = &destinations->list[i];
		enum trouble_news news;
		int error = 0;

		if (sendto(*socket_for(destinations, to), bytes, size, MSG_DONTWAIT,
			   (const struct sockaddr *)&to->address, length_of(&to->address)) < 0)
			error = errno;
		else
			to->sent++;
		news = trouble_note(&to->trouble, error, now_ns);
		if (news != TROUBLE_NOTHING && destinations->news)
			destinations->news(to, news, now_ns);
		first = first ? first : -error;
	}
	return first;
}

uint64_t destinations_errors(const struct destinations *destinations)
{
	uint64_t errors = 0;

	for (size_t i = 0; i < destinations->count; i++)
		errors += destinations->list[i].trouble.errors;
	return errors;
}

void destinations_close(struct destinations *destinations)
{
	if (destinations->fd4 >= 0)
		close(destinations->fd4);
	if (destinations->fd6 >= 0)
		close(destinations->fd6);
	destinations->fd4 = -1;
	destinations->fd6 = -1;
}
