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
	/* Told what is worth a line (see trouble.h), to call trouble_said() if it says so. NULL: nobody is.
	 */
	void (*news)(struct destination *destination, enum trouble_news news, uint64_t now_ns);
};

void destinations_init(struct destinations *destinations);

/*
 * Adds an address, port included, and names it. -E2BIG when there is no room, -EEXIST when it is there
 * already: the receiver would count every beat as a duplicate.
 */
int destinations_add(struct destinations *destinations, const struct sockaddr_storage *address);

/* The same for ADDRESS, ADDRESS:PORT or [IPV6]:PORT, which is refused with a sentence. 0 or -errno. */
int destinations_read(struct destinations *destinations, const char *text, char *why, size_t size);

/* Opens the sockets that the addresses need, DSCP CS6, TTL 255. */
int destinations_open(struct destinations *destinations);

/* Never blocks. What fails is counted; 0, or -errno of the first that failed. */
int destinations_send(struct destinations *destinations, const void *bytes, size_t size, uint64_t now_ns);

/* Failed sends to all of them. */
uint64_t destinations_errors(const struct destinations *destinations);

void destinations_close(struct destinations *destinations);

#endif
