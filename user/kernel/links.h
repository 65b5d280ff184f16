/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Network devices of this namespace as rtnetlink tells of them. */
#ifndef KPHI_KERNEL_LINKS_H
#define KPHI_KERNEL_LINKS_H

#include <stdbool.h>
#include <stdint.h>

struct link_news {
	uint32_t ifindex;
	uint32_t master; /* of which bond or bridge it is a member; 0: none */
	const char *name; /* "" if it is not said */
	bool gone; /* the rest means nothing then */
	bool up; /* IFF_UP: somebody wants it to work */
	bool carrier; /* IFF_LOWER_UP: and there is a cable */
};

struct links;

/* A socket that hears of every change. NULL, with errno. */
struct links *links_open(void);
void links_close(struct links *l); /* NULL is fine */
int links_fd(const struct links *l);

/* What has come since; never blocks. 0, -ENOBUFS if some of it was lost, or another negative errno. */
int links_read(struct links *l, void (*each)(void *context, const struct link_news *news), void *context);

/* One device as it is now: news may be a second late (the kernel's linkwatch rations them). 0 or a negative
 * errno. */
int links_ask(uint32_t ifindex, void (*each)(void *context, const struct link_news *news), void *context);

/* Every device there is. 0 or a negative errno. */
int links_dump(void (*each)(void *context, const struct link_news *news), void *context);

#endif
