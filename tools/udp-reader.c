// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * udp-reader PORT ADDRESS: what any program does that reads heartbeats from a socket, for tools/demo to
 * compare with. It takes native heartbeats from one IPv4 address and stamps each when recvfrom() has
 * returned. At SIGTERM it says in JSON what it saw; with its sequence numbers, the same beats can be found in
 * kphi's window.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <kphi/wire.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "kernel/clock.h"

struct seen {
	uint64_t beats, first_sequence, last_sequence;
	uint64_t last_ns, least_ns, most_ns;
	double mean_ns, squares; /* of the intervals: Welford's running sums */
};

static volatile sig_atomic_t ended;

static void end(int signal)
{
	ended = signal;
}

static void take(struct seen *s, uint64_t sequence, uint64_t now_ns)
{
	uint64_t interval_ns = now_ns - s->last_ns;
	double before = (double)interval_ns - s->mean_ns;

	s->last_ns = now_ns;
	s->last_sequence = sequence;
	if (!s->beats++) {
		s->first_sequence = sequence;
		s->least_ns = UINT64_MAX;
		return;
	}
	s->mean_ns += before / (double)(s->beats - 1);
	s->squares += before * ((double)interval_ns - s->mean_ns);
	s->least_ns = interval_ns < s->least_ns ? interval_ns : s->least_ns;
	s->most_ns = interval_ns > s->most_ns ? interval_ns : s->most_ns;
}

/* A timeout, so that a signal just before recvfrom() is noticed, too. */
static int listen_on(uint16_t port)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct timeval patience = {.tv_usec = 100000};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) &&
	    !bind(fd, (const struct sockaddr *)&here, sizeof(here)))
		return fd;
	perror("udp-reader: cannot listen");
	exit(1);
}

static void read_beats(int fd, in_addr_t from, struct seen *s)
{
	while (!ended) {
		struct sockaddr_in source = {0};
		socklen_t size = sizeof(source);
		struct kphi_wire w;
		ssize_t got = recvfrom(fd, &w, sizeof(w), 0, (struct sockaddr *)&source, &size);
		uint64_t now_ns = clock_monotonic_ns();

		if (got == sizeof(w) && source.sin_addr.s_addr == from && w.magic == htonl(KPHI_WIRE_MAGIC) &&
		    w.type == KPHI_WIRE_BEAT)
			take(s, be64toh(w.sequence), now_ns);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = end};
	struct seen s = {0};
	struct in_addr from;

	if (argc != 3 || inet_pton(AF_INET, argv[2], &from) != 1) {
		fprintf(stderr, "usage: udp-reader PORT ADDRESS\n");
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	read_beats(listen_on((uint16_t)atoi(argv[1])), from.s_addr, &s);
	if (s.beats < 2) {
		fprintf(stderr, "udp-reader: %" PRIu64 " heartbeats came from %s\n", s.beats, argv[2]);
		return 1;
	}
	printf("{\"beats\":%" PRIu64 ",\"first_sequence\":%" PRIu64 ",\"last_sequence\":%" PRIu64
	       ",\"least_ns\":%" PRIu64 ",\"most_ns\":%" PRIu64 ",\"mean_ns\":%.0f,\"stddev_ns\":%.0f}\n",
	       s.beats, s.first_sequence, s.last_sequence, s.least_ns, s.most_ns, s.mean_ns,
	       sqrt(s.squares / (double)(s.beats - 1)));
	return 0;
}
