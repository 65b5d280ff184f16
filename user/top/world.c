// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/world.h"

#include <errno.h>
#include <string.h>

static bool look_at_pin(const struct world *w, struct stat *seen)
{
	char path[PIN_PATH];

	return !stat(pin_path(&w->pin, "store", path), seen);
}

int world_open(struct world *w, const char *root, struct why *reason)
{
	int err;

	*w = (struct world){.pin.lock = -1, .store.daemon = -1};
	err = pin_open(&w->pin, root, false, reason);
	/* Should it be replaced between the two, the next look finds another one than this. */
	if (!err && look_at_pin(w, &w->seen))
		w->open = true;
	err = err ? err : store_open(&w->store, &w->pin, reason);
	if (!err && !w->open)
		err = why(reason, -ENOENT, "%s: the store has come and gone", w->pin.root);
	if (err)
		world_close(w);
	return err;
}

void world_close(struct world *w)
{
	store_close(&w->store);
	pin_close(&w->pin);
	w->open = false;
}

bool world_is_current(const struct world *w)
{
	struct stat now;

	return w->open && look_at_pin(w, &now) && now.st_dev == w->seen.st_dev &&
	       now.st_ino == w->seen.st_ino;
}
