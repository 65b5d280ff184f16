/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Small files that are on disk whole or not at all. */
#ifndef KPHI_IO_FILE_H
#define KPHI_IO_FILE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Replaces the file at `path` and waits until that is on disk. After a crash at any point the path holds the
 * old bytes or the new ones. 0 or -errno; -ENOTSUP if something other than a file is there, such as a device.
 */
int file_replace(const char *path, const void *bytes, size_t size);

/*
 * A new file of mode 0600. Who is killed meanwhile leaves no part of it, where the file system can do that.
 * 0 or -errno; -EEXIST if there is something of that name.
 */
int file_create_private(const char *path, const void *bytes, size_t size);

/* Up to `size` bytes of the file. How many there were, or -errno; -ENOTSUP if it is something other than a
 * file, such as a pipe, which may keep a reader waiting for ever. */
ssize_t file_read(const char *path, void *bytes, size_t size);

/* An error of these in words. */
const char *file_trouble(int err);

/* The directories on the way to the file at `path`, made 0755 where they are missing. 0 or -errno. */
int file_make_parents(const char *path);

/* The directory itself and those on the way to it. */
int file_make_directory(const char *path);

#endif
