// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/report.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/histogram.h"

_Static_assert(EVENT_TYPES <= KPHI_EVENT_ROWS, "the map has a row for every type of event");
_Static_assert(CAUSES <= KPHI_EVENT_CAUSES, "and a place for every cause");
_Static_assert(ENGINE_CONSUMERS <= KPHI_CONSUMERS, "and one for every consumer");

static size_t mapped_bytes(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (sizeof(struct kphi_daemon) + page - 1) / page * page;
}

int report_open(struct report *r, const struct pin *pin, struct why *w)
{
	char path[PIN_PATH];
	void *at;
	int fd = bpf_obj_get(pin_path(pin, "daemon", path));

	*r = (struct report){.map = NULL};
	if (fd < 0)
		return why_pin(w, -errno, path, "");
	at = mmap(NULL, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return why(w, -errno, "%s: cannot map: %s", path, strerror(errno));
	r->map = at;
	return 0;
}

void report_close(struct report *r)
{
	if (!r->map)
		return;
	r->map->clients = 0;
	report_alive(r, 0);
	munmap(r->map, mapped_bytes());
	r->map = NULL;
}

void report_alive(struct report *r, uint64_t alive_until_ns)
{
	__atomic_store_n(&r->map->alive_until_ns, alive_until_ns, __ATOMIC_RELEASE);
}

/* The odd number that a killed writer left goes on to the next even one. */
static void begin_change(struct kphi_daemon *d)
{
	__atomic_store_n(&d->version, d->version | 1, __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_release);
}

static void end_change(struct kphi_daemon *d)
{
	__atomic_store_n(&d->version, d->version + 1, __ATOMIC_RELEASE);
}

void report_begin(struct report *r, uint32_t starts, uint64_t now_ns, uint64_t alive_until_ns)
{
	struct kphi_daemon *d = r->map;

	begin_change(d);
	d->started_ns = now_ns;
	d->pid = (uint32_t)getpid();
	d->starts = starts;
	d->clients = 0;
	end_change(d);
	report_alive(r, alive_until_ns);
}

/* The old one's count goes before its name does: whoever is killed in between leaves it to nobody else. */
static void rename_consumer(struct kphi_consumer *to, const char *name)
{
	if (!strncmp(to->name, name, sizeof(to->name)))
		return;
	to->suspicions = 0;
	atomic_thread_fence(memory_order_release);
	memset(to->name, 0, sizeof(to->name));
	memcpy(to->name, name, strnlen(name, sizeof(to->name) - 1));
}

void report_consumers(struct report *r, const struct engine_config *config)
{
	struct kphi_daemon *d = r->map;

	begin_change(d);
	for (uint32_t i = 0; i < KPHI_CONSUMERS; i++) {
		const struct consumer *from = &config->consumer[i];
		struct kphi_consumer *to = &d->consumer[i];
		bool used = i < config->consumers;

		rename_consumer(to, used ? from->name : "");
		to->suspect = used ? from->suspect : 0;
		to->clear = used ? from->clear : 0;
		to->shadow = used && from->shadow;
	}
	d->consumers = config->consumers;
	end_change(d);
}

static void count_suspicion(struct kphi_daemon *d, const char *consumer)
{
	for (uint32_t i = 0; i < d->consumers; i++)
		if (!strcmp(d->consumer[i].name, consumer))
			d->consumer[i].suspicions++;
}

void report_event(struct report *r, const struct event *event, uint64_t said_ns)
{
	struct kphi_daemon *d = r->map;

	if (event->type >= EVENT_TYPES || event->cause >= CAUSES)
		return;
	d->events[event->type][event->cause]++;
	if (event->type == EVENT_exec)
		d->commands_failed++;
	if (event->type != EVENT_suspect || !event->consumer)
		return;
	count_suspicion(d, event->consumer);
	/* A shadow has no verdict that could be late. */
	if (event->crossed_ns && event->token)
		histogram_add(&d->latency, said_ns > event->crossed_ns ? said_ns - event->crossed_ns : 0);
}

void report_lateness(struct report *r, uint64_t late_ns)
{
	histogram_add(&r->map->lateness, late_ns);
}

void report_config(struct report *r, bool applied)
{
	if (applied)
		r->map->configs++;
	else
		r->map->configs_refused++;
}

void report_command(struct report *r)
{
	r->map->commands++;
}

void report_clients(struct report *r, uint32_t clients, uint64_t dropped)
{
	r->map->clients = clients;
	r->map->events_dropped += dropped - r->dropped;
	r->dropped = dropped;
}
