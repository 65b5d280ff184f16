/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hosts, stores and traffic, made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>

#include "doctor_findings.h"
#include "kernel/drivers.h"

#define CAP(n) (1ULL << (n))

static struct host_facts healthy(void)
{
	struct host_facts h = {
		.release = "6.12.1",
		.kernel = KERNEL(6, 12),
		.cpus = 4,
		.page_size = 4096,
		.btf = true,
		.jit = 1,
		.capabilities = UINT64_MAX,
		.unprivileged_bpf_disabled = 2,
		.lockdown = "none",
		.memlock_bytes = 8 << 20,
		.clocksource = "tsc",
		.clocksources = "tsc hpet acpi_pm",
		.clock_step_ns = 20,
	};

	for (int i = 0; i < HOST_FEATURES; i++)
		h.features[i] = (struct feature){true, FEATURE_BY_PROBE};
	return h;
}

static void expect(const struct host_facts *h, const char *check, enum finding_status status,
		   const char *fragment)
{
	struct findings f = {0};

	judge_host(&f, h);
	expect_finding(&f, DOCTOR_HOST, check, status, fragment);
	findings_free(&f);
}

static void a_healthy_host_has_nothing_but_ok(void **state)
{
	struct host_facts h = healthy();
	struct findings f = {0};

	(void)state;
	judge_host(&f, &h);
	assert_true(f.n >= 15);
	for (size_t i = 0; i < f.n; i++)
		if (f.list[i].status != FINDING_OK)
			fail_msg("%s: %s", f.list[i].check, f.list[i].text);
	findings_free(&f);
}

static void an_old_kernel(void **state)
{
	struct host_facts h = healthy();

	(void)state;
	h.kernel = KERNEL(5, 15);
	h.features[HOST_TAI] = (struct feature){false, FEATURE_BY_VERSION};
	h.features[HOST_TCX] = (struct feature){false, FEATURE_BY_VERSION};
	h.features[HOST_TIMER_PIN] = (struct feature){false, FEATURE_BY_VERSION};
	h.features[HOST_GROUP_READING] = (struct feature){false, FEATURE_BY_VERSION};
	expect(&h, "kernel_version", FINDING_FAIL, "6.1 or newer");
	expect(&h, "clock_tai", FINDING_FAIL, "(by version)");
	expect(&h, "tcx", FINDING_WARN, "clsact");
	expect(&h, "timer_pin", FINDING_WARN, "another CPU");
	expect(&h, "group_reading", FINDING_WARN, "group");
	expect(&h, "bpf_timer", FINDING_OK, "(tried)");
	expect(&h, "memlock", FINDING_OK, "does not matter");
	h.kernel = KERNEL(5, 10);
	expect(&h, "memlock", FINDING_WARN, "8MiB");
}

static void missing_capabilities_by_name(void **state)
{
	struct host_facts h = healthy();

	(void)state;
	h.capabilities = CAP(CAP_BPF) | CAP(CAP_NET_ADMIN);
	expect(&h, "capabilities", FINDING_WARN, "anything: CAP_PERFMON");
	h.capabilities |= CAP(CAP_PERFMON);
	expect(&h, "capabilities", FINDING_OK, "without CAP_SYS_ADMIN");
	h.capabilities = CAP(CAP_SYS_ADMIN); /* stands for CAP_BPF and CAP_PERFMON */
	expect(&h, "capabilities", FINDING_WARN, "anything: CAP_NET_ADMIN");
	h.capabilities = 0;
	expect(&h, "capabilities", FINDING_WARN, "CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON");
	h.capabilities = UINT64_MAX;
	h.own_user_namespace = true;
	expect(&h, "capabilities", FINDING_WARN, "user namespace");
}

static void jit_lockdown_btf(void **state)
{
	struct host_facts h = healthy();

	(void)state;
	h.jit = 0;
	expect(&h, "jit", FINDING_WARN, "interpreted");
	h.jit = -1;
	expect(&h, "jit", FINDING_UNKNOWN, "bpf_jit_enable");
	snprintf(h.lockdown, sizeof(h.lockdown), "confidentiality");
	expect(&h, "lockdown", FINDING_WARN, "confidentiality");
	h.unprivileged_bpf_disabled = 0;
	expect(&h, "unprivileged_bpf", FINDING_WARN, "everybody");
	h.btf = false;
	expect(&h, "btf", FINDING_WARN, "vmlinux");
}

static void slow_clocks(void **state)
{
	static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies"};
	static const char *const fine[] = {"tsc", "kvm-clock", "arch_sys_counter",
					   "hyperv_clocksource_tsc_page"};
	struct host_facts h = healthy();

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		snprintf(h.clocksource, sizeof(h.clocksource), "%s", slow[i]);
		expect(&h, "clocksource", FINDING_WARN, slow[i]);
		snprintf(h.clocksource, sizeof(h.clocksource), "%s", fine[i]);
		expect(&h, "clocksource", FINDING_OK, fine[i]);
	}
	h.clocksource[0] = '\0';
	expect(&h, "clocksource", FINDING_UNKNOWN, "sysfs");
	h.suspended_ns = 3600000000000;
	expect(&h, "suspend", FINDING_WARN, "1h00m");
}

/* --- the store --- */

static void expect_store(const struct store_facts *s, const char *check, enum finding_status status,
			 const char *fragment)
{
	struct host_facts h = healthy();
	struct findings f = {0};

	judge_store(&f, s, &h);
	expect_finding(&f, DOCTOR_HOST, check, status, fragment);
	findings_free(&f);
}

static void roots_and_stores(void **state)
{
	struct store_facts s = {.root = "/run/x", .root_error = -ENOENT, .root_reason = "because"};

	(void)state;
	expect_store(&s, "bpffs", FINDING_OK, "not there yet");
	s.root_error = -EINVAL;
	expect_store(&s, "bpffs", FINDING_FAIL, "not on a bpffs");
	s.root_error = -EACCES;
	expect_store(&s, "bpffs", FINDING_UNKNOWN, "because");
	s.root_error = 0;
	expect_store(&s, "bpffs", FINDING_WARN, "not to be written");
	s.writable = true;
	expect_store(&s, "bpffs", FINDING_OK, "writable");
	expect_store(&s, "store", FINDING_OK, "none yet");
	snprintf(s.other_abi, sizeof(s.other_abi), "1a2b3c4d");
	expect_store(&s, "store", FINDING_FAIL, "1a2b3c4d");
	s.has_store = true;
	expect_store(&s, "store", FINDING_OK, "this kphi's ABI");
	s.reason = "join the group";
	expect_store(&s, "store", FINDING_UNKNOWN, "join the group");
}

static void ticks_and_stalls(void **state)
{
	struct store_facts s = {.root = "/run/x", .has_store = true, .readable = true, .ticking = 2};

	(void)state;
	s.worst_gap_ns = 12000000;
	expect_store(&s, "ticks", FINDING_OK, "12ms");
	expect_store(&s, "stalls", FINDING_OK, "none");
	s.migrated = 1;
	expect_store(&s, "ticks", FINDING_WARN, "moved");
	s.dead = 1;
	expect_store(&s, "ticks", FINDING_WARN, "lost");
	s.stalls = 3;
	s.stalled_total_ns = 2000000000;
	expect_store(&s, "stalls", FINDING_WARN, "3 of this host's own, 2s in all");
}

/* --- traffic --- */

static void expect_traffic(const struct traffic_facts *t, const char *check, enum finding_status status,
			   const char *fragment)
{
	struct findings f = {0};

	judge_traffic(&f, t);
	expect_finding(&f, DOCTOR_HOST, check, status, fragment);
	findings_free(&f);
}

static struct traffic_facts listening(void)
{
	return (struct traffic_facts){
		.readable = true,
		.devices = 1,
		.ports_known = true,
		.native_ports = 1,
		.native_port = 7441,
		.peers = 1,
		.native_peers = 1,
		.least_interval_ns = 100000000,
		.watched_ns = 1000000000,
	};
}

static void nothing_arrives(void **state)
{
	struct traffic_facts t = listening();

	(void)state;
	expect_traffic(&t, "arrivals", FINDING_FAIL, "received nothing else either");
	t.rx_packets = 100;
	expect_traffic(&t, "arrivals", FINDING_FAIL, "receive other packets");
	t.watched_ns = 0; /* who did not look has seen nothing */
	expect_traffic(&t, "arrivals", FINDING_WARN, "nobody watched");
	expect_traffic(&t, "peers", FINDING_WARN, "never heard: 1 of 1");
}

static void strangers_arrive(void **state)
{
	struct traffic_facts t = listening();

	(void)state;
	t.total[KPHI_COUNT_unknown_peer] = t.watched[KPHI_COUNT_unknown_peer] = 9;
	t.total[KPHI_COUNT_no_rule] = 100; /* of the past */
	expect_traffic(&t, "refused", FINDING_WARN, "9 packets to our ports were refused just now");
	expect_traffic(&t, "arrivals", FINDING_WARN, "none of them is a beat");
	t.watched[KPHI_COUNT_unknown_peer] = 0;
	expect_traffic(&t, "refused", FINDING_WARN,
		       "109 packets to our ports were refused so far; most are packets to a");
	/* What was refused before the peers were right is nobody's concern any more. */
	t.total[KPHI_COUNT_beat] = 10;
	expect_traffic(&t, "refused", FINDING_OK, "109");
	t = listening();
	expect_traffic(&t, "refused", FINDING_OK, "no packet");
}

static void beats_arrive(void **state)
{
	struct traffic_facts t = listening();

	(void)state;
	t.heard = 1;
	t.total[KPHI_COUNT_beat] = 50;
	t.watched[KPHI_COUNT_beat] = 10;
	expect_traffic(&t, "arrivals", FINDING_OK, "10 beats in 1s");
	expect_traffic(&t, "peers", FINDING_OK, "all of 1");
	t.watched[KPHI_COUNT_beat] = 0;
	t.last_beat_ago_ns = 60000000000;
	expect_traffic(&t, "arrivals", FINDING_WARN, "no beat in 1s");
	t.least_interval_ns = 10000000000; /* one second says nothing about a peer of ten */
	expect_traffic(&t, "arrivals", FINDING_OK, "no beat in 1s");
	t.watched_ns = 0;
	expect_traffic(&t, "arrivals", FINDING_OK, "50 beats so far");
}

static void ports_devices_tunnels(void **state)
{
	struct traffic_facts t = listening();

	(void)state;
	expect_traffic(&t, "ports", FINDING_OK, "7441");
	t.native_ports = 0;
	expect_traffic(&t, "ports", FINDING_FAIL, "no native port");
	t.native_peers = 0;
	t.rule_ports = 3;
	expect_traffic(&t, "ports", FINDING_OK, "3");
	t.ports_known = false;
	expect_traffic(&t, "ports", FINDING_UNKNOWN, "root");
	t.devices = 0;
	expect_traffic(&t, "devices", FINDING_WARN, "no device");
	t.devices = -1;
	expect_traffic(&t, "devices", FINDING_UNKNOWN, "root");
	snprintf(t.tunnels, sizeof(t.tunnels), "vxlan0, wg0");
	expect_traffic(&t, "tunnels", FINDING_WARN, "vxlan0, wg0");
	t.heard = t.peers;
	expect_traffic(&t, "tunnels", FINDING_OK, "vxlan0, wg0");
	t.peers = 0;
	expect_traffic(&t, "peers", FINDING_WARN, "no peer was added");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_host_has_nothing_but_ok),
		cmocka_unit_test(an_old_kernel),
		cmocka_unit_test(missing_capabilities_by_name),
		cmocka_unit_test(jit_lockdown_btf),
		cmocka_unit_test(slow_clocks),
		cmocka_unit_test(roots_and_stores),
		cmocka_unit_test(ticks_and_stalls),
		cmocka_unit_test(nothing_arrives),
		cmocka_unit_test(strangers_arrive),
		cmocka_unit_test(beats_arrive),
		cmocka_unit_test(ports_devices_tunnels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
