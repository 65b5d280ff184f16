// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * swarm: thousands of native senders in one process, which live and die by a script on standard input, and
 * the witness of what they did. A line of the script is
 *
 *	MS join|die|leave PEER[-LAST]     begin a life of a higher epoch; just stop; say goodbye and stop
 *	MS lose PEER[-LAST] FOR_MS        beat on, but nothing of it goes out for so long
 *	MS drop PEER[-LAST] PPM           from now on lose so many beats of a million, at random
 *
 * in milliseconds after `begin`, in order of time; SIGTERM is the end. Peer n has the node id
 * 00000000-0000-4000-8000-<n, 12 digits>. The n-th of N beats n/N of an interval after the first, so that
 * the beats of all are evenly spread and in the order of their numbers: one cursor goes round instead of a
 * queue of deadlines. Another CPU sends every 50 ms, because on a veth it is the sender's that receives.
 *
 * The log is for who judges an observer. Times are CLOCK_MONOTONIC in nanoseconds; an observer stamps a
 * message between the times before and after it was handed to the kernel. LAST is the time before a peer's
 * last beat.
 *
 *	join PEER BEFORE AFTER EPOCH    the first beat of a life
 *	die PEER NOW LAST               likewise leave
 *	lose PEER NOW LAST MS           a burst of losses begins
 *	gap PEER LAST BEFORE AFTER      a beat came so late after the one before, for whatever reason
 *	last PEER LAST                  at the end: has been silent for that long
 *	end NOW ...                     what was sent in all, and how well this process kept its pace
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "beat/wire_codec.h"
#include "io/error.h"
#include "io/options.h"
#include "kernel/clock.h"

#define MS_NS      1000000ULL
#define SECOND_NS  1000000000ULL
#define PEERS_MAX  1000000
#define BATCH      32
#define SEND_BYTES (4 << 20)
#define PPM        1000000
#define HOP_NS     (50 * MS_NS)

enum verb { JOIN, DIE, LEAVE, LOSE, DROP, VERBS };
static const char *const verbs[] = {"join", "die", "leave", "lose", "drop", NULL};

struct line {
	uint64_t at_ns;
	enum verb verb;
	uint32_t first, last;
	uint64_t argument;
};

struct peer {
	uint64_t epoch, sequence;
	uint64_t last_ns; /* before its last beat went out; 0: none did */
	uint64_t lose_until_ns;
	uint32_t drop_ppm;
	bool alive, announced; /* the first beat of this life has gone out */
};

struct settings {
	struct sockaddr_storage to;
	uint64_t peers, interval_ns, begin_ns, gap_ns, seed;
	const char *log;
};

static const struct option_spec specs[] = {
	{"to", OPT_ENDPOINT, offsetof(struct settings, to), OPT_NO_HAS, .min = KPHI_WIRE_PORT,
	 .required = true, .help = "who is to hear it"},
	{"peers", OPT_U64, offsetof(struct settings, peers), OPT_NO_HAS, .min = 1, .max = PEERS_MAX,
	 .help = "how many senders"},
	{"interval", OPT_DURATION, offsetof(struct settings, interval_ns), OPT_NO_HAS, .min = MS_NS,
	 .help = "between two beats of each"},
	{"begin", OPT_U64, offsetof(struct settings, begin_ns), OPT_NO_HAS,
	 .help = "when the script begins, CLOCK_MONOTONIC in nanoseconds; now if left out"},
	{"gap", OPT_DURATION, offsetof(struct settings, gap_ns), OPT_NO_HAS, .min = 1,
	 .help = "silences from this length on are in the log"},
	{"seed", OPT_U64, offsetof(struct settings, seed), OPT_NO_HAS, .help = "of the losses at random"},
	{"log", OPT_STRING, offsetof(struct settings, log), OPT_NO_HAS, .value = "FILE", .required = true,
	 .help = "where the log goes"},
};

static struct settings settings = {
	.peers = 10000, .interval_ns = SECOND_NS, .gap_ns = 5 * SECOND_NS / 2, .seed = 1};
static struct peer *peers;
static struct line *script;
static size_t script_lines;
static FILE *out;
static int udp;
static uint64_t random_state;
static uint64_t sent_beats, sent_leaves, dropped, failed, skipped, late_max_ns;
static volatile sig_atomic_t stopping;

/* What waits to be sent together. */
static struct {
	uint8_t bytes[BATCH][sizeof(struct kphi_wire)];
	uint32_t peer[BATCH];
	uint32_t count;
} batch;

static void stop(int signal)
{
	stopping = signal;
}

static void give_up(const char *what)
{
	fail("%s: %s", what, strerror(errno));
	exit(1);
}

/* xorshift64*, Vigna 2016: even enough for one loss in a hundred. */
static uint32_t chance_ppm(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)((random_state * 0x2545f4914f6cdd1dULL >> 32) * PPM >> 32);
}

/* --- the script --------------------------------------------------------------------------------- */

static bool read_line(const char *text, struct line *l)
{
	char verb[8] = "";
	uint64_t at_ms, first = 0, last;
	int used = 0, index;

	if (sscanf(text, "%" SCNu64 " %7s%n", &at_ms, verb, &used) < 2)
		return false;
	for (index = 0; index < VERBS && strcmp(verbs[index], verb); index++)
		;
	*l = (struct line){.at_ns = at_ms * MS_NS, .verb = (enum verb)index};
	text += used;
	if (index == VERBS || sscanf(text, " %" SCNu64 "%n", &first, &used) < 1)
		return false;
	text += used;
	last = first;
	if (*text == '-') {
		if (sscanf(text, "-%" SCNu64 "%n", &last, &used) < 1)
			return false;
		text += used;
	}
	l->first = (uint32_t)first;
	l->last = (uint32_t)last;
	if (l->verb == LOSE || l->verb == DROP) {
		if (sscanf(text, " %" SCNu64 "%n", &l->argument, &used) < 1)
			return false;
		text += used;
	}
	return text[strspn(text, " \n")] == '\0' && first <= last && last < settings.peers;
}

static void read_script(void)
{
	char *text = NULL;
	size_t size = 0, room = 0;
	uint64_t before_ns = 0;

	while (getline(&text, &size, stdin) > 0) {
		if (script_lines == room) {
			room = room ? room * 2 : 1024;
			script = realloc(script, room * sizeof(*script));
			if (!script)
				give_up("the script");
		}
		if (!read_line(text, &script[script_lines]) || script[script_lines].at_ns < before_ns) {
			fail("line %zu of the script: '%.60s' is no line of it, names nobody, or comes too "
			     "late",
			     script_lines + 1, text);
			exit(2);
		}
		before_ns = script[script_lines++].at_ns;
	}
	free(text);
}

/* --- on the wire -------------------------------------------------------------------------------- */

/* Message i of the batch went out between the two times. */
static void note_sent(uint32_t i, uint64_t before_ns, uint64_t after_ns)
{
	struct peer *p = &peers[batch.peer[i]];

	sent_beats++;
	if (!p->announced)
		fprintf(out, "join %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", batch.peer[i], before_ns,
			after_ns, p->epoch);
	else if (after_ns - p->last_ns >= settings.gap_ns)
		fprintf(out, "gap %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", batch.peer[i], p->last_ns,
			before_ns, after_ns);
	p->announced = true;
	p->last_ns = before_ns;
}

static void flush_batch(void)
{
	struct mmsghdr message[BATCH];
	struct iovec part[BATCH];
	uint32_t done = 0;

	for (uint32_t i = 0; i < batch.count; i++) {
		part[i] = (struct iovec){batch.bytes[i], sizeof(batch.bytes[i])};
		message[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &settings.to,
							  .msg_namelen = sizeof(settings.to),
							  .msg_iov = &part[i],
							  .msg_iovlen = 1}};
	}
	while (done < batch.count) {
		uint64_t before_ns = clock_monotonic_ns(), after_ns;
		int sent = sendmmsg(udp, message + done, batch.count - done, 0);

		after_ns = clock_monotonic_ns();
		for (int i = 0; i < sent; i++)
			note_sent(done + (uint32_t)i, before_ns, after_ns);
		if (sent <= 0)
			failed++; /* the kernel did not take this one */
		done += sent > 0 ? (uint32_t)sent : 1;
	}
	batch.count = 0;
}

static void encode(uint32_t n, enum kphi_wire_type type, uint8_t bytes[sizeof(struct kphi_wire)])
{
	struct peer *p = &peers[n];
	struct wire_message m = {.type = type, .epoch = p->epoch, .sequence = ++p->sequence};
	uint64_t digits = n;

	m.node_id[6] = 0x40;
	m.node_id[8] = 0x80;
	for (int i = 15; i >= 10; i--, digits /= 100)
		m.node_id[i] = (uint8_t)(digits % 10 | digits / 10 % 10 << 4);
	wire_encode(&m, bytes);
}

static void beat(uint32_t n, uint64_t now_ns)
{
	struct peer *p = &peers[n];

	if (!p->alive)
		return;
	encode(n, KPHI_WIRE_BEAT, batch.bytes[batch.count]);
	if (now_ns < p->lose_until_ns || (p->drop_ppm && chance_ppm() < p->drop_ppm)) {
		dropped++;
		return;
	}
	batch.peer[batch.count++] = n;
	if (batch.count == BATCH)
		flush_batch();
}

/* --- lives -------------------------------------------------------------------------------------- */

static void say_goodbye(uint32_t n)
{
	uint8_t bytes[sizeof(struct kphi_wire)];

	encode(n, KPHI_WIRE_LEAVE, bytes);
	if (sendto(udp, bytes, sizeof(bytes), 0, (struct sockaddr *)&settings.to, sizeof(settings.to)) ==
	    sizeof(bytes))
		sent_leaves++;
	else
		failed++;
}

static void begin_life(struct peer *p)
{
	if (p->alive)
		return;
	p->epoch = p->epoch ? p->epoch + 1 : (uint64_t)time(NULL);
	p->sequence = 0;
	p->lose_until_ns = 0;
	p->alive = true;
	p->announced = false;
}

static void end_life(uint32_t n, enum verb verb)
{
	struct peer *p = &peers[n];

	if (!p->alive)
		return;
	if (verb == LEAVE && p->announced)
		say_goodbye(n);
	if (p->announced)
		fprintf(out, "%s %u %" PRIu64 " %" PRIu64 "\n", verbs[verb], n, clock_monotonic_ns(),
			p->last_ns);
	p->alive = false;
}

static void lose(uint32_t n, uint64_t ms)
{
	struct peer *p = &peers[n];
	uint64_t now_ns = clock_monotonic_ns();

	if (!p->alive)
		return;
	p->lose_until_ns = now_ns + ms * MS_NS;
	fprintf(out, "lose %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", n, now_ns, p->last_ns, ms);
}

static void obey(const struct line *l)
{
	flush_batch();
	for (uint32_t n = l->first; n <= l->last; n++) {
		if (l->verb == JOIN)
			begin_life(&peers[n]);
		else if (l->verb == LOSE)
			lose(n, l->argument);
		else if (l->verb == DROP)
			peers[n].drop_ppm = (uint32_t)l->argument;
		else
			end_life(n, l->verb);
	}
	fflush(out);
}

/* --- time --------------------------------------------------------------------------------------- */

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = {.tv_sec = (time_t)(at_ns / SECOND_NS), .tv_nsec = (long)(at_ns % SECOND_NS)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Slots since the beginning. One that is late by an interval and more is skipped: nothing is made up for. */
static uint64_t due_slot(uint64_t slot, uint64_t now_ns)
{
	uint64_t slot_ns = slot * settings.interval_ns / settings.peers, rounds;
	uint64_t late_ns = now_ns > slot_ns ? now_ns - slot_ns : 0;

	if (late_ns > late_max_ns)
		late_max_ns = late_ns;
	rounds = late_ns / settings.interval_ns;
	skipped += rounds * settings.peers;
	return slot + rounds * settings.peers;
}

/*
 * Puts the sender on one CPU after the other. It may go where it likes soon afterwards: on a CPU that
 * somebody else keeps busy at a higher priority it would not even come to say so itself.
 */
static void *move_about(void *unused)
{
	cpu_set_t given, next;
	size_t cpu = 0;

	if (sched_getaffinity(0, sizeof(given), &given))
		return unused;
	while (!stopping) {
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &given));
		CPU_ZERO(&next);
		CPU_SET(cpu, &next);
		sched_setaffinity(getpid(), sizeof(next), &next);
		sleep_until(clock_monotonic_ns() + HOP_NS / 5);
		sched_setaffinity(getpid(), sizeof(given), &given);
		sleep_until(clock_monotonic_ns() + HOP_NS * 4 / 5);
	}
	return unused;
}

static void run(void)
{
	uint64_t slot = 0;
	size_t next = 0;

	while (!stopping) {
		uint64_t now_ns = clock_monotonic_ns() - settings.begin_ns;

		while (next < script_lines && script[next].at_ns <= now_ns)
			obey(&script[next++]);
		slot = due_slot(slot, now_ns);
		for (; slot * settings.interval_ns / settings.peers <= now_ns; slot++)
			beat((uint32_t)(slot % settings.peers), now_ns + settings.begin_ns);
		flush_batch();
		sleep_until(clock_monotonic_ns() + MS_NS);
	}
}

static void say_end(void)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (uint32_t n = 0; n < settings.peers; n++)
		if (peers[n].alive && peers[n].announced && now_ns - peers[n].last_ns >= settings.gap_ns)
			fprintf(out, "last %u %" PRIu64 "\n", n, peers[n].last_ns);
	fprintf(out,
		"end %" PRIu64 " beats %" PRIu64 " leaves %" PRIu64 " dropped %" PRIu64 " failed %" PRIu64
		" skipped %" PRIu64 " late_max_ns %" PRIu64 "\n",
		now_ns, sent_beats, sent_leaves, dropped, failed, skipped, late_max_ns);
}

int main(int argc, char **argv)
{
	struct args args = {argc - 1, argv + 1, "swarm"};
	int bytes = SEND_BYTES;
	pthread_t mover;

	if (options_parse(&args, specs, sizeof(specs) / sizeof(specs[0]), &settings))
		return 2;
	read_script();
	random_state = settings.seed * 2 + 1;
	if (!settings.begin_ns)
		settings.begin_ns = clock_monotonic_ns();
	peers = calloc(settings.peers, sizeof(*peers));
	out = fopen(settings.log, "we");
	if (!peers || !out)
		give_up(settings.log);
	udp = socket(settings.to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* Not connected: nobody reads these messages, and what ICMP says of that would cost a beat. */
	if (udp < 0 || setsockopt(udp, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)))
		give_up("the socket");
	signal(SIGTERM, stop);
	signal(SIGINT, stop);
	sleep_until(settings.begin_ns);
	if (pthread_create(&mover, NULL, move_about, NULL))
		give_up("a thread");
	run();
	pthread_join(mover, NULL);
	say_end();
	if (fclose(out))
		give_up(settings.log);
	return 0;
}
