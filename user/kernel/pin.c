// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/pin.h"

#include <abi.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BPFFS_MAGIC 0xcafe4a11
#define ABI_PREFIX  "abi-"

static bool on_bpffs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && (unsigned long)fs.f_type == BPFFS_MAGIC;
}

/* A mount made in a mount namespace of a shell's own would vanish, store and all, when that shell ends. */
static bool own_mount_namespace(void)
{
	struct stat self, init;

	return !stat("/proc/self/ns/mnt", &self) && !stat("/proc/1/ns/mnt", &init) &&
	       self.st_ino != init.st_ino;
}

/* Mounting and unmounting happen one at a time: two bpffs, one over the other, would be two stores. */
static int lock_run(void)
{
	int fd = open("/run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		flock(fd, LOCK_EX);
	return fd;
}

static int mount_locked(struct why *w)
{
	if ((mkdir("/run/kphi", 0755) && errno != EEXIST) ||
	    (mkdir(PIN_ROOT_DEFAULT, 0750) && errno != EEXIST))
		return why(w, -errno, "%s: cannot make the directory: %s%s", PIN_ROOT_DEFAULT,
			   strerror(errno), geteuid() ? ". Run it as root" : "");
	if (!on_bpffs(PIN_ROOT_DEFAULT) &&
	    mount("bpf", PIN_ROOT_DEFAULT, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0750"))
		return why(w, -errno,
			   "%s: cannot mount a bpffs: %s. Mount one elsewhere and name it with --pin DIR",
			   PIN_ROOT_DEFAULT, strerror(errno));
	return 0;
}

static int mount_default(struct why *w)
{
	int run, err;

	if (own_mount_namespace())
		return why(w, -EINVAL,
			   "%s: not mounting a bpffs here: this process has a mount namespace of its own "
			   "(`ip netns exec` makes one), and the store would vanish with it. Enter network "
			   "namespaces with `nsenter --net=...`, run `kphi store create` outside first, or "
			   "name a bpffs with --pin DIR",
			   PIN_ROOT_DEFAULT);
	run = lock_run();
	err = mount_locked(w);
	if (run >= 0)
		close(run);
	return err;
}

/* Somebody else may make the same directory at this moment: then it is theirs. */
static int make_named(struct pin *p, struct why *w)
{
	char copy[PIN_PATH];

	snprintf(copy, sizeof(copy), "%s", p->root);
	if (!access(p->root, F_OK) || !on_bpffs(dirname(copy)))
		return 0;
	p->made = !mkdir(p->root, 0750);
	if (p->made || errno == EEXIST)
		return 0;
	return why(w, -errno, "%s: cannot make the directory: %s", p->root, strerror(errno));
}

int pin_open(struct pin *p, const char *root, bool create, struct why *w)
{
	int err = 0;

	*p = (struct pin){.lock = -1, .ours = !root || !strcmp(root, PIN_ROOT_DEFAULT)};
	if (root && strlen(root) > PIN_PATH - 128)
		return why(w, -ENAMETOOLONG, "--pin: the path is longer than %d bytes", PIN_PATH - 128);
	snprintf(p->root, sizeof(p->root), "%s", root ? root : PIN_ROOT_DEFAULT);
	snprintf(p->store, sizeof(p->store), "%.*s/" ABI_PREFIX KPHI_ABI, PIN_PATH - 64, p->root);

	if (create && !on_bpffs(p->root))
		err = p->ours ? mount_default(w) : make_named(p, w);
	if (err)
		return err;
	if (access(p->root, X_OK) && errno == EACCES)
		return why(w, -EACCES,
			   "%s: permission denied. Run it as root, or join the group that owns the store",
			   p->root);
	if (on_bpffs(p->root))
		return 0;
	if (!create && (p->ours || access(p->root, F_OK)))
		return why(w, -ENOENT,
			   "%s: there is no store yet. `kphi net attach dev NAME`, `kphi peer add` and `kphi "
			   "store create` make one",
			   p->root);
	return why(w, -EINVAL,
		   "%s is not on a bpffs. Mount one there with `mount -t bpf bpf %s`, or leave --pin out",
		   p->root, p->root);
}

/* While one waited for the lock, a purge may have unmounted what it is a lock on. */
static bool lock_is_on_root(const struct pin *p)
{
	struct stat locked, root;

	return on_bpffs(p->root) && !fstat(p->lock, &locked) && !stat(p->root, &root) &&
	       locked.st_dev == root.st_dev && locked.st_ino == root.st_ino;
}

int pin_lock(struct pin *p, struct why *w)
{
	p->lock = open(p->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->lock < 0 || flock(p->lock, LOCK_EX))
		return why(w, -errno, "%s: cannot lock the store: %s%s", p->root, strerror(errno),
			   geteuid() ? ". Run it as root" : "");
	if (!lock_is_on_root(p))
		return why(w, -EAGAIN, "%s: the store was purged this very moment. Try again", p->root);
	return 0;
}

void pin_close(struct pin *p)
{
	if (p->lock >= 0)
		close(p->lock);
	p->lock = -1;
}

const char *pin_path(const struct pin *p, const char *name, char *path)
{
	snprintf(path, PIN_PATH, "%.*s/%.100s", PIN_PATH - 102, p->store, name);
	return path;
}

bool pin_has_store(const struct pin *p)
{
	return !access(p->store, F_OK);
}

bool pin_other_abi(const struct pin *p, char *abi)
{
	DIR *dir = opendir(p->root);
	struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		found = !strncmp(e->d_name, ABI_PREFIX, strlen(ABI_PREFIX)) &&
			strcmp(e->d_name, ABI_PREFIX KPHI_ABI);
		if (found)
			snprintf(abi, 16, "%.15s", e->d_name + strlen(ABI_PREFIX));
	}
	if (dir)
		closedir(dir);
	return found;
}

/* bpffs folders are two deep at most; a link's pin is what holds it, so removing it detaches the device. */
static int remove_tree(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int err = 0;

	if (!dir)
		return fd < 0 ? -errno : -ENOMEM;
	while (!err && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (e->d_type == DT_DIR)
			err = remove_tree(fd, e->d_name);
		else if (unlinkat(fd, e->d_name, 0))
			err = -errno;
	}
	closedir(dir);
	if (!err && unlinkat(parent, name, AT_REMOVEDIR))
		err = -errno;
	return err;
}

int pin_purge(struct pin *p, const char *abi, struct why *w)
{
	char folder[64];
	int run, err;

	snprintf(folder, sizeof(folder), ABI_PREFIX "%.15s", abi ? abi : KPHI_ABI);
	err = remove_tree(p->lock, folder);
	if (err)
		return why(w, err, "%s/%s: cannot unpin: %s", p->root, folder, why_errno(err));
	if (!p->ours)
		return 0;
	/*
	 * Under the lock, lest the store that somebody makes next goes with the mount; detached, because the
	 * lock is held on it. Where a store of any ABI is left, so is the mount.
	 */
	run = lock_run();
	if (!pin_has_store(p) && !pin_other_abi(p, folder) && !umount2(p->root, MNT_DETACH) &&
	    !rmdir(p->root))
		rmdir("/run/kphi");
	if (run >= 0)
		close(run);
	return 0;
}
