// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory that only root can open, as the store's lock is: it goes with the store. */
int ring_lock(const struct pin *p, const char *name, const struct ring_role *role, struct why *w)
{
	char path[PIN_PATH];
	int fd = -1, err = pin_make_folder(pin_path(p, name, path), 0700);

	if (!err || err == -EEXIST) {
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
			return fd;
		err = -errno;
	}
	if (fd >= 0)
		close(fd);
	if (err == -EWOULDBLOCK)
		return why(w, -EBUSY, "%s", role->taken);
	return why(w, err, "%s: cannot lock it: %s%s%s", path, why_errno(err), geteuid() ? ". " : "",
		   geteuid() ? role->takes_root : "");
}

static int forget(void *context, void *data, size_t size)
{
	uint32_t *left = context;

	(void)data;
	(void)size;
	return --*left ? 0 : -ECANCELED;
}

/* What a reader has left who was killed. Not more than a ring: his lease may still run. */
static int empty(int fd, uint32_t entries)
{
	uint32_t left = entries;
	struct ring_buffer *ring = ring_buffer__new(fd, forget, &left, NULL);

	if (!ring)
		return -errno;
	ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return 0;
}

struct ring_buffer *ring_open(const struct pin *p, const char *name, uint32_t entries,
			      ring_buffer_sample_fn take, void *context, struct why *w)
{
	struct ring_buffer *ring = NULL;
	char path[PIN_PATH];
	int fd = bpf_obj_get(pin_path(p, name, path)), err = fd < 0 ? -errno : empty(fd, entries);

	if (!err) {
		ring = ring_buffer__new(fd, take, context, NULL);
		err = ring ? 0 : -errno;
	}
	if (fd >= 0)
		close(fd); /* libbpf has mapped it, and waits for it by a descriptor of its own */
	if (err)
		why_pin(w, err, path, " the ring buffer");
	return ring;
}

bool ring_is_over(int lock)
{
	struct stat folder;

	return !fstat(lock, &folder) && !folder.st_nlink;
}
