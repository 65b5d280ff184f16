// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The daemon's life from its file to the point where it could run, each step undone in reverse order. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "io/error.h"
#include "io/file.h"
#include "kernel/clock.h"
#include "run/daemon.h"
#include "run/privilege.h"

static int failed(int err, const char *sentence)
{
	fail("%s", sentence);
	return err;
}

/* The folder of the store is a file of its own: the pin root's lock is for those who change something. */
static int lock_store(struct daemon *d, struct why *w)
{
	d->lock = open(d->pin.store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->lock >= 0 && !flock(d->lock, LOCK_EX | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return why(w, -EBUSY, "%s: another `kphi run` watches this store. Stop that one first",
			   d->pin.store);
	return why(w, -errno, "%s: cannot lock the store: %s", d->pin.store, strerror(errno));
}

static int open_store(struct daemon *d, const char *pin)
{
	struct why w;
	int err = pin_open(&d->pin, pin, true, &w);

	err = err ? err : pin_lock(&d->pin, &w);
	err = err ? err : store_ensure(&d->pin, &w);
	err = err ? err : lock_store(d, &w);
	err = err ? err : store_open(&d->store, &d->pin, &w);
	err = err ? err : control_open(&d->control, &d->pin, &w);
	err = err ? err : report_open(&d->report, &d->pin, &w);
	pin_close(&d->pin);
	return err ? failed(err, w.text) : 0;
}

static int apply_file(struct daemon *d, struct apply *a)
{
	struct why w;
	int err;

	*a = (struct apply){
		.pin = &d->pin,
		.store = &d->store,
		.control = &d->control,
		.config = d->config,
	};
	err = apply_config(a, &w);
	/* The control program may have been replaced by this binary's. */
	if (!err) {
		control_close(&d->control);
		err = control_open(&d->control, &d->pin, &w);
	}
	d->absent = a->absent;
	return err ? failed(err, w.text) : 0;
}

/* A device that has returned. It is asked for again once a second until a check finds it attached. */
static int reattach(void *context, const char *device, enum attach_mode mode)
{
	struct daemon *d = context;
	int err = d->hidden ? -EBUSY : attacher_start(d->attacher, device, mode, 0);

	return err ? err : -EINPROGRESS;
}

/* The pins by way of the folder that we hold, wherever it is, and whatever becomes of its mount. */
static int open_devices(struct daemon *d)
{
	struct pin held = d->pin;
	struct why w;

	snprintf(held.store, sizeof(held.store), "/proc/self/fd/%d", d->lock);
	d->devices = devices_new(&held, &w);
	if (!d->devices)
		return failed(-EIO, w.text);
	devices_on_return(d->devices, reattach, d);
	d->attacher = attacher_new(d->loop, d->pin.root, daemon_attached, d);
	if (!d->attacher)
		return failed(-ENOMEM, "no memory to attach devices");
	return 0;
}

static int on_hint(void *context, void *data, size_t size)
{
	const struct daemon *d = context;
	const struct kphi_hint *hint = data;

	if (size >= sizeof(*hint))
		engine_hint(d->engine, hint->slot, clock_monotonic_ns());
	return 0;
}

static int open_hints(struct daemon *d)
{
	char path[PIN_PATH];
	int err, fd = bpf_obj_get(pin_path(&d->pin, "hints", path));

	if (fd >= 0)
		d->hints = ring_buffer__new(fd, on_hint, d, NULL);
	err = d->hints ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	if (err)
		fail("%s: cannot read hints: %s", path, strerror(-err));
	return err;
}

/* The last daemon's verdicts, in terms of this one's configuration. */
static void recall(struct daemon *d, const struct names *before)
{
	int map[ENGINE_CONSUMERS];

	names_map(before, &d->names, map);
	for (uint32_t i = 0; i < d->verdicts.slots; i++) {
		struct kphi_verdict v = d->verdicts.map[i]; /* nobody writes now but us */

		if (!v.valid_until_ns)
			continue;
		/* The engine takes it that the verdict was refreshed a time to live before it expires. */
		if (before->ttl_ns && v.valid_until_ns > before->ttl_ns)
			v.valid_until_ns += d->config->engine.verdict_ttl_ns - before->ttl_ns;
		v.consumers = names_move(v.consumers, map);
		engine_recall(d->engine, i, &v);
	}
}

static int open_engine(struct daemon *d)
{
	struct engine_host host = daemon_host(d);
	const char *state = d->config->state;
	uint64_t now_ns = clock_monotonic_ns();
	char reason[1024];
	struct names before;
	int err = token_open(&d->token, state, verdicts_token(&d->store), reason, sizeof(reason));

	if (err)
		return failed(err, reason);
	d->verdicts = (struct verdicts){
		.map = d->store.verdicts,
		.control = &d->control,
		.slots = d->store.header->peers,
		.life = token_starts(&d->token),
	};
	names_of(&d->names, &d->config->engine);
	err = names_read(state, &before);
	err = err ? err : names_write(state, &d->names);
	if (err) {
		fail("%s/consumers: cannot keep the consumers' names: %s", state, file_trouble(err));
		return err;
	}
	report_begin(&d->report, d->verdicts.life, now_ns, now_ns + d->config->engine.verdict_ttl_ns);
	report_consumers(&d->report, &d->config->engine);
	d->engine = engine_new(&d->config->engine, &host, d->store.header->peers);
	if (!d->engine || census_open(&d->census, d->store.header->peers))
		return failed(-ENOMEM, "no memory for the engine");
	recall(d, &before);
	return 0;
}

static void recite(void *context, feed_say_fn *say, void *say_context)
{
	const struct daemon *d = context;

	engine_recite(d->engine, clock_monotonic_ns(), say, say_context);
}

static int open_outputs(struct daemon *d)
{
	char reason[1024] = "no memory";
	int err = sd_event_new(&d->loop);

	if (err < 0)
		return failed(err, "cannot make an event loop");
	d->feed = feed_new(d->loop, recite, d);
	d->exec = exec_new(d->loop, daemon_event, d);
	d->web = web_child_new(d->loop, "/proc/self/exe", &web_pace_default, daemon_event, d);
	if (!d->feed || !d->exec || !d->web)
		return failed(-ENOMEM, "no memory for the outputs");
	err = feed_listen(d->feed, d->config->socket, d->config->group, reason, sizeof(reason));
	if (err)
		return failed(err, reason);
	err = d->config->standard ? feed_standard(d->feed, STDOUT_FILENO) : 0;
	if (err)
		fail("standard output: %s. Configure `stdout: no` under `outputs`", strerror(-err));
	return err;
}

int daemon_open(struct daemon *d, const char *file, const char *pin)
{
	char said[CONFIG_WHY_SIZE];
	struct apply applied;
	int err;

	*d = (struct daemon){.file = file,
			     .pin_root = pin,
			     .lock = -1,
			     .pin.lock = -1,
			     .control.program = -1,
			     .token.lock = -1};
	d->config = config_load(file, said);
	if (!d->config)
		return failed(-EINVAL, said);
	err = open_store(d, pin);
	err = err ? err : open_outputs(d);
	err = err ? err : apply_file(d, &applied);
	err = err ? err : open_devices(d);
	err = err ? err : open_hints(d);
	err = err ? err : open_engine(d);
	if (err)
		return err;
	daemon_describe(&applied, d->config, said, sizeof(said));
	report_config(&d->report, true);
	daemon_say_config(d, true, said);
	return 0;
}

/* Root's privileges have opened them; from now on it is their owners who open them again. */
static void check_access(const char *path, int mode)
{
	if (!eaccess(path, mode))
		return;
	warn("%s: %s, once this daemon has started: it gives up root's power over others' files, and `kphi "
	     "run reload` will be refused. Let it, and the folders that it is in, belong to root",
	     path, strerror(errno));
}

void daemon_settle(struct daemon *d)
{
	d->tame = !config_has_commands(d->config);
	privilege_settle_daemon(!d->tame);
	check_access(d->file, R_OK);
	check_access(d->config->state, R_OK | W_OK | X_OK);
}

/* Nothing is detached: beats are recorded on, and the verdicts expire by themselves. */
void daemon_close(struct daemon *d)
{
	sd_event_source_disable_unref(d->deadline);
	sd_event_source_disable_unref(d->round);
	web_child_free(d->web);
	exec_free(d->exec);
	feed_free(d->feed);
	engine_free(d->engine);
	census_close(&d->census);
	token_close(&d->token);
	report_close(&d->report);
	ring_buffer__free(d->hints);
	attacher_free(d->attacher);
	devices_free(d->devices);
	sd_event_unref(d->loop);
	control_close(&d->control);
	store_close(&d->store);
	if (d->lock >= 0)
		close(d->lock);
	config_free(d->config);
}
