/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The store as it is now: it may not exist yet, be purged and made again, or be of another layout. */
#ifndef KPHI_WEB_SOURCE_H
#define KPHI_WEB_SOURCE_H

#include <sys/types.h>

#include "kernel/pin.h"
#include "kernel/store.h"

struct source {
	const char *root; /* as --pin */
	struct pin pin;
	struct store store;
	bool is_open;
	dev_t device;
	ino_t inode; /* of the folder in which what is mapped was pinned */
	uint64_t life; /* rises with each store that is opened: slots mean something within one only */
};

/* The store there is, opened anew if it is another one than before; NULL with a sentence if there is none. */
const struct store *source_store(struct source *s, struct why *w);
void source_close(struct source *s);

#endif
