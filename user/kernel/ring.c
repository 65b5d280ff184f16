// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory that only root can open, as the store's lock is: it goes with the store. */
static int take_role(const struct pin *p, const struct ring_role *role, struct why *w)
{
	char path[PIN_PATH];
	int fd = -1, err = pin_make_folder(pin_path(p, role->lock, path), 0700);

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

static int open_buffer(struct ring_reader *r, const struct pin *p, ring_buffer_sample_fn take, void *context,
		       struct why *w)
{
	char path[PIN_PATH];
	int fd = bpf_obj_get(pin_path(p, r->role->name, path));
	int err = fd < 0 ? -errno : empty(fd, r->role->entries);

	if (!err) {
		r->buffer = ring_buffer__new(fd, take, context, NULL);
		err = r->buffer ? 0 : -errno;
	}
	if (fd >= 0)
		close(fd); /* libbpf has mapped it, and waits for it by a descriptor of its own */
	return err ? why_pin(w, err, path, " the ring buffer") : 0;
}

int ring_open(struct ring_reader *r, const struct pin *p, const struct ring_role *role,
	      ring_buffer_sample_fn take, void *context, struct why *w)
{
	int err;

	*r = (struct ring_reader)RING_CLOSED;
	r->role = role;
	r->lock = take_role(p, role, w);
	if (r->lock < 0)
		return r->lock;
	err = control_open(&r->control, p, w);
	return err ? err : open_buffer(r, p, take, context, w);
}

int ring_lease(struct ring_reader *r, uint64_t now_ns, struct why *w)
{
	int err = r->role->lease(&r->control, now_ns + r->role->lease_ns, w);

	if (err)
		return err;
	r->until_ns = now_ns + r->role->lease_ns;
	r->renew_ns = now_ns + r->role->renew_ns;
	return 0;
}

int ring_take(struct ring_reader *r, struct why *w)
{
	int err = ring_buffer__consume(r->buffer);

	return err < 0 && err != -ECANCELED ? why(w, err, "cannot read the ring buffer: %s", why_errno(err))
					    : 0;
}

int ring_stop(struct ring_reader *r, struct why *w)
{
	if (!r->until_ns)
		return 0;
	r->until_ns = 0;
	return r->role->lease(&r->control, 0, w);
}

bool ring_is_over(const struct ring_reader *r)
{
	struct stat folder;

	return !fstat(r->lock, &folder) && !folder.st_nlink;
}

void ring_close(struct ring_reader *r)
{
	struct why ignored;

	ring_stop(r, &ignored);
	ring_buffer__free(r->buffer);
	control_close(&r->control);
	if (r->lock >= 0)
		close(r->lock);
	*r = (struct ring_reader)RING_CLOSED;
}
