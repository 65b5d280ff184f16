// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi doctor: why nothing arrives, or why what arrives is not as good as it could be. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "doctor/survey.h"

#define WATCH_NS     1000000000ULL
#define WATCH_MAX_NS 60000000000ULL

struct doctor {
	const char *device;
	uint64_t watch_ns;
};

static const struct option_spec specs[] = {
	{"dev", OPT_STRING, offsetof(struct doctor, device), OPT_NO_HAS, .value = "DEVICE",
	 .help = "look at this device; else at those attached, or at all that are up"},
	{"for", OPT_DURATION, offsetof(struct doctor, watch_ns), OPT_NO_HAS, .max = WATCH_MAX_NS,
	 .help = "how long to watch whether anything arrives; 1s unless given, 0: not at all"},
};

static void say_figures(struct out *o, const struct finding *finding)
{
	out_open_object(o, "figures");
	for (size_t i = 0; i < finding->figures_count; i++) {
		const struct figure *figure = &finding->figures[i];

		switch (figure->kind) {
		case FIGURE_DURATION:
			out_duration(o, figure->key, NULL, figure->value);
			break;
		case FIGURE_BOOL:
			out_bool(o, figure->key, NULL, figure->value);
			break;
		case FIGURE_TEXT:
			out_string(o, figure->key, NULL, figure->text);
			break;
		default:
			out_u64(o, figure->key, NULL, figure->value);
		}
	}
	out_close_object(o);
}

/* People read the finding and its remedy as one line, programs as two facts. */
static void say_words(struct out *o, const struct finding *finding, enum out_mode mode)
{
	const char *remedy = *finding->remedy ? finding->remedy : NULL;
	char line[2 * FINDING_TEXT + 2];

	snprintf(line, sizeof(line), "%s%s%s", finding->text, remedy ? "; " : "", remedy ?: "");
	out_string(o, "finding", "FINDING", mode == OUT_TEXT ? line : finding->text);
	out_string(o, "remedy", NULL, remedy);
}

static void say(struct out *o, const struct finding *finding, enum out_mode mode)
{
	static const char *const statuses[] = {
		[FINDING_OK] = "ok",
		[FINDING_WARN] = "warn",
		[FINDING_FAIL] = "fail",
		[FINDING_UNKNOWN] = "unknown",
	};

	out_open_row(o);
	out_string(o, "status", "STATUS", statuses[finding->status]);
	out_string(o, "subject", "OF", finding->subject);
	out_string(o, "check", "CHECK", finding->check);
	say_words(o, finding, mode);
	say_figures(o, finding);
	out_close_row(o);
}

static int report(struct kphi_cli *cli, const struct survey *v)
{
	struct findings f = {0};
	struct out *o;
	int exit;

	survey_judge(v, &f);
	if (f.incomplete) {
		fail("doctor: there is no memory for all that was found");
		findings_free(&f);
		return KPHI_EXIT_FAILED;
	}
	o = out_new(stdout, cli->mode);
	out_open_table(o, NULL);
	for (size_t i = 0; i < f.n; i++)
		say(o, &f.list[i], cli->mode);
	out_close_table(o);
	exit = command_finish(o);
	if (!exit && findings_any(&f, FINDING_FAIL))
		exit = KPHI_EXIT_FAILED;
	findings_free(&f);
	return exit;
}

static int doctor(struct kphi_cli *cli, struct args *args)
{
	struct doctor d = {.watch_ns = WATCH_NS};
	struct survey v;
	struct why w;
	int exit;

	if (options_parse(args, specs, COUNT(specs), &d))
		return KPHI_EXIT_USAGE;
	if (survey_open(&v, cli->pin, d.device, d.watch_ns, &w)) {
		fail("%s", w.text);
		exit = KPHI_EXIT_FAILED;
	} else {
		exit = report(cli, &v);
	}
	survey_close(&v);
	return exit;
}

int cmd_doctor(struct kphi_cli *cli, int argc, char **argv)
{
	static const struct command command = {
		"",
		doctor,
		specs,
		COUNT(specs),
		"",
		"what stands in the way of heartbeats on this host, and what to do about it; exits with 1 if "
		"anything fails"};

	return command_only(cli, "doctor", &command, argc, argv);
}
