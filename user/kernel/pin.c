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
#define PURGED      "purged-store" /* one that is being removed */
#define HOME        "/run/kphi" /* where the default root is */

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

/*
 * Locks are taken on things that only root can open: a lock on a directory that others may read could be held
 * by them. Whoever held a lock before may have removed what it is a lock on; then the next one is taken on
 * its successor.
 */
static bool still_there(int fd, const char *path)
{
	struct stat locked, named;

	return !fstat(fd, &locked) && !stat(path, &named) && locked.st_dev == named.st_dev &&
	       locked.st_ino == named.st_ino;
}

int pin_make_folder(const char *path, mode_t mode)
{
	mode_t mask = umask(0);
	int err = mkdir(path, mode) ? -errno : 0;

	umask(mask);
	return err;
}

/* Mounting and unmounting happen one at a time: two bpffs, one over the other, would be two stores. */
static int lock_mounting(void)
{
	for (;;) {
		int fd, err = pin_make_folder(HOME, 0755);

		if (err && err != -EEXIST)
			return err;
		fd = open(HOME "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 && errno != ENOENT)
			return -errno;
		if (fd >= 0 && !flock(fd, LOCK_EX) && still_there(fd, HOME "/lock"))
			return fd;
		if (fd >= 0)
			close(fd);
	}
}

/* Whoever has been given just what kphi needs cannot mount. */
static int refuse_mount(int err, struct why *w)
{
	if (err == -EPERM)
		return why(w, err,
			   "%s: there is no bpffs yet, and mounting one takes CAP_SYS_ADMIN, which nothing "
			   "else here does. Have it mounted before: `systemctl start run-kphi-bpf.mount`, or "
			   "`kphi store create` as root; or name another one with --pin DIR",
			   PIN_ROOT_DEFAULT);
	return why(w, err, "%s: cannot mount a bpffs: %s. Mount one elsewhere and name it with --pin DIR",
		   PIN_ROOT_DEFAULT, strerror(-err));
}

static int mount_locked(struct pin *p, struct why *w)
{
	if (mkdir(PIN_ROOT_DEFAULT, 0750) && errno != EEXIST)
		return why(w, -errno, "%s: cannot make the directory: %s", PIN_ROOT_DEFAULT, strerror(errno));
	if (on_bpffs(PIN_ROOT_DEFAULT))
		return 0;
	if (mount("bpf", PIN_ROOT_DEFAULT, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0750"))
		return refuse_mount(-errno, w);
	p->made = true;
	return 0;
}

static int mount_default(struct pin *p, struct why *w)
{
	int lock, err;

	if (own_mount_namespace())
		return why(
			w, -EINVAL,
			"%s: not mounting a bpffs here: this process has a mount namespace of its own "
			"(`ip netns exec` makes one), and the store would vanish with it. Enter network "
			"namespaces with `nsenter --net=...`, run `kphi store create` outside first (a unit: "
			"let it require run-kphi-bpf.mount), or name a bpffs with --pin DIR",
			PIN_ROOT_DEFAULT);
	lock = lock_mounting();
	if (lock < 0)
		return why(w, lock, "%s: cannot make and lock it: %s%s", HOME, why_errno(lock),
			   geteuid() ? ". Run it as root" : "");
	err = mount_locked(p, w);
	close(lock);
	return err;
}

/* Somebody else may make the same directory at this moment: then it is theirs. */
static int make_named(struct pin *p, struct why *w)
{
	char copy[PIN_PATH];
	int err;

	snprintf(copy, sizeof(copy), "%s", p->root);
	if (!access(p->root, F_OK) || !on_bpffs(dirname(copy)))
		return 0;
	err = pin_make_folder(p->root, 0750);
	p->made = !err;
	if (!err || err == -EEXIST)
		return 0;
	return why(w, err, "%s: cannot make the directory: %s", p->root, strerror(-err));
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
		err = p->ours ? mount_default(p, w) : make_named(p, w);
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

int pin_discard(const struct pin *p, const char *folder)
{
	int root = open(p->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = root < 0 ? -errno : remove_tree(root, folder);

	if (root >= 0)
		close(root);
	return err;
}

/*
 * The lock's directory, made if need be; -EAGAIN: the root was purged. By a descriptor of the root: a purge
 * may unmount it at any moment, and what is made by its path then is made below it, and in the way for good.
 */
static int open_lock(const struct pin *p)
{
	int root = open(p->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	int err = 0, lock = -1;

	if (root < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (fstatfs(root, &fs) || (unsigned long)fs.f_type != BPFFS_MAGIC)
		err = -EAGAIN;
	else if (mkdirat(root, "lock", 0700) && errno != EEXIST)
		err = -errno;
	else
		lock = openat(root, "lock", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (!err && lock < 0)
		err = -errno;
	close(root);
	return err ? err : lock;
}

int pin_lock(struct pin *p, struct why *w)
{
	char path[PIN_PATH];
	int fd;

	snprintf(path, sizeof(path), "%.*s/lock", PIN_PATH - 8, p->root);
	for (;;) {
		fd = open_lock(p);
		if (fd == -EAGAIN)
			return why(w, fd, "%s: the store was purged this very moment. Try again", p->root);
		if (fd < 0 && fd != -ENOENT)
			return why(w, fd, "%s: cannot lock the store: %s%s", path, strerror(-fd),
				   geteuid() ? ". Run it as root" : "");
		if (fd >= 0 && !flock(fd, LOCK_EX) && still_there(fd, path))
			break;
		if (fd >= 0)
			close(fd);
	}
	p->lock = fd;
	/* What somebody who was killed left: a store half made, or half removed. */
	pin_discard(p, PIN_DRAFT);
	p->swept = !pin_discard(p, PURGED);
	return 0;
}

bool pin_is_locked(const struct pin *p)
{
	char path[PIN_PATH];
	bool locked;
	int fd;

	snprintf(path, sizeof(path), "%.*s/lock", PIN_PATH - 8, p->root);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	if (fd >= 0)
		close(fd);
	return locked;
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

/* With the last store goes the lock, and the default root altogether. */
static void remove_root(struct pin *p)
{
	char path[PIN_PATH];
	int mounting = p->ours ? lock_mounting() : -1;

	snprintf(path, sizeof(path), "%.*s/lock", PIN_PATH - 8, p->root);
	rmdir(path); /* ours, and held until the end */
	/* Detached, because the lock is held on it. */
	if (mounting >= 0 && !umount2(p->root, MNT_DETACH) && !rmdir(p->root) && !unlink(HOME "/lock"))
		rmdir(HOME);
	if (mounting >= 0)
		close(mounting);
}

/* A lock on nothing leaves nothing behind; whoever waits for it makes another. Neither does a root that was
 * made for a store of which nothing came. */
void pin_close(struct pin *p)
{
	char path[PIN_PATH], abi[16];

	if (p->lock < 0)
		return;
	snprintf(path, sizeof(path), "%.*s/lock", PIN_PATH - 8, p->root);
	if (!pin_has_store(p) && !pin_other_abi(p, abi) && still_there(p->lock, path)) {
		rmdir(path);
		if (p->made && p->ours)
			remove_root(p);
		else if (p->made)
			rmdir(p->root);
	}
	close(p->lock);
	p->lock = -1;
	p->made = false;
}

int pin_purge(struct pin *p, const char *abi, struct why *w)
{
	char folder[64], from[PIN_PATH], to[PIN_PATH];
	int err = 0;

	snprintf(folder, sizeof(folder), ABI_PREFIX "%.15s", abi ? abi : KPHI_ABI);
	snprintf(from, sizeof(from), "%.*s/%.60s", PIN_PATH - 64, p->root, folder);
	snprintf(to, sizeof(to), "%.*s/" PURGED, PIN_PATH - 64, p->root);
	/* In one step it is no store any more; what is left of it is removed now, or by whoever locks next.
	 */
	if (rename(from, to) && (errno != ENOENT || !p->swept))
		err = -errno;
	if (!err && pin_discard(p, PURGED) && !access(to, F_OK))
		err = -EIO;
	if (err)
		return why(w, err, "%s: cannot unpin: %s", from, why_errno(err));
	if (!pin_has_store(p) && !pin_other_abi(p, folder))
		remove_root(p);
	return 0;
}
