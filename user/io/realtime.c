/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "io/realtime.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "io/error.h"

/*
 * Without MCL_FUTURE: under a small RLIMIT_MEMLOCK it would make a later malloc() fail, and the loop needs no
 * new memory.
 */
static int lock_memory(void)
{
	return mlockall(MCL_CURRENT) < 0 ? errno : 0;
}

/* Children get an ordinary priority: what a daemon starts is not what must never wait. */
static int raise_priority(unsigned int priority)
{
	struct sched_param param = {.sched_priority = (int)priority};

	return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) < 0 ? errno : 0;
}

void realtime_enter(unsigned int priority, const char *what)
{
	int memory = lock_memory();
	int scheduler = priority ? raise_priority(priority) : 0;

	if (memory && scheduler)
		warn("neither locked memory (%s) nor real-time priority (%s): %s may be late under load. "
		     "Give CAP_IPC_LOCK and CAP_SYS_NICE.",
		     strerror(memory), strerror(scheduler), what);
	else if (memory)
		warn("no locked memory (%s): %s may be late when memory is short. Give CAP_IPC_LOCK.",
		     strerror(memory), what);
	else if (scheduler)
		warn("no real-time priority (%s): %s may be late under load. Give CAP_SYS_NICE, or set "
		     "`priority` to 0.",
		     strerror(scheduler), what);
}
