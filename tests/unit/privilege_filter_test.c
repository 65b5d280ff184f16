// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the filters of system calls refuse and what they let pass. Each attempt is made three times, in a
 * process of its own: without a filter, where none of them is refused, and under each of the two.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/privilege_filter.h"

#define NOWHERE "/nonexistent/by/name"

/* --- attempts: 0 or an errno --- */

static int said(long result)
{
	return result < 0 ? errno : 0;
}

static int trace(void)
{
	return said(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int read_memory(void)
{
	char from = 1, to = 0;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	return said(process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
}

static int mount_something(void)
{
	return said(mount("none", NOWHERE, "tmpfs", 0, NULL));
}

static int unmount(void)
{
	return said(umount2(NOWHERE, 0));
}

static int leave_namespace(void)
{
	return said(unshare(0));
}

static int enter_namespace(void)
{
	return said(setns(-1, CLONE_NEWNET));
}

static int load_module(void)
{
	return said(syscall(SYS_init_module, NULL, 0L, ""));
}

static int set_clock(void)
{
	return said(syscall(SYS_clock_settime, 77L, NULL));
}

static int ask_keys(void)
{
	return said(syscall(SYS_keyctl, 12345L, 0L, 0L, 0L, 0L));
}

static int watch_events(void)
{
	return said(syscall(SYS_perf_event_open, NULL, 0L, -1L, -1L, 0L));
}

static int open_raw(void)
{
	return said(socket(AF_PACKET, SOCK_RAW, 0));
}

static int make_code(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? errno : 0;
}

static int turn_into_code(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? 1000 : said(mprotect(at, 4096, PROT_READ | PROT_EXEC));
}

static int open_internet(void)
{
	return said(socket(AF_INET, SOCK_STREAM, 0));
}

static int execute(void)
{
	return said(execl(NOWHERE, "x", NULL));
}

static int fork_one(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return said(pid);
}

static int write_file(void)
{
	return said(open("/dev/null", O_WRONLY));
}

static int make_file(void)
{
	return said(open(NOWHERE, O_RDONLY | O_CREAT, 0600));
}

static int change_mode(void)
{
	return said(chmod(NOWHERE, 0777));
}

static int rename_file(void)
{
	return said(rename(NOWHERE, NOWHERE "2"));
}

static int signal_other(void)
{
	return said(kill(getppid(), 0));
}

static int make_map(void)
{
	union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_UNSPEC};

	return said(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes)));
}

static int write_map(void)
{
	union bpf_attr attributes = {.map_fd = (uint32_t)-1};

	return said(syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attributes, sizeof(attributes)));
}

static int run_program(void)
{
	union bpf_attr attributes = {.test.prog_fd = (uint32_t)-1};

	return said(syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attributes, sizeof(attributes)));
}

static int remove_file(void)
{
	return said(unlink(NOWHERE));
}

static int read_file(void)
{
	return said(open("/dev/null", O_RDONLY));
}

static int open_local(void)
{
	return said(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int open_links(void)
{
	return said(socket(AF_NETLINK, SOCK_RAW, 0));
}

static int open_pinned(void)
{
	union bpf_attr attributes = {.pathname = (uintptr_t)NOWHERE};

	return said(syscall(SYS_bpf, BPF_OBJ_GET, &attributes, sizeof(attributes)));
}

static int signal_itself(void)
{
	return said(syscall(SYS_tgkill, getpid(), gettid(), 0));
}

static int ask_limits(void)
{
	struct rlimit limit;

	return said(getrlimit(RLIMIT_NOFILE, &limit));
}

static const struct {
	const char *name;
	int (*make)(void);
	bool refused_daemon, refused_server;
} attempts[] = {
	{"ptrace", trace, true, true},
	{"another process's memory", read_memory, true, true},
	{"mount", mount_something, true, true},
	{"unmount", unmount, true, true},
	{"a namespace of its own", leave_namespace, true, true},
	{"somebody's namespace", enter_namespace, true, true},
	{"a module", load_module, true, true},
	{"the clock", set_clock, true, true},
	{"keys of the kernel", ask_keys, true, true},
	{"perf events", watch_events, true, true},
	{"a packet socket", open_raw, true, true},
	{"memory to write and to execute", make_code, true, true},
	{"written memory made executable", turn_into_code, true, true},
	{"an internet socket", open_internet, false, true},
	{"another program", execute, false, true},
	{"a child", fork_one, false, true},
	{"a file for writing", write_file, false, true},
	{"a new file", make_file, false, true},
	{"a file's mode", change_mode, false, true},
	{"a file's name", rename_file, false, true},
	{"a signal to its parent", signal_other, false, true},
	{"a new map", make_map, false, true},
	{"writing into a map", write_map, false, true},
	{"running a program", run_program, false, true},
	{"removing a file", remove_file, false, true},
	{"a file for reading", read_file, false, false},
	{"a Unix socket", open_local, false, false},
	{"a netlink socket", open_links, false, false},
	{"a pinned map", open_pinned, false, false},
	{"a signal to itself", signal_itself, false, false},
	{"its limits", ask_limits, false, false},
};
#define ATTEMPTS (sizeof(attempts) / sizeof(*attempts))

/* --- what becomes of them --- */

static int no_filter(void)
{
	return 0;
}

static int server(void)
{
	return privilege_filter_server(false);
}

static int server_with_socket(void)
{
	return privilege_filter_server(true);
}

#define NO_FILTER 255

static int outcome(int (*filter)(void), int (*make)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || filter())
			_exit(NO_FILTER);
		_exit(make());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status)); /* nobody is killed for it */
	assert_int_not_equal(WEXITSTATUS(status), NO_FILTER);
	return WEXITSTATUS(status);
}

static int usual[ATTEMPTS]; /* without a filter */

static void under(int (*filter)(void), bool refused, size_t i)
{
	int got = outcome(filter, attempts[i].make);

	if ((got == EPERM) != refused)
		fail_msg("%s: errno %d", attempts[i].name, got);
	if (!refused && got != usual[i])
		fail_msg("%s: errno %d, and %d without the filter", attempts[i].name, got, usual[i]);
}

static void test_witness(void **state)
{
	(void)state;
	for (size_t i = 0; i < ATTEMPTS; i++) {
		usual[i] = outcome(no_filter, attempts[i].make);
		under(no_filter, false, i);
	}
}

static void test_daemon(void **state)
{
	(void)state;
	for (size_t i = 0; i < ATTEMPTS; i++)
		under(privilege_filter_daemon, attempts[i].refused_daemon, i);
}

static void test_server(void **state)
{
	(void)state;
	for (size_t i = 0; i < ATTEMPTS; i++)
		under(server, attempts[i].refused_server, i);
}

/* It has a file to remove at its end. */
static void test_server_with_socket(void **state)
{
	(void)state;
	for (size_t i = 0; i < ATTEMPTS; i++)
		under(server_with_socket, attempts[i].refused_server && attempts[i].make != remove_file, i);
}

static int both(void)
{
	int err = privilege_filter_daemon();

	return err ? err : privilege_filter_server(false);
}

/* As the daemon's child has it: one on top of the other. */
static void test_both(void **state)
{
	(void)state;
	for (size_t i = 0; i < ATTEMPTS; i++)
		under(both, attempts[i].refused_daemon || attempts[i].refused_server, i);
}

/* Without root some are refused by the usual rules, and prove nothing. */
static int need_root(void **state)
{
	(void)state;
	if (!geteuid())
		return 0;
	print_message("as root only\n");
	return -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_witness), cmocka_unit_test(test_daemon),
		cmocka_unit_test(test_server),  cmocka_unit_test(test_server_with_socket),
		cmocka_unit_test(test_both),
	};

	return cmocka_run_group_tests(tests, need_root, NULL);
}
