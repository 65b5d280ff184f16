/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Classic capture files, as much of them as the tests need: frames one after the other. */
#ifndef KPHI_TESTS_PCAP_H
#define KPHI_TESTS_PCAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PCAP_ETHERNET 1

struct pcap {
	FILE *file;
	bool swapped; /* written by a machine of the other byte order */
	bool piped; /* from tcpdump */
	uint32_t link_type;
	uint32_t fraction_ns; /* of the second part of its times */
	uint64_t time_ns; /* of the last frame */
};

static inline uint32_t pcap_word(const struct pcap *p, uint32_t word)
{
	return p->swapped ? __builtin_bswap32(word) : word;
}

static inline void pcap_close(struct pcap *p)
{
	if (p->piped)
		pclose(p->file);
	else
		fclose(p->file);
}

/* The file header; NULL, or why the file cannot be read. */
static inline const char *pcap_begin(struct pcap *p)
{
	uint32_t header[6];
	size_t got = fread(header, sizeof(header), 1, p->file);

	p->swapped = got && (header[0] == 0xd4c3b2a1 || header[0] == 0x4d3cb2a1);
	if (!got || (!p->swapped && header[0] != 0xa1b2c3d4 && header[0] != 0xa1b23c4d))
		return "it is no capture file";
	p->fraction_ns = pcap_word(p, header[0]) == 0xa1b23c4d ? 1 : 1000;
	p->link_type = pcap_word(p, header[5]) & 0xffff;
	return NULL;
}

/* NULL, or why the file cannot be read. Newer formats come through tcpdump, which writes the classic one. */
static inline const char *pcap_open(struct pcap *p, const char *path)
{
	char command[512];
	const char *why;

	*p = (struct pcap){.file = fopen(path, "rb")};
	if (!p->file)
		return "it cannot be opened";
	why = pcap_begin(p);
	if (!why)
		return NULL;
	fclose(p->file);
	snprintf(command, sizeof(command), "tcpdump -r '%.400s' -w - 2> /dev/null", path);
	/* NOLINTNEXTLINE(cert-env33-c): the paths are those of the captures that the tests were given */
	*p = (struct pcap){.file = popen(command, "r"), .piped = true};
	if (!p->file)
		return "tcpdump cannot be started";
	why = pcap_begin(p);
	if (why)
		pclose(p->file);
	return why;
}

/* The next frame's length, its bytes in `frame`; 0 at the end of the file or if a frame is longer than
 * `size`. */
static inline uint32_t pcap_next(struct pcap *p, uint8_t *frame, uint32_t size)
{
	uint32_t header[4], length;

	if (fread(header, sizeof(header), 1, p->file) != 1)
		return 0;
	p->time_ns =
		pcap_word(p, header[0]) * 1000000000ULL + (uint64_t)pcap_word(p, header[1]) * p->fraction_ns;
	length = pcap_word(p, header[2]);
	return length <= size && fread(frame, 1, length, p->file) == length ? length : 0;
}

#endif
