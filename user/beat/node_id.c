/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "beat/node_id.h"

#include <string.h>

#include <systemd/sd-id128.h>

/* Made with `systemd-id128 new` for this purpose. It must never change: every host would become another one.
 */
#define KPHI_APPLICATION SD_ID128_MAKE(76, f0, f2, ea, 18, 05, 4b, 07, 9d, 64, c9, 6d, f9, c7, 07, 0c)

int node_id_of_host(uint8_t node_id[16])
{
	sd_id128_t id;
	int err = sd_id128_get_machine_app_specific(KPHI_APPLICATION, &id);

	if (err < 0)
		return err;
	memcpy(node_id, id.bytes, sizeof(id.bytes));
	return 0;
}
