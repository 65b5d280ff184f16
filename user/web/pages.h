/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pages, as they are built in. */
#ifndef KPHI_WEB_PAGES_H
#define KPHI_WEB_PAGES_H

#include <stddef.h>

struct page {
	const unsigned char *bytes;
	size_t length;
	const char *tag; /* with its quotation marks: the same as long as the bytes are */
	const char *policy; /* Content-Security-Policy */
};

extern const struct page page_map, page_lab;

#endif
