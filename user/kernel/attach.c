// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/explain.h"
#include "kernel/load.h"

static uint64_t netns_here(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) ? 0 : st.st_ino;
}

static void pin_name(const struct attachment *a, char *name, size_t size)
{
	snprintf(name, size, "links/%" PRIu64 "-%u-%c-%s", a->netns, a->ifindex,
		 a->mode == ATTACH_NATIVE ? 'n' : 'g', a->device);
	for (char *c = name; *c; c++)
		if (*c == '.')
			*c = ':';
}

/* From a pin's file name; false if it is none of ours. */
static bool pin_parse(const char *name, struct attachment *a)
{
	char mode;

	*a = (struct attachment){0};
	if (sscanf(name, "%" SCNu64 "-%u-%c-%15s", &a->netns, &a->ifindex, &mode, a->device) != 4)
		return false;
	for (char *c = a->device; *c; c++)
		if (*c == ':')
			*c = '.';
	a->mode = mode == 'n' ? ATTACH_NATIVE : ATTACH_GENERIC;
	return true;
}

/*
 * What the kernel says about the link. A link whose device has gone reports ifindex 0; one that cannot be
 * asked may well be alive.
 */
static void ask_link(struct attachment *a)
{
	struct bpf_link_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_obj_get(a->pin);

	a->alive = true;
	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size)) {
		a->alive = info.xdp.ifindex != 0;
		a->link_id = info.id;
		a->program_id = info.prog_id;
	}
	if (fd >= 0)
		close(fd);
}

static bool attachment_read(const struct pin *p, const char *name, struct attachment *a)
{
	char relative[128], current[IF_NAMESIZE];

	if (!pin_parse(name, a))
		return false;
	snprintf(relative, sizeof(relative), "links/%.100s", name);
	pin_path(p, relative, a->pin);
	a->here = a->netns == netns_here();
	ask_link(a);
	if (a->here && a->alive && if_indextoname(a->ifindex, current))
		snprintf(a->device, sizeof(a->device), "%s", current);
	return true;
}

int attach_each(const struct pin *p, int (*each)(const struct attachment *a, void *context), void *context,
		struct why *w)
{
	char path[PIN_PATH];
	DIR *dir = opendir(pin_path(p, "links", path));
	struct attachment a;
	struct dirent *e;
	int result = 0;

	if (!dir)
		return why(w, -errno, "%s: cannot list the attached devices: %s%s", path, strerror(errno),
			   geteuid() ? ". Run it as root" : "");
	while (!result && (e = readdir(dir)))
		if (attachment_read(p, e->d_name, &a))
			result = each(&a, context);
	closedir(dir);
	return result;
}

struct find {
	const char *device;
	uint32_t ifindex; /* 0: by name */
	struct attachment *found;
};

static int find_one(const struct attachment *a, void *context)
{
	struct find *f = context;

	if (!a->here || (f->ifindex ? a->ifindex != f->ifindex : strcmp(a->device, f->device)))
		return 0;
	*f->found = *a;
	return 1;
}

struct upgrade {
	int program;
	struct why *w;
};

/* The kernel swaps the program of a link in one step: every packet meets the old one or the new one. */
static int upgrade_one(const struct attachment *a, void *context)
{
	struct upgrade *u = context;
	int fd, err;

	if (!a->alive)
		return 0;
	fd = bpf_obj_get(a->pin);
	err = fd < 0 ? -errno : bpf_link_update(fd, u->program, NULL);
	if (fd >= 0)
		close(fd);
	return err ? why(u->w, err, "%s: cannot put the new program in place: %s", a->device, why_errno(err))
		   : 0;
}

/* A device keeps its program on the way into another network namespace. */
static int is_ours(const struct attachment *a, void *context)
{
	const uint32_t *program_id = context;

	return a->program_id == *program_id;
}

/* A program that no link of ours holds is somebody else's, and stays. */
static int check_foreign(const struct pin *p, const char *device, uint32_t ifindex, struct why *w)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	char name[64];

	if (bpf_xdp_query(ifindex, 0, &query) || query.attach_mode == XDP_ATTACHED_NONE)
		return 0;
	if (!query.prog_id)
		query.prog_id = query.drv_prog_id ?: query.skb_prog_id ?: query.hw_prog_id;
	if (attach_each(p, is_ours, &query.prog_id, w) > 0)
		return why(w, -EBUSY,
			   "%s: kphi listens on it already, from another network namespace that the device "
			   "was in. Detach it there, or "
			   "remove the pin that `kphi -j net show` names for it, then attach it again",
			   device);
	explain_program(query.prog_id, name, sizeof(name));
	return why(w, -EBUSY,
		   "%s: an XDP program that is not kphi's is attached already: id %u, name \"%s\". kphi "
		   "leaves it alone. Attach to "
		   "another device, or have its owner detach it (`bpftool net` shows it)",
		   device, query.prog_id, name);
}

static int create_link(const char *device, uint32_t ifindex, int program, enum attach_mode mode, int *link,
		       struct why *w)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .flags = mode == ATTACH_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE);

	*link = bpf_link_create(program, ifindex, BPF_XDP, &opts);
	return *link < 0 ? explain_attach(w, *link, device, mode) : 0;
}

static int pin_link(struct pin *p, int link, struct attachment *a, struct why *w)
{
	char name[96];
	int err;

	pin_name(a, name, sizeof(name));
	pin_path(p, name, a->pin);
	err = bpf_obj_pin(link, a->pin);
	if (!err)
		return 0;
	return why(w, err, "%s: cannot pin the link of %s: %s", a->pin, a->device, why_errno(err));
}

static int attach_new(struct pin *p, int program, enum attach_mode mode, struct attachment *a, struct why *w)
{
	int link, err = check_foreign(p, a->device, a->ifindex, w);

	if (err)
		return err;
	a->mode = mode == ATTACH_AUTO ? ATTACH_NATIVE : mode;
	err = create_link(a->device, a->ifindex, program, a->mode, &link, w);
	if (err && mode == ATTACH_AUTO && err != -EPERM && err != -EBUSY && err != -EEXIST) {
		struct why second;

		a->mode = ATTACH_GENERIC;
		err = create_link(a->device, a->ifindex, program, a->mode, &link, &second);
		if (err)
			why(w, err, "%s", second.text);
	}
	if (err)
		return err;
	err = pin_link(p, link, a, w);
	close(link);
	ask_link(a);
	return err;
}

/* A newer binary's control program takes the old one's place by a rename, so there is always one. */
static int upgrade_control(struct pin *p, int program, struct why *w)
{
	char old[PIN_PATH], new[PIN_PATH];
	int err;

	pin_path(p, "control", old);
	unlink(pin_path(p, "control-new", new));
	err = bpf_obj_pin(program, new);
	if (!err && (chmod(new, 0600) || rename(new, old)))
		err = -errno;
	return err ? why(w, err, "%s: cannot pin the control program: %s", old, why_errno(err)) : 0;
}

/* A link to a device that is gone never comes back; a new device of that number or name takes its place. */
static int forget_dead(const struct attachment *old, void *context)
{
	const struct attachment *a = context;

	if (old->here && !old->alive && (old->ifindex == a->ifindex || !strcmp(old->device, a->device)))
		unlink(old->pin);
	return 0;
}

static int attach_loaded(struct pin *p, struct kphi_bpf *skeleton, enum attach_mode mode,
			 struct attachment *a, struct why *w)
{
	struct upgrade u = {load_xdp_fd(skeleton), w};
	struct attachment old = {0};
	struct find f = {.ifindex = a->ifindex, .found = &old};
	int found, err = attach_each(p, forget_dead, a, w);

	if (err)
		return err;
	found = attach_each(p, find_one, &f, w);
	if (found < 0)
		return found;
	if (found && mode != ATTACH_AUTO && mode != old.mode)
		return why(w, -EBUSY,
			   "%s: attached in %s mode already. Detach it first: `kphi net detach dev %s`",
			   a->device, old.mode == ATTACH_NATIVE ? "native" : "generic", a->device);
	err = found ? 0 : attach_new(p, u.program, mode, a, w);
	err = err ?: attach_each(p, upgrade_one, &u, w);
	err = err ?: upgrade_control(p, load_control_fd(skeleton), w);
	if (!err && found) {
		*a = old;
		ask_link(a);
	}
	return err;
}

int attach_device(struct pin *p, const struct store *s, const char *device, enum attach_mode mode,
		  struct attachment *result, struct why *w)
{
	struct kphi_bpf *skeleton;
	int err;

	*result = (struct attachment){.netns = netns_here(), .ifindex = if_nametoindex(device), .here = true};
	w->text[0] = '\0';
	if (!result->ifindex)
		return why(w, -ENODEV,
			   "%s: there is no such device in this network namespace. `ip link` lists them",
			   device);
	snprintf(result->device, sizeof(result->device), "%s", device);
	err = load_over(&skeleton, p, s->header, w);
	if (err)
		return err;
	err = attach_loaded(p, skeleton, mode, result, w);
	load_free(skeleton);
	return err;
}

/* Removing the pin detaches too, but some time later, and then a beat could still start the guard's tick
 * again. */
static void detach_now(const struct attachment *a)
{
	int link = bpf_obj_get(a->pin);

	if (link < 0)
		return;
	bpf_link_detach(link);
	close(link);
}

int attach_detach(struct pin *p, const char *device, struct why *w)
{
	struct attachment a;
	struct find f = {.device = device, .found = &a};
	int found = attach_each(p, find_one, &f, w);

	if (found < 0)
		return found;
	if (!found)
		return why(w, -ENOENT,
			   "%s: kphi is not attached there in this network namespace. `kphi net show` lists "
			   "where it is",
			   device);
	detach_now(&a);
	return unlink(a.pin) ? why(w, -errno, "%s: cannot detach: %s", a.pin, strerror(errno)) : 0;
}
