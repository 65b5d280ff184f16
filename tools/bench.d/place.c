// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A store made as `kphi store create` makes it, and the bench's own programs over its pinned maps. */
#include <bench.skel.h>
#include <bpf/bpf.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "kernel/load.h"

static struct bench_bpf *load_bench(const struct pin *p, const struct kphi_store *header)
{
	struct bench_bpf *b = bench_bpf__open();
	char path[PIN_PATH];

	if (!b)
		die("cannot open the bench's programs");
	b->rodata->window_size = header->window;
	for (size_t i = 0; i < load_maps_count; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(b->obj, load_maps[i].map);
		int fd = bpf_obj_get(pin_path(p, load_maps[i].pin, path));

		if (!map || fd < 0 || bpf_map__reuse_fd(map, fd))
			die("%s: cannot use the map", path);
		close(fd); /* libbpf keeps a duplicate */
	}
	if (bench_bpf__load(b))
		die("the kernel refuses the bench's programs");
	return b;
}

void place_begin(struct place *p, const struct store_size *size)
{
	const char *root = getenv("KPHI_PIN");
	struct why w;

	*p = (struct place){0};
	if (!root)
		die("KPHI_PIN does not name a bpffs: start it with tools/bench");
	if (pin_open(&p->pin, root, true, &w) || pin_lock(&p->pin, &w) ||
	    store_create(&p->pin, size, NULL, &w) || store_open(&p->store, &p->pin, &w) ||
	    control_open(&p->control, &p->pin, &w) || load_over(&p->kphi, &p->pin, p->store.header, &w))
		die("%s", w.text);
	p->bench = load_bench(&p->pin, p->store.header);
}

void place_end(struct place *p)
{
	struct why w;

	bench_bpf__destroy(p->bench);
	load_free(p->kphi);
	control_close(&p->control);
	store_close(&p->store);
	if ((p->pin.lock < 0 && pin_lock(&p->pin, &w)) || pin_purge(&p->pin, NULL, &w))
		die("%s", w.text);
	pin_close(&p->pin);
}

void place_share(struct place *p)
{
	pin_close(&p->pin);
}

uint32_t place_add_rule(struct place *p, struct kphi_peer *peer, const struct kphi_rule *rule, uint32_t slot)
{
	struct why w;

	if (control_add(&p->control, &p->store, peer, rule, &slot, &w))
		die("%s", w.text);
	return slot;
}

uint32_t place_add(struct place *p, struct kphi_peer *peer, uint32_t slot)
{
	return place_add_rule(p, peer, NULL, slot);
}

uint32_t place_run(int program, const void *packet, uint32_t size, uint32_t repeat)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet, .data_size_in = size, .repeat = repeat);

	if (bpf_prog_test_run_opts(program, &run) || run.retval != XDP_PASS)
		die("a program cannot be run, or does not pass its packet");
	return run.duration;
}
