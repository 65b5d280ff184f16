/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rawsend: puts Ethernet frames on a device exactly as written, for what no socket would send: tagged twice,
 * cut short, wrong in length or checksum. Each argument is a frame in hex; without one, each line of stdin
 * is. Blanks, colons and a comment behind # do not count. With `for` it is a flood: all frames in turn, as
 * fast as the device takes them, for that long.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "io/parse.h"

#define NSEC_PER_SEC 1000000000ULL
#define HOUR_NS      (3600 * NSEC_PER_SEC)
#define FRAME_MAX    (64 * 1024)
#define BATCH        64 /* frames between two looks at the clock */

static const char USAGE[] = "Usage: rawsend DEV [count N] [every D] [for D] [HEX...]\n"
			    "Sends each frame N times (once), one every D (at once); or all of them again "
			    "and again for so long.\n"
			    "Frames come from stdin if none is given.\n";

struct plan {
	const char *device;
	int fd;
	uint64_t count;
	uint64_t every_ns;
	uint64_t for_ns; /* a flood; 0: none */
	struct iovec *flood; /* its frames */
	size_t frames;
	uint64_t due_ns; /* CLOCK_MONOTONIC, of the next frame */
};

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the number of bytes, 0 for an empty line, or -EINVAL. */
static int decode(const char *text, uint8_t *bytes)
{
	int nibbles = 0;

	for (; *text && *text != '#'; text++) {
		int digit = hex_digit(*text);

		if (strchr(" \t\r\n:", *text))
			continue;
		if (digit < 0 || nibbles == 2 * FRAME_MAX)
			return -EINVAL;
		bytes[nibbles / 2] = (uint8_t)(nibbles % 2 ? bytes[nibbles / 2] << 4 | digit : digit);
		nibbles++;
	}
	return nibbles % 2 ? -EINVAL : nibbles / 2;
}

static int open_device(const char *name)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(name)};
	int fd;

	if (!address.sll_ifindex)
		return -ENODEV;
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* protocol 0: hears nothing */
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

static int no_memory(void)
{
	fprintf(stderr, "rawsend: no memory for so many frames\n");
	return -ENOMEM;
}

/* For the flood, which begins when all of it is there. */
static int keep(struct plan *plan, const uint8_t *bytes, size_t length)
{
	struct iovec *more = realloc(plan->flood, (plan->frames + 1) * sizeof(*more));

	if (!more)
		return no_memory();
	plan->flood = more;
	more[plan->frames].iov_len = length;
	more[plan->frames].iov_base = malloc(length);
	if (!more[plan->frames].iov_base)
		return no_memory();
	memcpy(more[plan->frames++].iov_base, bytes, length);
	return 0;
}

static int send_frame(struct plan *plan, const char *text)
{
	static uint8_t bytes[FRAME_MAX];
	int length = decode(text, bytes);

	if (length < 0) {
		fprintf(stderr, "rawsend: not a frame in hex: %s\n", text);
		return -EINVAL;
	}
	if (plan->for_ns)
		return length ? keep(plan, bytes, (size_t)length) : 0;
	for (uint64_t i = 0; length && i < plan->count; i++) {
		struct timespec due = {.tv_sec = (time_t)(plan->due_ns / NSEC_PER_SEC),
				       .tv_nsec = (long)(plan->due_ns % NSEC_PER_SEC)};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		plan->due_ns += plan->every_ns;
		if (send(plan->fd, bytes, (size_t)length, 0) < 0) {
			int error = -errno;

			fprintf(stderr, "rawsend: %s refused %d bytes: %s\n", plan->device, length,
				strerror(errno));
			return error;
		}
	}
	return 0;
}

static volatile sig_atomic_t ended;

static void on_end(int signal)
{
	(void)signal;
	ended = 1;
}

/*
 * Says how often it has tried, because what a device has no room for is lost, as on any cable: the device
 * counts that, whether it tells the sender or not.
 */
static int flood(struct plan *plan)
{
	uint64_t end_ns = now_ns() + plan->for_ns, tried = 0;

	signal(SIGTERM, on_end);
	while (plan->frames && !ended && now_ns() < end_ns) {
		for (int i = 0; i < BATCH; i++) {
			const struct iovec *frame = &plan->flood[tried++ % plan->frames];

			if (send(plan->fd, frame->iov_base, frame->iov_len, 0) < 0 && errno != ENOBUFS) {
				fprintf(stderr, "rawsend: %s refused %zu bytes: %s\n", plan->device,
					frame->iov_len, strerror(errno));
				return -errno;
			}
		}
	}
	printf("sent %" PRIu64 "\n", tried);
	return 0;
}

static int send_stdin(struct plan *plan)
{
	char *line = NULL;
	size_t size = 0;
	int error = 0;

	while (!error && getline(&line, &size, stdin) >= 0)
		error = send_frame(plan, line);
	free(line);
	return error;
}

/* Takes DEV and the keywords off the front. Returns how many words that were, or -EINVAL. */
static int parse_words(int argc, char **argv, struct plan *plan)
{
	char why[WHY_SIZE];
	int used = 2, error = 0;

	if (argc < 2) {
		fputs(USAGE, stderr);
		return -EINVAL;
	}
	plan->device = argv[1];
	for (; !error && used + 1 < argc; used += 2) {
		const char *value = argv[used + 1];

		if (!strcmp(argv[used], "count"))
			error = parse_u64(value, 1, UINT64_MAX, &plan->count, why, sizeof(why));
		else if (!strcmp(argv[used], "every"))
			error = parse_duration(value, 0, HOUR_NS, &plan->every_ns, why, sizeof(why));
		else if (!strcmp(argv[used], "for"))
			error = parse_duration(value, 1, HOUR_NS, &plan->for_ns, why, sizeof(why));
		else
			break;
	}
	if (error) {
		fprintf(stderr, "rawsend: %s\n", why);
		return -EINVAL;
	}
	return used;
}

int main(int argc, char **argv)
{
	struct plan plan = {.count = 1, .due_ns = now_ns()};
	int word = parse_words(argc, argv, &plan), error = 0;

	if (word < 0)
		return 2;
	plan.fd = open_device(plan.device);
	if (plan.fd < 0) {
		fprintf(stderr, "rawsend: cannot send on %s: %s\n", plan.device, strerror(-plan.fd));
		return 1;
	}
	if (word == argc)
		error = send_stdin(&plan);
	for (; !error && word < argc; word++)
		error = send_frame(&plan, argv[word]);
	if (!error && plan.for_ns)
		error = flood(&plan);
	for (size_t i = 0; i < plan.frames; i++)
		free(plan.flood[i].iov_base);
	free(plan.flood);
	close(plan.fd);
	return error ? 1 : 0;
}
