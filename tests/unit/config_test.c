/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The configuration file: what it means, and with which words and which line a wrong one is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <kphi/wire.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/models.h"
#include "rule/describe.h"
#include "run/config.h"

#define ID_A "aa010203-0405-0607-0809-0a0b0c0d0e0f"
#define ID_B "bb010203-0405-0607-0809-0a0b0c0d0e0f"

static char path[] = "build/config-test-XXXXXX";
static char said[CONFIG_WHY_SIZE];

static int make_file(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "build/config-test-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static struct config *load(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
	*said = '\0';
	return config_load(path, said);
}

static struct config *load_good(const char *text)
{
	struct config *c = load(text);

	if (!c)
		print_message("%s\n%s\n", text, said);
	assert_non_null(c);
	return c;
}

static void smallest_file_has_five_lines(void **state)
{
	struct config *c = load_good("devices:\n"
				     "  - name: eth0\n"
				     "peers:\n"
				     "  - {name: db1, id: " ID_A "}\n"
				     "  - {name: db2, id: " ID_B "}\n");

	(void)state;
	assert_int_equal(c->devices_count, 1);
	assert_string_equal(c->devices[0].name, "eth0");
	assert_int_equal(c->devices[0].mode, ATTACH_AUTO);
	assert_int_equal(c->devices[0].port, KPHI_WIRE_PORT);
	assert_int_equal(c->peers_count, 2);
	assert_int_equal(c->peers[0].id.kind, KPHI_ID_NATIVE);
	assert_int_equal(c->peers[0].id.bytes[0], 0xaa);
	assert_int_equal(c->peers[0].interval_ns, 0);
	assert_int_equal(c->peers[0].model, KPHI_MODEL_NORMAL);
	assert_int_equal(c->peers[0].set, 0);
	assert_int_equal(c->engine.consumers, 1);
	assert_string_equal(c->engine.consumer[0].name, "default");
	assert_int_equal(c->engine.consumer[0].suspect, 8 * Q32_ONE);
	assert_int_equal(c->engine.consumer[0].clear, 4 * Q32_ONE);
	assert_true(c->engine.consumer[0].correlated);
	assert_false(c->engine.consumer[0].shadow);
	assert_int_equal(c->consumer[0].peers_count, 0);
	assert_null(c->consumer[0].exec);
	assert_int_equal(c->engine.correlated_ppm, 500000);
	assert_int_equal(c->engine.correlated_min, 2);
	assert_int_equal(c->engine.hold_max_ns, 60000000000);
	assert_int_equal(c->engine.verdict_ttl_ns, 3000000000);
	assert_string_equal(c->socket, "/run/kphi/event.sock");
	assert_string_equal(c->state, "/var/lib/kphi");
	assert_null(c->group);
	assert_true(c->standard);
	assert_int_equal(c->priority, 10);
	assert_string_equal(c->web.listen, "127.0.0.1:7441");
	assert_null(c->web.hosts);
	assert_string_equal(c->web.per_peer, "all");
	assert_int_equal(c->web.peers_max, 10000);
	config_free(c);
}

static void the_server_listens_where_it_is_told(void **state)
{
	static const struct {
		const char *text, *listen;
	} cases[] = {
		{"10.0.0.1", "10.0.0.1"},
		{"0.0.0.0:80", "0.0.0.0:80"},
		{"'[::1]:7441'", "[::1]:7441"},
		{"unix:/run/kphi/web.sock", "unix:/run/kphi/web.sock"},
		{"no", NULL},
		{"off", NULL},
		{"false", NULL},
	};
	char text[100];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct config *c;

		snprintf(text, sizeof(text), "web: {listen: %s}\n", cases[i].text);
		c = load_good(text);
		if (cases[i].listen)
			assert_string_equal(c->web.listen, cases[i].listen);
		else
			assert_null(c->web.listen);
		config_free(c);
	}
}

static void every_model_may_be_named(void **state)
{
	char text[200];

	(void)state;
	for (int model = 0; model < KPHI_MODELS; model++) {
		struct config *c;

		snprintf(text, sizeof(text), "peers:\n  - {name: a, id: %s, model: %s%s}\n", ID_A,
			 model_names[model], model_has_min_std((uint8_t)model) ? ", min_std: 2ms" : "");
		c = load(text);
		assert_non_null(c);
		assert_int_equal(c->peers[0].model, model);
		assert_int_equal(c->peers[0].min_std_ns, model_has_min_std((uint8_t)model) ? 2000000 : 0);
		config_free(c);
	}
}

static const char everything[] = "devices:\n"
				 "  - {name: eth0, mode: native, port: 7441}\n"
				 "  - {name: eth1.7, mode: generic, port: 7500}\n"
				 "  - {name: eth2, mode: tc}\n"
				 "peers:\n"
				 "  - name: z\n"
				 "    id: " ID_A "\n"
				 "    interval: 100ms\n"
				 "    model: akka\n"
				 "    min_std: 0\n"
				 "    pause: 1.5s\n"
				 "    max_interval: 2s\n"
				 "    host: rack 1\n"
				 "  - interval: 1s\n"
				 "    port: 9000\n"
				 "    host: rack 2\n"
				 "    list:\n"
				 "      - {name: web1, from: 10.0.0.1}\n"
				 "      - {name: web2, from: 'fd00::2', port: 9001, host: rack 3}\n"
				 "      - {name: web3, id: " ID_B "}\n"
				 "  - proto: bfd\n"
				 "    local_rx: 300ms\n"
				 "    list:\n"
				 "      - {name: yb1, from: 10.0.0.1}\n"
				 "      - {name: yb2, from: 10.0.0.1, port: 4784, discriminator: 7}\n"
				 "  - {name: yc, proto: corosync, from: 10.0.0.3, port: 5406}\n"
				 "  - {name: yi, proto: ip, protocol: 89, from: 10.0.0.3}\n"
				 "  - {name: ym, proto: memberlist, from: 10.0.0.3}\n"
				 "  - name: yu\n"
				 "    proto: udp\n"
				 "    port: 9000\n"
				 "    match: [0:0181, '4:30/f0']\n"
				 "    sequence: 4:32le\n"
				 "    leave: 9:ff\n"
				 "    ttl: 255\n"
				 "    vlan: 7\n"
				 "    device: eth0\n"
				 "  - {name: yv, proto: vrrp, vrid: 51}\n"
				 "consumers:\n"
				 "  - name: page\n"
				 "    suspect: 8.5\n"
				 "    clear: 0.25\n"
				 "    min_samples: 20\n"
				 "    peers: [z, 'web*', '[ab]?']\n"
				 "    correlated: off\n"
				 "    exec: logger -t kphi\n"
				 "    exec_timeout: 2s\n"
				 "    exec_per_minute: 60\n"
				 "    exec_burst: 9\n"
				 "  - {name: watch, suspect: 3, shadow: yes}\n"
				 "guard:\n"
				 "  correlated: 12.5%\n"
				 "  correlated_min: 3\n"
				 "  hold_max: 30s\n"
				 "  verdict_ttl: 5s\n"
				 "outputs:\n"
				 "  socket: /tmp/s\n"
				 "  group: root\n"
				 "  stdout: no\n"
				 "web:\n"
				 "  listen: '[::1]:8080'\n"
				 "  hosts: [mon.example, a-b_c]\n"
				 "metrics:\n"
				 "  per_peer: suspect\n"
				 "  peers_max: 0\n"
				 "state: /tmp/d\n"
				 "priority: 0\n";

static void everything_is_taken(void **state)
{
	struct config *c = load_good(everything);
	const struct kphi_peer *z = &c->peers[10], *web1 = &c->peers[0], *web2 = &c->peers[1];

	(void)state;
	assert_int_equal(c->devices[0].mode, ATTACH_NATIVE);
	assert_int_equal(c->devices[1].mode, ATTACH_GENERIC);
	assert_int_equal(c->devices[2].mode, ATTACH_TC);
	assert_int_equal(c->devices[1].port, 7500);
	assert_int_equal(c->peers_count, 11);
	assert_string_equal(z->name, "z");
	assert_string_equal(z->host, "rack 1");
	assert_int_equal(z->interval_ns, 100000000);
	assert_int_equal(z->model, KPHI_MODEL_AKKA);
	assert_int_equal(z->set, KPHI_SET_MIN_STD | KPHI_SET_PAUSE);
	assert_int_equal(z->min_std_ns, 0);
	assert_int_equal(z->pause_ns, 1500000000);
	assert_int_equal(z->max_interval_ns, 2000000000);
	assert_string_equal(web1->name, "web1");
	assert_string_equal(web1->host, "rack 2");
	assert_int_equal(web1->id.kind, KPHI_ID_RULE);
	assert_int_equal(web1->id.protocol, 17);
	assert_int_equal(web1->id.port, 9000);
	assert_int_equal(web1->id.bytes[15], 1);
	assert_int_equal(web1->interval_ns, 1000000000);
	assert_string_equal(web2->host, "rack 3");
	assert_int_equal(web2->id.port, 9001);
	assert_int_equal(c->peers[2].id.port, 0);
	assert_int_equal(c->engine.consumer[0].suspect, 8 * Q32_ONE + Q32_ONE / 2);
	assert_int_equal(c->engine.consumer[0].clear, Q32_ONE / 4);
	assert_int_equal(c->engine.consumer[0].min_samples, 20);
	assert_false(c->engine.consumer[0].correlated);
	assert_string_equal(c->consumer[0].exec, "logger -t kphi");
	assert_int_equal(c->consumer[0].exec_timeout_ns, 2000000000);
	assert_int_equal(c->consumer[0].exec_per_minute, 60);
	assert_int_equal(c->consumer[0].exec_burst, 9);
	assert_int_equal(c->consumer[0].peers_count, 3);
	assert_string_equal(c->consumer[0].peers[1], "web*");
	assert_true(c->engine.consumer[1].shadow);
	assert_int_equal(c->engine.consumer[1].clear, 3 * Q32_ONE / 2);
	assert_int_equal(c->engine.correlated_ppm, 125000);
	assert_int_equal(c->engine.correlated_min, 3);
	assert_int_equal(c->engine.hold_max_ns, 30000000000);
	assert_int_equal(c->engine.verdict_ttl_ns, 5000000000);
	assert_string_equal(c->socket, "/tmp/s");
	assert_string_equal(c->group, "root");
	assert_false(c->standard);
	assert_string_equal(c->state, "/tmp/d");
	assert_int_equal(c->priority, 0);
	assert_string_equal(c->web.listen, "[::1]:8080");
	assert_string_equal(c->web.hosts, "mon.example,a-b_c");
	assert_string_equal(c->web.per_peer, "suspect");
	assert_int_equal(c->web.peers_max, 0);
	config_free(c);
}

static void rules_are_taken(void **state)
{
	static const char *const names[] = {"yb1", "yb2", "yc", "yi", "ym", "yu", "yv"};
	static const char *const words[] = {
		"proto bfd from 10.0.0.1 port 3784 local-rx 300ms",
		"proto bfd from 10.0.0.1 port 4784 discriminator 7 local-rx 300ms",
		"proto corosync from 10.0.0.3 port 5406",
		"proto ip protocol 89 from 10.0.0.3",
		"proto memberlist from 10.0.0.3 port 7946",
		"proto udp port 9000 match 0:0181 match 4:30/f0 sequence 4:32le leave 9:ff ttl 255 vlan 7 "
		"dev eth0",
		"proto vrrp vrid 51",
	};
	struct config *c = load_good(everything);
	char text[RULE_WORDS];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_string_equal(c->peers[3 + i].name, names[i]);
		rule_words(&c->peers[3 + i], &c->rules[3 + i], text);
		assert_string_equal(text, words[i]);
	}
	assert_int_equal(c->peers[3].model, KPHI_MODEL_NORMAL);
	assert_int_equal(c->peers[7].model, KPHI_MODEL_EXPONENTIAL);
	config_free(c);
}

static const struct {
	const char *text;
	unsigned int line;
	const char *reason;
} wrong[] = {
	/* what is no YAML, or no configuration */
	{"", 1, "nothing is configured here"},
	{"# later\n", 1, "nothing is configured here"},
	{"devices:\n  - name: 'eth0\n", 3, "this is no YAML"},
	{"devices:\n\t- name: eth0\n", 2, "this is no YAML"},
	{"state: /a\npriority: \"\xff\"\n", 2, "this is no YAML: invalid leading UTF-8 octet"},
	{"state: /a\n---\nstate: /b\n", 3, "second document"},
	{"- devices\n", 1, "keys with values"},
	{"state: &x /a\nconsumers:\n  - name: *x\n", 3, "an alias"},
	{"state: *x\n", 1, "this is no YAML: found undefined alias"},

	/* unknown keys: the line of the key itself, not of what is around it */
	{"devices:\n  - name: eth0\n    prot: 7441\n", 3,
	 "unknown key: 'prot' is unknown: did you mean port"},
	{"state: /a\nconsumer:\n  - name: a\n", 2,
	 "unknown key 'consumer': keys are not abbreviated; write 'consumers'"},
	{"state: /a\ncolor: red\n", 2,
	 "choose devices, keys, peers, consumers, guard, outputs, web, metrics, state or priority"},
	{"guard:\n  correlated: 50%\n  ttl: 3s\n", 3, "correlated_min"},
	{"peers:\n  - name: a\n    list:\n      - name: b\n      - name: c\n        interval: 1s\n", 6,
	 "'interval' is unknown"},
	{"state: /a\nstate: /b\n", 2, "the key 'state' is here twice"},
	{"consumers:\n  - name: a\n    name: b\n", 3, "the key 'name' is here twice"},

	/* shapes */
	{"devices: eth0\n", 1, "a list"},
	{"devices:\n", 1, "a list"},
	{"devices:\n  - eth0\n", 2, "keys with values"},
	{"state:\n  - /a\n", 1, "a single value"},
	{"guard: [1]\n", 1, "keys with values"},
	{"consumers:\n  - name: a\n    peers: b\n", 3, "a list"},

	/* devices */
	{"devices:\n  - mode: native\n", 2, "a device needs its `name`"},
	{"devices:\n  - name: averyveryverylongname\n", 2, "is no device"},
	{"devices:\n  - name: a/b\n", 2, "is no device"},
	{"devices:\n  - name: a\n    mode: hardware\n", 3, "mode: 'hardware' is unknown"},
	{"devices:\n  - name: a\n    mode: nat\n", 3, "write 'native'"},
	{"devices:\n  - name: a\n    port: 0\n", 3, "port: '0' is not a port"},
	{"devices:\n  - name: a\n  - name: b\n  - name: a\n", 4, "device a is here twice"},

	/* peers */
	{"peers:\n  - id: " ID_A "\n", 2, "a peer needs a `name`"},
	{"peers:\n  - name: a\n", 2, "say who a is"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    from: 10.0.0\n", 4, "from: "},
	{"peers:\n  - name: a\n    id: " ID_A "\n    from: 10.0.0.1, 10.0.0.1\n", 4, "is there twice"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    key: k\n", 4, "there is no such name in `keys`"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    min_epoch: -1\n", 4, "min_epoch: "},
	{"peers:\n  - name: a\n    from: 10.0.0.1\n    port: 9\n    min_epoch: 1\n", 5,
	 "it goes with an `id`"},
	{"keys:\n  - file: /a\n", 2, "a key needs a `name`"},
	{"keys:\n  - name: k\n", 2, "a key needs its `file`"},
	{"keys:\n  - name: k\n    file: k\n", 3, "a key needs its `file`, an absolute path"},
	{"keys:\n  - name: k\n    file: /nowhere/k\n", 3, "/nowhere/k: cannot be read: No such file"},
	{"peers:\n  - name: a\n    from: 10.0.0.1\n", 3, "go together"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    port: 9\n", 4, "port: that is of a rule"},
	{"peers:\n  - name: a\n    id: xyz\n", 3, "id: 'xyz'"},
	{"peers:\n  - name: a\n    from: host\n    port: 9\n", 3, "from: 'host'"},
	{"peers:\n  - name: a\n    from: 10.0.0.1\n    port: 99999\n", 4, "port: '99999' is not a port"},
	{"peers:\n  - name: ''\n    id: " ID_A "\n", 2, "name: a name must not be empty"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    interval: 5\n", 4, "interval: '5' has no unit"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    interval: 5 parsecs\n", 4, "has an unknown unit"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    interval:\n", 4, "interval: '' is not a duration"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    interval: 1ns\n", 4, "out of range"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    model: gamma\n", 4,
	 "choose normal, akka, exponential, loss or empirical"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    model: exponential\n    pause: 1s\n", 5,
	 "no such setting"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    model: loss\n    pause: 1s\n", 5,
	 "pause: its model has none: it learns"},
	{"peers:\n  - name: a\n    model: empirical\n    id: " ID_A "\n    pause: 0s\n", 5,
	 "pause: its model has none: it learns"},
	{"peers:\n  - name: a\n    id: " ID_A "\n    max_interval: 1s\n    interval: 2s\n", 4,
	 "below `interval`"},
	{"peers:\n  - name: a\n    id: " ID_A "\n  - name: a\n    id: " ID_B "\n", 4,
	 "peer a has the same name as a of line 2"},
	{"peers:\n  - name: a\n    id: " ID_A "\n  - list:\n      - {name: b, id: " ID_B
	 "}\n      - {name: c, id: " ID_A "}\n",
	 6, "peer c has the same identity as a of line 2"},
	{"peers:\n  - name: a\n    list: [{name: b, id: " ID_B "}]\n", 2, "either one peer"},

	/* rules */
	{"peers:\n  - name: a\n    proto: ospf\n    from: 10.0.0.1\n", 3,
	 "proto: 'ospf' is unknown: choose udp, ip, bfd, vrrp, corosync or memberlist"},
	{"peers:\n  - name: a\n    proto: vrr\n    vrid: 1\n", 3, "write 'vrrp'"},
	{"peers:\n  - name: a\n    proto: bfd\n    from: 10.0.0.1\n    ttl: 1\n", 5,
	 "`proto bfd` takes `from`, `port`, `discriminator`, `local_rx`, `vlan` and `device`, but no `ttl`"},
	{"peers:\n  - name: a\n    proto: bfd\n    from: 10.0.0.1\n    interval: 1s\n", 2,
	 "leave it out, and give this host's required minimum receive interval as `local_rx`"},
	{"peers:\n  - name: a\n    proto: udp\n    port: 9\n", 2, "a rule without `from` needs a `match`"},
	{"peers:\n  - name: a\n    port: 9\n    match:\n      - 0:01\n      - 1:02\n      - 2:03\n", 4,
	 "match: a rule looks at two places at most"},
	{"peers:\n  - name: a\n    port: 9\n    match: 0:01\n", 4, "a list"},
	{"peers:\n  - name: a\n    port: 9\n    match: [0:0]\n", 4, "match: '0:0' has 1 hex digits"},
	{"peers:\n  - name: a\n    proto: memberlist\n    from: 10.0.0.1\n    pause: 1s\n", 2,
	 "judged by the exponential model"},
	{"peers:\n  - proto: vrrp\n    list:\n      - {name: a, vrid: 1}\n      - {name: b, vrid: 0}\n", 5,
	 "vrid: '0' is out of range"},
	{"peers:\n  - proto: vrrp\n    list:\n      - {name: a, vrid: 1}\n      - {name: b, vrid: 1}\n", 5,
	 "peer b has the same identity as a of line 4"},
	{"peers:\n  - proto: bfd\n    list:\n      - {name: a, from: 10.0.0.1}\n      - {name: b, id: " ID_A
	 ", vlan: 1}\n",
	 5, "vlan: that is of a rule"},

	/* consumers */
	{"consumers:\n  - suspect: 8\n", 2, "a consumer needs a `name`"},
	{"consumers:\n  - name: a\n  - name: a\n", 3, "consumer a is here twice"},
	{"consumers:\n  - name: a\n    suspect: 4\n    clear: 4.001\n", 4,
	 "clear: 4.001 is above the `suspect` threshold of 4.000"},
	{"consumers:\n  - name: a\n    suspect: 0\n", 3, "suspect: '0' must be above 0"},
	{"consumers:\n  - name: a\n    suspect: -8\n", 3, "suspect: '-8' is no phi"},
	{"consumers:\n  - name: a\n    clear: 8e3\n", 3, "clear: '8e3' is no phi"},
	{"consumers:\n  - name: a\n    suspect: 1s\n", 3, "suspect: '1s' is no phi"},
	{"consumers:\n  - name: a\n    min_samples: 1.5\n", 3, "min_samples: '1.5' is not a whole number"},
	{"consumers:\n  - name: a\n    correlated: maybe\n", 3, "'maybe' is neither on nor off"},
	{"consumers:\n  - name: a\n    peers:\n      - 'x*'\n      - db1\n", 5,
	 "no peer of this file is called 'db1'"},
	{"consumers:\n  - name: a\n    peers:\n      -\n", 4, "must not be empty"},
	{"consumers:\n  - name: a\n    exec: ''\n", 3, "exec: a command must not be empty"},
	{"consumers:\n  - name: a\n    shadow: on\n    exec: date\n", 4, "runs nothing"},
	{"consumers:\n  - name: a\n    exec: date\n    exec_timeout: 10\n", 4,
	 "exec_timeout: '10' has no unit"},
	{"consumers:\n  - name: a\n    exec_burst: 0\n", 3, "exec_burst: '0' is out of range"},

	/* the rest */
	{"guard:\n  correlated: 0.5\n", 2, "correlated: '0.5' is not a percentage"},
	{"guard:\n  correlated_min: 1\n", 2, "correlated_min: '1' is out of range"},
	{"guard:\n  hold_max: 60\n", 2, "hold_max: '60' has no unit"},
	{"guard:\n  verdict_ttl: 1s\n", 2, "verdict_ttl: '1s' is out of range"},
	{"outputs:\n  socket: event.sock\n", 2, "socket: 'event.sock' is no absolute path"},
	{"outputs:\n  group: no such group\n", 2, "there is no group 'no such group'"},
	{"outputs:\n  stdout: 1\n", 2, "'1' is neither on nor off"},
	{"web:\n  listen: yes\n", 2, "listen: 'yes' is"},
	{"web:\n  listen: mon.example:80\n", 2, "or write unix:/PATH, or no"},
	{"web:\n  listen: 127.0.0.1:0\n", 2, "listen: "},
	{"web:\n  listen: unix:web.sock\n", 2, "listen: 'web.sock' is no absolute path"},
	{"web:\n  hosts: a\n", 2, "a list"},
	{"web:\n  hosts:\n    - good\n    - a,b\n", 4, "hosts: 'a,b' is no host name"},
	{"web:\n  hosts: ['mon:80']\n", 2, "hosts: 'mon:80' is no host name"},
	{"web:\n  hosts: ['']\n", 2, "is no host name"},
	{"web:\n  port: 80\n", 2, "unknown key"},
	{"metrics:\n  per_peer: some\n", 2, "per_peer: 'some' is unknown: choose all, suspect or none"},
	{"metrics:\n  peers_max: 1048577\n", 2, "peers_max: '1048577' is out of range"},
	{"state: lib\n", 1, "state: 'lib' is no absolute path"},
	{"state: /a\npriority: 100\n", 2, "priority: '100' is out of range"},
};

static void wrong_files_are_refused_with_their_line(void **state)
{
	char head[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct config *c = load(wrong[i].text);

		snprintf(head, sizeof(head), "%s:%u: ", path, wrong[i].line);
		if (c || strncmp(said, head, strlen(head)) != 0 || !strstr(said, wrong[i].reason))
			print_message("file:\n%s\nexpected line %u: %s\ngot: %s\n", wrong[i].text,
				      wrong[i].line, wrong[i].reason, c ? "accepted" : said);
		assert_null(c);
		assert_int_equal(strncmp(said, head, strlen(head)), 0);
		assert_non_null(strstr(said, wrong[i].reason));
	}
}

static void every_cut_of_a_file_is_survived(void **state)
{
	char text[sizeof(everything)];

	(void)state;
	for (size_t cut = 0; cut < sizeof(everything); cut++) {
		struct config *c;

		memcpy(text, everything, cut);
		text[cut] = '\0';
		c = load(text);
		assert_true(c || *said);
		config_free(c);
	}
}

static void every_byte_may_be_wrong(void **state)
{
	static const char bytes[] = ":-[]{}'\"#&*!|>%@`,? \n\t0az\x7f\xc3";
	char text[sizeof(everything)];

	(void)state;
	for (size_t at = 0; at < sizeof(everything) - 1; at++) {
		struct config *c;

		memcpy(text, everything, sizeof(text));
		text[at] = bytes[at % (sizeof(bytes) - 1)];
		c = load(text);
		assert_true(c || *said);
		config_free(c);
	}
}

static void absent_files_are_refused(void **state)
{
	(void)state;
	assert_null(config_load("build/no/such/file", said));
	assert_string_equal(said,
			    "build/no/such/file: cannot open: No such file or directory. Name another file "
			    "with `kphi run config FILE`");
	assert_null(config_load("build", said));
	assert_string_equal(said, "build: not a file of at most 64 MiB");
}

static void thresholds_are_exact(void **state)
{
	static const struct {
		const char *text;
		q32_t value;
	} good[] = {
		{"8", 8 * Q32_ONE},
		{"8.5", 8 * Q32_ONE + Q32_ONE / 2},
		{"0.125", Q32_ONE / 8},
		{"12.75", 12 * Q32_ONE + 3 * (Q32_ONE / 4)},
		{"8.000000000", 8 * Q32_ONE},
		{"0.1", 429496730}, /* 429496729.6 */
		{"0.3", 1288490189}, /* 1288490188.8 */
		{"0.000000001", 4}, /* 4.29 */
		{"0.999999999", 4294967292}, /* 4294967291.7 */
		{"2147483646.999999999", 0x7FFFFFFEFFFFFFFC},
	};
	static const char *const bad[] = {"",
					  " 8",
					  "8 ",
					  "8.",
					  ".5",
					  "+8",
					  "8,5",
					  "1e1",
					  "inf",
					  "nan",
					  "8.0000000001",
					  "2147483647",
					  "0x10",
					  "0",
					  "0.0",
					  "-1",
					  "99999999999999999999999"};
	q32_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(config_threshold(good[i].text, &value, said, sizeof(said)), 0);
		assert_int_equal(value, good[i].value);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		*said = '\0';
		assert_int_equal(config_threshold(bad[i], &value, said, sizeof(said)), -EINVAL);
		assert_true(*said);
	}
}

static void example_is_right(void **state)
{
	struct config *c = config_load("dist/kphi.yaml", said);

	(void)state;
	if (!c)
		print_message("%s\n", said);
	assert_non_null(c);
	config_free(c);
}

#define with_file(test) cmocka_unit_test_setup_teardown(test, make_file, remove_file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_file(smallest_file_has_five_lines),
		with_file(the_server_listens_where_it_is_told),
		with_file(everything_is_taken),
		with_file(rules_are_taken),
		with_file(every_model_may_be_named),
		with_file(wrong_files_are_refused_with_their_line),
		with_file(every_cut_of_a_file_is_survived),
		with_file(every_byte_may_be_wrong),
		cmocka_unit_test(absent_files_are_refused),
		cmocka_unit_test(thresholds_are_exact),
		cmocka_unit_test(example_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
