/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `kphi manual OBJECT`, for the build: the commands of an OBJECT and their words in mdoc(7), to stand in its
 * manual page. They are the parser's own table, so that page, help and parser agree.
 */
#ifndef KPHI_CMD_MANUAL_H
#define KPHI_CMD_MANUAL_H

#include "cmd/cmd.h"

/* Writes them to standard output. Returns the exit code. */
int manual_commands(const struct object *object);

#endif
