// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi run: the daemon, and what is asked of it or of its configuration. */
#include "run/run.h"

#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <string.h>

#include "cmd/cmd.h"
#include "run/client.h"
#include "run/config.h"

#define RELOAD_TIMEOUT_MS 60000

struct run_options {
	const char *config, *socket;
	bool check, reload;
};

static const struct option_spec specs[] = {
	{"config", OPT_STRING, offsetof(struct run_options, config), OPT_NO_HAS, .value = "FILE",
	 .help = "YAML; " CONFIG_DEFAULT " if not said"},
	{"check", OPT_FLAG, offsetof(struct run_options, check), OPT_NO_HAS, .help = "only check the file"},
	{"reload", OPT_FLAG, offsetof(struct run_options, reload), OPT_NO_HAS,
	 .help = "have the daemon that runs read its file again, and wait for what becomes of it"},
	{"socket", OPT_STRING, offsetof(struct run_options, socket), OPT_NO_HAS, .value = "PATH",
	 .help = "reload: where it listens, if not at " CONFIG_SOCKET_DEFAULT},
};

/* --- check --- */

static int check(const struct kphi_cli *cli, const char *file)
{
	char reason[CONFIG_WHY_SIZE];
	struct config *config = config_load(file, reason);
	struct out *o;

	if (!config) {
		fail("%s", reason);
		return KPHI_EXIT_FAILED;
	}
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	out_string(o, "file", "fine", file);
	out_u64(o, "devices", "devices", config->devices_count);
	out_u64(o, "peers", "peers", config->peers_count);
	out_u64(o, "consumers", "consumers", config->engine.consumers);
	out_close_object(o);
	config_free(config);
	return command_finish(o);
}

/* --- reload --- */

static const char *text_of(struct json_object *line, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(line, key, &value) ? json_object_get_string(value) : NULL;
}

/* Until a line of this type. 0 or -errno. */
static int skip_to(struct client *c, const char *type, char *why, size_t size)
{
	int got;

	while ((got = client_next(c, RELOAD_TIMEOUT_MS)) > 0) {
		if (client_line_is_type(c, type))
			return 0;
		if (client_refused(c, why, size))
			return -ECONNREFUSED;
	}
	return got ? got : -ECONNRESET;
}

/* The daemon answers by an event, so we have to be its client before we ask. */
static int ask(struct client *c, char *why, size_t size)
{
	int err = client_ask_state(c);

	err = err ? err : skip_to(c, "state", why, size);
	if (!err && (!c->pid || kill(c->pid, SIGHUP) < 0))
		err = c->pid ? -errno : -ESRCH;
	return err ? err : skip_to(c, "config", why, size);
}

/* `cause` tells whether the file is in force now. */
static int report(const struct kphi_cli *cli, const char *line)
{
	struct json_object *event = json_tokener_parse(line);
	const char *detail = text_of(event, "detail");
	struct out *o;
	int exit = KPHI_EXIT_OK;

	if (text_of(event, "cause")) {
		o = out_new(stdout, cli->mode);
		out_open_object(o, NULL);
		out_string(o, "file", "file", text_of(event, "subject"));
		out_string(o, "detail", "", detail);
		out_close_object(o);
		exit = command_finish(o);
	} else {
		fail("%s", detail ? detail : "`kphi run` gave no answer that can be read");
		exit = KPHI_EXIT_FAILED;
	}
	json_object_put(event);
	return exit;
}

static int reload(const struct kphi_cli *cli, const char *socket)
{
	char reason[1024];
	struct client c;
	int err, exit = KPHI_EXIT_FAILED;

	if (client_open(&c, socket, reason, sizeof(reason)) < 0) {
		fail("%s", reason);
		return KPHI_EXIT_FAILED;
	}
	err = ask(&c, reason, sizeof(reason));
	if (!err)
		exit = report(cli, c.line);
	else if (err == -EPERM)
		fail("`kphi run` is process %d: permission denied. Run it as root", (int)c.pid);
	else if (err == -ECONNREFUSED)
		fail("%s: %s", socket, reason);
	else
		fail("%s: `kphi run` does not answer: %s", socket, strerror(-err));
	client_close(&c);
	return exit;
}

/* --- the command --- */

static int daemon_or_question(struct kphi_cli *cli, struct args *args)
{
	struct run_options options = {0};

	if (options_parse(args, specs, COUNT(specs), &options))
		return KPHI_EXIT_USAGE;
	if (options.reload ? options.check || options.config : options.socket != NULL) {
		fail("run: `reload` goes with `socket` only, and `socket` with `reload`: the daemon knows "
		     "its file");
		return KPHI_EXIT_USAGE;
	}
	if (options.reload)
		return reload(cli, options.socket ? options.socket : CONFIG_SOCKET_DEFAULT);
	if (!options.config)
		options.config = CONFIG_DEFAULT;
	if (options.check)
		return check(cli, options.config);
	return run(options.config, cli->pin) ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
}

int cmd_run(struct kphi_cli *cli, int argc, char **argv)
{
	static const struct command command = {
		"",    daemon_or_question,
		specs, COUNT(specs),
		"",    "verdicts and events, until SIGTERM; SIGHUP reads the file again"};

	return command_only(cli, "run", &command, argc, argv);
}
