// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Heartbeats in user space: what was decoded is encoded to the same bytes, as far as this version knows them.
 */
#include "beat/wire_codec.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_message message, again;
	uint8_t bytes[sizeof(struct kphi_wire)];
	char *exact = malloc(size ? size : 1);
	int err;

	must(exact);
	memcpy(exact, data, size);
	err = wire_decode(exact, size, &message);
	free(exact);
	if (err)
		return 0;
	must(size >= sizeof(bytes) && message.sequence);
	wire_encode(&message, bytes);
	must(!wire_decode(bytes, sizeof(bytes), &again));
	must(!memcmp(&message.node_id, &again.node_id, sizeof(again.node_id)));
	must(message.epoch == again.epoch && message.sequence == again.sequence && message.tag == again.tag);
	return 0;
}
