// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/pin_again.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/load.h"

/* A purge begins with another name, and so does who removes the folder by hand. */
static bool has_its_name(const struct pin *p, int folder)
{
	char path[64], name[PIN_PATH];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", folder);
	length = readlink(path, name, sizeof(name) - 1);
	if (length < 0)
		return false;
	name[length] = '\0';
	return strrchr(name, '/') && !strcmp(strrchr(name, '/'), strrchr(p->store, '/'));
}

enum pin_place pin_where(const struct pin *p, int folder)
{
	struct stat ours, there;

	if (fstat(folder, &ours) || !ours.st_nlink || !has_its_name(p, folder))
		return PIN_GONE;
	if (stat(p->store, &there))
		return PIN_HIDDEN;
	return ours.st_ino == there.st_ino && ours.st_dev == there.st_dev ? PIN_THERE : PIN_REPLACED;
}

static int give_as(const char *path, const struct stat *as)
{
	return chown(path, as->st_uid, as->st_gid) || chmod(path, as->st_mode & 07777) ? -errno : 0;
}

/* Of whatever kind it is: a map, a program, a link. */
static int pin_one(const char *from, const char *to)
{
	int err, fd = bpf_obj_get(from);

	if (fd < 0)
		return -errno;
	err = bpf_obj_pin(fd, to);
	close(fd);
	return err;
}

/* Folders of a store are two deep at most. */
static int pin_folder(const char *from, const char *to)
{
	char old[PIN_PATH], new[PIN_PATH];
	struct dirent *e;
	struct stat as;
	DIR *dir;
	int err = mkdir(to, 0700) ? -errno : 0;

	if (err)
		return err;
	dir = opendir(from);
	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (snprintf(old, sizeof(old), "%s/%s", from, e->d_name) >= (int)sizeof(old) ||
		    snprintf(new, sizeof(new), "%s/%s", to, e->d_name) >= (int)sizeof(new))
			err = -ENAMETOOLONG;
		else if (stat(old, &as))
			err = -errno;
		else
			err = S_ISDIR(as.st_mode) ? pin_folder(old, new) : pin_one(old, new);
		err = err || S_ISDIR(as.st_mode) ? err : give_as(new, &as);
	}
	closedir(dir);
	if (!err && stat(from, &as))
		err = -errno;
	return err ? err : give_as(to, &as);
}

/* The new folder takes the place of the old one, number and lock. */
static int take_folder(const struct pin *p, int folder)
{
	int err = 0, fresh = open(p->store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fresh < 0)
		return -errno;
	if (flock(fresh, LOCK_EX | LOCK_NB) || dup3(fresh, folder, O_CLOEXEC) < 0)
		err = -errno;
	close(fresh);
	return err;
}

static int pin_locked(struct pin *p, int folder, struct why *w)
{
	char from[64], draft[PIN_PATH];
	int err;

	if (pin_has_store(p))
		return why(w, -EEXIST, "%s: there is another store", p->store);
	snprintf(from, sizeof(from), "/proc/self/fd/%d", folder);
	snprintf(draft, sizeof(draft), "%.*s/" PIN_DRAFT, PIN_PATH - 16, p->root);
	err = pin_folder(from, draft);
	if (!err && rename(draft, p->store))
		err = -errno;
	err = err ? err : take_folder(p, folder);
	if (err)
		pin_discard(p, PIN_DRAFT);
	return err ? why(w, err, "%s: cannot pin the store again: %s", p->store, why_errno(err)) : 0;
}

int pin_again(struct pin *p, int folder, struct why *w)
{
	struct stat as;
	int err = pin_lock(p, w);

	if (err)
		return err;
	err = pin_locked(p, folder, w);
	/* As a command that mounts it leaves it; members of the group read nothing where that is denied. */
	if (!err && p->ours && !fstat(folder, &as) && (chown(p->root, 0, as.st_gid) || chmod(p->root, 0750)))
		errno = 0;
	pin_close(p);
	return err;
}

const char *pin_missing(int folder)
{
	struct stat st;

	for (size_t i = 0; i < load_maps_count; i++)
		if (fstatat(folder, load_maps[i].pin, &st, 0) && errno == ENOENT)
			return load_maps[i].pin;
	return fstatat(folder, "control", &st, 0) && errno == ENOENT ? "control" : NULL;
}
