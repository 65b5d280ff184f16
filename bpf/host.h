/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The packet path's reading of a frame, for the host: replay and tests take a frame as the kernel takes it,
 * by the same text. A frame's context is the length of all of it, a uint64_t; what is not between data and
 * end is not there at all.
 */
#ifndef KPHI_BPF_HOST_H
#define KPHI_BPF_HOST_H

#include <string.h>

#include "identify.h"

KPHI_INLINE uint64_t frame_length(const struct frame *f)
{
	return *(const uint64_t *)f->context;
}

KPHI_INLINE long frame_copy(const struct frame *f, uint32_t offset, void *to, uint32_t size)
{
	const char *from = (char *)f->data + offset;

	if (offset > (char *)f->end - (char *)f->data || size > (char *)f->end - from)
		return -1;
	memcpy(to, from, size);
	return 0;
}

#endif
