// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "run/child.h"
#include "watcher.h"

#define PATIENCE_MS 5000

void roam(void)
{
	cpu_set_t cpus;

	memset(&cpus, 0xff, sizeof(cpus)); /* those that do not exist are ignored */
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("cannot use every CPU");
}

/* A child has our CPUs, and so have its own children, which may be there before we could say otherwise. */
void process_begin(struct process *p, const char *path, char *const argv[], int out)
{
	cpu_set_t ours;

	if (sched_getaffinity(0, sizeof(ours), &ours))
		die("cannot tell which CPU this is");
	roam();
	p->pidfd = child_start(path, argv, -1, out, STDERR_FILENO, &p->pid);
	if (p->pidfd < 0)
		die("%s: %s", path, strerror(-p->pidfd));
	sched_setaffinity(0, sizeof(ours), &ours);
}

bool process_lives(const struct process *p)
{
	struct pollfd end = {.fd = p->pidfd, .events = POLLIN};

	return poll(&end, 1, 0) == 0;
}

int process_end(struct process *p)
{
	struct pollfd end = {.fd = p->pidfd, .events = POLLIN};
	int status = 0;

	kill(p->pid, SIGTERM);
	if (poll(&end, 1, PATIENCE_MS) <= 0)
		kill(-p->pid, SIGKILL);
	waitpid(p->pid, &status, 0);
	close(p->pidfd);
	return status;
}
