/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * To whom the beats go. The sockets are not connected: a destination that is dead or answers with ICMP errors
 * concerns no other one, and IPv4, IPv6 and multicast are all the same.
 */
#ifndef KPHI_BEAT_DESTINATIONS_H
#define KPHI_BEAT_DESTINATIONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "beat/trouble.h"
#include "io/format.h"

#define DESTINATIONS_MAX 64

struct destination {
	struct sockaddr_storage address;
	char name[ENDPOINT_SIZE];
	uint64_t sent; /* datagrams that the kernel took */
	struct trouble trouble;
};

struct destinations {
	struct destination list[DESTINATIONS_MAX];
	size_t count;
	int fd4, fd6; /* -1 when no destination needs it */
};

void destinations_init(struct destinations *destinations);

/*
 * Adds an address, port included, and names it. -E2BIG when there is no room, -EEXIST when it is there
 * already: the receiver would count every beat as a duplicate.
 */
int destinations_add(struct destinations *destinations, const struct sockaddr_storage *address);

/* Opens the sockets that the addresses need, DSCP CS6, TTL 255. */
int destinations_open(struct destinations *destinations);

/* Never blocks. What fails is counted, and said on stderr when it is worth a line (see trouble.h). */
void destinations_send(struct destinations *destinations, const void *bytes, size_t size, uint64_t now_ns);

/* Failed sends to all of them. */
uint64_t destinations_errors(const struct destinations *destinations);

void destinations_close(struct destinations *destinations);

#endif
