// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* All of libkphi's reading that makes system calls. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/clock.h"
#include "lib/handle.h"
#include "version.h"

const char *kphi_version(void)
{
	return KPHI_VERSION;
}

uint64_t kphi_now_ns(void)
{
	return clock_monotonic_ns();
}

static int identify(const struct kphi *k, struct stat *s)
{
	char path[PIN_PATH];

	return stat(pin_path(&k->pin, "store", path), s) ? -errno : 0;
}

int kphi_stale(const struct kphi *k)
{
	struct stat now;
	int err = identify(k, &now);

	if (err)
		return err == -ENOENT ? 1 : err;
	return now.st_dev != k->device || now.st_ino != k->inode;
}

/* A store that is purged and made anew in the middle of this is opened again: its maps belong together. */
static int open_whole(struct kphi *k, const char *root, struct why *w)
{
	struct stat before;
	int err, stale;

	do {
		err = pin_open(&k->pin, root, false, w);
		if (err)
			return err;
		if (identify(k, &before)) /* store_open() says why */
			memset(&before, 0, sizeof(before));
		err = store_open(&k->store, &k->pin, w);
		if (err)
			return err;
		k->device = before.st_dev;
		k->inode = before.st_ino;
		stale = kphi_stale(k);
		if (stale)
			store_close(&k->store);
	} while (stale > 0);
	return stale ? why(w, stale, "%s: cannot look at the store: %s", k->pin.store, why_errno(stale)) : 0;
}

static int say(int err, const char *sentence, char *why, size_t size)
{
	if (why && size)
		snprintf(why, size, "%s", sentence);
	return err;
}

int kphi_open(struct kphi **k, const char *root, char *why, size_t why_size)
{
	struct kphi *fresh = calloc(1, sizeof(*fresh));
	struct why w = {""};
	int err;

	*k = NULL;
	if (!fresh)
		return say(-ENOMEM, "no memory for a handle of the store", why, why_size);
	err = open_whole(fresh, root, &w);
	if (err) {
		free(fresh);
		return say(err, w.text, why, why_size);
	}
	handle_prepare(fresh);
	*k = fresh;
	return 0;
}

void kphi_close(struct kphi *k)
{
	if (k)
		store_close(&k->store);
	free(k);
}

int kphi_consumer(const struct kphi *k, const char *name, struct kphi_consumer_info *consumer)
{
	struct kphi_daemon daemon;

	if (!store_daemon(&k->store, clock_monotonic_ns(), &daemon))
		return -EAGAIN;
	for (uint32_t i = 0; i < daemon.consumers && i < KPHI_CONSUMERS; i++) {
		const struct kphi_consumer *c = &daemon.consumer[i];

		if (strncmp(c->name, name, sizeof(c->name)) != 0)
			continue;
		*consumer = (struct kphi_consumer_info){
			.number = (int32_t)i,
			.shadow = c->shadow,
			.suspect_q32 = c->suspect,
			.clear_q32 = c->clear,
		};
		return 0;
	}
	return -ENOENT;
}

int kphi_verdicts_fd(const struct kphi *k)
{
	char path[PIN_PATH];
	int fd = bpf_obj_get(pin_path(&k->pin, "verdicts", path));
	int stale;

	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	stale = kphi_stale(k);
	if (!stale)
		return fd;
	close(fd);
	return stale < 0 ? stale : -ESTALE;
}
