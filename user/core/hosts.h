/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A host that is heard through several streams: which of the peers are one host's, and what they say of it
 * together. */
#ifndef KPHI_CORE_HOSTS_H
#define KPHI_CORE_HOSTS_H

#include <kphi/maps.h>
#include <stddef.h>
#include <stdint.h>

struct host_stream {
	uint32_t slot;
	uint32_t place; /* filled in: the smallest slot of its host's streams */
	char host[KPHI_NAME_SIZE]; /* label; "": the stream stands for itself */
};

/*
 * Puts the streams of each host side by side: hosts in the order in which they first appear in the store,
 * streams of one host by their slots. Needs no memory but what qsort() takes.
 */
void hosts_arrange(struct host_stream *streams, size_t n);

/* What one stream says of its host. */
enum host_word {
	HOST_AUDIBLE,
	HOST_SILENT,
	HOST_DOWN, /* its own watcher said so */
	HOST_LEFT, /* nothing is expected of it */
	HOST_UNHEARD, /* it has not been heard yet */
	HOST_WORDS,
};

#define HOST_NAMES   8 /* of each kind are told by name; of more, how many there are */
#define HOST_SUMMARY (HOST_WORDS * (HOST_NAMES * (KPHI_NAME_SIZE + 5) + 64))

struct host_summary {
	char name[HOST_WORDS][HOST_NAMES][KPHI_NAME_SIZE];
	uint32_t count[HOST_WORDS];
};

/* All zero is the summary of no stream. */
void host_summary_add(struct host_summary *s, const char *name, enum host_word word);

/* "audible by db1-bfd and db1-nic2, silent by db1-gossip". Returns `text`. */
char *host_summary_text(const struct host_summary *s, char text[HOST_SUMMARY]);

#endif
