// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "beat/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/format.h"

#define CANNOT_RUN 127 /* what a shell says of a command that it cannot find */

void check_init(struct check *check)
{
	memset(check, 0, sizeof(*check));
	check->pidfd = -1;
}

uint64_t check_due_ns(const struct check *check)
{
	return check->command ? check->due_ns : UINT64_MAX;
}

static bool note(struct check *check, enum check_end end, int code)
{
	bool before = check->degraded;

	check->end = end;
	check->code = code;
	check->row = end == CHECK_SUCCEEDED ? 0 : check->row + 1;
	check->failures += end != CHECK_SUCCEEDED;
	check->degraded = end != CHECK_SUCCEEDED && (before || check->row >= check->fails);
	return check->degraded != before;
}

/*
 * Only what is allowed between fork and exec. The sender's blocked signals and its ignored SIGPIPE are not
 * meant for the command; its real-time priority is not inherited (see realtime.c). The command's words go
 * nowhere: the sender's standard output has one document to carry, and a pipe that nobody reads would be a
 * hang.
 */
static void become(const char *command)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0)
		_exit(CANNOT_RUN);
	if (null > STDERR_FILENO)
		close(null);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(CANNOT_RUN);
}

static bool start(struct check *check)
{
	pid_t pid = fork();

	if (pid == 0)
		become(check->command);
	check->runs++;
	if (pid < 0)
		return note(check, CHECK_NOT_STARTED, errno);
	setpgid(pid,
		pid); /* whoever of the two comes first: the group must be there before it may be killed */
	check->pidfd = pidfd_open(pid, 0);
	if (check->pidfd < 0) {
		int error = errno;

		kill(-pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return note(check, CHECK_NOT_STARTED, error);
	}
	check->pid = pid;
	return false;
}

bool check_step(struct check *check, uint64_t now_ns)
{
	if (!check->command || now_ns < check->due_ns)
		return false;
	check->due_ns = now_ns + check->every_ns;
	if (check->pidfd < 0)
		return start(check);
	/* What is stuck in the kernel does not even die: it is another failure each time, and no second one
	 * is started beside it. */
	kill(-check->pid, SIGKILL);
	check->killed = true;
	return note(check, CHECK_HUNG, 0);
}

bool check_reap(struct check *check, uint64_t now_ns)
{
	siginfo_t info = {0};

	if (waitid(P_PIDFD, (id_t)check->pidfd, &info, WEXITED | WNOHANG) < 0 || !info.si_pid)
		return false;
	close(check->pidfd);
	check->pidfd = -1;
	if (check->killed) {
		check->killed = false;
		check->due_ns = now_ns; /* its successor was due when it was killed */
		return false;
	}
	kill(-check->pid, SIGKILL); /* what it has left in the background ends with it */
	if (info.si_code != CLD_EXITED)
		return note(check, CHECK_SIGNALLED, info.si_status);
	return note(check, info.si_status ? CHECK_EXITED : CHECK_SUCCEEDED, info.si_status);
}

char *check_describe(const struct check *check, char *text, size_t size)
{
	char limit[FORMAT_SIZE];

	switch (check->end) {
	case CHECK_NONE:
		snprintf(text, size, "none has ended yet");
		break;
	case CHECK_SUCCEEDED:
		snprintf(text, size, "success");
		break;
	case CHECK_EXITED:
		snprintf(text, size, "exit status %d", check->code);
		break;
	case CHECK_SIGNALLED:
		snprintf(text, size, "ended by signal %d", check->code);
		break;
	case CHECK_HUNG:
		snprintf(text, size, "no answer within %s", format_duration_exact(check->every_ns, limit));
		break;
	case CHECK_NOT_STARTED:
		snprintf(text, size, "cannot be started: %s", strerror(check->code));
		break;
	}
	return text;
}

void check_close(struct check *check)
{
	if (check->pidfd < 0)
		return;
	kill(-check->pid, SIGKILL);
	close(check->pidfd);
	check->pidfd = -1;
}
