// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi web: the HTTP server, which `kphi run` starts as a child; by hand it needs no daemon. */
#include "web/web.h"
#include "cmd/cmd.h"
#include "run/config.h"

struct serve {
	const char *listen, *socket, *hosts;
	int per_peer;
	uint64_t peers_max;
};

static const char *const whose[] = {
	[METRICS_ALL] = "all", [METRICS_SUSPECT] = "suspect", [METRICS_NONE] = "none", NULL};

static const struct option_spec specs[] = {
	{"listen", OPT_STRING, offsetof(struct serve, listen), OPT_NO_HAS, .value = "ADDRESS:PORT",
	 .help = "or unix:PATH, or systemd; " WEB_LISTEN_DEFAULT " if not said"},
	{"socket", OPT_STRING, offsetof(struct serve, socket), OPT_NO_HAS, .value = "PATH",
	 .help = "where the daemon hands out events, if not at " CONFIG_SOCKET_DEFAULT},
	{"hosts", OPT_STRING, offsetof(struct serve, hosts), OPT_NO_HAS, .value = "NAME,NAME...",
	 .help = "further names of this host that browsers may call it by"},
	{"per_peer", OPT_CHOICE, offsetof(struct serve, per_peer), OPT_NO_HAS, .choices = whose,
	 .help = "which peers have metrics of their own"},
	{"peers_max", OPT_U64, offsetof(struct serve, peers_max), OPT_NO_HAS, .max = KPHI_PEERS_MAX,
	 .help = "no more peers than this have metrics of their own"},
};

static int serve(struct kphi_cli *cli, struct args *args)
{
	struct serve c = {
		.listen = WEB_LISTEN_DEFAULT,
		.socket = CONFIG_SOCKET_DEFAULT,
		.per_peer = METRICS_ALL,
		.peers_max = METRICS_PEERS_MAX_DEFAULT,
	};
	struct web_options options;

	if (options_parse(args, specs, COUNT(specs), &c))
		return KPHI_EXIT_USAGE;
	options = (struct web_options){
		.pin = cli->pin,
		.listen = c.listen,
		.socket = c.socket,
		.hosts = c.hosts,
		.metrics = {.peers = (enum metrics_peers)c.per_peer, .peers_max = (uint32_t)c.peers_max},
	};
	return web_run(&options) ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
}

int cmd_web(struct kphi_cli *cli, int argc, char **argv)
{
	static const struct command commands[] = {
		{"serve", serve, specs, COUNT(specs), "",
		 "serve metrics, page, lab and API over HTTP until it is stopped; waits for a store and a "
		 "daemon"},
	};

	return command_run(cli, "web", commands, COUNT(commands), argc, argv);
}
