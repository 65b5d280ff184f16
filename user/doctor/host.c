// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Kernel, permissions, clock. */
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "doctor/judge.h"
#include "io/format.h"
#include "kernel/drivers.h"

#define OLDEST KERNEL(6, 1)

static void kernel_version(struct findings *f, const struct host_facts *h)
{
	struct finding *finding;

	if (h->kernel >= OLDEST) {
		finding_add(f, DOCTOR_HOST, "kernel_version", FINDING_OK, "Linux %s", h->release);
		return;
	}
	finding = finding_add(f, DOCTOR_HOST, "kernel_version", h->kernel ? FINDING_FAIL : FINDING_UNKNOWN,
			      "Linux %s: kphi needs 6.1 or newer",
			      *h->release ? h->release : "of unknown version");
	finding_remedy(finding, "boot a newer kernel");
}

/* --- features --- */

static const struct {
	const char *check, *name, *without; /* what it means if it is missing */
	enum finding_status missing;
} features[HOST_FEATURES] = {
	[HOST_XDP] = {"xdp_program", "XDP programs", "nothing can be attached", FINDING_FAIL},
	[HOST_XDP_LINK] = {"xdp_link", "attaching by bpf_link", "nothing can be attached (5.9)",
			   FINDING_FAIL},
	[HOST_XDP_FRAGS] = {"xdp_frags", "XDP programs for frames of several buffers",
			    "native XDP needs a small MTU (5.18)", FINDING_WARN},
	[HOST_TIMER] = {"bpf_timer", "bpf_timer",
			"the guard has no ticks, and the program does not load (5.15)", FINDING_FAIL},
	[HOST_TAI] = {"clock_tai", "bpf_ktime_get_tai_ns", "the program does not load (6.1)", FINDING_FAIL},
	[HOST_GROUP_READING] = {"group_reading", "reading the store without privilege",
				"members of the store's group cannot read it (6.0)", FINDING_WARN},
	[HOST_TCX] = {"tcx", "TCX links",
		      "beside a foreign XDP program kphi needs a clsact qdisc instead (6.6)", FINDING_WARN},
	[HOST_TIMER_PIN] =
		{"timer_pin", "BPF timers that stay on their CPU",
		 "a tick of the guard may move to another CPU, which `kphi guard show` tells (6.7)",
		 FINDING_WARN},
};

static void feature(struct findings *f, const struct host_facts *h, enum host_feature which)
{
	static const char *const sources[] = {
		[FEATURE_BY_VERSION] = "by version",
		[FEATURE_BY_BTF] = "by the kernel's own type information",
		[FEATURE_BY_PROBE] = "tried",
	};
	const struct feature *is = &h->features[which];
	struct finding *finding;

	if (is->there)
		finding = finding_add(f, DOCTOR_HOST, features[which].check, FINDING_OK, "%s (%s)",
				      features[which].name, sources[is->source]);
	else
		finding = finding_add(f, DOCTOR_HOST, features[which].check, features[which].missing,
				      "no %s (%s): %s", features[which].name, sources[is->source],
				      features[which].without);
	if (!is->there && is->source == FEATURE_BY_PROBE && h->kernel >= OLDEST)
		finding_remedy(finding,
			       "this kernel should have it: look for a security policy (LSM, lockdown, "
			       "seccomp) that refuses bpf(2), or a kernel built without it");
	else if (!is->there)
		finding_remedy(finding, "boot a newer kernel if you need it");
}

static void btf(struct findings *f, const struct host_facts *h)
{
	struct finding *finding;

	if (h->btf) {
		finding_add(f, DOCTOR_HOST, "btf", FINDING_OK, "the kernel describes its types");
		return;
	}
	finding = finding_add(f, DOCTOR_HOST, "btf", FINDING_WARN,
			      "no /sys/kernel/btf/vmlinux: kphi does without, libxdp's dispatcher and other "
			      "tools do not");
	finding_remedy(finding, "use a kernel built with CONFIG_DEBUG_INFO_BTF");
}

static void jit(struct findings *f, const struct host_facts *h)
{
	struct finding *finding;

	if (h->jit > 0) {
		finding_add(f, DOCTOR_HOST, "jit", FINDING_OK, "programs are compiled");
		return;
	}
	finding = finding_add(
		f, DOCTOR_HOST, "jit", h->jit ? FINDING_UNKNOWN : FINDING_WARN,
		h->jit ? "cannot tell whether programs are compiled: "
			 "net.core.bpf_jit_enable is not to be seen here (CAP_BPF would help)"
		       : "programs are interpreted: every packet of the host costs several times more");
	if (!h->jit)
		finding_remedy(finding, "sysctl -w net.core.bpf_jit_enable=1");
}

/* --- permissions --- */

static void capabilities(struct findings *f, const struct host_facts *h)
{
	/* What loading and attaching take; tried out. CAP_SYS_ADMIN stands for all but CAP_NET_ADMIN. */
	static const struct {
		unsigned int cap;
		const char *name;
	} needed[] = {
		{CAP_BPF, "CAP_BPF"},
		{CAP_NET_ADMIN, "CAP_NET_ADMIN"},
		{CAP_PERFMON, "CAP_PERFMON"},
	};
	char missing[64] = "";
	struct finding *finding;

	if (h->own_user_namespace) {
		finding = finding_add(
			f, DOCTOR_HOST, "capabilities", FINDING_WARN,
			"this is a user namespace of its own: capabilities here do not count for bpf(2)");
		finding_remedy(finding,
			       "run kphi in the initial user namespace to attach or change anything");
		return;
	}
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!host_may(h, needed[i].cap) &&
		    (needed[i].cap == CAP_NET_ADMIN || !host_may(h, CAP_SYS_ADMIN)))
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), "%s%s",
				 *missing ? ", " : "", needed[i].name);
	if (*missing) {
		finding = finding_add(f, DOCTOR_HOST, "capabilities", FINDING_WARN,
				      "not in effect here, and needed to attach or change anything: %s",
				      missing);
		finding_remedy(finding, "run it as root; reading takes only membership in the store's group");
		finding_text(finding, "missing", missing);
	} else if (!host_may(h, CAP_SYS_ADMIN)) {
		finding_add(
			f, DOCTOR_HOST, "capabilities", FINDING_OK,
			"enough to attach; without CAP_SYS_ADMIN kphi cannot mount a bpffs of its own, nor "
			"name the programs of others");
	} else {
		finding_add(f, DOCTOR_HOST, "capabilities", FINDING_OK, "all that is needed");
	}
}

static void unprivileged(struct findings *f, const struct host_facts *h)
{
	struct finding *finding;

	if (h->unprivileged_bpf_disabled < 0)
		finding_add(f, DOCTOR_HOST, "unprivileged_bpf", FINDING_UNKNOWN,
			    "kernel.unprivileged_bpf_disabled is not to be seen here");
	else if (h->unprivileged_bpf_disabled) {
		finding = finding_add(f, DOCTOR_HOST, "unprivileged_bpf", FINDING_OK,
				      "only the privileged load programs");
		finding_number(finding, "unprivileged_bpf_disabled", (uint64_t)h->unprivileged_bpf_disabled);
	} else {
		finding = finding_add(f, DOCTOR_HOST, "unprivileged_bpf", FINDING_WARN,
				      "everybody may load BPF programs: kphi does not need it");
		finding_remedy(finding, "sysctl -w kernel.unprivileged_bpf_disabled=2");
		finding_number(finding, "unprivileged_bpf_disabled", 0);
	}
}

static void lockdown(struct findings *f, const struct host_facts *h)
{
	struct finding *finding;

	if (!*h->lockdown)
		finding_add(f, DOCTOR_HOST, "lockdown", FINDING_OK,
			    "no lockdown is to be seen (/sys/kernel/security/lockdown)");
	else if (strcmp(h->lockdown, "confidentiality") != 0)
		finding_add(f, DOCTOR_HOST, "lockdown", FINDING_OK,
			    "%s: nothing that kphi does is restricted", h->lockdown);
	else {
		finding = finding_add(
			f, DOCTOR_HOST, "lockdown", FINDING_WARN,
			"confidentiality: programs that read kernel memory are refused; kphi's do not");
		finding_remedy(finding,
			       "if attaching says `Operation not permitted` to root, this may be why");
	}
}

static void memlock(struct findings *f, const struct host_facts *h)
{
	char limit[FORMAT_SIZE];
	struct finding *finding;

	if (h->kernel >= KERNEL(5, 11) || h->memlock_bytes == UINT64_MAX) {
		finding_add(f, DOCTOR_HOST, "memlock", FINDING_OK,
			    "RLIMIT_MEMLOCK does not matter: maps are charged to the memory cgroup");
		return;
	}
	finding = finding_add(f, DOCTOR_HOST, "memlock", FINDING_WARN,
			      "RLIMIT_MEMLOCK is %s, and before Linux 5.11 maps are charged to it",
			      format_bytes(h->memlock_bytes, limit));
	finding_remedy(finding, "ulimit -l unlimited");
	finding_number(finding, "memlock_bytes", h->memlock_bytes);
}

/* --- clock --- */

/* Reading one of these costs a microsecond or more, and some of them stand still for milliseconds. */
static bool is_slow(const char *clocksource)
{
	static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"};

	for (size_t i = 0; i < sizeof(slow) / sizeof(*slow); i++)
		if (!strcmp(clocksource, slow[i]))
			return true;
	return false;
}

static void clocksource(struct findings *f, const struct host_facts *h)
{
	char step[FORMAT_SIZE] = "more than could be waited for";
	struct finding *finding;

	if (h->clock_step_ns)
		format_duration(h->clock_step_ns, step);
	if (!*h->clocksource) {
		finding = finding_add(f, DOCTOR_HOST, "clocksource", FINDING_UNKNOWN,
				      "sysfs does not say which one is used; the clock's least step is %s",
				      step);
	} else if (is_slow(h->clocksource)) {
		finding = finding_add(
			f, DOCTOR_HOST, "clocksource", FINDING_WARN,
			"%s: every stamp is slow to take, and no finer than the clock's least step, %s",
			h->clocksource, step);
		finding_remedy(
			finding,
			"choose a better one of \"%s\" in /sys/devices/system/clocksource/clocksource0; "
			"`dmesg` says why the TSC was given up",
			h->clocksources);
	} else {
		finding = finding_add(f, DOCTOR_HOST, "clocksource", FINDING_OK, "%s, in steps of %s",
				      h->clocksource, step);
	}
	finding_text(finding, "clocksource", h->clocksource);
	finding_duration(finding, "step_ns", h->clock_step_ns);
}

static void suspend(struct findings *f, const struct host_facts *h)
{
	char slept[FORMAT_SIZE];
	struct finding *finding;

	if (!h->suspended_ns)
		finding =
			finding_add(f, DOCTOR_HOST, "suspend", FINDING_OK, "was never suspended since boot");
	else {
		finding = finding_add(
			f, DOCTOR_HOST, "suspend", FINDING_WARN,
			"was suspended for %s since boot: that is no silence, but nothing was heard either",
			format_duration(h->suspended_ns, slept));
		finding_remedy(finding, "an observer should stay awake: `systemctl mask sleep.target`");
	}
	finding_duration(finding, "suspended_ns", h->suspended_ns);
}

void judge_host(struct findings *f, const struct host_facts *h)
{
	kernel_version(f, h);
	for (enum host_feature i = 0; i < HOST_FEATURES; i++)
		feature(f, h, i);
	btf(f, h);
	jit(f, h);
	capabilities(f, h);
	unprivileged(f, h);
	lockdown(f, h);
	memlock(f, h);
	clocksource(f, h);
	suspend(f, h);
}
