// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi peer show metrics: what /metrics serves, for where nothing should listen. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/peer.h"
#include "cmd/session.h"
#include "kernel/clock.h"
#include "metrics/metrics.h"

struct choice {
	int peers, format;
	uint64_t peers_max;
};

static const char *const peers_names[] = {
	[METRICS_ALL] = "all", [METRICS_SUSPECT] = "suspect", [METRICS_NONE] = "none", NULL};
static const char *const format_names[] = {
	[METRICS_OPENMETRICS] = "openmetrics", [METRICS_PROMETHEUS] = "prometheus", NULL};

const struct option_spec peer_metrics_specs[] = {
	{"per_peer", OPT_CHOICE, offsetof(struct choice, peers), OPT_NO_HAS, .choices = peers_names,
	 .help = "metrics: who has series of its own: all (if not said), those not simply up, or none"},
	{"peers_max", OPT_U64, offsetof(struct choice, peers_max), OPT_NO_HAS, .max = KPHI_PEERS_MAX,
	 .help = "metrics: but no more than so many; 10000 if not said"},
	{"format", OPT_CHOICE, offsetof(struct choice, format), OPT_NO_HAS, .choices = format_names,
	 .help = "metrics: prometheus is the older text format, which the node exporter and promtool read"},
};
const size_t peer_metrics_specs_count = COUNT(peer_metrics_specs);

/* The whole text in memory, so that a failure leaves no half of it. NULL with errno. */
static char *render(const struct session *s, const struct metrics_options *options)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int err;

	if (!memory)
		return NULL;
	err = metrics_write(memory, &s->pin, &s->store, options, clock_monotonic_ns());
	if (fclose(memory) && !err)
		err = -errno;
	if (!err)
		return text;
	free(text);
	errno = -err;
	return NULL;
}

/* Under JSON one document all the same, as `help` is. */
static int say(const struct kphi_cli *cli, const char *text)
{
	struct out *o;

	if (cli->mode != OUT_TEXT) {
		o = out_new(stdout, cli->mode);
		out_open_object(o, NULL);
		out_string(o, "metrics", NULL, text);
		out_close_object(o);
		return command_finish(o);
	}
	if (fputs(text, stdout) >= 0 && !fflush(stdout))
		return KPHI_EXIT_OK;
	fail("cannot write to standard output: %s", strerror(errno));
	return KPHI_EXIT_FAILED;
}

int peer_metrics(struct kphi_cli *cli, struct args *args)
{
	struct choice c = {.peers_max = METRICS_PEERS_MAX_DEFAULT};
	struct metrics_options options;
	struct session s;
	char *text;
	int exit;

	if (options_parse(args, peer_metrics_specs, peer_metrics_specs_count, &c))
		return KPHI_EXIT_USAGE;
	options = (struct metrics_options){.format = (enum metrics_format)c.format,
					   .peers = (enum metrics_peers)c.peers,
					   .peers_max = (uint32_t)c.peers_max};
	exit = session_read(&s, cli);
	if (!exit) {
		text = render(&s, &options);
		exit = text ? say(cli, text) : KPHI_EXIT_FAILED;
		if (!text)
			fail("no metrics: %s", strerror(errno));
		free(text);
	}
	session_end(&s);
	return exit;
}
