// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What has to be done once a second, a part of the slots at a time where there are many, so that no verdict
 * waits for it: verdicts are kept fresh, changes by other commands found, lost hints repaired, devices and
 * ticks looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "io/error.h"
#include "kernel/clock.h"
#include "run/daemon.h"

static void on_change(void *context, uint32_t slot)
{
	struct daemon *d = context;

	engine_look(d->engine, slot, clock_monotonic_ns());
}

/* Its share of the slots. */
static void take_part(struct daemon *d, uint64_t now_ns)
{
	uint64_t slots = d->store.header->peers;
	uint32_t first = (uint32_t)(slots * d->part / d->parts);
	uint32_t end = (uint32_t)(slots * (d->part + 1) / d->parts);
	uint64_t until_ns = now_ns + d->config->engine.verdict_ttl_ns;
	struct why w;
	int err = verdicts_refresh(&d->verdicts, first, end, until_ns, &w);

	report_alive(&d->report, until_ns);
	if (err)
		daemon_give_up(d, err, &w);
	census_take(&d->census, &d->store, first, end, on_change, d);
}

static void try_absent_devices(struct daemon *d)
{
	struct apply a = {
		.pin = &d->pin,
		.store = &d->store,
		.control = &d->control,
		.config = d->config,
		.attacher = d->attacher,
	};
	struct why w;

	if (!d->absent || d->hidden)
		return;
	if (apply_devices(&a, &w)) {
		/* Said once: it will be no better in a second. The next reload tries again. */
		daemon_say_config(d, false, w.text);
		a.absent = 0;
	}
	d->absent = a.absent;
}

static void look_at_devices(struct daemon *d, uint64_t now_ns)
{
	int changed;

	try_absent_devices(d);
	changed = devices_check(d->devices, now_ns, daemon_event, d);
	if (changed > 0)
		engine_scan(d->engine, now_ns);
	if (changed < 0 && changed != d->devices_error)
		warn("the devices cannot be looked at: %s. What was known of them holds, and it is tried "
		     "again",
		     strerror(-changed));
	else if (changed >= 0 && d->devices_error)
		warn("the devices can be looked at again");
	d->devices_error = changed < 0 ? changed : 0;
}

static void tell_systemd(struct daemon *d)
{
	char status[sizeof(d->status)];
	uint32_t count[VERDICT_STATES];

	verdicts_count(&d->verdicts, count);
	snprintf(status, sizeof(status), "%u peers, %u consumers: %u suspect, %u held, %u blind; %u clients",
		 d->census.peers, d->config->engine.consumers, count[KPHI_VERDICT_SUSPECT],
		 count[KPHI_VERDICT_HELD], count[KPHI_VERDICT_BLIND], feed_clients(d->feed));
	if (!strcmp(status, d->status))
		return;
	memcpy(d->status, status, sizeof(status));
	sd_notifyf(0, "STATUS=%s", status);
}

/* What we have mapped is nobody's any more, and will hear nothing. */
static void end_with_store(struct daemon *d, const char *sentence)
{
	daemon_say_config(d, false, sentence);
	fail("%s: %s", d->pin.store, sentence);
	sd_event_exit(d->loop, -ESTALE);
}

static void say_of_store(struct daemon *d, bool well, const char *sentence)
{
	daemon_say_config(d, well, sentence);
	warn("%s: %s", d->pin.store, sentence);
}

/* Beats are recorded and judged as ever: the devices and we hold what was pinned. It is told in the second
 * round, because a purge is seen in the middle of it, too. */
static void while_hidden(struct daemon *d)
{
	char sentence[2 * PIN_PATH];
	struct why w;

	if (d->hidden++ == 1) {
		snprintf(sentence, sizeof(sentence),
			 "the bpffs of this store is not mounted any more, so no command finds it. This "
			 "daemon "
			 "goes on, and pins the store there again once there is a bpffs: `mount -t bpf bpf "
			 "%s`. "
			 "If it ends before that, the store ends with it",
			 d->pin.root);
		say_of_store(d, false, sentence);
	}
	if (d->hidden < 2 || pin_is_locked(&d->pin) || pin_again(&d->pin, d->lock, &w))
		return;
	d->hidden = 0;
	say_of_store(d, true, "a bpffs is mounted there again, and the store is pinned in it as it was");
}

/* Said once for each that goes. */
static void look_for_missing(struct daemon *d)
{
	const char *missing = pin_missing(d->lock);
	char sentence[256];

	if (missing && missing != d->missing) {
		snprintf(sentence, sizeof(sentence),
			 "the pin `%s` was removed by hand. This daemon goes on, but commands that need it "
			 "cannot; `kphi store purge` and a new start make a whole store, with empty windows",
			 missing);
		say_of_store(d, false, sentence);
	}
	d->missing = missing;
}

/* False: it is over. */
static bool look_for_store(struct daemon *d)
{
	switch (pin_where(&d->pin, d->lock)) {
	case PIN_THERE:
		d->hidden = 0;
		look_for_missing(d);
		return true;
	case PIN_HIDDEN:
		while_hidden(d);
		return true;
	case PIN_GONE:
		end_with_store(d, "the store was purged, so there is nobody to watch. Start `kphi run` again "
				  "to make a new one");
		return false;
	case PIN_REPLACED:
		end_with_store(d,
			       "there is another store in the place of the one that is watched here, whose "
			       "bpffs was unmounted. Start `kphi run` again to watch the new one");
		return false;
	}
	return true;
}

void daemon_round(struct daemon *d, uint64_t now_ns)
{
	take_part(d, now_ns);
	if (++d->part < d->parts)
		return;
	d->part = 0;
	if (!look_for_store(d))
		return;
	if (d->reload_waits)
		daemon_reload(d);
	look_at_devices(d, now_ns);
	engine_observe_ticks(d->engine, d->store.ticks, d->store.header->cpus, now_ns);
	if (engine_unsettled(d->engine))
		engine_repair(d->engine, now_ns);
	feed_round(d->feed, d->config->group);
	report_clients(&d->report, feed_clients(d->feed), feed_dropped(d->feed));
	tell_systemd(d);
}
