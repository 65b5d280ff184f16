// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The bpffs, the store on it, and what the guard's ticks remember. */
#include <errno.h>
#include <inttypes.h>

#include "doctor/judge.h"
#include "io/format.h"

static void no_root(struct findings *f, const struct store_facts *s, const struct host_facts *h)
{
	struct finding *finding;

	if (s->root_error == -ENOENT && h->own_mount_namespace) {
		finding = finding_add(
			f, DOCTOR_HOST, "bpffs", FINDING_WARN,
			"%s: nothing is mounted, and kphi will not mount it here: in a mount namespace of "
			"its own the store would vanish with it",
			s->root);
		finding_remedy(finding, "run `kphi store create` outside, or name a bpffs with --pin DIR");
	} else if (s->root_error == -ENOENT) {
		finding_add(f, DOCTOR_HOST, "bpffs", FINDING_OK,
			    "%s: not there yet; the first change makes it", s->root);
	} else if (s->root_error == -EINVAL) {
		finding = finding_add(f, DOCTOR_HOST, "bpffs", FINDING_FAIL, "%s is not on a bpffs", s->root);
		finding_remedy(finding, "mount one there with `mount -t bpf bpf %s`, or leave --pin out",
			       s->root);
	} else {
		finding_add(f, DOCTOR_HOST, "bpffs", FINDING_UNKNOWN, "%s", s->root_reason);
	}
}

static void bpffs(struct findings *f, const struct store_facts *s)
{
	struct finding *finding;

	if (s->writable) {
		finding = finding_add(f, DOCTOR_HOST, "bpffs", FINDING_OK, "%s: mounted, and writable",
				      s->root);
	} else {
		finding = finding_add(f, DOCTOR_HOST, "bpffs", FINDING_WARN,
				      "%s: mounted, but not to be written by us", s->root);
		finding_remedy(finding, "only root attaches and changes; reading takes the store's group");
	}
	finding_bool(finding, "writable", s->writable);
}

static void store(struct findings *f, const struct store_facts *s)
{
	struct finding *finding;

	if (s->has_store && s->reason) {
		finding_add(f, DOCTOR_HOST, "store", FINDING_UNKNOWN, "%s", s->reason);
	} else if (s->has_store) {
		finding_add(f, DOCTOR_HOST, "store", FINDING_OK, "there is one, of this kphi's ABI");
	} else if (*s->other_abi) {
		finding = finding_add(
			f, DOCTOR_HOST, "store", FINDING_FAIL,
			"the store here has ABI %s, this kphi another one, and it does not touch maps of "
			"another layout",
			s->other_abi);
		finding_remedy(finding,
			       "use the kphi that made it, or remove it with `kphi store purge abi %s`",
			       s->other_abi);
		finding_text(finding, "abi", s->other_abi);
	} else {
		finding = finding_add(f, DOCTOR_HOST, "store", FINDING_OK, "there is none yet");
		finding_remedy(finding, "`kphi net attach dev NAME` makes one");
	}
}

static void ticks(struct findings *f, const struct store_facts *s)
{
	struct finding *finding;
	char worst[FORMAT_SIZE], limit[FORMAT_SIZE];

	format_duration(s->worst_gap_ns, worst);
	format_duration(KPHI_TICK_LIMIT_NS, limit);
	if (s->dead || s->stalled) {
		finding = finding_add(f, DOCTOR_HOST, "ticks", FINDING_WARN,
				      "%u CPUs are stalled right now, and %u have lost their tick",
				      s->stalled, s->dead);
		finding_remedy(
			finding,
			"`kphi guard show` names them; a CPU that went offline loses its tick until the "
			"next beat on it");
	} else if (s->migrated) {
		finding = finding_add(f, DOCTOR_HOST, "ticks", FINDING_WARN,
				      "%u ticks have moved to another CPU, and speak for that one",
				      s->migrated);
		finding_remedy(finding, "Linux 6.7 keeps them at home");
	} else {
		finding = finding_add(f, DOCTOR_HOST, "ticks", FINDING_OK,
				      s->ticking ? "%u CPUs tick; the worst gap was %s"
						 : "%u CPUs tick, because none takes beats",
				      s->ticking, worst);
	}
	finding_number(finding, "cpus_ticking", s->ticking);
	finding_duration(finding, "worst_gap_ns", s->worst_gap_ns);
	finding_duration(finding, "limit_ns", KPHI_TICK_LIMIT_NS);
}

static void stalls(struct findings *f, const struct store_facts *s)
{
	char total[FORMAT_SIZE], worst[FORMAT_SIZE];
	struct finding *finding;

	if (!s->stalls) {
		finding = finding_add(f, DOCTOR_HOST, "stalls", FINDING_OK, "none is known");
	} else {
		finding = finding_add(
			f, DOCTOR_HOST, "stalls", FINDING_WARN,
			"%" PRIu64 " of this host's own, %s in all, the worst gap %s: they are counted off "
			"every silence",
			s->stalls, format_duration(s->stalled_total_ns, total),
			format_duration(s->worst_gap_ns, worst));
		finding_remedy(finding,
			       "`kphi guard show` says when and on which CPU; look for a starved hypervisor, "
			       "long work in softirqs, or SCHED_FIFO processes");
	}
	finding_number(finding, "stalls", s->stalls);
	finding_duration(finding, "stalled_total_ns", s->stalled_total_ns);
}

void judge_store(struct findings *f, const struct store_facts *s, const struct host_facts *h)
{
	if (s->root_error) {
		no_root(f, s, h);
		return;
	}
	bpffs(f, s);
	store(f, s);
	if (!s->readable)
		return;
	ticks(f, s);
	stalls(f, s);
}
