// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/devices.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/clock.h"
#include "kernel/devices_state.h"

/* --- one device --- */

static bool hook_lost(const struct device *v)
{
	return !v->pinned || !v->alive;
}

static bool carrier_lost(const struct device *v)
{
	return v->here && v->no_carrier;
}

enum event_cause device_deafness(const struct device *v)
{
	if (hook_lost(v))
		return CAUSE_HOOK;
	return carrier_lost(v) ? CAUSE_CARRIER : CAUSE_NONE;
}

static const char *hook_reason(const struct device *v)
{
	if (!v->pinned)
		return "kphi was detached from it";
	return v->here && !v->present ? "the device has vanished" : "the program was taken off the device";
}

static const char *carrier_reason(const struct device *v)
{
	return v->set_down ? "the device is set down" : "the device has no carrier";
}

bool device_has_alias(const struct device *v, uint32_t ifindex)
{
	for (uint32_t i = 0; i < ALIASES && i < v->aliases; i++)
		if (v->alias[i] == ifindex)
			return true;
	return false;
}

static void add_alias(struct device *v, uint32_t ifindex)
{
	if (!device_has_alias(v, ifindex))
		v->alias[v->aliases++ % ALIASES] = ifindex;
}

/* --- what rtnetlink says --- */

static void hear_of(struct devices *d, struct device *v, const struct link_news *news)
{
	if (v->ifindex != news->ifindex) {
		if (news->master == v->ifindex)
			add_alias(v, news->ifindex);
		if (!v->present && !news->gone && !strcmp(v->name, news->name))
			d->upset = true;
		return;
	}
	d->upset |= v->present == news->gone;
	v->present = !news->gone;
	if (news->gone)
		return;
	snprintf(v->name, sizeof(v->name), "%s", news->name);
	v->set_down = !news->up;
	v->no_carrier = !news->up || !news->carrier;
}

static void on_news(void *context, const struct link_news *news)
{
	struct devices *d = context;

	for (uint32_t i = 0; i < d->count; i++)
		if (d->list[i].here)
			hear_of(d, &d->list[i], news);
}

/* All links of this namespace as they are now: what is not among them has vanished. */
static int ask_all(struct devices *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		d->list[i].present = false;
	return links_dump(on_news, d);
}

/* --- what the pinned links say --- */

/*
 * When the program came to the device. The kernel keeps no such time for a link, and tells a program by its
 * number only to CAP_SYS_ADMIN. But the control program is loaded with those on the devices and pinned after
 * them, each time: its time is right unless a newer one was put in its place meanwhile, and then it is late,
 * never early. It counts suspends.
 */
static uint64_t attached_ns(const struct devices *d, uint64_t now_ns)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	char path[PIN_PATH];
	int fd = bpf_obj_get(pin_path(&d->pin, "control", path));
	struct timespec boot;
	uint64_t age_ns;

	if (fd < 0)
		return now_ns;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		info.load_time = UINT64_MAX;
	close(fd);
	age_ns = (uint64_t)boot.tv_sec * 1000000000 + (uint64_t)boot.tv_nsec;
	age_ns = age_ns > info.load_time ? age_ns - info.load_time : 0;
	return now_ns > age_ns ? now_ns - age_ns : 0;
}

static struct device *find(struct devices *d, const struct attachment *a)
{
	for (uint32_t i = 0; i < d->count; i++)
		if (d->list[i].netns == a->netns && d->list[i].ifindex == a->ifindex)
			return &d->list[i];
	for (uint32_t i = 0; i < d->count; i++)
		if (d->list[i].netns == a->netns && !strcmp(d->list[i].name, a->device))
			return &d->list[i];
	return NULL;
}

static struct device *grow(struct devices *d, const struct attachment *a, uint64_t now_ns)
{
	struct device *list = realloc(d->list, (d->count + 1) * sizeof(*list));
	struct device *v;

	if (!list)
		return NULL;
	d->list = list;
	v = &list[d->count++];
	*v = (struct device){.netns = a->netns, .ifindex = a->ifindex, .here = a->here};
	v->since_ns = attached_ns(d, now_ns);
	snprintf(v->name, sizeof(v->name), "%s", a->device);
	return v;
}

struct listing {
	struct devices *d;
	uint64_t now_ns;
	bool fresh; /* rtnetlink is to be asked about a device that is new, or has a new number */
};

static int take_attachment(const struct attachment *a, void *context)
{
	struct listing *l = context;
	struct device *v = find(l->d, a);

	if (!v) {
		v = grow(l->d, a, l->now_ns);
		if (!v)
			return -ENOMEM;
		l->fresh = true;
	}
	if (v->round == l->d->round && !a->alive) /* the pin of an earlier life, not removed yet */
		return 0;
	if (v->ifindex != a->ifindex) {
		add_alias(v, v->ifindex);
		v->ifindex = a->ifindex;
		l->fresh = true;
	}
	v->mode = a->mode;
	v->hook = a->hook;
	v->wanted = a->wanted;
	v->pinned = true;
	v->alive = a->alive;
	v->round = l->d->round;
	return 0;
}

/* What is not known is not lost: a listing that fails leaves everything as it was. */
static int list_links(struct devices *d, uint64_t now_ns)
{
	struct listing l = {d, now_ns, false};
	struct why w;
	int err;

	d->round++;
	err = attach_each(&d->pin, take_attachment, &l, &w);
	if (err && err != -ENOENT) /* without a store there is no link */
		return err;
	for (uint32_t i = 0; i < d->count; i++)
		d->list[i].pinned = d->list[i].round == d->round;
	return l.fresh ? ask_all(d) : 0;
}

/* A device that was only robbed of its program stays without: somebody wanted that. */
static bool has_returned(const struct device *v)
{
	uint32_t ifindex;

	if (!v->here || !v->pinned || v->alive)
		return false;
	ifindex = if_nametoindex(v->name);
	return ifindex && (!v->present || ifindex != v->ifindex);
}

static int attach_returned(struct devices *d, uint64_t now_ns)
{
	bool attached = false;

	for (uint32_t i = 0; d->reattach && i < d->count; i++)
		if (has_returned(&d->list[i]) && !d->reattach(d->context, d->list[i].name, d->list[i].wanted))
			attached = true;
	return attached ? list_links(d, now_ns) : 0;
}

/* --- since when --- */

static void keep_time(struct devices *d, uint64_t now_ns)
{
	for (uint32_t i = 0; i < d->count; i++) {
		struct device *v = &d->list[i];
		bool deaf = device_deafness(v) != CAUSE_NONE;

		if (v->deaf == deaf)
			continue;
		v->deaf = deaf;
		v->since_ns = now_ns;
		d->changed = true;
	}
}

void devices_make_sure(struct devices *d, uint64_t now_ns)
{
	if (now_ns < d->sure_ns + DEVICES_SURE_NS)
		return;
	d->sure_ns = now_ns;
	for (uint32_t i = 0; i < d->count; i++)
		if (d->list[i].here && d->list[i].present)
			links_ask(d->list[i].ifindex, on_news, d);
	list_links(d, now_ns);
	keep_time(d, now_ns);
}

/* --- telling --- */

struct telling {
	uint64_t now_ns;
	void (*event)(void *context, const struct event *event);
	void *context;
};

static void tell(const struct telling *t, const struct device *v, enum event_type type, bool lost, bool *said,
		 const char *detail)
{
	struct event e = {
		.type = type,
		.cause = lost ? CAUSE_BEGUN : CAUSE_ENDED,
		.now_ns = t->now_ns,
		.subject = v->name,
		.detail = detail,
	};

	if (*said == lost)
		return;
	*said = lost;
	t->event(t->context, &e);
}

/* Announces what has changed; how long it has been so is known already. Returns whether anybody's hearing
 * has. */
static int tell_all(struct devices *d, const struct telling *t)
{
	int changed = d->changed;

	for (uint32_t i = 0; i < d->count; i++) {
		struct device *v = &d->list[i];
		bool hook = hook_lost(v), carrier = carrier_lost(v);

		tell(t, v, EVENT_carrier, carrier, &v->said_carrier,
		     carrier ? carrier_reason(v) : "the carrier is back");
		tell(t, v, EVENT_hook, hook, &v->said_hook,
		     hook ? hook_reason(v) : "the program is on the device again");
	}
	d->changed = false;
	return changed;
}

int devices_check(struct devices *d, uint64_t now_ns, void (*event)(void *context, const struct event *event),
		  void *context)
{
	struct telling t = {now_ns, event, context};
	int err = list_links(d, now_ns);

	d->upset = false;
	err = err ? err : attach_returned(d, now_ns);
	keep_time(d, now_ns);
	return err ? err : tell_all(d, &t);
}

int devices_dispatch(struct devices *d, uint64_t now_ns,
		     void (*event)(void *context, const struct event *event), void *context)
{
	struct telling t = {now_ns, event, context};
	int err = links_read(d->links, on_news, d);

	if (err == -ENOBUFS) /* more has happened than the socket could hold */
		err = ask_all(d);
	if (err)
		return err;
	if (d->upset)
		return devices_check(d, now_ns, event, context);
	keep_time(d, now_ns);
	return tell_all(d, &t);
}

/* --- life --- */

struct devices *devices_new(const struct pin *pin, struct why *w)
{
	struct devices *d = calloc(1, sizeof(*d));
	uint64_t now_ns = clock_monotonic_ns();
	int err;

	if (!d) {
		why(w, -ENOMEM, "no memory to watch the devices with");
		return NULL;
	}
	d->pin = *pin;
	d->pin.lock = -1;
	d->links = links_open();
	if (!d->links) {
		why(w, -errno, "cannot listen to the kernel's news of devices (rtnetlink): %s",
		    strerror(errno));
		goto failed;
	}
	err = list_links(d, now_ns);
	if (!err) {
		keep_time(d, now_ns);
		return d;
	}
	why(w, err, "cannot tell what devices are attached: %s", why_errno(err));
failed:
	devices_free(d);
	return NULL;
}

void devices_free(struct devices *d)
{
	if (!d)
		return;
	links_close(d->links);
	free(d->list);
	free(d);
}

void devices_on_return(struct devices *d,
		       int (*reattach)(void *context, const char *device, enum attach_mode mode),
		       void *context)
{
	d->reattach = reattach;
	d->context = context;
}

int devices_fd(const struct devices *d)
{
	return links_fd(d->links);
}

uint32_t devices_count(const struct devices *d)
{
	return d->count;
}

struct devices_view devices_view(const struct devices *d, uint32_t i)
{
	const struct device *v = &d->list[i];
	enum event_cause deaf = device_deafness(v);

	return (struct devices_view){
		.name = v->name,
		.netns = v->netns,
		.ifindex = v->ifindex,
		.mode = v->mode,
		.hook = v->hook,
		.here = v->here,
		.deaf = deaf,
		.reason = deaf == CAUSE_HOOK ? hook_reason(v)
			  : deaf             ? carrier_reason(v)
					     : "",
		.since_ns = v->since_ns,
	};
}
