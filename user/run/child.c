// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

/* --- a tame one --- */

/* What the new process has to know; its memory is ours until the exec, so it may answer here, too. */
struct birth {
	const char *path;
	char *const *argv;
	int null, err;
	uint64_t keep;
	pid_t parent;
	int error;
};

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		errno = 0; /* it is a wish */
	close(fd);
}

/* We may be real-time, first in the queue for memory and the last to be killed for want of it. None of that
 * is for others' requests. */
static void be_ordinary(void)
{
	const struct sched_param param = {.sched_priority = 0};

	sched_setscheduler(0, SCHED_OTHER, &param);
	setpriority(PRIO_PROCESS, 0, 0);
	write_text("/proc/self/oom_score_adj", "0");
}

/* Of what we have, only what is to be kept; with no_new_privs the exec as root gives nothing back. */
static int shed_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capget, &head, sets))
		return errno;
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		sets[i].permitted &= (uint32_t)(keep >> (32 * i));
		sets[i].effective = sets[i].permitted;
		sets[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, sets) ? errno : 0;
}

static void reset_signals(void)
{
	const struct sigaction usual = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the new process; only what a signal handler may do. */
static int be_born(void *argument)
{
	struct birth *b = argument;

	/* If we are dead already, nobody will be told. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != b->parent)
		_exit(127);
	setpgid(0, 0);
	be_ordinary();
	if (dup2(b->null, STDIN_FILENO) < 0 || dup2(b->err, STDOUT_FILENO) < 0 ||
	    dup2(b->err, STDERR_FILENO) < 0 || close_range(STDERR_FILENO + 1, ~0U, 0) < 0)
		b->error = errno;
	else
		b->error = shed_capabilities(b->keep);
	if (b->error)
		_exit(127);
	reset_signals();
	execv(b->path, b->argv);
	b->error = errno;
	_exit(127);
}

/* As posix_spawn() does it: we wait until it has left our memory. No signal of ours may run in there. */
static int bear(struct birth *b, pid_t *pid)
{
	static _Alignas(64) char stack[32768];
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	*pid = clone(be_born, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, b);
	if (*pid < 0)
		b->error = errno;
	else if (b->error)
		waitpid(*pid, NULL, 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return -b->error;
}

int child_start_tame(const char *path, char *const argv[], int err, uint64_t keep, pid_t *pid)
{
	struct birth b = {.path = path,
			  .argv = argv,
			  .null = open("/dev/null", O_RDONLY | O_CLOEXEC),
			  .err = err,
			  .keep = keep,
			  .parent = getpid()};
	int error;

	if (b.null < 0)
		return -errno;
	error = bear(&b, pid);
	close(b.null);
	return error ? error : watch(*pid);
}

void child_sentence(char *line)
{
	static const char *const heads[] = {"Error: ", "Warning: "};

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		if (!strncmp(line, heads[i], strlen(heads[i])))
			memmove(line, line + strlen(heads[i]), strlen(line + strlen(heads[i])) + 1);
}
