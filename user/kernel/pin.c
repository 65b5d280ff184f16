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

static int mount_default(struct why *w)
{
	if (own_mount_namespace())
		return why(w, -EINVAL,
			   "%s: not mounting a bpffs here: this process has a mount namespace of its own "
			   "(`ip netns exec` "
			   "makes one), and the store would vanish with it. Enter network namespaces with "
			   "`nsenter --net=...`, "
			   "run `kphi store create` outside first, or name a bpffs with --pin DIR",
			   PIN_ROOT_DEFAULT);
	if ((mkdir("/run/kphi", 0755) && errno != EEXIST) ||
	    (mkdir(PIN_ROOT_DEFAULT, 0750) && errno != EEXIST))
		return why(w, -errno, "%s: cannot make the directory: %s%s", PIN_ROOT_DEFAULT,
			   strerror(errno), geteuid() ? ". Run it as root" : "");
	if (mount("bpf", PIN_ROOT_DEFAULT, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0750"))
		return why(w, -errno,
			   "%s: cannot mount a bpffs: %s. Mount one elsewhere and name it with --pin DIR",
			   PIN_ROOT_DEFAULT, strerror(errno));
	return 0;
}

static int make_named(const char *root, struct why *w)
{
	char copy[PIN_PATH];

	snprintf(copy, sizeof(copy), "%s", root);
	if (access(root, F_OK) && on_bpffs(dirname(copy)) && mkdir(root, 0750))
		return why(w, -errno, "%s: cannot make the directory: %s", root, strerror(errno));
	return 0;
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
		err = p->ours ? mount_default(w) : make_named(p->root, w);
	if (err)
		return err;
	if (access(p->root, X_OK) && errno == EACCES)
		return why(w, -EACCES,
			   "%s: permission denied. Run it as root, or join the group that owns the store",
			   p->root);
	if (on_bpffs(p->root))
		return 0;
	if (p->ours || access(p->root, F_OK))
		return why(w, -ENOENT,
			   "%s: there is no store yet. `kphi net attach dev NAME`, `kphi peer add` and `kphi "
			   "store create` make one",
			   p->root);
	return why(w, -EINVAL,
		   "%s is not on a bpffs. Mount one there with `mount -t bpf bpf %s`, or leave --pin out",
		   p->root, p->root);
}

int pin_lock(struct pin *p, struct why *w)
{
	p->lock = open(p->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->lock < 0 || flock(p->lock, LOCK_EX))
		return why(w, -errno, "%s: cannot lock the store: %s%s", p->root, strerror(errno),
			   geteuid() ? ". Run it as root" : "");
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
	int err;

	snprintf(folder, sizeof(folder), ABI_PREFIX "%.15s", abi ? abi : KPHI_ABI);
	err = remove_tree(p->lock, folder);
	if (err)
		return why(w, err, "%s/%s: cannot unpin: %s", p->root, folder, why_errno(err));
	if (!p->ours)
		return 0;
	/* Somebody may be waiting for the lock, or another ABI may live here: then the mount stays. */
	pin_close(p);
	if (!pin_other_abi(p, folder) && !umount(p->root) && !rmdir(p->root))
		rmdir("/run/kphi");
	return 0;
}
