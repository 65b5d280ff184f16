// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/source.h"

#include <sys/stat.h>

static bool is_same(const struct source *s, const struct stat *there)
{
	return there->st_ino == s->inode && there->st_dev == s->device;
}

void source_close(struct source *s)
{
	if (!s->is_open)
		return;
	store_close(&s->store);
	pin_close(&s->pin);
	s->is_open = false;
}

/* A purge may come between the look at the folder and the last map; then the next look finds that out. */
static int open_store(struct source *s, struct why *w)
{
	struct stat there;
	int err = pin_open(&s->pin, s->root, false, w);

	if (err)
		return err;
	if (stat(s->pin.store, &there))
		there = (struct stat){0};
	err = store_open(&s->store, &s->pin, w);
	if (err) {
		pin_close(&s->pin);
		return err;
	}
	s->device = there.st_dev;
	s->inode = there.st_ino;
	s->is_open = true;
	s->life++;
	return 0;
}

const struct store *source_store(struct source *s, struct why *w)
{
	struct stat there;

	if (s->is_open && (stat(s->pin.store, &there) || !is_same(s, &there)))
		source_close(s);
	return s->is_open || !open_store(s, w) ? &s->store : NULL;
}
