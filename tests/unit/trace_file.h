/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the tests of traces share: files of known bytes, beats of all kinds, and whether two are the same. */
#ifndef KPHI_TESTS_TRACE_FILE_H
#define KPHI_TESTS_TRACE_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/parse.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "unit/random.h"

/* A path for a file that is not there yet, in a directory of its own. */
static char trace_directory[] = "/tmp/kphi-trace-XXXXXX";
static char trace_path[64];

static inline int trace_room(void **state)
{
	(void)state;
	if (!mkdtemp(trace_directory))
		return -1;
	snprintf(trace_path, sizeof(trace_path), "%s/a.trace", trace_directory);
	return 0;
}

static inline int trace_room_end(void **state)
{
	(void)state;
	unlink(trace_path);
	return rmdir(trace_directory);
}

struct bytes {
	uint8_t *at;
	size_t size;
};

static inline struct bytes file_bytes(const char *path)
{
	struct stat st;
	struct bytes b = {NULL, 0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	b.size = (size_t)st.st_size;
	b.at = malloc(b.size + 1);
	assert_int_equal(read(fd, b.at, b.size), b.size);
	close(fd);
	return b;
}

/* A descriptor from which exactly these bytes are read. */
static inline int bytes_fd(const void *bytes, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static inline struct trace_writer *new_trace(void)
{
	const struct trace_start start = {1795992874000000000, 123456789, 1000};
	char why[WHY_SIZE];
	struct trace_writer *w;

	unlink(trace_path);
	w = trace_create(trace_path, &start, why, sizeof(why));
	assert_non_null(w);
	return w;
}

static inline struct trace_peer a_peer(uint32_t number, uint64_t interval_ns)
{
	struct trace_peer p = {.settings = {.id.kind = KPHI_ID_NATIVE, .interval_ns = interval_ns}};

	snprintf(p.settings.name, sizeof(p.settings.name), "peer %u", number);
	memcpy(p.settings.id.bytes, &number, sizeof(number));
	p.settings.id.bytes[15] = 1;
	memcpy(p.name, p.settings.name, sizeof(p.name));
	return p;
}

/* All fields, and no other bytes. */
static inline bool same_beat(const struct kphi_beat *a, const struct kphi_beat *b)
{
	return a->now_ns == b->now_ns && a->epoch == b->epoch && a->sequence == b->sequence &&
	       a->epoch_limit == b->epoch_limit && a->local_rx_ns == b->local_rx_ns &&
	       a->stalled_total_ns == b->stalled_total_ns && a->stall_end_ns == b->stall_end_ns &&
	       a->stall_length_ns == b->stall_length_ns && a->device == b->device && a->cpu == b->cpu &&
	       a->type == b->type && a->flags == b->flags && a->native == b->native &&
	       a->sequence_bits == b->sequence_bits && a->decoder == b->decoder &&
	       a->any_source == b->any_source && !memcmp(a->speaker, b->speaker, sizeof(a->speaker));
}

/* Any bits at all. */
static inline struct kphi_beat any_beat(uint64_t *random)
{
	uint64_t words[sizeof(struct kphi_beat) / sizeof(uint64_t)] = {0};
	struct kphi_beat b;

	_Static_assert(sizeof(b) == sizeof(words), "a beat is whole words");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		words[i] = random_magnitude(random, 64);
	memcpy(&b, words, sizeof(b));
	return b;
}

/* Like the last one of its peer but for a few fields. */
static inline struct kphi_beat changed_beat(uint64_t *random, const struct kphi_beat *was)
{
	struct kphi_beat b = *was, other = any_beat(random);
	uint64_t which = random_bits(random);

	which &= random_bits(random); /* a quarter of the fields */
	b.now_ns += random_magnitude(random, 40);
	b.sequence = which & 1 ? other.sequence : b.sequence + 1;
	b.epoch = which & 2 ? other.epoch : b.epoch;
	b.epoch_limit = which & 4 ? other.epoch_limit : b.epoch_limit;
	b.stall_end_ns = which & 8 ? other.stall_end_ns : b.stall_end_ns;
	b.stall_length_ns = which & 16 ? other.stall_length_ns : b.stall_length_ns;
	b.stalled_total_ns = which & 32 ? other.stalled_total_ns : b.stalled_total_ns;
	b.cpu = which & 64 ? other.cpu : b.cpu;
	b.type = which & 128 ? other.type : b.type;
	b.flags = which & 256 ? other.flags : b.flags;
	b.speaker[0] = which & 512 ? other.speaker[0] : b.speaker[0];
	b.speaker[1] = which & 1024 ? other.speaker[1] : b.speaker[1];
	b.device = which & 2048 ? other.device : b.device;
	b.local_rx_ns = which & 4096 ? other.local_rx_ns : b.local_rx_ns;
	b.native = which & 8192 ? random_below(random, 2) : b.native;
	b.decoder = which & 16384 ? random_below(random, 2) : b.decoder;
	b.sequence_bits = which & 32768 ? 8U << random_below(random, 4) : b.sequence_bits;
	b.any_source = which & 65536 ? other.any_source : b.any_source;
	return b;
}

#endif
