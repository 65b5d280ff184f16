// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/store.h"

#include <abi.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/clock.h"
#include "kernel/load.h"

static int find_group(const char *name, gid_t *gid, struct why *w)
{
	struct group *g = getgrnam(name ?: STORE_GROUP_DEFAULT);

	*gid = g ? g->gr_gid : 0;
	if (name && !g)
		return why(w, -ENOENT, "group \"%s\" does not exist. Create it with `groupadd --system %s`",
			   name, name);
	return 0;
}

static int pin_one(int fd, const char *path, mode_t mode, gid_t gid, struct why *w)
{
	int err = bpf_obj_pin(fd, path);

	if (!err && (chmod(path, mode) || chown(path, 0, gid)))
		err = -errno;
	return err ? why(w, err, "%s: cannot pin: %s", path, why_errno(err)) : 0;
}

/* Everything into PIN_DRAFT; its rename to the ABI's name is what makes it a store. */
static int pin_draft(const char *draft, const struct kphi_bpf *skeleton, gid_t gid, struct why *w)
{
	char path[PIN_PATH + 64];
	int err = pin_make_folder(draft, 0750);

	if (!err && chown(draft, 0, gid))
		err = -errno;
	if (err)
		return why(w, err, "%s: cannot make the directory: %s", draft, strerror(-err));
	for (size_t i = 0; i < load_maps_count; i++) {
		static const mode_t modes[] = {
			[LOAD_PRIVATE] = 0600, [LOAD_FROZEN] = 0660, [LOAD_PUBLISHED] = 0640};
		const struct load_map *m = &load_maps[i];
		int fd = load_map_fd(skeleton, m->map);

		snprintf(path, sizeof(path), "%s/%s", draft, m->pin);
		err = pin_one(fd, path, modes[m->sharing], m->sharing == LOAD_PRIVATE ? 0 : gid, w);
		if (err)
			return err;
		err = m->sharing == LOAD_FROZEN ? bpf_map_freeze(fd) : 0;
		if (err)
			return why(w, err, "%s: cannot freeze the map: %s", path, why_errno(err));
	}
	snprintf(path, sizeof(path), "%s/control", draft);
	err = pin_one(load_control_fd(skeleton), path, 0600, 0, w);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/links", draft);
	if (mkdir(path, 0700))
		return why(w, -errno, "%s: cannot make the directory: %s", path, strerror(errno));
	return 0;
}

static int check_size(const struct store_size *size, struct why *w)
{
	if (size->peers < 1 || size->peers > KPHI_PEERS_MAX)
		return why(w, -ERANGE, "peers %u: a store holds 1 to %u", size->peers, KPHI_PEERS_MAX);
	if (size->window < KPHI_WINDOW_MIN || size->window > KPHI_WINDOW_MAX)
		return why(w, -ERANGE, "window %u: a window holds %u to %u intervals", size->window,
			   KPHI_WINDOW_MIN, KPHI_WINDOW_MAX);
	return 0;
}

static int make_store(struct pin *p, const struct kphi_store *header, gid_t gid, struct why *w)
{
	struct kphi_bpf *skeleton;
	char draft[PIN_PATH + 16];
	uint32_t zero = 0;
	int err = load_fresh(&skeleton, header, w);

	if (err)
		return err;
	snprintf(draft, sizeof(draft), "%s/" PIN_DRAFT, p->root);
	err = bpf_map_update_elem(load_map_fd(skeleton, "store"), &zero, header, BPF_ANY);
	if (err)
		why(w, err, "cannot write the store's header: %s", why_errno(err));
	else
		err = pin_draft(draft, skeleton, gid, w);
	if (!err && rename(draft, p->store))
		err = why(w, -errno, "%s: cannot name the store: %s", p->store, strerror(errno));
	if (err)
		pin_discard(p, PIN_DRAFT);
	load_free(skeleton);
	return err;
}

int store_create(struct pin *p, const struct store_size *size, const char *group, struct why *w)
{
	struct kphi_store header = {
		.peers = size->peers,
		.window = size->window,
		.flags = size->keyed ? KPHI_STORE_KEYED : 0,
		.created_ns = clock_monotonic_ns(),
	};
	int cpus = libbpf_num_possible_cpus();
	gid_t gid;
	int err = check_size(size, w);

	err = err ?: find_group(group, &gid, w);
	if (err)
		return err;
	if (pin_has_store(p))
		return why(w, -EEXIST,
			   "%s: there is a store already. `kphi store show` describes it; `kphi store purge` "
			   "removes it, "
			   "and with it every peer and window",
			   p->store);
	if (cpus < 1)
		return why(w, -EIO, "cannot tell how many CPUs this host may have: %s", why_errno(cpus));
	header.cpus = cpus;
	err = make_store(p, &header, gid, w);
	if (!err && (p->ours || p->made) && chown(p->root, 0, gid))
		err = why(w, -errno, "%s: cannot give it to the group: %s", p->root, strerror(errno));
	return err;
}

int store_ensure(struct pin *p, struct why *w)
{
	static const struct store_size usual = {KPHI_PEERS_DEFAULT, KPHI_WINDOW_DEFAULT, false};
	char abi[16];

	if (pin_has_store(p))
		return 0;
	if (pin_other_abi(p, abi))
		return store_refuse_abi(p, -EEXIST, abi, w);
	return store_create(p, &usual, NULL, w);
}

/* The kernel's own rounding: arrays of eight-byte multiples in whole pages, a page for each map's own things,
 * and a preallocated hash. */
static uint64_t pages(uint64_t bytes)
{
	return (bytes + 4095) / 4096 * 4096;
}

uint64_t store_memory(const struct kphi_store *h)
{
	enum { HASH_ELEMENT = 48, HASH_BUCKET = 16, LOCK = 8 };
	uint64_t peer = sizeof(struct kphi_peer) + sizeof(struct kphi_rule) + sizeof(struct kphi_record) +
			sizeof(struct kphi_seal) + sizeof(struct kphi_verdict) +
			KPHI_RING_SIZE(h->window) * sizeof(uint64_t) + LOCK + HASH_ELEMENT +
			sizeof(struct kphi_id) + sizeof(struct kphi_slot);
	uint64_t cpu = sizeof(struct kphi_counters) + sizeof(struct kphi_tick) + sizeof(struct kphi_timer);
	uint64_t buckets = 1;

	while (buckets < h->peers)
		buckets *= 2;
	return pages(h->peers * peer) + pages(buckets * HASH_BUCKET) + pages(h->cpus * cpu) +
	       pages(sizeof(struct kphi_store)) + pages(sizeof(struct kphi_ports)) + pages(KPHI_HINTS_BYTES) +
	       pages(KPHI_RINGS * sizeof(struct kphi_ring)) + pages(KPHI_RINGS * sizeof(struct kphi_keys)) +
	       pages(KPHI_ARRIVALS_BYTES) + pages(KPHI_STRANGERS_BYTES) + pages(sizeof(struct kphi_daemon)) +
	       load_maps_count * pages(1);
}
