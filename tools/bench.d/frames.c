// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#include "bench.h"

struct bench_frame frame_make(uint16_t port, const uint8_t node_id[16])
{
	struct bench_frame f = {
		.ethernet.h_proto = htons(ETH_P_IP),
		.ip = {.version = 4,
		       .ihl = 5,
		       .ttl = 64,
		       .protocol = IPPROTO_UDP,
		       .tot_len = htons(sizeof(f) - sizeof(f.ethernet)),
		       .saddr = htonl(0x0a000001)},
		.udp = {.dest = htons(port), .len = htons(sizeof(f.udp) + sizeof(f.wire))},
		.wire = {.magic = htonl(KPHI_WIRE_MAGIC),
			 .version = KPHI_WIRE_VERSION,
			 .type = KPHI_WIRE_BEAT,
			 .length = htons(sizeof(f.wire)),
			 .epoch = htobe64(1)},
	};

	memcpy(f.wire.node_id, node_id, sizeof(f.wire.node_id));
	return f;
}
