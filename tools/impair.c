/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * impair: a cable between two devices that loses, delays, repeats, reorders and corrupts frames, seeded and
 * therefore repeatable: the n-th frame of a direction that the filter takes meets the same fate in each run
 * with the same seed and settings.
 *
 * Runs in a namespace that holds the inner ends of two veth pairs, both up and without addresses. It reads
 * each with a packet socket and writes to the other. Two things get lost on that way unless somebody cares:
 * the VLAN tag, which the kernel takes out of a received frame (it comes as auxiliary data and is put back),
 * and the checksum, which a veth sender leaves to be filled in by nobody (the virtio-net header says so and
 * is handed on with the frame).
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "impair.h"
#include "impair_chance.h"
#include "io/parse.h"

#define NSEC_PER_SEC 1000000000ULL
#define FRAME_MAX    (64 * 1024 + ETH_HLEN)
#define BATCH        64 /* frames read from one side before the other one and the clock get their turn */
#define SOCKET_BYTES (8 << 20)
#define FOREVER_NS   (1000000 * NSEC_PER_SEC)

static const char USAGE[] =
	"Usage: impair left DEV right DEV [seed N] [only-port N] [for D] [[WAY] WHAT...]...\n"
	"WAY  := both | leftward | rightward\n"
	"WHAT := loss PCT | burst-enter PCT burst-leave PCT | duplicate PCT | corrupt PCT\n"
	"      | delay D | jitter D | reorder PCT hold D\n"
	"\n"
	"Relays frames between two devices for D or until SIGTERM comes, then prints counts as JSON.\n"
	"D is a duration (10ms), PCT a share of the frames (5%). What follows a WAY is for frames that\n"
	"travel that way.\n"
	"\n"
	"  only-port  UDP frames from or to this port; all others pass untouched\n"
	"  burst      everything is lost between entering and leaving a burst (Gilbert's model)\n"
	"  jitter     uniform from 0, added to the delay; keeps the order\n"
	"  reorder    the chance to be held back for `hold` longer, while later frames pass\n"
	"  corrupt    one bit behind the Ethernet header is flipped\n";

/* What is counted for each direction, in the order of the summary. */
#define COUNTS(X)                                                                                            \
	X(received)                                                                                          \
	X(matched) /* received frames that the filter takes; the others are forwarded untouched */           \
	X(forwarded) /* copies included */                                                                   \
	X(lost)                                                                                              \
	X(duplicated)                                                                                        \
	X(corrupted)                                                                                         \
	X(held_back)                                                                                         \
	X(reordered) /* went out behind a frame that had come in later */                                    \
	X(refused) /* by the device: down, too long, no buffer */                                            \
	X(overrun) /* came faster than this program could take them; not repeatable, so it should be 0 */    \
	X(unsent) /* still delayed at the end */

struct counts {
#define X(name) uint64_t name;
	COUNTS(X)
#undef X
};

enum { RIGHTWARD, LEFTWARD, DIRECTIONS };

struct direction {
	const char *name;
	int in;
	int out;
	struct chance chance;
	struct counts counts;
	uint64_t last_deadline_ns;
	uint64_t last_sent; /* arrival number */
};

struct settings {
	const char *left;
	const char *right;
	uint64_t seed;
	uint16_t only_port; /* 0: every frame */
	uint64_t for_ns; /* 0: until a signal comes */
};

static struct direction directions[DIRECTIONS] = {
	[RIGHTWARD] = {.name = "rightward"},
	[LEFTWARD] = {.name = "leftward"},
};
static struct settings settings = {.seed = 1};
static struct queue queue;
static volatile sig_atomic_t stopping;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("impair: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

static bool matches(const struct frame *frame)
{
	size_t udp;

	if (!settings.only_port)
		return true;
	udp = find_udp(frame);
	return udp && (load16(frame->bytes + udp) == settings.only_port ||
		       load16(frame->bytes + udp + 2) == settings.only_port);
}

/* As on a real cable: the checksum is that of the intact frame. A batch of segments has none yet and is
 * spared. */
static void corrupt(struct frame *frame, uint64_t bit)
{
	if (frame->offload.gso_type != VIRTIO_NET_HDR_GSO_NONE || frame->length <= ETH_HLEN)
		return;
	complete_checksum(frame);
	bit %= (frame->length - ETH_HLEN) * 8;
	frame->bytes[ETH_HLEN + bit / 8] ^= (uint8_t)(1 << bit % 8);
	frame->direction->counts.corrupted++;
}

/* --- through the cable ------------------------------------------------------------------------ */

static void transmit(struct frame *frame)
{
	struct direction *direction = frame->direction;
	struct iovec parts[] = {
		{.iov_base = &frame->offload, .iov_len = sizeof(frame->offload)},
		{.iov_base = frame->bytes, .iov_len = frame->length},
	};

	if (writev(direction->out, parts, 2) < 0) {
		direction->counts.refused++;
	} else {
		direction->counts.forwarded++;
		if (frame->number && frame->number < direction->last_sent)
			direction->counts.reordered++;
		else if (frame->number)
			direction->last_sent = frame->number;
	}
	free(frame);
}

static void enqueue(struct frame *frame)
{
	if (queue_push(&queue, frame))
		return;
	frame->direction->counts.overrun++;
	free(frame);
}

static struct frame *copy_of(const struct frame *frame)
{
	size_t size = sizeof(*frame) + frame->length;
	struct frame *copy = malloc(size);

	if (!copy)
		die("out of memory");
	return memcpy(copy, frame, size);
}

/* Decides about a frame that arrived at arrival_ns and takes it over. */
static void admit(struct frame *frame, uint64_t arrival_ns)
{
	struct direction *direction = frame->direction;
	struct fate fate;

	direction->counts.received++;
	if (!matches(frame)) {
		transmit(frame);
		return;
	}
	frame->number = ++direction->counts.matched;
	fate = draw(&direction->chance);
	if (fate.lost) {
		direction->counts.lost++;
		free(frame);
		return;
	}
	frame->deadline_ns = arrival_ns + direction->chance.impairment.delay_ns + fate.jitter_ns;
	if (fate.held_back) {
		frame->deadline_ns += direction->chance.impairment.hold_ns;
		direction->counts.held_back++;
	} else {
		if (frame->deadline_ns < direction->last_deadline_ns)
			frame->deadline_ns = direction->last_deadline_ns;
		direction->last_deadline_ns = frame->deadline_ns;
	}
	if (fate.corrupted)
		corrupt(frame, fate.bit);
	if (fate.duplicated) {
		direction->counts.duplicated++;
		enqueue(copy_of(frame));
	}
	enqueue(frame);
}

/*
 * Reads one frame. A delay counts from the moment the kernel saw the frame, not from when we came to read it.
 * Returns false if there is none; a device that is down is only silent.
 */
static bool receive(struct direction *direction)
{
	static uint8_t bytes[FRAME_MAX + VLAN_TAG];
	union {
		struct cmsghdr aligned;
		char space[CMSG_SPACE(sizeof(struct tpacket_auxdata)) + CMSG_SPACE(sizeof(struct timespec))];
	} control;
	struct virtio_net_hdr offload;
	struct iovec parts[] = {
		{.iov_base = &offload, .iov_len = sizeof(offload)},
		{.iov_base = bytes, .iov_len = FRAME_MAX},
	};
	struct msghdr message = {.msg_iov = parts,
				 .msg_iovlen = 2,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct tpacket_auxdata auxdata = {0};
	uint64_t now_ns = clock_ns(CLOCK_REALTIME), seen_ns = now_ns;
	ssize_t got = recvmsg(direction->in, &message, MSG_DONTWAIT);
	struct frame *frame;
	size_t length;

	if (got < (ssize_t)(sizeof(offload) + ETH_HLEN))
		return false;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
		if (part->cmsg_level == SOL_PACKET && part->cmsg_type == PACKET_AUXDATA) {
			memcpy(&auxdata, CMSG_DATA(part), sizeof(auxdata));
		} else if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec stamp;

			memcpy(&stamp, CMSG_DATA(part), sizeof(stamp));
			seen_ns = (uint64_t)stamp.tv_sec * NSEC_PER_SEC + (uint64_t)stamp.tv_nsec;
		}
	}
	length = restore_tag(bytes, (size_t)got - sizeof(offload), &offload, &auxdata);
	frame = malloc(sizeof(*frame) + length);
	if (!frame)
		die("out of memory");
	*frame = (struct frame){.direction = direction, .length = length, .offload = offload};
	memcpy(frame->bytes, bytes, length);
	admit(frame, clock_ns(CLOCK_MONOTONIC) - (now_ns > seen_ns ? now_ns - seen_ns : 0));
	return true;
}

static void relay_until(uint64_t end_ns, const sigset_t *while_waiting)
{
	struct pollfd sides[DIRECTIONS];

	for (int i = 0; i < DIRECTIONS; i++)
		sides[i] = (struct pollfd){.fd = directions[i].in, .events = POLLIN};
	while (!stopping) {
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), wake_ns = end_ns;
		struct timespec wait = {0};

		while (queue.count && queue.heap[0]->deadline_ns <= now_ns)
			transmit(queue_pop(&queue));
		if (now_ns >= end_ns)
			return;
		if (queue.count && queue.heap[0]->deadline_ns < wake_ns)
			wake_ns = queue.heap[0]->deadline_ns;
		wait.tv_sec = (time_t)((wake_ns - now_ns) / NSEC_PER_SEC);
		wait.tv_nsec = (long)((wake_ns - now_ns) % NSEC_PER_SEC);
		if (ppoll(sides, DIRECTIONS, &wait, while_waiting) < 0 && errno != EINTR)
			die("cannot wait for frames: %s", strerror(errno));
		for (int i = 0; i < DIRECTIONS; i++)
			for (int n = 0; n < BATCH && receive(&directions[i]); n++)
				;
	}
}

/* --- from the first word to the last number --------------------------------------------------- */

static void set_option(int fd, int level, int option, const void *value, socklen_t size, const char *what)
{
	if (setsockopt(fd, level, option, value, size) < 0)
		die("%s: %s", what, strerror(errno));
}

static int open_device(const char *name)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	struct packet_mreq promiscuous = {.mr_type = PACKET_MR_PROMISC};
	int on = 1, bytes = SOCKET_BYTES, fd;

	address.sll_ifindex = (int)if_nametoindex(name);
	promiscuous.mr_ifindex = address.sll_ifindex;
	if (!address.sll_ifindex)
		die("no device %s in this network namespace", name);
	/* Protocol 0: nothing is heard before the options are set and the socket is bound. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die("cannot open a packet socket (needs CAP_NET_RAW): %s", strerror(errno));
	set_option(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on), "PACKET_VNET_HDR");
	set_option(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on), "PACKET_AUXDATA");
	set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on),
		   "PACKET_IGNORE_OUTGOING (Linux 4.20)");
	set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on), "SO_TIMESTAMPNS");
	set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes),
		   "SO_RCVBUFFORCE (needs CAP_NET_ADMIN)");
	set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes),
		   "SO_SNDBUFFORCE (needs CAP_NET_ADMIN)");
	set_option(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof(promiscuous), name);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("%s: cannot bind a packet socket: %s", name, strerror(errno));
	return fd;
}

enum kind { CHANCE, DURATION };

static const struct {
	const char *word;
	enum kind kind;
	size_t offset;
} impairments[] = {
	{"loss", CHANCE, offsetof(struct impairment, loss)},
	{"burst-enter", CHANCE, offsetof(struct impairment, burst_enter)},
	{"burst-leave", CHANCE, offsetof(struct impairment, burst_leave)},
	{"duplicate", CHANCE, offsetof(struct impairment, duplicate)},
	{"corrupt", CHANCE, offsetof(struct impairment, corrupt)},
	{"reorder", CHANCE, offsetof(struct impairment, reorder)},
	{"hold", DURATION, offsetof(struct impairment, hold_ns)},
	{"delay", DURATION, offsetof(struct impairment, delay_ns)},
	{"jitter", DURATION, offsetof(struct impairment, jitter_ns)},
};

/* An impairment and its value, for the directions in the mask. */
static void parse_impairment(const char *word, const char *text, unsigned int mask)
{
	char why[WHY_SIZE];
	uint64_t value = 0;
	uint32_t ppm = 0;
	size_t i = 0;

	while (i < sizeof(impairments) / sizeof(*impairments) && strcmp(word, impairments[i].word))
		i++;
	if (i == sizeof(impairments) / sizeof(*impairments))
		die("'%s' is not a keyword\n%s", word, USAGE);
	if (impairments[i].kind == CHANCE ? parse_percent(text, &ppm, why, sizeof(why))
					  : parse_duration(text, 0, FOREVER_NS, &value, why, sizeof(why)))
		die("%s: %s", word, why);
	value += ppm;
	for (unsigned int d = 0; d < DIRECTIONS; d++)
		if (mask & 1U << d)
			memcpy((char *)&directions[d].chance.impairment + impairments[i].offset, &value,
			       sizeof(value));
}

/* Returns false if the word is none of the whole cable's settings. */
static bool parse_setting(const char *word, const char *text)
{
	char why[WHY_SIZE];
	int error;

	if (!strcmp(word, "left")) {
		settings.left = text;
		return true;
	}
	if (!strcmp(word, "right")) {
		settings.right = text;
		return true;
	}
	if (!strcmp(word, "seed"))
		error = parse_u64(text, 0, UINT64_MAX, &settings.seed, why, sizeof(why));
	else if (!strcmp(word, "only-port"))
		error = parse_port(text, &settings.only_port, why, sizeof(why));
	else if (!strcmp(word, "for"))
		error = parse_duration(text, 1, FOREVER_NS, &settings.for_ns, why, sizeof(why));
	else
		return false;
	if (error)
		die("%s: %s", word, why);
	return true;
}

static void parse_words(char **words)
{
	const unsigned int both = 1U << RIGHTWARD | 1U << LEFTWARD;
	unsigned int mask = both;

	for (; *words; words++) {
		if (!strcmp(*words, "both")) {
			mask = both;
		} else if (!strcmp(*words, "rightward")) {
			mask = 1U << RIGHTWARD;
		} else if (!strcmp(*words, "leftward")) {
			mask = 1U << LEFTWARD;
		} else if (!words[1]) {
			die("'%s' needs a value, or is no keyword\n%s", *words, USAGE);
		} else {
			if (!parse_setting(words[0], words[1]))
				parse_impairment(words[0], words[1], mask);
			words++;
		}
	}
	if (!settings.left || !settings.right)
		die("two devices are needed\n%s", USAGE);
}

static void stop(int number)
{
	(void)number;
	stopping = 1;
}

/* Signals are let in only while ppoll waits, so none is lost between a look at `stopping` and the wait. */
static void catch_signals(sigset_t *before)
{
	struct sigaction action = {.sa_handler = stop};
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_BLOCK, &blocked, before);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

static void drain(void)
{
	while (queue.count) {
		struct frame *frame = queue_pop(&queue);

		frame->direction->counts.unsent++;
		free(frame);
	}
	for (int i = 0; i < DIRECTIONS; i++) {
		struct tpacket_stats stats = {0};
		socklen_t size = sizeof(stats);

		getsockopt(directions[i].in, SOL_PACKET, PACKET_STATISTICS, &stats, &size);
		directions[i].counts.overrun += stats.tp_drops;
	}
}

static void print_counts(const struct direction *direction)
{
	const char *separator = "";

	printf(", \"%s\": {", direction->name);
#define X(count)                                                                                             \
	printf("%s\"" #count "\": %" PRIu64, separator, direction->counts.count);                            \
	separator = ", ";
	COUNTS(X)
#undef X
	printf("}");
}

int main(int argc, char **argv)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	sigset_t while_waiting;

	if (argc == 2 && !strcmp(argv[1], "help")) {
		fputs(USAGE, stdout);
		return 0;
	}
	parse_words(argv + 1);
	catch_signals(&while_waiting);
	prctl(PR_SET_TIMERSLACK, 1UL); /* not 50 us later than asked */
	directions[RIGHTWARD].in = directions[LEFTWARD].out = open_device(settings.left);
	directions[LEFTWARD].in = directions[RIGHTWARD].out = open_device(settings.right);
	directions[RIGHTWARD].chance.random = settings.seed;
	directions[LEFTWARD].chance.random = ~settings.seed;
	fprintf(stderr, "impair: relaying between %s and %s\n", settings.left, settings.right);
	relay_until(settings.for_ns ? begin_ns + settings.for_ns : UINT64_MAX, &while_waiting);
	drain();
	printf("{\"seed\": %" PRIu64 ", \"duration_ms\": %" PRIu64, settings.seed,
	       (clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1000000);
	print_counts(&directions[RIGHTWARD]);
	print_counts(&directions[LEFTWARD]);
	puts("}");
	return 0;
}
