// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/say.h"

#include <abi.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

#include "core/event.h"
#include "core/histogram.h"
#include "version.h"

void say_who(struct out *o, const struct store *s, const struct look_peer *peer)
{
	struct kphi_record record;
	struct kphi_peer named;
	bool known = !store_read(s, peer->slot, &record, &named) && record.generation == peer->generation &&
		     record.state != KPHI_FREE;

	out_string(o, "name", NULL, known ? named.name : "");
	out_string(o, "host", NULL, known && *named.host ? named.host : NULL);
	out_u64(o, "slot", NULL, peer->slot);
	out_u64(o, "generation", NULL, peer->generation);
}

void say_cells(struct out *o, const uint8_t *cells, uint32_t n)
{
	size_t size = ((size_t)n + 2) / 3 * 4 + 1;
	char *text = malloc(size);

	out_string(o, "cells", NULL, text && b64_ntop(cells, n, text, size) >= 0 ? text : NULL);
	free(text);
}

static void say_histogram(struct out *o, const char *key, const struct kphi_histogram *h)
{
	out_open_object(o, key);
	out_u64(o, "count", NULL, histogram_count(h));
	out_duration(o, "p50_ns", NULL, histogram_quantile_ns(h, 500000));
	out_duration(o, "p99_ns", NULL, histogram_quantile_ns(h, 990000));
	out_duration(o, "worst_ns", NULL, h->worst_ns);
	out_close_object(o);
}

static void say_consumers(struct out *o, const struct kphi_daemon *d)
{
	out_open_table(o, "consumers");
	for (uint32_t i = 0; i < d->consumers && i < KPHI_CONSUMERS; i++) {
		const struct kphi_consumer *c = &d->consumer[i];

		out_open_row(o);
		out_string(o, "name", NULL, c->name);
		out_q32(o, "suspect", NULL, c->suspect);
		out_q32(o, "clear", NULL, c->clear);
		out_bool(o, "shadow", NULL, c->shadow);
		out_u64(o, "suspicions", NULL, c->suspicions);
		out_close_row(o);
	}
	out_close_table(o);
}

static void say_events(struct out *o, const struct kphi_daemon *d)
{
	out_open_object(o, "events");
	for (int type = 0; type < EVENT_TYPES; type++) {
		uint64_t sum = 0;

		for (int cause = 0; cause < KPHI_EVENT_CAUSES; cause++)
			sum += d->events[type][cause];
		out_u64(o, event_name(type), NULL, sum);
	}
	out_close_object(o);
}

void say_daemon(struct out *o, const struct store *s, uint64_t now_ns)
{
	struct kphi_daemon *d = calloc(1, sizeof(*d)); /* 8 KiB */
	bool alive = d && store_daemon(s, now_ns, d);

	out_bool(o, "alive", NULL, alive);
	if (alive) {
		out_u64(o, "pid", NULL, d->pid);
		out_u64(o, "started_ns", NULL, d->started_ns);
	} else {
		out_null(o, "pid", NULL);
		out_null(o, "started_ns", NULL);
	}
	out_string(o, "version", NULL, KPHI_VERSION);
	out_string(o, "abi", NULL, KPHI_ABI);
	if (d) {
		say_consumers(o, d);
		say_histogram(o, "lateness", &d->lateness);
		say_histogram(o, "latency", &d->latency);
		out_u64(o, "starts", NULL, d->starts);
		out_u64(o, "configs", NULL, d->configs);
		out_u64(o, "configs_refused", NULL, d->configs_refused);
		out_u64(o, "clients", NULL, alive ? d->clients : 0);
		out_u64(o, "events_dropped", NULL, d->events_dropped);
		out_u64(o, "commands", NULL, d->commands);
		out_u64(o, "commands_failed", NULL, d->commands_failed);
		say_events(o, d);
	}
	free(d);
}
