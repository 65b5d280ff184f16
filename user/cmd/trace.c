// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi trace: arrivals in a file. */
#include "cmd/trace.h"

int cmd_trace(struct kphi_cli *cli, int argc, char **argv)
{
	const struct command commands[] = {
		{"show", trace_show, trace_show_specs, trace_show_specs_count, "FILE",
		 "what is in a trace: its peers, or the arrivals of one"},
		{"convert", trace_convert, trace_convert_specs, trace_convert_specs_count, "IN OUT",
		 "a trace from another format, or into one; - is standard input or output"},
	};

	return command_run(cli, "trace", commands, COUNT(commands), argc, argv);
}
