/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KPHI_BEAT_MURMUR_H
#define KPHI_BEAT_MURMUR_H

#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

/*
 * May a line be written to stderr now? Somebody may have stopped the terminal or the reader of the pipe
 * behind it, and no beat waits for them. Up to PIPE_BUF bytes do not block when poll() says so, and a line is
 * far shorter.
 */
static inline bool murmur_allowed(void)
{
	struct pollfd pollfd = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&pollfd, 1, 0) == 1 && (pollfd.revents & POLLOUT);
}

#endif
