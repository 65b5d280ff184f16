// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <kphi.skel.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/error.h"
#include "kernel/clock.h"
#include "kernel/host_facts.h"

#define DESCRIPTORS 24 /* that a load takes at most: its maps, programs, BTF, and probes of libbpf's */

const struct load_map load_maps[] = {
	{"store", "store", LOAD_FROZEN},
	{"peers", "peers", LOAD_FROZEN},
	{"rules", "rules", LOAD_FROZEN},
	{"records", "records", LOAD_FROZEN},
	{"windows", "windows", LOAD_FROZEN},
	{"counters", "counters", LOAD_FROZEN},
	{"ticks", "ticks", LOAD_FROZEN},
	{"verdicts", "verdicts", LOAD_FROZEN},
	{"daemon", "daemon", LOAD_PUBLISHED},
	{"locks", "locks", LOAD_PRIVATE},
	{"ids", "ids", LOAD_PRIVATE},
	{"ports", ".data.ports", LOAD_PRIVATE},
	{"timers", "timers", LOAD_PRIVATE},
	{"hints", "hints", LOAD_PRIVATE},
	{"arrivals", "arrivals", LOAD_PRIVATE},
	{"seals", "seals", LOAD_FROZEN},
	{"rings", "rings", LOAD_FROZEN},
	{"keys", "keys", LOAD_PRIVATE},
	{"strangers", "strangers", LOAD_PRIVATE},
};
const size_t load_maps_count = sizeof(load_maps) / sizeof(*load_maps);

static int chatter(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text, *rest, *line;

	(void)level;
	if (vasprintf(&text, format, args) < 0)
		return 0;
	rest = text; /* the verifier's log is one message of many lines */
	while ((line = strsep(&rest, "\n")))
		if (*line)
			error_debug("%s", line);
	free(text);
	return 0;
}

void load_quiet(void)
{
	libbpf_set_print(chatter);
}

/* What no permission and no size can mend. */
static bool kernel_is_too_old(struct why *w, int err)
{
	struct host_facts host;

	host_facts_read(&host);
	if (host.features[HOST_TIMER].there && host.features[HOST_TAI].there)
		return false;
	why(w, err, "Linux %s has no %s%s: kphi needs Linux 6.1 or newer. Nothing was changed", host.release,
	    host.features[HOST_TIMER].there ? "bpf_ktime_get_tai_ns" : "BPF timers (they came with 5.15)",
	    host.features[HOST_TIMER].there ? " (it came with 6.1)" : "");
	return true;
}

static int refused(struct why *w, int err, const char *what)
{
	const char *denied = why_denied(err);

	if (denied)
		return why(w, err, "%s: %s; %s", what, why_errno(err), denied);
	if (kernel_is_too_old(w, err))
		return err;
	if (err == -ENOMEM || err == -E2BIG)
		return why(w, err,
			   "%s: %s. The kernel could not get the memory: ask for fewer `peers` or a smaller "
			   "`window`",
			   what, why_errno(err));
	return why(w, err, "%s: %s. Run with -d for the kernel's own words", what, why_errno(err));
}

/* Without enough of them libbpf says "Invalid argument", of a probe that it could not make. */
static int check_descriptors(const char *what, struct why *w)
{
	int probe[DESCRIPTORS], n = 0;

	while (n < DESCRIPTORS && (probe[n] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n++;
	for (int i = 0; i < n; i++)
		close(probe[i]);
	return n == DESCRIPTORS ? 0
				: why(w, -EMFILE,
				      "%s: only %d descriptors are left, and it takes %d. Raise "
				      "LimitNOFILE= or `ulimit -n`",
				      what, n, DESCRIPTORS);
}

static int set_sizes(struct kphi_bpf *skeleton, const struct kphi_store *header)
{
	int err = bpf_map__set_max_entries(skeleton->maps.peers, header->peers);

	err = err ?: bpf_map__set_max_entries(skeleton->maps.rules, header->peers);
	err = err ?: bpf_map__set_max_entries(skeleton->maps.records, header->peers);
	err = err ?: bpf_map__set_max_entries(skeleton->maps.windows, header->peers);
	err = err
		      ?: bpf_map__set_value_size(skeleton->maps.windows,
						 KPHI_RING_SIZE(header->window) * sizeof(uint64_t));
	err = err ?: bpf_map__set_max_entries(skeleton->maps.locks, header->peers);
	err = err ?: bpf_map__set_max_entries(skeleton->maps.ids, header->peers);
	err = err ?: bpf_map__set_max_entries(skeleton->maps.seals, header->peers);
	err = err ?: bpf_map__set_max_entries(skeleton->maps.counters, header->cpus);
	err = err ?: bpf_map__set_max_entries(skeleton->maps.ticks, header->cpus);
	err = err ?: bpf_map__set_max_entries(skeleton->maps.timers, header->cpus);
	err = err ?: bpf_map__set_max_entries(skeleton->maps.verdicts, header->peers);
	skeleton->rodata->window_size = header->window;
	skeleton->rodata->program_number = (uint32_t)clock_monotonic_ns() | 1;
	return err;
}

static struct kphi_bpf *open_skeleton(const struct kphi_store *header, struct why *w)
{
	struct kphi_bpf *skeleton = kphi_bpf__open();

	if (skeleton && !set_sizes(skeleton, header))
		return skeleton;
	why(w, -errno, "cannot prepare the BPF object: %s", strerror(errno));
	kphi_bpf__destroy(skeleton);
	return NULL;
}

/* Only these of the packet paths (bits of enum load_program). */
static void choose(struct kphi_bpf *s, uint32_t which)
{
	bpf_program__set_autoload(s->progs.kphi_xdp, which & LOAD_XDP);
	bpf_program__set_autoload(s->progs.kphi_tc, which & LOAD_TC);
	bpf_program__set_autoload(s->progs.kphi_tc_ip, which & LOAD_TC_IP);
}

int load_fresh(struct kphi_bpf **skeleton, const struct kphi_store *header, struct why *w)
{
	int err = check_descriptors("cannot create the store's maps", w);
	struct kphi_bpf *s = err ? NULL : open_skeleton(header, w);

	if (!s)
		return err ? err : -ENOMEM;
	choose(s, 0);
	err = kphi_bpf__load(s);
	if (err) {
		kphi_bpf__destroy(s);
		return refused(w, err, "cannot create the store's maps");
	}
	*skeleton = s;
	return 0;
}

static int reuse_maps(struct kphi_bpf *skeleton, const struct pin *p, struct why *w)
{
	char path[PIN_PATH];

	for (size_t i = 0; i < load_maps_count; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(skeleton->obj, load_maps[i].map);
		int fd = bpf_obj_get(pin_path(p, load_maps[i].pin, path));
		int err = fd < 0 ? fd : bpf_map__reuse_fd(map, fd);

		if (fd >= 0)
			close(fd); /* libbpf keeps a duplicate */
		if (err)
			return why_pin(w, err, path, " the pinned map");
	}
	return 0;
}

static int load_chosen(struct kphi_bpf **skeleton, const struct pin *p, const struct kphi_store *header,
		       uint32_t which, struct why *w)
{
	int err = check_descriptors("cannot load the programs", w);
	struct kphi_bpf *s = err ? NULL : open_skeleton(header, w);

	if (!s)
		return err ? err : -ENOMEM;
	choose(s, which);
	err = reuse_maps(s, p, w);
	if (!err) {
		err = kphi_bpf__load(s);
		if (err)
			refused(w, err, "cannot load the programs");
	}
	if (err) {
		kphi_bpf__destroy(s);
		return err;
	}
	*skeleton = s;
	return 0;
}

int load_over(struct kphi_bpf **skeleton, const struct pin *p, const struct kphi_store *header, struct why *w)
{
	return load_chosen(skeleton, p, header, LOAD_XDP, w);
}

void load_free(struct kphi_bpf *skeleton)
{
	kphi_bpf__destroy(skeleton);
}

int load_map_fd(const struct kphi_bpf *skeleton, const char *map)
{
	return bpf_object__find_map_fd_by_name(skeleton->obj, map);
}

int load_xdp_fd(const struct kphi_bpf *skeleton)
{
	return bpf_program__fd(skeleton->progs.kphi_xdp);
}

int load_control_fd(const struct kphi_bpf *skeleton)
{
	return bpf_program__fd(skeleton->progs.kphi_control);
}

int programs_need(struct programs *g, uint32_t which, struct why *w)
{
	int err;

	which |= g->loaded | g->needed;
	if (g->skeleton && which == g->loaded)
		return 0;
	programs_free(g);
	err = load_chosen(&g->skeleton, g->p, g->header, which, w);
	g->loaded = err ? 0 : which;
	return err;
}

int programs_fd(const struct programs *g, enum load_program which)
{
	if (which == LOAD_XDP)
		return load_xdp_fd(g->skeleton);
	return bpf_program__fd(which == LOAD_TC ? g->skeleton->progs.kphi_tc : g->skeleton->progs.kphi_tc_ip);
}

int programs_control_fd(const struct programs *g)
{
	return load_control_fd(g->skeleton);
}

void programs_free(struct programs *g)
{
	load_free(g->skeleton);
	g->skeleton = NULL;
	g->loaded = 0;
}
