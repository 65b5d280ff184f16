// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/store.h"

#include <abi.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

/* Windows are maps of that layout: they cannot be taken along, what they were made from comes again. */
static int refuse_abi(const struct pin *p, int err, const char *abi, struct why *w)
{
	return why(
		w, err,
		"%s: the store here has ABI %s, this kphi " KPHI_ABI
		", and it does not touch maps of another layout. Use the kphi that made it; or take its "
		"peers "
		"over: `kphi store save FILE` with that one, then with this one `kphi store purge abi %s`, "
		"`kphi store restore FILE` and `kphi net attach dev NAME`. Their windows begin anew",
		p->root, abi, abi);
}

int store_ensure(struct pin *p, struct why *w)
{
	static const struct store_size usual = {KPHI_PEERS_DEFAULT, KPHI_WINDOW_DEFAULT, false};
	char abi[16];

	if (pin_has_store(p))
		return 0;
	if (pin_other_abi(p, abi))
		return refuse_abi(p, -EEXIST, abi, w);
	return store_create(p, &usual, NULL, w);
}

/* Maps one pinned map read-only; frozen maps allow that to everyone who may open the pin. */
static const void *map_pin(const struct pin *p, const char *name, uint64_t bytes, struct why *w)
{
	uint64_t page = sysconf(_SC_PAGESIZE);
	char path[PIN_PATH];
	void *at;
	int fd = bpf_obj_get(pin_path(p, name, path));

	if (fd < 0) {
		if (errno == EACCES || errno == EPERM)
			why(w, -errno,
			    "%s: cannot open: %s. Run it as root, or join the group that owns the store",
			    path, strerror(errno));
		else
			why_pin(w, -errno, path, "");
		return NULL;
	}
	at = mmap(NULL, (bytes + page - 1) / page * page, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		why(w, -errno, "%s: cannot map: %s", path, strerror(errno));
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static int no_store(const struct pin *p, struct why *w)
{
	char abi[16];

	if (pin_other_abi(p, abi))
		return refuse_abi(p, -ENOENT, abi, w);
	return why(w, -ENOENT,
		   "%s: there is no store yet. `kphi net attach dev NAME`, `kphi peer add` and `kphi store "
		   "create` make one",
		   p->root);
}

/* What the daemon writes is not frozen, and what is not frozen is read through a descriptor that cannot
 * write.
 */
static int open_daemon(const struct pin *p, struct why *w)
{
	LIBBPF_OPTS(bpf_obj_get_opts, read_only, .file_flags = BPF_F_RDONLY);
	char path[PIN_PATH];
	int fd = bpf_obj_get_opts(pin_path(p, "daemon", path), &read_only);

	return fd < 0 ? why_pin(w, -errno, path, "") : fd;
}

int store_open(struct store *s, const struct pin *p, struct why *w)
{
	*s = (struct store){.daemon = -1};
	if (!pin_has_store(p) && errno != EACCES)
		return no_store(p, w);
	if (clock_check(w))
		return -EXDEV;
	s->header = map_pin(p, "store", sizeof(*s->header), w);
	if (!s->header)
		return -EACCES;
	s->peers = map_pin(p, "peers", s->header->peers * sizeof(*s->peers), w);
	if (s->peers)
		s->rules = map_pin(p, "rules", s->header->peers * sizeof(*s->rules), w);
	if (s->rules)
		s->records = map_pin(p, "records", s->header->peers * sizeof(*s->records), w);
	if (s->records)
		s->windows = map_pin(p, "windows",
				     (uint64_t)s->header->peers * KPHI_RING_SIZE(s->header->window) *
					     sizeof(*s->windows),
				     w);
	if (s->windows)
		s->seals = map_pin(p, "seals", s->header->peers * sizeof(*s->seals), w);
	if (s->seals)
		s->rings = map_pin(p, "rings", KPHI_RINGS * sizeof(*s->rings), w);
	if (s->rings)
		s->counters = map_pin(p, "counters", s->header->cpus * sizeof(*s->counters), w);
	if (s->counters)
		s->ticks = map_pin(p, "ticks", s->header->cpus * sizeof(*s->ticks), w);
	if (s->ticks)
		s->verdicts = map_pin(p, "verdicts", s->header->peers * sizeof(*s->verdicts), w);
	if (s->verdicts)
		s->daemon = open_daemon(p, w);
	if (s->daemon >= 0)
		return 0;
	store_close(s);
	return -EACCES;
}

static void unmap(const void *at, uint64_t bytes)
{
	if (at)
		munmap((void *)at, bytes);
}

void store_close(struct store *s)
{
	const struct kphi_store *h = s->header;

	if (!h)
		return;
	unmap(s->peers, h->peers * sizeof(*s->peers));
	unmap(s->rules, h->peers * sizeof(*s->rules));
	unmap(s->records, h->peers * sizeof(*s->records));
	unmap(s->windows, (uint64_t)h->peers * KPHI_RING_SIZE(h->window) * sizeof(*s->windows));
	unmap(s->seals, h->peers * sizeof(*s->seals));
	unmap(s->rings, KPHI_RINGS * sizeof(*s->rings));
	unmap(s->counters, h->cpus * sizeof(*s->counters));
	unmap(s->ticks, h->cpus * sizeof(*s->ticks));
	unmap(s->verdicts, h->peers * sizeof(*s->verdicts));
	unmap(h, sizeof(*h));
	if (s->daemon >= 0)
		close(s->daemon);
	*s = (struct store){.daemon = -1};
}
