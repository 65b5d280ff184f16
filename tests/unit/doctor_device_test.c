/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a device is, who is on it, what it lets through: with made-up devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <net/if_arp.h>

#include "doctor_findings.h"
#include "kernel/drivers.h"

#include <linux/if_link.h>

static const struct host_facts host = {.kernel = KERNEL(6, 12), .cpus = 4, .page_size = 4096};

static struct device_facts device(const char *kind)
{
	struct device_facts d = {.master = "", .lower = "", .us = {.known = true}};

	snprintf(d.link.name, sizeof(d.link.name), "dev0");
	snprintf(d.link.kind, sizeof(d.link.kind), "%s", kind);
	d.link.up = d.link.carrier = true;
	d.link.type = ARPHRD_ETHER;
	return d;
}

static void expect(const struct device_facts *d, const char *check, enum finding_status status,
		   const char *fragment)
{
	struct findings f = {0};

	judge_device(&f, d, &host);
	expect_finding(&f, "dev0", check, status, fragment);
	findings_free(&f);
}

static void a_device_that_cannot_hear(void **state)
{
	struct device_facts d = device("");

	(void)state;
	d.nic.speed_mbps = 25000;
	expect(&d, "link", FINDING_OK, "25000 Mbit/s");
	d.link.carrier = false;
	expect(&d, "link", FINDING_FAIL, "no carrier");
	d.link.up = false;
	expect(&d, "link", FINDING_FAIL, "set down");
}

static void where_to_attach_instead(void **state)
{
	struct device_facts d = device("vlan");

	(void)state;
	d.lower = "eth7";
	d.link.vlan = 5;
	expect(&d, "kind", FINDING_WARN, "VLAN 5 of eth7");
	expect_remedy(&d, &host, "kind", "attach to eth7");
	d = device("macvlan");
	d.lower = "eth7";
	expect(&d, "kind", FINDING_WARN, "macvlan on eth7");
	d = device("macvlan"); /* in a container: what is below is elsewhere */
	expect(&d, "kind", FINDING_WARN, "macvlan on the device below it");
	d = device("bridge");
	expect(&d, "kind", FINDING_WARN, "bridge has no native XDP");
	d = device("");
	snprintf(d.link.port_kind, sizeof(d.link.port_kind), "bond");
	d.master = "bond0";
	expect(&d, "kind", FINDING_WARN, "a port of bond bond0");
	expect_remedy(&d, &host, "kind", "attach to bond0");
	snprintf(d.link.port_kind, sizeof(d.link.port_kind), "bridge");
	d.master = "br0";
	expect(&d, "kind", FINDING_OK, "a port of bridge br0");
	d = device("bond");
	expect(&d, "kind", FINDING_OK, "a bond");
}

static void tunnels_with_and_without_ethernet(void **state)
{
	static const char *const without[] = {"gre", "wireguard", "tun", "ipip", "sit"};
	static const char *const with[] = {"vxlan", "gretap", "geneve"};
	struct device_facts d;

	(void)state;
	for (size_t i = 0; i < sizeof(with) / sizeof(*with); i++) {
		d = device(with[i]);
		expect(&d, "kind", FINDING_OK, "came through the tunnel");
	}
	for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++) {
		d = device(without[i]);
		d.link.type = ARPHRD_NONE;
		expect(&d, "kind", FINDING_OK, "without an Ethernet header, so kphi listens at tc");
	}
	d = device("");
	d.link.type = ARPHRD_INFINIBAND;
	expect(&d, "kind", FINDING_WARN, "link type 32");
	d = device("tun"); /* a tap */
	expect(&d, "kind", FINDING_OK, "tun");
}

static void who_is_on_it(void **state)
{
	struct device_facts d = device("");

	(void)state;
	expect(&d, "hook", FINDING_OK, "free");
	d.us = (struct device_attachment){true, true, true, "native", 7};
	d.link.xdp_mode = XDP_ATTACHED_DRV;
	d.link.xdp_program = 7;
	expect(&d, "hook", FINDING_OK, "in native mode");
	d.us.mode = "generic";
	d.features = 1;
	expect(&d, "hook", FINDING_WARN, "generic mode");
	expect_remedy(&d, &host, "hook", "mode native");
	d.us.alive = false;
	expect(&d, "hook", FINDING_FAIL, "taken off");
	d.us = (struct device_attachment){.known = true};
	snprintf(d.xdp_name, sizeof(d.xdp_name), "cil_xdp_entry");
	expect(&d, "hook", FINDING_WARN, "id 7, \"cil_xdp_entry\"");
	snprintf(d.xdp_name, sizeof(d.xdp_name), "xdp_dispatcher");
	expect(&d, "hook", FINDING_WARN, "(libxdp's)");
	snprintf(d.xdp_name, sizeof(d.xdp_name), "?");
	d.us.known = false;
	expect(&d, "hook", FINDING_UNKNOWN, "only root");
}

/* By tc beside a foreign XDP program: both are said. */
static void ours_beside_theirs(void **state)
{
	struct device_facts d = device("");
	struct findings f = {0};

	(void)state;
	d.us = (struct device_attachment){true, true, true, "tc", 9};
	d.link.xdp_mode = XDP_ATTACHED_DRV;
	d.link.xdp_program = 7;
	d.tc.n = 2;
	d.tc.list[0] = (struct occupant){9, "kphi_tc", "tcx"};
	d.tc.list[1] = (struct occupant){11, "cil_from_netdev", "tcx"};
	judge_device(&f, &d, &host);
	for (size_t i = 0, seen = 0; i < f.n; i++)
		if (!strcmp(f.list[i].check, "hook"))
			assert_non_null(strstr(f.list[i].text, seen++ ? "id 7" : "in tc mode"));
	expect_finding(&f, "dev0", "tc_hook", FINDING_OK, "\"cil_from_netdev\" (tcx, id 11)");
	assert_null(strstr(find_one(&f, "dev0", "tc_hook")->text, "kphi_tc"));
	findings_free(&f);
}

static void tc_that_cannot_be_asked(void **state)
{
	struct device_facts d = device("");

	(void)state;
	d.tc.tcx_error = -EPERM;
	expect(&d, "tc_hook", FINDING_UNKNOWN, "CAP_NET_ADMIN");
	d.tc.tcx_error = -EINVAL; /* before 6.6 */
	expect(&d, "tc_hook", FINDING_OK, "no BPF program");
}

static void groups_that_the_nic_filters(void **state)
{
	struct device_facts d = device("");

	(void)state;
	expect(&d, "multicast", FINDING_OK, "no peer");
	d.wanted_count = 1;
	d.wanted[0] = (struct wanted_group){"VRRP", "224.0.0.18", "router", 0, false};
	expect(&d, "multicast", FINDING_WARN, "nobody has joined 224.0.0.18 (VRRP), which router sends to");
	expect_remedy(&d, &host, "multicast", "dev0 autojoin");
	d.link.all_multicast = true;
	expect(&d, "multicast", FINDING_OK, "takes every group");
	d.link.all_multicast = false;
	d.link.promiscuous = true;
	expect(&d, "multicast", FINDING_OK, "takes every group");
	d.link.promiscuous = false;
	d.wanted[0].heard = true;
	expect(&d, "multicast", FINDING_OK, "though nobody has joined");
	d.wanted[0].heard = false;
	d.wanted[0].joined = -EACCES;
	expect(&d, "multicast", FINDING_UNKNOWN, "cannot tell");
	d.wanted[0].joined = 1;
	expect(&d, "multicast", FINDING_OK, "joined");
	d = device("veth");
	d.wanted_count = 1;
	d.wanted[0] = (struct wanted_group){"VRRP", "ff02::12", "router", 0, false};
	expect(&d, "multicast", FINDING_OK, "a veth device filters nothing");
}

static void packets_while_watching(void **state)
{
	struct device_facts d = device("");

	(void)state;
	d.link.rx_packets = 5;
	expect(&d, "packets", FINDING_OK, "5 packets so far");
	d.watched_ns = 1000000000;
	expect(&d, "packets", FINDING_WARN, "nothing at all in 1s");
	d.rx_packets = 2;
	expect(&d, "packets", FINDING_OK, "2 packets in 1s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_that_cannot_hear),
		cmocka_unit_test(where_to_attach_instead),
		cmocka_unit_test(tunnels_with_and_without_ethernet),
		cmocka_unit_test(who_is_on_it),
		cmocka_unit_test(ours_beside_theirs),
		cmocka_unit_test(tc_that_cannot_be_asked),
		cmocka_unit_test(groups_that_the_nic_filters),
		cmocka_unit_test(packets_while_watching),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
