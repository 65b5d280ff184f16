// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Queries make no system call and allocate nothing: they are asked under a filter of seccomp, for which any
 * call but write and exit is the end of the process by SIGSYS, and with an allocator that counts. Not under
 * its strict mode, because in that the clock cannot be read, either.
 *
 *     lib_quiet ROOT PEER queries|clock|stale     clock: kphi_now_ns(), too; stale: the witness, which dies
 *     lib_quiet ROOT PEER sends STATE ADDRESS KEY     counts the allocations of 100 signed beats
 */
#include <errno.h>
#include <kphi.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS 10000

static unsigned long allocations;

/* The C library's own, by names that it keeps for such as this. NOLINTBEGIN */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	allocations++;
	return __libc_realloc(old, size);
}
/* NOLINTEND */

/* All queries there are. The sum is used, lest nothing be asked. */
static uint64_t ask_everything(const struct kphi *k, const char *name, uint64_t now_ns)
{
	static const uint8_t nobody[16] = {0xff};
	struct kphi_judgement judgement;
	struct kphi_reading reading;
	struct kphi_about about;
	struct kphi_ref peer;
	uint32_t cursor = 0;
	uint64_t sum = 0;

	if (kphi_find(k, name, &peer) || kphi_find_id(k, nobody, &peer) != -ENOENT)
		return 0;
	sum += (uint64_t)kphi_suspected(k, peer, KPHI_ANY, now_ns) + 1;
	sum += (uint64_t)kphi_suspected(k, peer, 3, now_ns);
	if (kphi_judge(k, peer, now_ns, &judgement))
		return 0;
	while (kphi_next(k, &cursor, &about))
		sum++;
	for (int model = KPHI_OWN_MODEL; kphi_model_name(model) || model == KPHI_OWN_MODEL; model++) {
		if (kphi_read(k, peer, model, model == 0 ? 0 : 5ULL << 32, now_ns, &reading))
			return 0;
		sum += reading.beats;
	}
	return sum;
}

static int be_quiet(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int send_beats(const char *state, const char *address, const char *key)
{
	static const uint8_t id[16] = {[15] = 0xe2};
	const char *to[] = {address, NULL};
	struct kphi_beat_config config = {.to = to, .id = id, .state = state, .key = key};
	struct kphi_sender *sender;
	char why[KPHI_WHY_SIZE];
	unsigned long before;
	int failed = 0;

	if (kphi_beat_open(&sender, &config, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	before = allocations;
	for (int i = 0; i < 100; i++)
		failed += kphi_beat_send(sender, 0) != 0;
	before = allocations - before;
	kphi_beat_close(sender, true);
	printf("%lu allocations in 100 beats, %d failed\n", before, failed);
	return 0;
}

int main(int argc, char **argv)
{
	char why[KPHI_WHY_SIZE], line[128];
	const char *mode = argc > 3 ? argv[3] : "";
	unsigned long opening = allocations, asking;
	uint64_t now_ns = kphi_now_ns(), sum = 0;
	struct kphi *k;
	int length;

	if (argc > 6 && !strcmp(mode, "sends"))
		return send_beats(argv[4], argv[5], argv[6]);
	if (argc < 4 || kphi_open(&k, argv[1], why, sizeof(why))) {
		fprintf(stderr, "%s\n", argc < 4 ? "usage: lib_quiet ROOT PEER MODE" : why);
		return 1;
	}
	opening = allocations - opening;
	asking = allocations;
	if (be_quiet())
		_exit(2);
	for (int i = 0; i < ROUNDS; i++)
		sum += ask_everything(k, argv[2], !strcmp(mode, "clock") ? kphi_now_ns() : now_ns) != 0;
	if (!strcmp(mode, "stale"))
		sum += (uint64_t)kphi_stale(k);
	asking = allocations - asking;
	length = snprintf(line, sizeof(line), "%lu allocations to open, %lu to ask, %d of %d rounds\n",
			  opening, asking, (int)sum, ROUNDS);
	(void)!write(STDOUT_FILENO, line, (size_t)length);
	_exit(0);
}
