/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of kphi trace: the table (trace.c), and a file for each of its commands. */
#ifndef KPHI_CMD_TRACE_H
#define KPHI_CMD_TRACE_H

#include "cmd/cmd.h"

int trace_record(struct kphi_cli *cli, struct args *args);
int trace_show(struct kphi_cli *cli, struct args *args);
int trace_convert(struct kphi_cli *cli, struct args *args);

extern const struct option_spec trace_record_specs[], trace_show_specs[], trace_convert_specs[];
extern const size_t trace_record_specs_count, trace_show_specs_count, trace_convert_specs_count;

#endif
