// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/verdicts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORDS (sizeof(struct kphi_verdict) / sizeof(uint64_t))

static size_t bytes_of(uint32_t slots)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (slots * sizeof(struct kphi_verdict) + page - 1) / page * page;
}

int verdicts_open(struct verdicts *v, const struct pin *pin, uint32_t slots, struct why *w)
{
	char path[PIN_PATH];
	void *at;
	int fd = bpf_obj_get(pin_path(pin, "verdicts", path));

	*v = (struct verdicts){.slots = slots};
	if (fd < 0)
		return why(w, -errno, "%s: cannot open: %s", path, strerror(errno));
	at = mmap(NULL, bytes_of(slots), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return why(w, -errno, "%s: cannot map: %s", path, strerror(errno));
	v->map = at;
	v->ours = calloc(slots, 1);
	if (v->ours)
		return 0;
	verdicts_close(v);
	return why(w, -ENOMEM, "no memory for %u verdicts", slots);
}

void verdicts_close(struct verdicts *v)
{
	if (v->map)
		munmap(v->map, bytes_of(v->slots));
	free(v->ours);
	*v = (struct verdicts){0};
}

/* Nobody writes now but us. One that was killed while it wrote left an odd version and, behind it, a mixture:
 * that is worth nothing. */
struct kphi_verdict verdicts_read(const struct verdicts *v, uint32_t slot)
{
	struct kphi_verdict verdict = v->map[slot];

	if (verdict.version & 1)
		verdict = (struct kphi_verdict){.token = verdict.token};
	return verdict;
}

uint64_t verdicts_token(const struct verdicts *v)
{
	uint64_t highest = 0;

	for (uint32_t i = 0; i < v->slots; i++)
		if (v->map[i].token > highest)
			highest = v->map[i].token;
	return highest;
}

void verdicts_write(struct verdicts *v, uint32_t slot, const struct kphi_verdict *verdict)
{
	uint64_t from[WORDS], *to = (uint64_t *)&v->map[slot];
	uint64_t writing = v->map[slot].version | 1;

	memcpy(from, verdict, sizeof(from));
	__atomic_store_n(&to[0], writing, __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_release);
	for (size_t i = 1; i < WORDS; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
	__atomic_store_n(&to[0], writing + 1, __ATOMIC_RELEASE);
	v->ours[slot] = 1;
}

/* One word that only rises, stored at once: whichever a reader sees goes with all else it sees, so the
 * version need not move. */
void verdicts_refresh(struct verdicts *v, uint32_t first, uint32_t end, uint64_t valid_until_ns)
{
	for (uint32_t i = first; i < end; i++)
		if (v->ours[i])
			__atomic_store_n(&v->map[i].valid_until_ns, valid_until_ns, __ATOMIC_RELAXED);
}

uint32_t verdicts_count(const struct verdicts *v, enum kphi_verdict_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->slots; i++)
		n += v->ours[i] && v->map[i].state == state;
	return n;
}
