// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#define SELF "/proc/thread-self/ns/net"

uint64_t netns_here(void)
{
	struct stat st;

	return stat(SELF, &st) ? 0 : st.st_ino;
}

/* A descriptor of the first of these files that is that namespace, or -ENOENT. */
static int find(const char *pattern, uint64_t inode)
{
	glob_t files = {0};
	struct stat st;
	int fd = -ENOENT;

	glob(pattern, GLOB_NOSORT, NULL, &files);
	for (size_t i = 0; fd < 0 && i < files.gl_pathc; i++)
		if (!stat(files.gl_pathv[i], &st) && st.st_ino == inode)
			fd = open(files.gl_pathv[i], O_RDONLY | O_CLOEXEC);
	globfree(&files);
	return fd < 0 ? -ENOENT : fd;
}

int netns_enter(uint64_t inode)
{
	int from = open(SELF, O_RDONLY | O_CLOEXEC), to, err;

	if (from < 0)
		return -errno;
	to = find("/run/netns/*", inode);
	if (to < 0)
		to = find("/proc/[0-9]*/ns/net", inode);
	err = to < 0 ? to : setns(to, CLONE_NEWNET) ? -errno : 0;
	if (to >= 0)
		close(to);
	if (!err)
		return from;
	close(from);
	return err;
}

void netns_return(int from)
{
	setns(from, CLONE_NEWNET);
	close(from);
}
