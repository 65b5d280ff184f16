/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What drivers refuse, with made-up cards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <net/if_arp.h>

#include "doctor/judge.h"
#include "doctor_findings.h"
#include "kernel/drivers.h"
#include "kernel/xdp_features.h"

static struct host_facts host_of(uint32_t kernel, uint32_t cpus)
{
	struct host_facts h = {.kernel = kernel, .cpus = cpus, .page_size = 4096};

	h.features[HOST_XDP_FRAGS].there = kernel >= KERNEL(5, 18);
	return h;
}

/* As a kernel before 6.3 leaves it: the driver's name is all there is. */
static struct device_facts card(const char *driver)
{
	struct device_facts d = {.features_error = -ENOENT, .master = "", .lower = "", .us = {.known = true}};

	snprintf(d.link.name, sizeof(d.link.name), "eth0");
	snprintf(d.nic.driver, sizeof(d.nic.driver), "%s", driver);
	d.link.up = d.link.carrier = true;
	d.link.type = ARPHRD_ETHER;
	d.link.mtu = 1500;
	d.nic.gro_hw.fixed = d.nic.lro.fixed = true;
	return d;
}

static void expect(const struct device_facts *d, const struct host_facts *h, const char *check,
		   enum finding_status status, const char *fragment)
{
	struct findings f = {0};

	judge_device(&f, d, h);
	expect_finding(&f, "eth0", check, status, fragment);
	findings_free(&f);
}

static void native_by_the_driver_by_table_or_not_at_all(void **state)
{
	struct host_facts h = host_of(KERNEL(6, 1), 4);
	struct device_facts d = card("mlx5_core");

	(void)state;
	expect(&d, &h, "native_xdp", FINDING_OK, "by table");
	d = card("gve"); /* since 6.4 */
	expect(&d, &h, "native_xdp", FINDING_WARN, "by table");
	d = card("8139cp");
	expect(&d, &h, "native_xdp", FINDING_UNKNOWN, "in no table");
	d.features_error = 0;
	expect(&d, &h, "native_xdp", FINDING_WARN, "the driver says so");
	d.features = XDP_FEATURE_BASIC;
	expect(&d, &h, "native_xdp", FINDING_OK, "the driver says so");
}

static void an_mtu_beyond_the_driver_fails(void **state)
{
	static const struct {
		const char *driver;
		uint32_t kernel, limit; /* 0: none */
	} cases[] = {
		{"ena", KERNEL(6, 12), 3498},       {"ixgbe", KERNEL(6, 12), 3050},
		{"ixgbevf", KERNEL(6, 12), 3050},   {"virtio_net", KERNEL(6, 1), 3506},
		{"virtio_net", KERNEL(6, 3), 0},    {"mlx5_core", KERNEL(6, 1), 0},
		{"mlx5_core", KERNEL(5, 15), 3498}, {"mlx4_en", KERNEL(6, 12), 3498},
		{"bnxt_en", KERNEL(6, 1), 0},       {"i40e", KERNEL(6, 1), 3046},
		{"i40e", KERNEL(6, 4), 9702},       {"ice", KERNEL(6, 1), 3046},
		{"ice", KERNEL(6, 3), 0},           {"igb", KERNEL(6, 1), 3046},
		{"hv_netvsc", KERNEL(6, 1), 3506},  {"mana", KERNEL(6, 1), 3506},
		{"gve", KERNEL(6, 4), 2032},        {"vmxnet3", KERNEL(6, 6), 3494},
		{"atlantic", KERNEL(6, 1), 0},      {"veth", KERNEL(6, 1), 73152},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct host_facts h = host_of(cases[i].kernel, 4);
		struct device_facts d = card(cases[i].driver);
		char limit[64];

		d.link.mtu = cases[i].limit ?: 65535;
		expect(&d, &h, "mtu", FINDING_OK, "MTU");
		snprintf(limit, sizeof(limit), "%s takes with native XDP (%u)", cases[i].driver,
			 cases[i].limit);
		d.link.mtu++;
		expect(&d, &h, "mtu", cases[i].limit ? FINDING_FAIL : FINDING_OK,
		       cases[i].limit ? limit : "MTU");
		/* Whoever has taken it is not argued with. */
		d.us = (struct device_attachment){true, true, true, "native", 1};
		expect(&d, &h, "mtu", FINDING_OK, "is attached with it");
	}
}

static void limits_are_for_small_pages(void **state)
{
	struct host_facts h = host_of(KERNEL(6, 1), 4);
	struct device_facts d = card("ena");

	(void)state;
	h.page_size = 65536;
	d.link.mtu = 9000;
	expect(&d, &h, "mtu", FINDING_UNKNOWN, "4 KiB");
}

/* The driver's word is newer than the table: it takes no frags with its present settings. */
static void frags_by_the_driver(void **state)
{
	struct host_facts h = host_of(KERNEL(6, 12), 4);
	struct device_facts d = card("mlx5_core");

	(void)state;
	d.features_error = 0;
	d.features = XDP_FEATURE_BASIC;
	d.link.mtu = 9000;
	expect(&d, &h, "mtu", FINDING_FAIL, "(3498)");
	d.features |= XDP_FEATURE_FRAGS;
	expect(&d, &h, "mtu", FINDING_OK, "several buffers");
}

static void ena_takes_half_of_its_channels(void **state)
{
	struct host_facts h = host_of(KERNEL(6, 1), 4);
	struct device_facts d = card("ena");

	(void)state;
	d.nic.has_channels = true;
	d.nic.channels_max.combined = 8;
	d.nic.channels.combined = 4;
	expect(&d, &h, "channels", FINDING_OK, "4 combined");
	d.nic.channels.combined = 5;
	expect(&d, &h, "channels", FINDING_FAIL, "half");
	expect_remedy(&d, &h, "channels", "ethtool -L eth0 combined 4");
}

static void gve_wants_as_many_each_way(void **state)
{
	struct host_facts h = host_of(KERNEL(6, 6), 4);
	struct device_facts d = card("gve");

	(void)state;
	d.nic.has_channels = true;
	d.nic.channels_max.tx = d.nic.channels_max.rx = 16;
	d.nic.channels.tx = d.nic.channels.rx = 8;
	expect(&d, &h, "channels", FINDING_OK, "8 receive");
	d.nic.channels.tx = 4;
	expect(&d, &h, "channels", FINDING_FAIL, "as many receive as transmit");
	d.nic.channels.tx = d.nic.channels.rx = 9;
	expect(&d, &h, "channels", FINDING_FAIL, "at most half");
}

static void ixgbe_and_many_cpus(void **state)
{
	struct device_facts d = card("ixgbe");
	struct host_facts h = host_of(KERNEL(5, 15), 64);

	(void)state;
	expect(&d, &h, "channels", FINDING_OK, "");
	h = host_of(KERNEL(5, 15), 65);
	expect(&d, &h, "channels", FINDING_FAIL, "up to 64 CPUs");
	h = host_of(KERNEL(6, 1), 128);
	expect(&d, &h, "channels", FINDING_OK, "");
	h = host_of(KERNEL(6, 1), 129);
	expect(&d, &h, "channels", FINDING_FAIL, "up to 128 CPUs");
}

static void virtio_and_too_few_queues(void **state)
{
	struct device_facts d = card("virtio_net");
	struct host_facts h = host_of(KERNEL(5, 10), 4);

	(void)state;
	d.nic.has_channels = true;
	d.nic.channels.combined = 4;
	d.nic.channels_max.combined = 8;
	expect(&d, &h, "channels", FINDING_OK, "");
	d.nic.channels_max.combined = 7;
	expect(&d, &h, "channels", FINDING_FAIL, "before Linux 5.13");
	h = host_of(KERNEL(6, 1), 4); /* shares them */
	expect(&d, &h, "channels", FINDING_OK, "");
}

static void bnxt_combines_and_veth_evens_out(void **state)
{
	struct host_facts h = host_of(KERNEL(6, 1), 4);
	struct device_facts d = card("bnxt_en");

	(void)state;
	d.nic.has_channels = true;
	d.nic.channels.rx = d.nic.channels.tx = 4;
	expect(&d, &h, "channels", FINDING_FAIL, "combined channels");
	d.nic.channels.combined = 4;
	expect(&d, &h, "channels", FINDING_OK, "");
	d = card("veth");
	d.nic.has_channels = true;
	d.nic.channels.rx = 1;
	d.cable_tx_queues = 1;
	expect(&d, &h, "channels", FINDING_OK, "");
	d.cable_tx_queues = 4;
	expect(&d, &h, "channels", FINDING_FAIL, "fewer receive queues");
}

static void lro_where_it_is_refused(void **state)
{
	static const char *const refuse[] = {"ixgbe", "hv_netvsc", "mlx5_core", "gve"};
	static const char *const accept[] = {"vmxnet3", "bnxt_en", "atlantic", "ice"};
	struct host_facts h = host_of(KERNEL(6, 6), 4);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct device_facts d = card(refuse[i]);

		expect(&d, &h, "receive_offloads", FINDING_OK, "are off");
		d.nic.lro = (struct ethtool_switch){.on = true};
		expect(&d, &h, "receive_offloads", FINDING_FAIL, refuse[i]);
		expect_remedy(&d, &h, "receive_offloads", "ethtool -K eth0 lro off");
		d = card(accept[i]);
		d.nic.lro = (struct ethtool_switch){.on = true};
		expect(&d, &h, "receive_offloads", FINDING_OK, "not known to refuse");
	}
}

static void virtio_whose_offloads_are_the_hypervisors(void **state)
{
	struct host_facts h = host_of(KERNEL(6, 1), 4);
	struct device_facts d = card("virtio_net");

	(void)state;
	expect(&d, &h, "receive_offloads", FINDING_OK, "");
	d.nic.gro_hw = (struct ethtool_switch){.on = true, .fixed = true};
	expect(&d, &h, "receive_offloads", FINDING_FAIL, "hypervisor");
	d.nic.gro_hw = (struct ethtool_switch){.on = false, .fixed = true};
	d.nic.rx_checksum = (struct ethtool_switch){.on = true, .fixed = true};
	expect(&d, &h, "receive_offloads", FINDING_FAIL, "hypervisor");
	/* It can be told to stop, and the driver does that by itself. */
	d.nic.gro_hw = (struct ethtool_switch){.on = true};
	expect(&d, &h, "receive_offloads", FINDING_OK, "");
}

static void coalescing_against_the_smallest_floor(void **state)
{
	struct host_facts h = host_of(KERNEL(6, 1), 4);
	struct device_facts d = card("ice");

	(void)state;
	expect(&d, &h, "coalescing", FINDING_OK, "none to set");
	d.nic.has_coalescing = true;
	expect(&d, &h, "coalescing", FINDING_OK, "no packet waits");
	d.nic.rx_usecs = 50;
	expect(&d, &h, "coalescing", FINDING_OK, "50us");
	d.min_std_ns = 500000;
	d.min_std_peer = "db1";
	expect(&d, &h, "coalescing", FINDING_OK, "50us");
	d.min_std_ns = 499999;
	expect(&d, &h, "coalescing", FINDING_WARN, "of db1");
	/* Adaptive: as long as it may become. */
	d.min_std_ns = 1000000;
	d.nic.rx_usecs_high = 200;
	expect(&d, &h, "coalescing", FINDING_OK, "50us");
	d.nic.adaptive = true;
	expect(&d, &h, "coalescing", FINDING_WARN, "200us (adaptive)");
}

static void threads_that_wait_for_their_turn(void **state)
{
	struct host_facts h = host_of(KERNEL(6, 1), 4);
	struct device_facts d = card("ice");

	(void)state;
	expect(&d, &h, "threaded_napi", FINDING_OK, "by softirq");
	d.threaded = 1;
	expect(&d, &h, "threaded_napi", FINDING_WARN, "stamped late");
}

static void vlan_tags_that_are_stripped(void **state)
{
	struct host_facts h = host_of(KERNEL(6, 1), 4);
	struct device_facts d = card("ice");

	(void)state;
	expect(&d, &h, "vlan_offload", FINDING_OK, "off");
	d.nic.rx_vlan.on = true;
	expect(&d, &h, "vlan_offload", FINDING_OK, "no VLANs");
	d.vlans = 2;
	expect(&d, &h, "vlan_offload", FINDING_WARN, "all 2 VLANs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(native_by_the_driver_by_table_or_not_at_all),
		cmocka_unit_test(an_mtu_beyond_the_driver_fails),
		cmocka_unit_test(limits_are_for_small_pages),
		cmocka_unit_test(frags_by_the_driver),
		cmocka_unit_test(ena_takes_half_of_its_channels),
		cmocka_unit_test(gve_wants_as_many_each_way),
		cmocka_unit_test(ixgbe_and_many_cpus),
		cmocka_unit_test(virtio_and_too_few_queues),
		cmocka_unit_test(bnxt_combines_and_veth_evens_out),
		cmocka_unit_test(lro_where_it_is_refused),
		cmocka_unit_test(virtio_whose_offloads_are_the_hypervisors),
		cmocka_unit_test(coalescing_against_the_smallest_floor),
		cmocka_unit_test(threads_that_wait_for_their_turn),
		cmocka_unit_test(vlan_tags_that_are_stripped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
