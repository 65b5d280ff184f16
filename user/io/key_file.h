/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A key in a file that nobody but its owner may read. One line: the key's number as it is on the wire, a
 * colon, and its 128 bits in 32 hexadecimal digits, first byte first:
 *
 *   7:000102030405060708090a0b0c0d0e0f
 *
 * Empty lines, and those that begin with #, are ignored.
 */
#ifndef KPHI_IO_KEY_FILE_H
#define KPHI_IO_KEY_FILE_H

#include <stddef.h>
#include <stdint.h>

/* To be wiped with explicit_bzero() by whoever has one. */
struct key {
	uint32_t id; /* never 0 */
	uint64_t word[2]; /* as siphash.h wants it */
};

/* Both say in one sentence what is wrong, without a byte of what is in the file. 0 or -EINVAL. */
int key_parse(const char *text, size_t size, struct key *key, char *why, size_t why_size);
int key_read(const char *path, struct key *key, char *why, size_t why_size);

/* A new key of this number, from the kernel's generator, in a new file of mode 0600. 0 or -errno, said why.
 */
int key_generate(const char *path, uint32_t id, struct key *key, char *why, size_t why_size);

/* A number that tells two keys apart and says nothing else about them. */
uint64_t key_fingerprint(const struct key *key);

#endif
