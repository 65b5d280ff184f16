// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Opening a store for reading: all that who does not make one needs. */
#include <abi.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/clock.h"
#include "kernel/store.h"

/* Windows are maps of that layout: they cannot be taken along, what they were made from comes again. */
int store_refuse_abi(const struct pin *p, int err, const char *abi, struct why *w)
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

/* Maps one pinned map read-only; frozen maps allow that to everyone who may open the pin. */
static const void *map_pin(const struct pin *p, const char *name, uint64_t bytes, struct why *w)
{
	uint64_t page = sysconf(_SC_PAGESIZE);
	char path[PIN_PATH];
	void *at;
	int fd = bpf_obj_get(pin_path(p, name, path));

	if (fd < 0) {
		int err = errno;

		if (err == EACCES || err == EPERM)
			why(w, -err,
			    "%s: cannot open: %s. Run it as root, or join the group that owns the store",
			    path, strerror(err));
		else
			why_pin(w, -err, path, "");
		errno = err; /* for store_open() */
		return NULL;
	}
	at = mmap(NULL, (bytes + page - 1) / page * page, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		why(w, -errno, "%s: cannot map: %s", path, strerror(errno));
	close(fd); /* keeps errno, for store_open() */
	return at == MAP_FAILED ? NULL : at;
}

static int no_store(const struct pin *p, struct why *w)
{
	char abi[16];

	if (pin_other_abi(p, abi))
		return store_refuse_abi(p, -ENOENT, abi, w);
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

	int err = errno;

	if (fd < 0) {
		why_pin(w, -err, path, "");
		errno = err;
	}
	return fd;
}

int store_open(struct store *s, const struct pin *p, struct why *w)
{
	int err;

	*s = (struct store){.daemon = -1};
	if (!pin_has_store(p) && errno != EACCES)
		return no_store(p, w);
	if (clock_check(w))
		return -EXDEV;
	s->header = map_pin(p, "store", sizeof(*s->header), w);
	if (!s->header)
		return -errno;
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
	err = -errno;
	store_close(s);
	return err;
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
