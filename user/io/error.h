/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the program says that something went wrong. Inside, functions return a negative errno; here, at the
 * edge, it becomes one sentence: what was tried, on what, why it failed, what to do.
 *
 * Messages may quote foreign bytes: control characters are escaped on the way out.
 */
#ifndef KPHI_IO_ERROR_H
#define KPHI_IO_ERROR_H

#include "io/output.h"

enum kphi_exit {
	KPHI_EXIT_OK = 0,
	KPHI_EXIT_FAILED = 1,
	KPHI_EXIT_USAGE = 2,
	KPHI_EXIT_SUSPECT = 3, /* a queried peer is suspect, with --exit-status */
};

/* `program` heads debug lines and must outlive the process. */
void error_setup(enum out_mode mode, const char *program);
void error_set_debug(bool on);

/*
 * Text: "Error: ..." on stderr. JSON: {"error": "..."} as the one document of stdout; if stdout has a
 * document already, as a JSON line on stderr.
 */
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* stderr in every mode: stdout belongs to the document. */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void error_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
