// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/attach.h"

#include <abi.h>
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/attach_pin.h"
#include "kernel/control.h"
#include "kernel/hook.h"
#include "kernel/ladder.h"
#include "kernel/load.h"
#include "kernel/netns.h"

#define TAG_SIZE (2 * BPF_TAG_SIZE + 1)

const char *const attach_modes[] = {"auto", "native", "tc", "generic", NULL};
const char *const attach_hooks[] = {"xdp", "tcx", "clsact"};

/* --- what is attached --- */

static bool attachment_read(const struct pin *p, const char *name, struct attachment *a)
{
	char relative[128], current[IF_NAMESIZE];

	if (!attach_pin_parse(name, a))
		return false;
	snprintf(relative, sizeof(relative), "links/%.100s", name);
	pin_path(p, relative, a->pin);
	a->here = a->netns == netns_here();
	hook_ask(p, a);
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

	/* Who removed the folder by hand has detached every device, and no more than that. */
	if (!dir && errno == ENOENT && pin_has_store(p) && !mkdir(path, 0700))
		dir = opendir(path);
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

/* --- another binary's programs in the place of the present ones --- */

static int add_need(const struct attachment *a, void *context)
{
	uint32_t *which = context;

	if (a->alive)
		*which |= hook_program(a);
	return 0;
}

struct upgrade {
	const struct pin *p;
	const struct programs *programs;
	struct why *w;
};

static int upgrade_one(const struct attachment *a, void *context)
{
	struct upgrade *u = context;
	uint32_t which = a->alive ? hook_program(a) : 0;
	int err = which ? hook_replace(u->p, a, programs_fd(u->programs, which)) : 0;

	if (a->alive && !which)
		return why(u->w, -EPERM,
			   "%s: which program reads it can be told from another network namespace only with "
			   "CAP_SYS_ADMIN. Run `kphi net attach dev %s` there",
			   a->device, a->device);
	return err ? why(u->w, err, "%s: cannot put the new program in place: %s", a->device, why_errno(err))
		   : 0;
}

/* A newer binary's control program takes the old one's place by a rename, so there is always one. */
static int upgrade_control(const struct pin *p, int program, struct why *w)
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

static int upgrade_all(const struct programs *programs, struct why *w)
{
	struct upgrade u = {programs->p, programs, w};
	int err = attach_each(programs->p, upgrade_one, &u, w);

	return err ? err : upgrade_control(programs->p, programs_control_fd(programs), w);
}

/* --- attaching --- */

/* What held a device that is gone never comes back; a new device of that number or name takes its place. */
static int forget_dead(const struct attachment *old, void *context)
{
	const struct attachment *a = context;

	if (old->here && !old->alive && (old->ifindex == a->ifindex || !strcmp(old->device, a->device)))
		unlink(old->pin);
	return 0;
}

static int refuse_mode(const struct attachment *a, struct why *w)
{
	return why(w, -EBUSY, "%s: attached in %s mode already. Detach it first: `kphi net detach dev %s`",
		   a->device, attach_modes[a->mode], a->device);
}

/* One that is attached stays as it is, but for the programs; else the ladder is climbed. */
static int attach_or_stay(struct programs *programs, struct attachment *a, struct why *w)
{
	struct attachment old = {0};
	struct find f = {a->device, a->ifindex, &old};
	uint32_t need = 0;
	int found, err = attach_each(programs->p, forget_dead, a, w);

	err = err ? err : attach_each(programs->p, add_need, &need, w);
	found = err ? err : attach_each(programs->p, find_one, &f, w);
	if (found < 0)
		return found;
	if (found && a->wanted != ATTACH_AUTO && a->wanted != old.mode)
		return refuse_mode(&old, w);
	if (found)
		*a = old;
	programs->needed = need;
	return found ? programs_need(programs, 0, w) : ladder_climb(programs, a, w);
}

/* Rules that name the device follow it to its number. */
static int follow(const struct pin *p, const struct store *s, const struct attachment *a, struct why *w)
{
	struct control c;
	int err = control_open(&c, p, w);

	if (err)
		return err;
	err = control_follow(&c, s, a->device, a->ifindex, w);
	control_close(&c);
	return err;
}

int attach_device(struct pin *p, const struct store *s, const char *device, enum attach_mode mode,
		  struct attachment *result, struct why *w)
{
	struct programs programs = {.p = p, .header = s->header};
	struct why trouble;
	int err;

	*result = (struct attachment){
		.wanted = mode, .netns = netns_here(), .ifindex = if_nametoindex(device), .here = true};
	w->text[0] = '\0';
	/* glibc says ENOENT where it has got no socket to ask by. */
	if (!result->ifindex && errno != ENODEV)
		return why(w, -EMFILE, "%s: cannot look for the device: %s", device, strerror(EMFILE));
	if (!result->ifindex)
		return why(w, -ENODEV,
			   "%s: there is no such device in this network namespace. `ip link` lists them",
			   device);
	snprintf(result->device, sizeof(result->device), "%s", device);
	err = attach_or_stay(&programs, result, w);
	if (err) {
		programs_free(&programs);
		return err;
	}
	err = upgrade_all(&programs, &trouble);
	err = err ? err : follow(p, s, result, &trouble);
	programs_free(&programs);
	if (err)
		return why(w, err, "%s", trouble.text);
	hook_ask(p, result);
	return 0;
}

/* --- detaching --- */

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
	/* Removing the pin of a link detaches too, but some time later, and then a beat could still start the
	 * guard's tick again. */
	hook_detach(p, &a);
	return unlink(a.pin) ? why(w, -errno, "%s: cannot detach: %s", a.pin, strerror(errno)) : 0;
}

static int abandon_one(const struct attachment *a, void *context)
{
	if (a->hook == HOOK_CLSACT)
		hook_detach(context, a);
	return 0;
}

void attach_abandon(const struct pin *p, const char *abi)
{
	struct pin other = *p;
	struct why w;

	snprintf(other.store, sizeof(other.store), "%.*s/abi-%.15s", PIN_PATH - 64, p->root, abi ?: KPHI_ABI);
	attach_each(&other, abandon_one, &other, &w);
}

/* --- comparing --- */

/*
 * The kernel's digest of a program's instructions, as hexadecimal digits; those of the same binary's are the
 * same. From what the kernel says of a descriptor, a link's or a program's: to ask for a program by its
 * number would take CAP_SYS_ADMIN.
 */
static bool tag_of(int fd, char tag[TAG_SIZE])
{
	char path[64], line[128];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/thread-self/fdinfo/%d", fd);
	file = fd < 0 ? NULL : fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "prog_tag: %16[0-9a-f]", tag) == 1;
	if (file)
		fclose(file);
	return found;
}

bool attach_is_current(const struct pin *p, const struct store *s, const struct attachment *a)
{
	struct programs programs = {.p = p, .header = s->header};
	char present[TAG_SIZE], ours[TAG_SIZE];
	int fd = bpf_obj_get(a->pin);
	bool same = tag_of(fd, present);
	uint32_t which = hook_program(a);
	struct why w;

	if (fd >= 0)
		close(fd);
	if (!same || !which || programs_need(&programs, which, &w))
		return false;
	same = tag_of(programs_fd(&programs, which), ours) && !strcmp(present, ours);
	programs_free(&programs);
	return same;
}
