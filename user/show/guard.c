// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "show/guard.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/grace.h"
#include "core/silence.h"
#include "io/format.h"
#include "kernel/devices.h"

#define NS_PER_SECOND 1000000000ULL

static uint64_t ago(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

/* A tick is overdue for longer than any stall lasts: its CPU is offline, or the timer is lost. */
static bool is_dead(const struct kphi_tick *t, uint64_t now_ns)
{
	return t->last_ns && ago(now_ns, t->last_ns) > SILENCE_OPEN_MAX_NS;
}

static const char *tick_state(const struct kphi_tick *t, uint64_t now_ns)
{
	if (!t->last_ns)
		return "ended";
	if (is_dead(t, now_ns))
		return "dead";
	return silence_open_stall_ns(t, now_ns) ? "stalled" : "ticking";
}

static void tick_note(const struct kphi_tick *t, uint32_t cpu, uint64_t now_ns, char *text, size_t size)
{
	char since[FORMAT_SIZE];

	*text = '\0';
	format_duration(ago(now_ns, t->last_ns), since);
	if (is_dead(t, now_ns))
		snprintf(text, size, "no tick for %s: its stalls are not seen", since);
	else if (silence_open_stall_ns(t, now_ns))
		snprintf(text, size, "no softirq work for %s until now", since);
	else if (t->last_ns && t->ticks && t->armed_cpu != cpu)
		snprintf(text, size, "migrated: it runs on CPU %u, and speaks for that one", t->armed_cpu);
}

static void say_tick(struct out *o, const struct kphi_tick *t, uint32_t cpu, uint64_t now_ns)
{
	char note[96];

	tick_note(t, cpu, now_ns, note, sizeof(note));
	out_open_row(o);
	out_u64(o, "cpu", "CPU", cpu);
	out_string(o, "state", "TICK", tick_state(t, now_ns));
	out_bool(o, "armed", NULL, t->last_ns);
	out_u64(o, "armed_cpu", NULL, t->armed_cpu);
	out_bool(o, "migrated", NULL, t->last_ns && t->ticks && t->armed_cpu != cpu);
	out_u64(o, "ticks", "TICKS", t->ticks);
	out_duration(o, "last_tick_ago_ns", NULL, t->last_ns ? ago(now_ns, t->last_ns) : 0);
	out_duration(o, "worst_gap_ns", "WORST GAP", t->worst_ns);
	out_u64(o, "stalls", "STALLS", t->stalls);
	out_duration(o, "stalled_total_ns", "STALLED", t->stalled_total_ns);
	out_duration(o, "open_stall_ns", NULL, silence_open_stall_ns(t, now_ns));
	out_duration(o, "suspended_total_ns", "SUSPENDED", t->suspended_total_ns);
	out_duration(o, "last_packet_ago_ns", "LAST PACKET", ago(now_ns, t->beat_ns));
	out_string(o, "note", *note ? "NOTE" : NULL, note);
	out_close_row(o);
}

/* CPUs that never took a packet have nothing to tell. */
static void say_ticks(struct out *o, const struct store *s, uint64_t now_ns)
{
	out_open_table(o, "cpus");
	for (uint32_t cpu = 0; cpu < s->header->cpus; cpu++) {
		struct kphi_tick t = s->ticks[cpu]; /* for display only: need not be of one instant */

		if (t.beat_ns)
			say_tick(o, &t, cpu, now_ns);
	}
	out_close_table(o);
}

static uint32_t count_ticking(const struct store *s, uint64_t now_ns)
{
	uint32_t ticking = 0;

	for (uint32_t cpu = 0; cpu < s->header->cpus; cpu++)
		ticking += s->ticks[cpu].last_ns && !is_dead(&s->ticks[cpu], now_ns);
	return ticking;
}

static void say_cost(struct out *o, uint32_t ticking, uint32_t cpus)
{
	uint64_t rate = NS_PER_SECOND / KPHI_TICK_NS;
	char text[128];

	snprintf(text, sizeof(text), "%" PRIu64 " wake-ups a second on each of %u of %u CPUs, none elsewhere",
		 rate, ticking, cpus);
	out_duration(o, "tick_ns", "tick", KPHI_TICK_NS);
	out_duration(o, "limit_ns", "a gap beyond this is a stall", KPHI_TICK_LIMIT_NS);
	out_u64(o, "cpus_ticking", NULL, ticking);
	out_u64(o, "cpus_possible", NULL, cpus);
	out_u64(o, "wakeups_per_second", NULL, rate * ticking);
	out_string(o, "cost", "cost of the ticks",
		   ticking ? text : "none: no CPU takes beats, so none is woken");
}

/* --- stalls --- */

struct latest {
	struct kphi_stall stall;
	uint32_t cpu;
};

/* Into its place among the ones that ended last, newest first. */
static void insert(struct latest list[KPHI_STALLS], struct latest fresh)
{
	for (int i = 0; i < KPHI_STALLS; i++) {
		struct latest here = list[i];

		if (here.stall.end_ns >= fresh.stall.end_ns)
			continue;
		list[i] = fresh;
		fresh = here;
	}
}

static void say_stalls(struct out *o, const struct store *s, uint64_t now_ns)
{
	struct latest list[KPHI_STALLS] = {0};

	for (uint32_t cpu = 0; cpu < s->header->cpus; cpu++)
		for (int i = 0; i < KPHI_STALLS; i++)
			insert(list, (struct latest){s->ticks[cpu].stall[i], cpu});
	out_open_table(o, "stalls");
	for (int i = 0; i < KPHI_STALLS && list[i].stall.end_ns; i++) {
		out_open_row(o);
		out_duration(o, "ago_ns", "STALL ENDED AGO", ago(now_ns, list[i].stall.end_ns));
		out_u64(o, "end_ns", NULL, list[i].stall.end_ns);
		out_duration(o, "length_ns", "LENGTH", list[i].stall.length_ns);
		out_u64(o, "cpu", "CPU", list[i].cpu);
		out_close_row(o);
	}
	out_close_table(o);
}

/* --- devices --- */

static void ignore(void *context, const struct event *event)
{
	(void)context;
	(void)event;
}

static void say_device(struct out *o, const struct devices_view *v)
{
	static const char *const causes[] = {[CAUSE_CARRIER] = "carrier", [CAUSE_HOOK] = "hook"};
	const char *reason = v->here ? NULL : "in another network namespace, so its carrier is not seen";

	out_open_row(o);
	out_string(o, "device", "DEVICE", v->name);
	out_u64(o, "ifindex", NULL, v->ifindex);
	out_bool(o, "same_netns", NULL, v->here);
	out_bool(o, "blind", NULL, v->deaf);
	out_string(o, "state", "HEARING", v->deaf ? "blind" : v->here ? "hears" : "unknown");
	out_string(o, "cause", NULL, v->deaf ? causes[v->deaf] : NULL);
	out_string(o, "reason", "BECAUSE", v->deaf ? v->reason : reason);
	out_close_row(o);
}

/* Links are root's to ask. */
static void say_devices(struct out *o, const struct pin *pin, uint64_t now_ns)
{
	struct why w;
	struct devices *d = devices_new(pin, &w);

	if (!d) {
		out_null(o, "devices", NULL);
		out_string(o, "devices_unknown", "devices", w.text);
		return;
	}
	devices_check(d, now_ns, ignore, NULL);
	out_open_table(o, "devices");
	for (uint32_t i = 0; i < devices_count(d); i++) {
		struct devices_view v = devices_view(d, i);

		say_device(o, &v);
	}
	out_close_table(o);
	devices_free(d);
}

/* --- peers --- */

static void say_grace(struct out *o, const struct store *s, uint64_t now_ns)
{
	out_open_table(o, "grace");
	for (uint32_t slot = 0; slot < s->header->peers; slot++) {
		struct kphi_record r;
		struct kphi_peer p;
		struct grace g;

		if (s->records[slot].state != KPHI_UP || store_read(s, slot, &r, &p) ||
		    r.cpu >= s->header->cpus)
			continue;
		g = grace_at(&r, &p, &s->ticks[r.cpu], now_ns);
		if (!g.until_ns)
			continue;
		out_open_row(o);
		out_string(o, "peer", "PEER IN GRACE", p.name);
		out_duration(o, "for_ns", "FOR ANOTHER", g.until_ns - now_ns);
		out_duration(o, "stall_ns", "AFTER A STALL OF", g.stall_ns);
		out_close_row(o);
	}
	out_close_table(o);
}

/* What `kphi run` withholds, as long as it lives. */
static void say_holds(struct out *o, const struct store *s, uint64_t now_ns)
{
	out_open_table(o, "holds");
	for (uint32_t slot = 0; slot < s->header->peers; slot++) {
		struct kphi_verdict v;
		struct kphi_record r;
		struct kphi_peer p;

		if (s->verdicts[slot].state != KPHI_VERDICT_HELD || !store_verdict(s, slot, now_ns, &v) ||
		    v.state != KPHI_VERDICT_HELD || store_read(s, slot, &r, &p) ||
		    r.generation != v.generation)
			continue;
		out_open_row(o);
		out_string(o, "peer", "PEER HELD", p.name);
		out_duration(o, "since_ago_ns", "FOR", ago(now_ns, v.since_ns));
		out_close_row(o);
	}
	out_close_table(o);
}

void say_guard(struct out *o, const struct pin *pin, const struct store *s, uint64_t now_ns)
{
	say_cost(o, count_ticking(s, now_ns), s->header->cpus);
	say_ticks(o, s, now_ns);
	say_stalls(o, s, now_ns);
	say_devices(o, pin, now_ns);
	say_grace(o, s, now_ns);
	say_holds(o, s, now_ns);
}
