/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the fuzz targets share. libFuzzer calls LLVMFuzzerTestOneInput() with whatever it has thought of. */
#ifndef KPHI_TESTS_FUZZ_H
#define KPHI_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise that was broken is a crash like any other. */
#define must(condition)                                                                                      \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);              \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

/* A refusal says why. (What it quotes of the input is escaped by who prints it.) */
static inline void must_say(const char *why)
{
	must(*why);
}

/* A file of these bytes. */
static inline int fuzz_file(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* The same as a name, for who opens files by name; closed by close(*fd). */
static inline const char *fuzz_path(const void *data, size_t size, int *fd, char path[32])
{
	*fd = fuzz_file(data, size);
	snprintf(path, 32, "/proc/self/fd/%d", *fd);
	return path;
}

/* Text with a zero behind it, on the heap so that a sanitizer sees who reads on. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

#endif
