// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "doctor/survey.h"

#include <errno.h>
#include <linux/if_link.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/file.h"
#include "kernel/explain.h"
#include "kernel/xdp_features.h"

/* --- devices --- */

static void take_link(void *context, const struct link_facts *link)
{
	struct survey *v = context;
	uint32_t n = v->devices_count;
	struct survey_device *grown = reallocarray(v->devices, n + 1, sizeof(*grown));

	if (!grown)
		return;
	v->devices = grown;
	grown[n] = (struct survey_device){.facts = {.link = *link, .master = "", .lower = ""}};
	v->devices_count++;
}

static struct survey_device *device_at(const struct survey *v, uint32_t ifindex)
{
	for (uint32_t i = 0; ifindex && i < v->devices_count; i++)
		if (v->devices[i].facts.link.ifindex == ifindex)
			return &v->devices[i];
	return NULL;
}

static const char *name_at(const struct survey *v, uint32_t ifindex)
{
	const struct survey_device *d = device_at(v, ifindex);

	return d ? d->facts.link.name : "";
}

/* Who is above, below and at the other end. */
static void relate(struct survey *v)
{
	for (uint32_t i = 0; i < v->devices_count; i++) {
		struct device_facts *d = &v->devices[i].facts;
		struct survey_device *lower = d->link.lower_elsewhere ? NULL : device_at(v, d->link.lower);

		d->master = name_at(v, d->link.master);
		d->lower = lower ? lower->facts.link.name : "";
		if (lower && !strcmp(d->link.kind, "vlan"))
			lower->facts.vlans++;
	}
}

/* --- what is attached --- */

static int take_attachment(const struct attachment *a, void *context)
{
	struct survey *v = context;
	struct attachment *grown;

	if (!a->here)
		return 0;
	grown = reallocarray(v->attachments, v->attachments_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	v->attachments = grown;
	grown[v->attachments_count++] = *a;
	return 0;
}

static void survey_attachments(struct survey *v)
{
	struct why w;

	v->attachments_known = !v->store_facts.root_error || v->store_facts.root_error == -ENOENT;
	if (v->store_facts.has_store)
		v->attachments_known = !attach_each(&v->pin, take_attachment, v, &w);
	v->traffic.devices = v->attachments_known ? 0 : -1;
	for (uint32_t i = 0; i < v->attachments_count; i++) {
		const struct attachment *a = &v->attachments[i];
		struct survey_device *d = device_at(v, a->ifindex);

		v->traffic.devices += a->alive;
		if (!d)
			continue;
		d->facts.us = (struct device_attachment){
			.attached = true,
			.alive = a->alive,
			.mode = a->mode == ATTACH_NATIVE    ? "native"
				: a->mode == ATTACH_GENERIC ? "generic"
							    : "tc",
			.program_id = a->program_id,
		};
	}
	for (uint32_t i = 0; i < v->devices_count; i++)
		v->devices[i].facts.us.known = v->attachments_known;
}

/* --- whom to judge --- */

static int choose(struct survey *v, const char *device, struct why *w)
{
	bool found = false;

	for (uint32_t i = 0; i < v->devices_count; i++) {
		struct survey_device *d = &v->devices[i];

		d->wanted = device ? !strcmp(d->facts.link.name, device) : d->facts.us.attached;
		found |= d->wanted;
	}
	if (device && !found)
		return why(w, -ENODEV,
			   "%s: there is no such device in this network namespace. `ip link` lists them",
			   device);
	for (uint32_t i = 0; !found && i < v->devices_count; i++) {
		const struct link_facts *link = &v->devices[i].facts.link;

		v->devices[i].wanted = link->type == ARPHRD_ETHER && link->up;
	}
	return 0;
}

/* A number that sysfs has of the device, or -1. */
static long of_sysfs(const char *device, const char *name)
{
	char path[128], text[32];
	ssize_t length;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", device, name);
	length = file_read(path, text, sizeof(text) - 1);
	if (length <= 0)
		return -1;
	text[length] = '\0';
	return strtol(text, NULL, 10);
}

/* /sys may have been mounted in another network namespace, where that name is somebody else's. */
static int threaded(const struct link_facts *l)
{
	return of_sysfs(l->name, "ifindex") == (long)l->ifindex ? (int)of_sysfs(l->name, "threaded") : -1;
}

static void examine(const struct survey *v, struct device_facts *d)
{
	struct ethtool_facts other;

	ethtool_read(d->link.name, &d->nic);
	d->features_error = xdp_features_read(d->link.ifindex, &d->features);
	if (!strcmp(d->link.kind, "veth") && *d->lower) {
		ethtool_read(d->lower, &other);
		d->cable_tx_queues = other.channels.tx;
	}
	if (d->link.xdp_mode != XDP_ATTACHED_NONE)
		explain_program(d->link.xdp_program, d->xdp_name, sizeof(d->xdp_name));
	occupants_read(d->link.ifindex, &d->tc);
	d->threaded = threaded(&d->link);
	d->us.known = v->attachments_known;
}

static void find_tunnels(struct survey *v)
{
	char *text = v->traffic.tunnels;

	for (uint32_t i = 0; i < v->devices_count; i++) {
		const struct device_facts *d = &v->devices[i].facts;
		/* A tap is the port of a guest, or whatever else a process makes of it. */
		bool tap = !strcmp(d->link.kind, "tun") && d->link.type == ARPHRD_ETHER;

		if (d->link.up && kind_is_tunnel(d->link.kind) && !tap && !d->us.attached)
			snprintf(text + strlen(text), TUNNELS_SIZE - strlen(text), "%s%s", *text ? ", " : "",
				 d->link.name);
	}
}

/* --- watching --- */

static void take_packets(void *context, const struct link_facts *link)
{
	struct survey *v = context;
	struct survey_device *d = device_at(v, link->ifindex);

	if (!d)
		return;
	d->facts.watched_ns = v->traffic.watched_ns;
	d->facts.rx_packets = link->rx_packets - d->facts.link.rx_packets;
	d->facts.link.rx_packets = link->rx_packets;
	if (d->facts.us.attached)
		v->traffic.rx_packets += d->facts.rx_packets;
}

static void pause_for(uint64_t ns)
{
	struct timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

static void watch(struct survey *v, uint64_t watch_ns)
{
	uint64_t before[KPHI_COUNTERS] = {0};

	survey_counters(v, before);
	if (watch_ns) {
		pause_for(watch_ns);
		v->traffic.watched_ns = watch_ns;
		link_facts_each(take_packets, v);
	}
	survey_counters(v, v->traffic.total);
	for (int i = 0; i < KPHI_COUNTERS; i++)
		v->traffic.watched[i] = v->traffic.total[i] - before[i];
}

/* --- all of it --- */

int survey_open(struct survey *v, const char *root, const char *device, uint64_t watch_ns, struct why *w)
{
	int err;

	*v = (struct survey){.pin.lock = -1};
	err = link_facts_each(take_link, v);
	if (err)
		return why(w, err, "cannot list the devices (rtnetlink): %s", why_errno(err));
	relate(v);
	host_facts_read(&v->host);
	survey_store(v, root);
	survey_attachments(v);
	err = choose(v, device, w);
	if (err)
		return err;
	for (uint32_t i = 0; i < v->devices_count; i++)
		if (v->devices[i].wanted)
			examine(v, &v->devices[i].facts);
	find_tunnels(v);
	watch(v, watch_ns);
	survey_state(v);
	return 0;
}

void survey_judge(const struct survey *v, struct findings *f)
{
	judge_host(f, &v->host);
	judge_store(f, &v->store_facts, &v->host);
	judge_traffic(f, &v->traffic);
	for (uint32_t i = 0; i < v->attachments_count; i++)
		if (!device_at(v, v->attachments[i].ifindex))
			judge_vanished(f, v->attachments[i].device);
	for (uint32_t i = 0; i < v->devices_count; i++)
		if (v->devices[i].wanted)
			judge_device(f, &v->devices[i].facts, &v->host);
}

void survey_close(struct survey *v)
{
	store_close(&v->store);
	pin_close(&v->pin);
	free(v->devices);
	free(v->attachments);
}
