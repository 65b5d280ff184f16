// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int error;

	sigemptyset(&none);
	sigfillset(&all);
	error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
							     POSIX_SPAWN_SETSIGDEF);
	error = error ? error : posix_spawnattr_setsigmask(attributes, &none);
	return error ? error : posix_spawnattr_setsigdefault(attributes, &all);
}

/* `out` may be our standard error, so it is taken before that one is replaced. */
static int set_files(posix_spawn_file_actions_t *files, int in, int out, int err)
{
	int error = in < 0 ? posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
			   : posix_spawn_file_actions_adddup2(files, in, STDIN_FILENO);

	error = error ? error : posix_spawn_file_actions_adddup2(files, out, STDOUT_FILENO);
	error = error ? error : posix_spawn_file_actions_adddup2(files, err, STDERR_FILENO);
	return error ? error : posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
}

/* A child that cannot be looked after is no child of ours. */
static int watch(pid_t pid)
{
	int error, fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd >= 0)
		return fd;
	error = errno;
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -error;
}

/* posix_spawn() is a vfork: it costs the same however much memory we have, and returns at the exec. */
int child_start(const char *path, char *const argv[], int in, int out, int err, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int error = posix_spawnattr_init(&attributes);

	if (error)
		return -error;
	error = posix_spawn_file_actions_init(&files);
	if (error) {
		posix_spawnattr_destroy(&attributes);
		return -error;
	}
	error = set_attributes(&attributes);
	error = error ? error : set_files(&files, in, out, err);
	error = error ? error : posix_spawn(pid, path, &files, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return error ? -error : watch(*pid);
}
