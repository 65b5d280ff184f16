// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A changed configuration, applied while everything goes on. One that cannot be applied changes nothing. */
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "io/error.h"
#include "io/file.h"
#include "kernel/clock.h"
#include "run/daemon.h"

#define RELOAD_ROUNDS 10 /* of a second */

static void note_what_waits(const struct daemon *d, struct apply *a, const struct config *new)
{
	const struct config *old = d->config;

	if (strcmp(old->state, new->state) != 0)
		apply_note(a, "`state` takes effect at the next start");
	if (old->priority != new->priority)
		apply_note(a, "`priority` takes effect at the next start");
	if (d->tame && config_has_commands(new))
		apply_note(
			a,
			"commands (`exec`) run without root's privileges until the next start, because this "
			"daemon has started without any command and given those up");
}

/* They are named, because nobody asks for them any more. Who was deleted is not there any more, either. */
static void note_forgotten(struct apply *a)
{
	if (a->forgotten)
		apply_note(a,
			   "%u peers have left the file and are still watched: %s%s. `kphi peer del NAME` "
			   "ends that",
			   a->forgotten, a->first_forgotten, a->forgotten > 1 ? " and others" : "");
}

/* The limits of commands go with their consumers. */
static void move_buckets(struct daemon *d, const int map[ENGINE_CONSUMERS])
{
	uint64_t moved[ENGINE_CONSUMERS] = {0};

	for (uint32_t i = 0; i < ENGINE_CONSUMERS; i++)
		if (map[i] >= 0)
			moved[map[i]] = d->exec_bucket[i];
	memcpy(d->exec_bucket, moved, sizeof(moved));
}

static void take_outputs(struct daemon *d, struct apply *a)
{
	char reason[1024] = "no memory";

	if (feed_listen(d->feed, d->config->socket, d->config->group, reason, sizeof(reason)))
		apply_note(a, "%s", reason);
	if (feed_standard(d->feed, d->config->standard ? STDOUT_FILENO : -1))
		apply_note(a, "standard output takes no events");
	if (!daemon_serve(d))
		apply_note(a, "no memory to tell the HTTP server");
}

/* The names are on disk before any verdict is written in their numbers. False: nothing has changed. */
static bool take_consumers(struct daemon *d, struct config *new)
{
	struct config *old = d->config;
	struct names names, before = d->names;
	int map[ENGINE_CONSUMERS];

	names_of(&names, &new->engine);
	names_map(&before, &names, map);
	if (names_write(old->state, &names))
		return false;
	d->config = new;
	d->names = names;
	if (engine_configure(d->engine, &new->engine, map, clock_monotonic_ns())) {
		move_buckets(d, map);
		report_consumers(&d->report, &new->engine);
		return true;
	}
	d->config = old;
	d->names = before;
	names_write(old->state, &before);
	return false;
}

static void refuse_file(struct daemon *d, const char *reason)
{
	char detail[CONFIG_WHY_SIZE + 64];

	snprintf(detail, sizeof(detail), "refused, the former configuration stays in force: %s", reason);
	warn("%s", detail);
	report_config(&d->report, false);
	daemon_say_config(d, false, detail);
}

static void reload(struct daemon *d)
{
	char said[CONFIG_WHY_SIZE];
	struct config *new = config_load(d->file, said), *old = d->config;
	struct apply a = {
		.pin = &d->pin,
		.store = &d->store,
		.control = &d->control,
		.config = new,
		.former = old,
		.attacher = d->attacher,
	};
	struct why w;
	int err;

	if (!new) {
		refuse_file(d, said);
		return;
	}
	/* What is there, once more: where it cannot be written the new names cannot be, and peers must not
	 * have changed by then. */
	err = names_write(old->state, &d->names);
	if (err)
		why(&w, err, "%s/consumers: cannot keep the consumers' names: %s", old->state,
		    file_trouble(err));
	err = err ? err : apply_config(&a, &w);
	if (err) {
		refuse_file(d, w.text);
		config_free(new);
		return;
	}
	note_what_waits(d, &a, new);
	note_forgotten(&a);
	if (devices_check(d->devices, clock_monotonic_ns(), daemon_event, d) > 0)
		engine_scan(d->engine, clock_monotonic_ns());
	if (!take_consumers(d, new)) {
		refuse_file(d,
			    "the consumers' names cannot be kept, or there is no memory for their opinions");
		config_free(new);
		return;
	}
	d->absent = a.absent;
	take_outputs(d, &a);
	config_free(old);
	daemon_describe(&a, new, said, sizeof(said));
	report_config(&d->report, true);
	daemon_say_config(d, true, said);
}

/*
 * Verdicts do not wait until another command has done its work on the store: the reload does, and is tried
 * again with each round. That command may have been stopped, so not for ever.
 */
void daemon_reload(struct daemon *d)
{
	bool locked = pin_is_locked(&d->pin);

	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)clock_monotonic_ns() / 1000);
	if (locked && d->reload_waits++ < RELOAD_ROUNDS)
		return;
	d->reload_waits = 0;
	if (d->hidden)
		refuse_file(d, "the bpffs of the store is not mounted. Mount it again first");
	else if (locked)
		refuse_file(d, "another command is at work on the store, and does not end. Try again when it "
			       "has");
	else
		reload(d);
	malloc_trim(0); /* two configurations and the text of one: a heap in shreds would keep their room */
	sd_notify(0, "READY=1");
}
