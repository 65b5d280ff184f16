// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi trace: arrivals in a file. */
#include "cmd/trace.h"
#include "cmd/trace_replay.h"

int cmd_trace(struct kphi_cli *cli, int argc, char **argv)
{
	const struct command commands[] = {
		{"record", trace_record, trace_record_specs, trace_record_specs_count, "FILE",
		 "arrivals as they come into a new trace, until it is interrupted; needs root"},
		{"show", trace_show, trace_show_specs, trace_show_specs_count, "FILE",
		 "what is in a trace: its peers, or the arrivals of one"},
		{"convert", trace_convert, trace_convert_specs, trace_convert_specs_count, "IN OUT",
		 "a trace from another format, or into one; - is standard input or output"},
		{"replay", trace_replay, trace_replay_specs, trace_replay_specs_count, "FILE",
		 "judge a trace again: false suspicions and detection times of models and yardsticks"},
		{"calibrate", trace_calibrate, trace_calibrate_specs, trace_calibrate_specs_count,
		 TRACE_CALIBRATE_USAGE,
		 "the model and the thresholds that serve these consumers best, as YAML for `kphi run`"},
	};

	return command_run(cli, "trace", commands, COUNT(commands), argc, argv);
}
