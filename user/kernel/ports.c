// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/ports.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

int ports_read(const struct pin *p, struct kphi_ports *ports, struct why *w)
{
	char path[PIN_PATH];
	uint32_t zero = 0;
	int fd = bpf_obj_get(pin_path(p, "ports", path));
	int err = fd < 0 ? -errno : bpf_map_lookup_elem(fd, &zero, ports);

	if (fd >= 0)
		close(fd);
	return err ? why_pin(w, err, path, " and read it") : 0;
}
