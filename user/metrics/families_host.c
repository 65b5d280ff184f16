// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* This program, the store, its packets, and how well this host hears. */
#include <abi.h>
#include <stddef.h>

#include "kernel/devices.h"
#include "metrics/families.h"
#include "version.h"

static void say_build(struct om *m)
{
	struct om_labels l = {.size = 0};

	om_label(&l, "version", KPHI_VERSION);
	om_label(&l, "abi", KPHI_ABI);
	om_family(m, "kphi_build_info", OM_GAUGE, NULL,
		  "1; the labels are version and ABI of the kphi that was asked.");
	om_u64(m, &l, 1);
}

static void say_store(struct om *m, const struct store *s, const struct facts *f)
{
	om_single(m, "kphi_store_peers", OM_GAUGE, f->peers, "Peers in the store.");
	om_single(m, "kphi_store_max_peers", OM_GAUGE, s->header->peers,
		  "Peers that the store has room for.");
	om_single(m, "kphi_store_window_intervals", OM_GAUGE, s->header->window,
		  "Intervals kept for each peer.");
	om_family(m, "kphi_store_memory_bytes", OM_GAUGE, "bytes",
		  "Kernel memory of the maps; none of it can be swapped out.");
	om_u64(m, NULL, store_memory(s->header));
}

static void say_omitted(struct om *m, const struct facts *f)
{
	static const char *const reasons[OMISSIONS] = {
		[OMITTED_PER_PEER] = "per_peer",
		[OMITTED_MAX] = "peers_max",
		[OMITTED_BUSY] = "busy",
	};

	om_family(m, "kphi_peers_omitted", OM_GAUGE, NULL,
		  "Peers without series of their own: not asked for (per_peer), one too many (peers_max), or "
		  "being "
		  "written all the time (busy).");
	for (int i = 0; i < OMISSIONS; i++) {
		struct om_labels l = {.size = 0};

		om_label(&l, "reason", reasons[i]);
		om_u64(m, &l, f->omitted[i]);
	}
}

static void say_peers(struct om *m, const struct facts *f)
{
	om_family(m, "kphi_peers", OM_GAUGE, NULL,
		  "Peers by state, each judged at phi 8 without regard to any consumer.");
	for (int i = 0; i < VIEW_STATES; i++) {
		struct om_labels l = {.size = 0};

		om_label(&l, "state", view_state_name(i));
		om_u64(m, &l, f->states[i]);
	}
	om_single(m, "kphi_peers_muted", OM_GAUGE, f->muted, "Peers that are muted for maintenance.");
	say_omitted(m, f);
}

static void say_counters(struct om *m, const struct store *s, const char *label, int first, int end)
{
	static const char *const names[] = {
#define X(name, help) #name,
		KPHI_OUTCOMES(X) KPHI_NOTES(X)
#undef X
	};

	for (int i = first; i < end; i++) {
		struct om_labels l = {.size = 0};

		om_label(&l, label, names[i]);
		om_u64(m, &l, store_count(s, (enum kphi_counter)i));
	}
}

#define X(name, help) "; " #name ": " help

static void say_packets(struct om *m, const struct store *s)
{
	om_family(m, "kphi_packets", OM_COUNTER, NULL,
		  "Packets to ports and of protocols of ours, each by what became of it" KPHI_OUTCOMES(X));
	say_counters(m, s, "outcome", 0, KPHI_COUNT_restart);
	om_family(m, "kphi_packet_notes", OM_COUNTER, NULL,
		  "What accepted heartbeats did besides" KPHI_NOTES(X));
	say_counters(m, s, "note", KPHI_COUNT_restart, KPHI_COUNTERS);
}
#undef X

/* --- the guard --- */

static uint64_t tick_age_ns(const struct kphi_tick *t, uint64_t now_ns)
{
	return now_ns > t->last_ns ? now_ns - t->last_ns : 0;
}

enum figure_kind { FIGURE_COUNT, FIGURE_SECONDS, FIGURE_AGE };

static const struct figure {
	const char *name, *help;
	size_t offset;
	enum figure_kind kind;
} figures[] = {
	{"kphi_guard_stalls", "Stretches in which this CPU ran no softirq work.",
	 offsetof(struct kphi_tick, stalls), FIGURE_COUNT},
	{"kphi_guard_stalled_seconds", "How long those were together.",
	 offsetof(struct kphi_tick, stalled_total_ns), FIGURE_SECONDS},
	{"kphi_guard_suspended_seconds", "How long the whole host was suspended.",
	 offsetof(struct kphi_tick, suspended_total_ns), FIGURE_SECONDS},
	{"kphi_guard_ticks", "How often this CPU was woken to prove that it can hear.",
	 offsetof(struct kphi_tick, ticks), FIGURE_COUNT},
	{"kphi_guard_tick_age_seconds",
	 "Time since the last tick of a CPU that takes heartbeats. Beyond 0.05 it is stalled, beyond 60 its "
	 "stalls "
	 "are not seen.",
	 offsetof(struct kphi_tick, last_ns), FIGURE_AGE},
};

/* CPUs that never took a packet have nothing to tell. */
static void say_figure(struct om *m, const struct store *s, const struct figure *figure, uint64_t now_ns)
{
	bool age = figure->kind == FIGURE_AGE;

	om_family(m, figure->name, age ? OM_GAUGE : OM_COUNTER,
		  figure->kind == FIGURE_COUNT ? NULL : "seconds", figure->help);
	for (uint32_t cpu = 0; cpu < s->header->cpus; cpu++) {
		struct kphi_tick t = s->ticks[cpu]; /* need not be of one instant */
		uint64_t value = *(const uint64_t *)((const char *)&t + figure->offset);
		struct om_labels l = {.size = 0};

		if (!t.beat_ns || (age && !t.last_ns))
			continue;
		om_label_u64(&l, "cpu", cpu);
		if (age)
			om_seconds(m, &l, tick_age_ns(&t, now_ns));
		else if (figure->kind == FIGURE_SECONDS)
			om_seconds(m, &l, value);
		else
			om_u64(m, &l, value);
	}
}

void families_host(struct om *m, const struct store *s, const struct facts *f, uint64_t now_ns)
{
	say_build(m);
	say_store(m, s, f);
	say_peers(m, f);
	say_packets(m, s);
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		say_figure(m, s, &figures[i], now_ns);
}

/* --- devices --- */

static void ignore(void *context, const struct event *event)
{
	(void)context;
	(void)event;
}

/* Two network namespaces may have devices of one name, so those of others say where they are. */
static struct om_labels device_labels(const struct devices_view *v)
{
	struct om_labels l = {.size = 0};

	om_label(&l, "device", v->name);
	if (!v->here)
		om_label_u64(&l, "netns", v->netns);
	return l;
}

static void say_device(struct om *m, const struct devices_view *v)
{
	struct om_labels l = device_labels(v);

	om_label(&l, "hook", attach_hooks[v->hook]);
	om_label(&l, "mode", attach_modes[v->mode]);
	om_u64(m, &l, 1);
}

static void say_blind_device(struct om *m, const struct devices_view *v, const char *name,
			     enum event_cause cause)
{
	struct om_labels l = device_labels(v);

	om_label(&l, "cause", name);
	om_u64(m, &l, v->deaf == cause);
}

void families_devices(struct om *m, const struct pin *pin, uint64_t now_ns)
{
	struct why w;
	struct devices *d = pin ? devices_new(pin, &w) : NULL;
	uint32_t count = 0;

	if (d && !devices_check(d, now_ns, ignore, NULL))
		count = devices_count(d);
	om_single(m, "kphi_devices_readable", OM_GAUGE, d != NULL,
		  "1 if the devices that listen could be asked, which only root may.");
	om_family(m, "kphi_device_info", OM_GAUGE, NULL,
		  "1; the labels say where the program sits on a device. netns: the inode of another network "
		  "namespace.");
	for (uint32_t i = 0; i < count; i++) {
		struct devices_view v = devices_view(d, i);

		say_device(m, &v);
	}
	om_family(m, "kphi_device_blind", OM_GAUGE, NULL,
		  "1 if the device hears nothing: no carrier, or the program is gone (hook). In another "
		  "network "
		  "namespace the carrier is not seen.");
	for (uint32_t i = 0; i < count; i++) {
		struct devices_view v = devices_view(d, i);

		say_blind_device(m, &v, "hook", CAUSE_HOOK);
		if (v.here)
			say_blind_device(m, &v, "carrier", CAUSE_CARRIER);
	}
	devices_free(d);
}
