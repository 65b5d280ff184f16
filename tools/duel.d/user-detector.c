// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * user-detector PORT GROUP { reads | timers } PAUSE_MS EVERY_MS STAMPS ACCEPTABLE_MS NAME=UUID...
 *
 * What kphi would be as an ordinary program: its own records, windows, phi and schedule (user/core/,
 * include/kphi/), but a beat is stamped when recvmsg() has returned, in the event loop of this process. For
 * tools/duel.
 *
 * PORT, GROUP   where native heartbeats come to: a multicast group, so that several observers hear the very
 * same packets reads, timers what a turn of the loop looks at first: whatever waits in the socket, or whoever
 * is overdue PAUSE_MS      once every EVERY_MS nothing happens for so long, as when a garbage collector stops
 * the world; 0: never STAMPS        a file for the stamps of every packet, as lines of NAME EPOCH SEQUENCE
 * KERNEL_NS USER_NS (Unix time, the first one SO_TIMESTAMPNS); `-`: none ACCEPTABLE_MS acceptable pause of
 * every peer, which has an interval of 50 ms
 *
 * Standard output: a JSON object a line for each verdict, times in CLOCK_MONOTONIC.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <kphi/record.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/models.h"
#include "core/policy.h"
#include "core/schedule.h"
#include "io/parse.h"
#include "kernel/clock.h"

#define PEERS_MAX   64
#define WINDOW      1000
#define INTERVAL_NS 50000000ULL
#define MS_NS       1000000ULL
#define SECOND_NS   1000000000ULL

struct watched {
	struct kphi_peer peer;
	struct kphi_record record;
	uint64_t ring[KPHI_RING_SIZE(WINDOW)];
	bool suspect;
};

struct detector {
	struct watched watched[PEERS_MAX];
	uint32_t peers;
	struct schedule *schedule;
	int fd;
	bool timers_first;
	uint64_t pause_ns, every_ns, next_pause_ns;
	FILE *stamps;
};

static volatile sig_atomic_t ended;

static void end(int signal)
{
	ended = signal;
}

static void give_up(const char *what, const char *why)
{
	fprintf(stderr, "user-detector: %s: %s\n", what, why);
	exit(1);
}

/* --- verdicts --- */

/* When phi reaches the threshold if nothing comes; UINT64_MAX: never. */
static uint64_t deadline_ns(const struct watched *w)
{
	struct kphi_estimate e;
	uint64_t silence_ns;

	if (w->record.state != KPHI_UP || !estimate_from_window(&e, &w->record.window, &w->peer, NULL))
		return UINT64_MAX;
	silence_ns = estimate_silence(&e, POLICY_SUSPECT);
	return silence_ns > UINT64_MAX - w->record.last_ns ? UINT64_MAX : w->record.last_ns + silence_ns;
}

static void say(const struct watched *w, const char *verdict, uint64_t now_ns, uint64_t due_ns)
{
	printf("{\"type\":\"%s\",\"peer\":\"%s\",\"monotonic_ns\":%" PRIu64 ",\"last_ns\":%" PRIu64
	       ",\"deadline_ns\":%" PRIu64 "}\n",
	       verdict, w->peer.name, now_ns, w->record.last_ns, due_ns);
	fflush(stdout);
}

/* Deadlines are lazy, as the engine's are: a beat does not touch the schedule. */
static void judge(struct detector *d)
{
	uint32_t i;

	for (uint64_t now_ns = clock_monotonic_ns(); schedule_take(d->schedule, now_ns, &i);) {
		struct watched *w = &d->watched[i];
		uint64_t due_ns = deadline_ns(w);

		if (due_ns > now_ns) {
			schedule_set(d->schedule, i, due_ns);
			continue;
		}
		w->suspect = true;
		say(w, "suspect", now_ns, due_ns);
	}
}

/* --- beats --- */

static struct watched *find(struct detector *d, const uint8_t id[16])
{
	for (uint32_t i = 0; i < d->peers; i++)
		if (!memcmp(d->watched[i].peer.id.bytes, id, 16))
			return &d->watched[i];
	return NULL;
}

static void take(struct detector *d, const struct kphi_wire *wire, uint64_t now_ns, uint64_t kernel_ns,
		 uint64_t user_ns)
{
	struct watched *w = find(d, wire->node_id);
	struct kphi_beat b = {.now_ns = now_ns, .native = 1, .epoch_limit = UINT64_MAX, .sequence_bits = 64};
	uint32_t notes;

	if (!w)
		return;
	b.epoch = be64toh(wire->epoch);
	b.sequence = be64toh(wire->sequence);
	b.type = wire->type;
	if (d->stamps)
		fprintf(d->stamps, "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", w->peer.name,
			(uint64_t)b.epoch, (uint64_t)b.sequence, kernel_ns, user_ns);
	if (kphi_record_take(&w->record, &w->peer, w->ring, WINDOW, &b, &notes) == KPHI_COUNT_beat &&
	    w->suspect) {
		w->suspect = false;
		say(w, "trust", now_ns, 0);
	}
	if (!w->suspect)
		schedule_hasten(d->schedule, (uint32_t)(w - d->watched), deadline_ns(w));
}

static uint64_t kernel_stamp(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct timespec t;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&t, CMSG_DATA(c), sizeof(t));
		return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
	}
	return 0;
}

/* One datagram; false if none waits. */
static bool receive(struct detector *d)
{
	struct kphi_wire wire;
	struct iovec part = {&wire, sizeof(wire)};
	char control[256];
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(d->fd, &m, MSG_DONTWAIT);
	uint64_t now_ns = clock_monotonic_ns();
	struct timespec wall;

	if (got < 0)
		return false;
	clock_gettime(CLOCK_REALTIME, &wall);
	if (got == sizeof(wire) && wire.magic == htonl(KPHI_WIRE_MAGIC))
		take(d, &wire, now_ns, kernel_stamp(&m),
		     (uint64_t)wall.tv_sec * SECOND_NS + (uint64_t)wall.tv_nsec);
	return true;
}

/* --- the loop --- */

static void stop_the_world(struct detector *d)
{
	struct timespec t = {.tv_sec = (time_t)(d->pause_ns / SECOND_NS),
			     .tv_nsec = (long)(d->pause_ns % SECOND_NS)};

	nanosleep(&t, NULL);
	d->next_pause_ns = clock_monotonic_ns() + d->every_ns;
}

static void wait_for_something(struct detector *d)
{
	uint64_t now_ns = clock_monotonic_ns(), next_ns = schedule_next_ns(d->schedule);
	struct pollfd p = {.fd = d->fd, .events = POLLIN};
	struct timespec t;

	if (next_ns > d->next_pause_ns)
		next_ns = d->next_pause_ns;
	if (next_ns > now_ns + SECOND_NS)
		next_ns = now_ns + SECOND_NS;
	next_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	t = (struct timespec){(time_t)(next_ns / SECOND_NS), (long)(next_ns % SECOND_NS)};
	ppoll(&p, 1, &t, NULL);
}

static void turn(struct detector *d)
{
	wait_for_something(d);
	if (clock_monotonic_ns() >= d->next_pause_ns)
		stop_the_world(d);
	if (d->timers_first)
		judge(d);
	while (receive(d))
		;
	if (!d->timers_first)
		judge(d);
}

/* --- the start --- */

static void add(struct detector *d, char *word, uint64_t acceptable_ns)
{
	char *id = strchr(word, '='), why[WHY_SIZE];
	struct watched *w = &d->watched[d->peers];

	if (!id || d->peers == PEERS_MAX)
		give_up(word, "NAME=UUID is wanted, 64 times at most");
	*id++ = '\0';
	if (parse_uuid(id, w->peer.id.bytes, why, sizeof(why)))
		give_up(word, why);
	snprintf(w->peer.name, sizeof(w->peer.name), "%s", word);
	w->peer.interval_ns = INTERVAL_NS;
	w->peer.pause_ns = acceptable_ns;
	w->peer.set = KPHI_SET_PAUSE;
	kphi_window_begin(&w->record.window, &w->peer);
	d->peers++;
}

static int listen_on(uint16_t port, const char *group)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct ip_mreqn member = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1, room = 1 << 20;

	if (inet_pton(AF_INET, group, &member.imr_multiaddr) != 1)
		give_up(group, "no IPv4 address");
	here.sin_addr = member.imr_multiaddr;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(fd, (const struct sockaddr *)&here, sizeof(here)) ||
	    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof(member)))
		give_up("cannot listen", strerror(errno));
	return fd;
}

static uint64_t number(const char *text)
{
	char *rest;
	unsigned long long value = strtoull(text, &rest, 10);

	if (!*text || *rest)
		give_up(text, "no number");
	return value;
}

int main(int argc, char **argv)
{
	static struct detector d;
	struct sigaction action = {.sa_handler = end};

	if (argc < 9)
		give_up("usage", "PORT GROUP { reads | timers } PAUSE_MS EVERY_MS STAMPS ACCEPTABLE_MS "
				 "NAME=UUID...");
	d.timers_first = !strcmp(argv[3], "timers");
	d.pause_ns = number(argv[4]) * MS_NS;
	d.every_ns = number(argv[5]) * MS_NS;
	d.next_pause_ns = d.pause_ns ? clock_monotonic_ns() + d.every_ns : UINT64_MAX;
	if (strcmp(argv[6], "-") && !(d.stamps = fopen(argv[6], "we")))
		give_up(argv[6], strerror(errno));
	for (int i = 8; i < argc; i++)
		add(&d, argv[i], number(argv[7]) * MS_NS);
	d.schedule = schedule_new(PEERS_MAX);
	if (!d.schedule)
		give_up("start", "no memory");
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	d.fd = listen_on((uint16_t)number(argv[1]), argv[2]);
	printf("{\"type\":\"ready\"}\n");
	fflush(stdout);
	while (!ended)
		turn(&d);
	schedule_free(d.schedule);
	return d.stamps && fclose(d.stamps) ? 1 : 0;
}
