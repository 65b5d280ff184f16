// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/apply.h"

#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/text.h"
#include "kernel/attach.h"
#include "kernel/keyring.h"

void apply_note(struct apply *a, const char *format, ...)
{
	struct text notes = {a->notes, sizeof(a->notes)};
	va_list ap;

	va_start(ap, format);
	text_vjoin(&notes, "; ", format, ap);
	va_end(ap);
}

/* --- keys --- */

int apply_keys(struct apply *a, struct why *w)
{
	const struct config *config = a->config;
	int err = 0;

	for (unsigned int i = 0; !err && i < config->keys_count; i++) {
		const struct config_key *k = &config->keys[i];
		int ring = keyring_make(a->control, a->store, k->name, w);

		err = ring < 0 ? ring : keyring_set(a->control, a->store, ring, k->keys, k->count, w);
	}
	return err;
}

/* --- devices --- */

struct sought {
	const struct config_device *device;
	struct attachment found; /* program_id 0: not attached */
};

/* Attached as the file wants it; of another mode it is attach_device()'s to complain. */
static int seek(const struct attachment *a, void *context)
{
	struct sought *s = context;

	if (!a->here || !a->alive || strcmp(a->device, s->device->name) != 0 ||
	    (s->device->mode != ATTACH_AUTO && s->device->mode != a->mode))
		return 0;
	s->found = *a;
	return 1;
}

static int attach_now(struct apply *a, const struct config_device *device, bool is_new, struct why *w)
{
	struct attachment result;
	int err = attach_device(a->pin, a->store, device->name, device->mode, &result, w);

	if (!err && is_new && *w->text)
		apply_note(a, "%s: in %s mode, where beats are stamped later and less evenly: %s",
			   device->name, attach_modes[result.mode], w->text);
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
		return s.found.program_id ? 0 : attach_later(a, device, w);
	/* This binary's program is left where it is: after an exchange nobody can tell since when the device
	 * has been heard, and the silences of all peers would be counted from now on. */
	if (s.found.program_id && (*exchanged || attach_is_current(a->pin, a->store, &s.found)))
		return 0;
	*exchanged = true;
	return attach_now(a, device, !s.found.program_id, w);
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
