/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KPHI_TESTS_CONTENT_H
#define KPHI_TESTS_CONTENT_H

#include <stdio.h>

#include "io/file.h"

/* What a child has written into DIRECTORY/NAME; "" if it has not. Good until the next call. */
static inline const char *content_of(const char *directory, const char *name)
{
	static char text[4096];
	char path[128];
	ssize_t got;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	got = file_read(path, text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = '\0';
	return text;
}

#endif
