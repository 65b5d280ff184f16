// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A server that beats from its own main loop, ten times a second: when the loop hangs, so does the beat. Each
 * line of standard input is work; the line "hang" is a bug, "ill" and "well" are what it knows of itself.
 *
 *     emitter STATE-FILE ADDRESS...
 */
#include <kphi.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL_NS 100000000ULL

/* False: the input has ended. */
static bool work(uint32_t *flags)
{
	char line[256];
	ssize_t length = read(STDIN_FILENO, line, sizeof(line) - 1);

	if (length <= 0)
		return false;
	line[length] = '\0';
	if (!strcmp(line, "hang\n"))
		pause();
	if (!strcmp(line, "ill\n"))
		*flags |= KPHI_BEAT_DEGRADED;
	if (!strcmp(line, "well\n"))
		*flags &= ~(uint32_t)KPHI_BEAT_DEGRADED;
	return true;
}

int main(int argc, char **argv)
{
	static const uint8_t id[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe1};
	struct kphi_beat_config config = {.id = id, .state = argv[1], .to = (const char *const *)argv + 2};
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char why[KPHI_WHY_SIZE];
	struct kphi_sender *sender;
	uint32_t flags = 0;
	uint64_t due_ns;

	if (argc < 3 || kphi_beat_open(&sender, &config, why, sizeof(why))) {
		fprintf(stderr, "%s\n", argc < 3 ? "usage: emitter STATE-FILE ADDRESS..." : why);
		return 1;
	}
	due_ns = kphi_now_ns();
	for (;;) {
		uint64_t now_ns = kphi_now_ns();

		if (now_ns >= due_ns) {
			kphi_beat_send(sender, flags); /* what is lost is made up for by the next one */
			due_ns += ((now_ns - due_ns) / INTERVAL_NS + 1) * INTERVAL_NS;
			continue;
		}
		if (poll(&input, 1, (int)((due_ns - now_ns) / 1000000 + 1)) == 1 && !work(&flags))
			break;
	}
	kphi_beat_close(sender, true);
	return 0;
}
