// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/urgent.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "io/error.h"

void urgent_enter(unsigned int priority)
{
	struct sched_param param = {.sched_priority = (int)priority};

	/* Without MCL_FUTURE: under a small RLIMIT_MEMLOCK it would make a later malloc() fail. */
	if (mlockall(MCL_CURRENT) < 0)
		warn("no locked memory (%s): verdicts may be late when memory is short. Give CAP_IPC_LOCK",
		     strerror(errno));
	if (priority && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) < 0)
		warn("no real-time priority (%s): verdicts may be late under load. Give CAP_SYS_NICE, or "
		     "configure `priority: 0`",
		     strerror(errno));
}
