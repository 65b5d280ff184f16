// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

int interrupt_open(void)
{
	struct sigaction hangup;
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, NULL))
		return -errno;
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}
