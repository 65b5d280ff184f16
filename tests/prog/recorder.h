/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `kphi trace record` beside the packet path of a world, and its files replayed. Brings world, rules and
 * cmocka. */
#ifndef KPHI_TESTS_RECORDER_H
#define KPHI_TESTS_RECORDER_H

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cmd/trace_replay.h"
#include "io/parse.h"
#include "prog/rules.h"

#define PEERS  32
#define WINDOW 64
#define PHI_8  ((q32_t)8 << 32)

static char folder[] = "/tmp/kphi-arrivals-XXXXXX";
static const char *file[8]; /* that were recorded */
static unsigned int files;

static inline const char *file_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static inline pid_t start(const char *name, const char *vitals)
{
	const char *kphi = getenv("KPHI") ?: "build/kphi";
	const char *path = file_of(name);
	pid_t pid = fork();

	if (!pid) {
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execl(kphi, kphi, "--pin", world.pin.root, "trace", "record", path, vitals, NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

static inline bool is_empty(const char *name)
{
	struct stat st;

	return stat(file_of(name), &st) || !st.st_size;
}

/* Once there is something in its file, it records. */
static inline pid_t record_with(const char *name, const char *vitals)
{
	pid_t pid = start(name, vitals);

	file[files++] = name;
	for (int i = 0; is_empty(name); i++) {
		if (i == 10000 || waitpid(pid, NULL, WNOHANG))
			fail_msg("%s: nobody records", name);
		usleep(1000);
	}
	return pid;
}

/* With all that a record holds. */
static inline pid_t record(const char *name)
{
	return record_with(name, "vitals");
}

static inline void end(pid_t pid, int signal)
{
	int status;

	assert_int_equal(kill(pid, signal), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (signal == SIGKILL)
		assert_true(WIFSIGNALED(status));
	else
		assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

/* The file may be there before its head is. */
static inline void count_file(const char *name, uint32_t *peers, uint64_t *arrivals)
{
	char why[WHY_SIZE];
	struct trace *t = trace_open(file_of(name), why, sizeof(why));
	struct kphi_beat beat;
	uint32_t peer;

	*peers = 0;
	*arrivals = 0;
	while (t && trace_next(t, &peer, &beat) > 0)
		++*arrivals;
	if (t)
		*peers = trace_peers(t);
	trace_close(t);
}

/* Until so much has reached the file, which takes a flush. */
static inline void wait_for(const char *name, uint32_t peers, uint64_t arrivals)
{
	uint32_t known;
	uint64_t n;

	for (int i = 0; i < 2000; i++) {
		count_file(name, &known, &n);
		if (known >= peers && n >= arrivals)
			return;
		usleep(10000);
	}
	fail_msg("%s: only %" PRIu64 " arrivals of %u peers", name, n, known);
}

/* --- from the file --- */

static struct replay_plan plan;
static struct replay *replay;
static struct trace_stream stream;

static inline void replay_file(const char *name)
{
	const q32_t phi = PHI_8;
	struct replay_source source;

	assert_int_equal(trace_stream_open(&stream, file_of(name), NULL), 0);
	plan = (struct replay_plan){.window = trace_stream_window(&stream, 0)};
	assert_int_equal(plan.window, WINDOW);
	assert_int_equal(replay_plan_model(&plan, REPLAY_OWN_MODEL, &phi, 1), 0);
	replay = replay_new(&plan);
	assert_non_null(replay);
	source = trace_stream_source(&stream);
	assert_int_equal(replay_run(replay, &source, UINT64_MAX), 0);
}

static inline void close_file(void)
{
	replay_free(replay);
	trace_stream_close(&stream);
}

static inline int open_recorded_world(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	world_open(&world, "arrivals", PEERS, WINDOW);
	return 0;
}

static inline int close_recorded_world(void **state)
{
	(void)state;
	world_close(&world);
	for (unsigned int i = 0; i < files; i++)
		unlink(file_of(file[i]));
	rmdir(folder);
	return 0;
}

#endif
