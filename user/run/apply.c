// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/apply.h"

#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernel/attach.h"

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

struct sought {
	const struct config_device *device;
	bool found;
};

/* Attached as the file wants it; of another mode it is attach_device()'s to complain. */
static int is_attached(const struct attachment *a, void *context)
{
	struct sought *s = context;

	if (!a->here || !a->alive || strcmp(a->device, s->device->name) != 0)
		return 0;
	s->found = s->device->mode == ATTACH_AUTO || s->device->mode == a->mode;
	return s->found;
}

/* One call puts the program on all devices that are attached already, so `upgrade` is over after the first.
 */
static int apply_device(struct apply *a, const struct config_device *device, struct why *w)
{
	struct sought s = {.device = device};
	struct attachment result;
	int err;

	if (!if_nametoindex(device->name)) {
		a->absent++;
		apply_note(a, "%s: there is no such device yet; it will be attached when it appears",
			   device->name);
		return 0;
	}
	err = attach_each(a->pin, is_attached, &s, w);
	if (err < 0)
		return err;
	if (s.found && !a->upgrade)
		return 0;
	err = attach_device(a->pin, a->store, device->name, device->mode, &result, w);
	if (err)
		return err;
	a->upgrade = false;
	if (!s.found && result.mode == ATTACH_GENERIC && device->mode == ATTACH_AUTO)
		apply_note(a, "%s: in generic mode, where beats are stamped later and less evenly: %s",
			   device->name, w->text);
	return 0;
}

static int apply_all_devices(struct apply *a, struct why *w)
{
	const struct config *config = a->config;
	int err = 0;

	a->absent = 0;
	for (unsigned int i = 0; !err && i < config->devices_count; i++)
		err = apply_device(a, &config->devices[i], w);
	for (unsigned int i = 0; !err && i < config->devices_count; i++)
		err = control_listen(a->control, config->devices[i].port, true, w);
	return err;
}

int apply_devices(struct apply *a, struct why *w)
{
	int err = pin_lock(a->pin, w);

	err = err ? err : apply_all_devices(a, w);
	pin_close(a->pin);
	return err;
}

int apply_config(struct apply *a, struct why *w)
{
	int err = pin_lock(a->pin, w);

	/* Peers first: a beat that comes before its peer is known is counted as unknown, and lost. */
	err = err ? err : apply_peers(a, w);
	err = err ? err : apply_all_devices(a, w);
	pin_close(a->pin);
	return err;
}
