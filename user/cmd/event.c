// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi event: what `kphi run` has to say, as it says it: JSON, one object a line. */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "run/client.h"
#include "run/config.h"

struct event_options {
	const char *socket;
	bool follow, state;
};

static const struct option_spec specs[] = {
	{"follow", OPT_FLAG, offsetof(struct event_options, follow), OPT_NO_HAS,
	 .help = "go on with every event from now on"},
	{"state", OPT_FLAG, offsetof(struct event_options, state), OPT_NO_HAS,
	 .help = "with `follow`: begin with the current state"},
	{"socket", OPT_STRING, offsetof(struct event_options, socket), OPT_NO_HAS, .value = "PATH",
	 .help = "where it listens, if not at " CONFIG_SOCKET_DEFAULT},
};

static int print(const struct client *c)
{
	if (fwrite(c->line, 1, c->length, stdout) == c->length && !fflush(stdout))
		return 0;
	return errno ? -errno : -EIO;
}

/* What `kphi run` refuses, it tells in a line of its own. */
static int next(struct client *c, char *why, size_t size)
{
	int got = client_next(c, -1);

	if (got > 0 && client_refused(c, why, size))
		return -ECONNREFUSED;
	return got ? got : -ECONNRESET;
}

/* The lines of the state; what happens meanwhile is in it already, or comes after it. */
static int print_state(struct client *c, char *why, size_t size)
{
	int got = client_ask_state(c), err = 0;

	if (got < 0)
		return got;
	while (!err && (got = next(c, why, size)) > 0 && !client_line_is_type(c, "state"))
		if (client_line_is_current(c))
			err = print(c);
	return err ? err : got < 0 ? got : 0;
}

static int print_events(struct client *c, char *why, size_t size)
{
	int got, err = 0;

	while (!err && (got = next(c, why, size)) > 0)
		err = print(c);
	return err ? err : got;
}

static int explain(int err, const char *socket, const char *why)
{
	if (err == -EPIPE)
		return KPHI_EXIT_OK; /* who read us has read enough */
	if (err == -ECONNREFUSED)
		fail("%s: %s", socket, why);
	else if (err == -ECONNRESET)
		fail("%s: `kphi run` has ended, or has dropped this client", socket);
	else
		fail("%s: cannot go on reading events: %s", socket, strerror(-err));
	return KPHI_EXIT_FAILED;
}

static int show(const struct event_options *options)
{
	char reason[1024];
	struct client c;
	int err;

	if (client_open(&c, options->socket, reason, sizeof(reason)) < 0) {
		fail("%s", reason);
		return KPHI_EXIT_FAILED;
	}
	err = !options->follow || options->state ? print_state(&c, reason, sizeof(reason)) : 0;
	if (!err && options->follow)
		err = print_events(&c, reason, sizeof(reason));
	client_close(&c);
	return err ? explain(err, options->socket, reason) : KPHI_EXIT_OK;
}

static int event(struct kphi_cli *cli, struct args *args)
{
	struct event_options options = {.socket = CONFIG_SOCKET_DEFAULT};

	(void)cli;
	return options_parse(args, specs, COUNT(specs), &options) ? KPHI_EXIT_USAGE : show(&options);
}

int cmd_event(struct kphi_cli *cli, int argc, char **argv)
{
	static const struct command command = {
		"",    event,
		specs, COUNT(specs),
		"",    "every suspicion, hold, blindness and mute there is now; or events as they happen"};

	return command_only(cli, "event", &command, argc, argv);
}
