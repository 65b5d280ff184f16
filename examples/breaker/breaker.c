// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Loads the circuit breaker and keeps it told which peer is behind which address. It holds for as long as
 * this process lives, and fails open with it.
 *
 *     breaker ROOT CGROUP CONSUMER PEER=ADDRESS...     ROOT: of the store, or -; CONSUMER: or any
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "breaker.h"
#include "breaker.skel.h"

static void die(const char *what, const char *reason)
{
	fprintf(stderr, "breaker: %s: %s\n", what, reason);
	exit(1);
}

static struct breaker_bpf *attach(const struct kphi *k, const char *cgroup)
{
	struct breaker_bpf *b = breaker_bpf__open();
	int verdicts = kphi_verdicts_fd(k), group = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (!b || verdicts < 0)
		die("the map of verdicts", strerror(b ? -verdicts : errno));
	if (group < 0)
		die(cgroup, strerror(errno));
	if (bpf_map__reuse_fd(b->maps.verdicts, verdicts) || breaker_bpf__load(b))
		die("the kernel refuses the programs", strerror(errno));
	b->links.breaker4 = bpf_program__attach_cgroup(b->progs.breaker4, group);
	b->links.breaker6 = bpf_program__attach_cgroup(b->progs.breaker6, group);
	if (!b->links.breaker4 || !b->links.breaker6)
		die(cgroup, strerror(errno));
	close(verdicts);
	close(group);
	return b;
}

static struct breaker_address address_of(const char *text)
{
	struct breaker_address a = {.bytes = {[10] = 0xff, [11] = 0xff}};

	if (inet_pton(AF_INET, text, a.bytes + 12) != 1 && inet_pton(AF_INET6, text, a.bytes) != 1)
		die(text, "is no address");
	return a;
}

/* Whose suspicion counts; a reload of `kphi run` may have given it another number. */
static uint32_t mask_of(const struct kphi *k, const char *consumer, uint32_t before)
{
	struct kphi_consumer_info info;
	int err = strcmp(consumer, "any") ? kphi_consumer(k, consumer, &info) : 1;

	if (err == -ENOENT)
		die(consumer, "kphi run has no such consumer");
	return err > 0 ? UINT32_MAX : err ? before : 1U << info.number; /* -EAGAIN: it is away, or restarts */
}

/* One peer and its address, as they are now: it may have been deleted, or added again in another slot. */
static void follow(const struct kphi *k, int targets, const char *word, uint32_t consumers)
{
	const char *sign = strchr(word, '=');
	char name[KPHI_NAME_ROOM] = "";
	struct breaker_target now = {.consumers = consumers}, then;
	struct breaker_address address;
	struct kphi_ref peer;

	if (!sign || sign - word >= KPHI_NAME_ROOM)
		die(word, "is not PEER=ADDRESS");
	memcpy(name, word, (size_t)(sign - word));
	address = address_of(sign + 1);
	if (kphi_find(k, name, &peer)) {
		bpf_map_delete_elem(targets, &address);
		return;
	}
	now.slot = peer.slot;
	now.generation = peer.generation;
	if (!bpf_map_lookup_elem(targets, &address, &then) && then.slot == now.slot &&
	    then.generation == now.generation && then.consumers == now.consumers)
		return;
	if (bpf_map_update_elem(targets, &address, &now, BPF_ANY))
		die(word, strerror(errno));
}

int main(int argc, char **argv)
{
	char why[KPHI_WHY_SIZE];
	struct breaker_bpf *b;
	uint32_t consumers = 0;
	struct kphi *k;

	if (argc < 5)
		die("usage", "breaker ROOT CGROUP CONSUMER PEER=ADDRESS...");
	if (kphi_open(&k, strcmp(argv[1], "-") ? argv[1] : NULL, why, sizeof(why)))
		die("the store", why);
	b = attach(k, argv[2]);
	for (bool first = true; !kphi_stale(k); first = false) {
		consumers = mask_of(k, argv[3], consumers);
		for (int i = 4; i < argc; i++)
			follow(k, bpf_map__fd(b->maps.breaker_targets), argv[i], consumers);
		if (first && printf("breaking\n") > 0)
			fflush(stdout);
		sleep(1);
	}
	die("the store", "was purged. Start me again when there is another one");
}
