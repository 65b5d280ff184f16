// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/privilege_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define REFUSED  SCMP_ACT_ERRNO(EPERM)

/* A 32-bit program's calls have other numbers. */
static scmp_filter_ctx begin(uint32_t usual)
{
	scmp_filter_ctx filter = seccomp_init(usual);

	if (filter && !seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, REFUSED) &&
	    !seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1))
		return filter;
	seccomp_release(filter);
	return NULL;
}

static int finish(scmp_filter_ctx filter, int err)
{
	err = err ? err : seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* A name that the library, or this machine, does not know is no call that could be made by it. */
static int add_names(scmp_filter_ctx filter, uint32_t action, const char *const names[], size_t count)
{
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);

		if (number != __NR_SCMP_ERROR)
			err = seccomp_rule_add(filter, action, number, 0);
	}
	return err;
}

/* The call if its argument at `index` has just this value. */
static int add_value(scmp_filter_ctx filter, uint32_t action, int call, unsigned int index, uint64_t value)
{
	return seccomp_rule_add(filter, action, call, 1, SCMP_CMP(index, SCMP_CMP_EQ, value));
}

/* The call if these bits of its argument at `index` are these. */
static int add_bits(scmp_filter_ctx filter, uint32_t action, int call, unsigned int index, uint64_t mask,
		    uint64_t bits)
{
	return seccomp_rule_add(filter, action, call, 1, SCMP_CMP(index, SCMP_CMP_MASKED_EQ, mask, bits));
}

/* --- the daemon: what is refused --- */

static const char *const dangerous[] = {
	/* others' memory and descriptors */
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
	"userfaultfd", "perf_event_open", "lookup_dcookie",
	/* what is mounted where, and files by the back door */
	"mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig",
	"fsmount", "fspick", "pivot_root", "chroot", "swapon", "swapoff", "quotactl", "quotactl_fd", "mknod",
	"mknodat", "open_by_handle_at", "fanotify_init", "acct",
	/* namespaces */
	"unshare", "setns",
	/* the kernel and the machine */
	"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "iopl",
	"ioperm", "modify_ldt", "syslog", "uselib", "personality", "vhangup", "sethostname", "setdomainname",
	/* the clock */
	"settimeofday", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex",
	"stime",
	/* keys, and what would go past this filter */
	"keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register"};

/* All families but those of sockets, links and HTTP. */
static int refuse_families(scmp_filter_ctx filter)
{
	int call = SCMP_SYS(socket);
	int err = seccomp_rule_add(filter, REFUSED, call, 1, SCMP_A0(SCMP_CMP_GT, AF_NETLINK));

	for (int family = 0; !err && family < AF_NETLINK; family++)
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
			err = add_value(filter, REFUSED, call, 0, (uint64_t)family);
	return err;
}

/* Memory that was written is not executed. */
static int refuse_new_code(scmp_filter_ctx filter)
{
	const uint64_t both = PROT_WRITE | PROT_EXEC;
	int err = add_bits(filter, REFUSED, SCMP_SYS(mmap), 2, both, both);

	return err ? err : add_bits(filter, REFUSED, SCMP_SYS(mprotect), 2, PROT_EXEC, PROT_EXEC);
}

int privilege_filter_daemon(void)
{
	scmp_filter_ctx filter = begin(SCMP_ACT_ALLOW);
	int err;

	if (!filter)
		return -ENOMEM;
	err = add_names(filter, REFUSED, dangerous, COUNT(dangerous));
	err = err ? err : refuse_families(filter);
	err = err ? err : refuse_new_code(filter);
	return finish(filter, err);
}

/* --- the HTTP server: what is allowed --- */

static const char *const harmless[] = {
	/* descriptors that are there */
	"read", "write", "readv", "writev", "pread64", "pwrite64", "lseek", "_llseek", "close", "fcntl",
	"fcntl64", "dup", "sendfile", "sendfile64", "getdents64", "fstat", "fstat64", "fstatfs", "fstatfs64",
	/* the names of files: to look, not to change */
	"stat", "stat64", "lstat", "lstat64", "newfstatat", "fstatat64", "statx", "statfs", "statfs64",
	"access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd",
	/* sockets that are there, and those that come in */
	"accept", "accept4", "recvfrom", "recvmsg", "recv", "sendto", "sendmsg", "send", "shutdown",
	"getsockopt", "setsockopt", "getsockname", "getpeername", "bind", "connect",
	/* waiting */
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll",
	"ppoll_time64", "pselect6", "select", "timerfd_create", "timerfd_settime", "timerfd_settime64",
	"timerfd_gettime", "eventfd2", "signalfd4", "pipe2", "nanosleep", "clock_nanosleep",
	"clock_nanosleep_time64", "futex", "futex_time64", "sched_yield", "restart_syscall",
	/* memory */
	"brk", "munmap", "mremap", "madvise",
	/* the time, and who we are */
	"clock_gettime", "clock_gettime64", "clock_getres", "gettimeofday", "time", "getpid", "gettid",
	"getppid", "getuid", "geteuid", "getgid", "getegid", "getrandom", "uname", "sysinfo", "getrusage",
	"times", "sched_getaffinity", "getcpu", "getrlimit", "ugetrlimit",
	/* signals, and the end */
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "sigaltstack",
	"sigreturn", "rseq", "set_robust_list", "exit", "exit_group"};

static int allow_sockets(scmp_filter_ctx filter)
{
	int err = add_value(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 0, AF_UNIX);

	err = err ? err : add_value(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 0, AF_NETLINK);
	err = err ? err : add_value(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, FIONREAD);
	err = err ? err : add_value(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, FIONBIO);
	err = err ? err : add_value(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SIOCGIFNAME);
	return err ? err : add_value(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SIOCGIFINDEX);
}

static int allow_reading(scmp_filter_ctx filter)
{
	const uint64_t writing = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
	static const int commands[] = {BPF_OBJ_GET, BPF_OBJ_GET_INFO_BY_FD, BPF_MAP_LOOKUP_ELEM};
	int err = add_bits(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 2, writing, O_RDONLY);

	if (!err && SCMP_SYS(open) >= 0)
		err = add_bits(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1, writing, O_RDONLY);
	for (size_t i = 0; !err && i < COUNT(commands); i++)
		err = add_value(filter, SCMP_ACT_ALLOW, SCMP_SYS(bpf), 0, (uint64_t)commands[i]);
	return err;
}

static int allow_memory(scmp_filter_ctx filter)
{
	int err = add_bits(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, PROT_EXEC, 0);

	return err ? err : add_bits(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 2, PROT_EXEC, 0);
}

/* Itself only: whoever is root may signal what else is root's without a capability. */
static int allow_itself(scmp_filter_ctx filter)
{
	int err = add_value(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 0, (uint64_t)getpid());

	return err ? err : add_value(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 0, 0);
}

int privilege_filter_server(bool unlinks)
{
	static const char *const removing[] = {"unlink", "unlinkat"};
	scmp_filter_ctx filter = begin(REFUSED);
	int err;

	if (!filter)
		return -ENOMEM;
	err = add_names(filter, SCMP_ACT_ALLOW, harmless, COUNT(harmless));
	err = err ? err : allow_sockets(filter);
	err = err ? err : allow_reading(filter);
	err = err ? err : allow_memory(filter);
	err = err ? err : allow_itself(filter);
	if (!err && unlinks)
		err = add_names(filter, SCMP_ACT_ALLOW, removing, COUNT(removing));
	return finish(filter, err);
}
