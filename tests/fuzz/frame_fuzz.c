// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The packet path's parser, as the host compiles it, and what rules read of a frame. The first byte says
 * where the first buffer ends: from 0 (all of it) to 255/256 of the frame. */
#include "fuzz/fuzz.h"
#include "unit/frame.h"

static const struct frame_rule list[] = {
	{.id = {.kind = KPHI_ID_RULE, .protocol = IPPROTO_UDP, .port = 3784, .shape = 1},
	 .rule = {.decoder = KPHI_DECODER_BFD}},
	{.id = {.kind = KPHI_ID_RULE, .protocol = IPPROTO_UDP, .port = 7441, .shape = 2},
	 .shape = {.mask = {0xff}, .offset = {15}, .width = {1}, .bits = 8},
	 .rule = {.sequence_offset = 80,
		  .sequence_bits = 64,
		  .sequence_little = 1,
		  .leave = {.mask = 0xff, .offset = 87, .width = 1}}},
	{.id = {.kind = KPHI_ID_RULE, .protocol = 112, .shape = 3},
	 .shape = {.mask = {0xffffff, 0xff}, .offset = {13, 65535}, .width = {3, 8}, .bits = 32}},
	{.id = {.kind = KPHI_ID_RULE, .protocol = 112, .shape = 4},
	 .rule = {.sequence_offset = 65535, .sequence_bits = 16}},
};
static const struct frame_rules rules = {.list = list, .n = sizeof(list) / sizeof(*list)};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parsed p;
	size_t linear;

	if (!size--)
		return 0;
	linear = *data ? size * *data / 256 : size;
	p = frame_parse_for(data + 1, size, linear, &rules);
	must(p.verdict == PARSED || p.verdict == FOREIGN || (p.verdict >= 0 && p.verdict < KPHI_COUNTERS));
	if (p.verdict != PARSED)
		return 0;
	must((uint64_t)p.payload + p.length <= size);
	must(p.rule < (int)rules.n && p.native < KPHI_COUNTERS && p.ruled < KPHI_COUNTERS);
	return 0;
}
