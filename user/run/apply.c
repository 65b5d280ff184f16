// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/apply.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/attach.h"
#include "kernel/load.h"

void apply_note(struct apply *a, const char *format, ...)
{
	size_t length = strlen(a->notes);
	va_list ap;

	if (length && length + 2 < sizeof(a->notes))
		length += (size_t)snprintf(a->notes + length, sizeof(a->notes) - length, "; ");
	va_start(ap, format);
	vsnprintf(a->notes + length, sizeof(a->notes) - length, format, ap);
	va_end(ap);
}

/* --- which program is on a device --- */

/* The kernel's digest of a program's instructions; those of the same binary's are the same. */
static bool tag_of(int program, uint8_t tag[BPF_TAG_SIZE])
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (program < 0 || bpf_obj_get_info_by_fd(program, &info, &size))
		return false;
	memcpy(tag, info.tag, BPF_TAG_SIZE);
	return true;
}

/*
 * Is it this binary's program? Then it is left where it is: after an exchange nobody can tell since when the
 * device has been heard, and the silences of all peers would be counted from now on.
 */
static bool is_ours(const struct apply *a, uint32_t program_id)
{
	uint8_t present[BPF_TAG_SIZE], ours[BPF_TAG_SIZE];
	struct kphi_bpf *skeleton;
	struct why w;
	int fd = bpf_prog_get_fd_by_id(program_id);
	bool same = tag_of(fd, present);

	if (fd >= 0)
		close(fd);
	if (!same || load_over(&skeleton, a->pin, a->store->header, &w))
		return false;
	same = tag_of(load_xdp_fd(skeleton), ours) && !memcmp(present, ours, sizeof(ours));
	load_free(skeleton);
	return same;
}

/* --- devices --- */

struct sought {
	const struct config_device *device;
	uint32_t program_id; /* 0: not attached */
};

/* Attached as the file wants it; of another mode it is attach_device()'s to complain. */
static int seek(const struct attachment *a, void *context)
{
	struct sought *s = context;

	if (!a->here || !a->alive || strcmp(a->device, s->device->name) != 0 ||
	    (s->device->mode != ATTACH_AUTO && s->device->mode != a->mode))
		return 0;
	s->program_id = a->program_id;
	return 1;
}

static int attach_now(struct apply *a, const struct config_device *device, bool is_new, struct why *w)
{
	struct attachment result;
	int err = attach_device(a->pin, a->store, device->name, device->mode, &result, w);

	if (!err && is_new && result.mode == ATTACH_GENERIC && device->mode == ATTACH_AUTO)
		apply_note(a, "%s: in generic mode, where beats are stamped later and less evenly: %s",
			   device->name, w->text);
	return err;
}

static int attach_later(struct apply *a, struct config_device *device, struct why *w)
{
	int err = device->tried ? 0 : attacher_start(a->attacher, device->name, device->mode, device->port);

	device->tried = true;
	return err ? why(w, err, "%s: cannot start `kphi net attach`: %s", device->name, why_errno(err)) : 0;
}

/* An exchange puts the program on all devices, so it is due at most once, at the first. */
static int apply_device(struct apply *a, struct config_device *device, bool *exchanged, struct why *w)
{
	struct sought s = {.device = device};
	int err;

	if (!if_nametoindex(device->name)) {
		a->absent++;
		apply_note(a, "%s: there is no such device yet; it will be attached when it appears",
			   device->name);
		return 0;
	}
	err = attach_each(a->pin, seek, &s, w);
	if (err < 0)
		return err;
	if (a->attacher)
		return s.program_id ? 0 : attach_later(a, device, w);
	if (s.program_id && (*exchanged || is_ours(a, s.program_id)))
		return 0;
	*exchanged = true;
	return attach_now(a, device, !s.program_id, w);
}

static int apply_all_devices(struct apply *a, struct why *w)
{
	const struct config *config = a->config;
	bool exchanged = false;
	int err = 0;

	a->absent = 0;
	for (unsigned int i = 0; !err && i < config->devices_count; i++)
		err = apply_device(a, &config->devices[i], &exchanged, w);
	return err;
}

static int open_ports(struct apply *a, struct why *w)
{
	const struct config *config = a->config;
	int err = 0;

	for (unsigned int i = 0; !err && i < config->devices_count; i++)
		err = control_listen(a->control, config->devices[i].port, true, w);
	return err;
}

/* The children take the lock themselves. */
int apply_devices(struct apply *a, struct why *w)
{
	return apply_all_devices(a, w);
}

int apply_config(struct apply *a, struct why *w)
{
	int err = pin_lock(a->pin, w);

	/* Peers first: a beat that comes before its peer is known is counted as unknown, and lost. */
	err = err ? err : apply_peers(a, w);
	err = err ? err : open_ports(a, w);
	err = err ? err : apply_all_devices(a, w);
	pin_close(a->pin);
	return err;
}
