// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The world as the engine sees it. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "io/error.h"
#include "kernel/clock.h"
#include "run/daemon.h"

static bool host_read(void *context, uint32_t slot, struct kphi_record *record, struct kphi_peer *peer)
{
	const struct daemon *d = context;

	return !store_read(&d->store, slot, record, peer);
}

static const struct kphi_tick *host_tick(void *context, uint32_t cpu)
{
	const struct daemon *d = context;

	return store_tick(&d->store, cpu);
}

static const struct kphi_rule *host_rule(void *context, uint32_t slot)
{
	return &((const struct daemon *)context)->store.rules[slot];
}

static const uint64_t *host_ring(void *context, uint32_t slot, struct kphi_record *record)
{
	struct daemon *d = context;
	struct kphi_record newer;

	if (store_read_ring(&d->store, slot, &newer, d->ring) || newer.generation != record->generation)
		return NULL;
	*record = newer;
	return d->ring;
}

static struct engine_hearing host_hearing(void *context, const struct kphi_record *record)
{
	const struct daemon *d = context;

	return devices_hearing(d->devices, record, clock_monotonic_ns());
}

static bool cares(const struct config_consumer *consumer, const char *name)
{
	for (unsigned int i = 0; i < consumer->peers_count; i++)
		if (!strcmp(consumer->peers[i], name) || !fnmatch(consumer->peers[i], name, 0))
			return true;
	return !consumer->peers_count;
}

static uint32_t host_consumers(void *context, const struct kphi_peer *peer)
{
	const struct config *config = ((const struct daemon *)context)->config;
	uint32_t mask = 0;

	for (uint32_t i = 0; i < config->engine.consumers; i++)
		mask |= (uint32_t)cares(&config->consumer[i], peer->name) << i;
	return mask;
}

/* A peer that is gone by now needs no hint, and a hint that cannot be had is replaced by looking once a
 * second. */
static void host_watch(void *context, uint32_t slot, uint32_t generation, bool on)
{
	struct daemon *d = context;
	struct why w;

	control_watch(&d->control, slot, generation, on, &w);
}

/* Nobody must go on believing what cannot be corrected: the verdicts expire, and the next start judges anew.
 */
void daemon_give_up(struct daemon *d, int err, const struct why *w)
{
	if (!d->gave_up)
		fail("%s. This daemon ends, because its verdicts can no longer be kept", w->text);
	d->gave_up = true;
	sd_event_exit(d->loop, err);
}

static void host_verdict(void *context, uint32_t slot, const struct kphi_verdict *verdict)
{
	struct daemon *d = context;
	struct why w;
	int err = verdicts_write(&d->verdicts, slot, verdict, &w);

	if (err)
		daemon_give_up(d, err, &w);
}

static uint64_t host_token(void *context)
{
	return token_next(&((struct daemon *)context)->token);
}

struct engine_host daemon_host(struct daemon *d)
{
	return (struct engine_host){
		.context = d,
		.read = host_read,
		.tick = host_tick,
		.rule = host_rule,
		.ring = host_ring,
		.hearing = host_hearing,
		.consumers = host_consumers,
		.event = daemon_event,
		.watch = host_watch,
		.verdict = host_verdict,
		.token = host_token,
	};
}

/* A verdict that its consumer wants to act on. */
static void run_command(struct daemon *d, const struct event *event, const char *line, size_t length)
{
	const struct config *config = d->config;

	for (uint32_t i = 0; i < config->engine.consumers; i++) {
		const struct config_consumer *c = &config->consumer[i];
		struct exec_order order = {
			.command = c->exec,
			.consumer = config->engine.consumer[i].name,
			.peer = event->peer,
			.line = line,
			.length = length,
			.timeout_ns = c->exec_timeout_ns,
			.per_minute = c->exec_per_minute,
			.burst = c->exec_burst,
			.bucket = &d->exec_bucket[i],
		};

		if (c->exec && !strcmp(order.consumer, event->consumer) && exec_run(d->exec, &order))
			report_command(&d->report);
	}
}

void daemon_event(void *context, const struct event *event)
{
	struct daemon *d = context;
	size_t length;
	const char *line;

	report_event(&d->report, event, clock_monotonic_ns());
	line = feed_say(d->feed, event, &length);
	if (line && event->token && event->consumer &&
	    (event->type == EVENT_suspect || event->type == EVENT_trust))
		run_command(d, event, line, length);
}

void daemon_say_config(struct daemon *d, bool in_force, const char *detail)
{
	struct event event = {
		.type = EVENT_config,
		.cause = in_force ? CAUSE_BEGUN : CAUSE_NONE,
		.now_ns = clock_monotonic_ns(),
		.subject = d->file,
		.detail = detail,
	};

	daemon_event(d, &event);
}

/* At once, and not with the next round, because peers can be heard from now on. */
void daemon_attached(void *context, const char *device, bool attached, const char *said)
{
	struct daemon *d = context;
	char detail[sizeof(d->attach_failure)];

	snprintf(detail, sizeof(detail), "%s: %s%s%s", device, attached ? "attached now" : "",
		 attached && *said ? ": " : "", said);
	if (attached || strcmp(detail, d->attach_failure) != 0)
		daemon_say_config(d, attached, detail);
	memcpy(d->attach_failure, attached ? "" : detail, attached ? 1 : sizeof(detail));
	if (devices_check(d->devices, clock_monotonic_ns(), daemon_event, d) > 0)
		engine_scan(d->engine, clock_monotonic_ns());
}

void daemon_describe(const struct apply *a, const struct config *config, char *text, size_t size)
{
	char others[96] = "";

	if (a->others)
		snprintf(others, sizeof(others), ", %u of the store are not in the file and are left alone",
			 a->others);
	snprintf(text, size,
		 "in force: %u consumers; %u peers: %u added, %u changed, %u as they were%s; %u devices%s%s",
		 config->engine.consumers, config->peers_count, a->added, a->changed, a->kept, others,
		 config->devices_count, *a->notes ? "; " : "", a->notes);
}

bool daemon_serve(struct daemon *d)
{
	const struct config_web *web = &d->config->web;
	const char *words[20] = {"kphi"}, *hosts[] = {"hosts", web->hosts};
	char most[16];
	const char *const serve[] = {
		"web",      "serve",       "listen",    web->listen, "socket", d->config->socket,
		"per_peer", web->per_peer, "peers_max", most};
	size_t n = 1;

	if (!web->listen)
		return !web_child_set(d->web, NULL, NULL);
	if (d->pin_root) {
		words[n++] = "--pin";
		words[n++] = d->pin_root;
	}
	snprintf(most, sizeof(most), "%u", web->peers_max);
	memcpy(&words[n], serve, sizeof(serve));
	n += sizeof(serve) / sizeof(*serve);
	if (web->hosts)
		memcpy(&words[n], hosts, sizeof(hosts));
	return !web_child_set(d->web, web->listen, (char *const *)(uintptr_t)words);
}
