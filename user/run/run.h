/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The daemon behind `kphi run`. */
#ifndef KPHI_RUN_RUN_H
#define KPHI_RUN_RUN_H

/*
 * Runs until SIGTERM or SIGINT: verdicts and events on the peers of the store pinned at `pin` (NULL: the
 * default), as the configuration in `file` says. 0, or a negative errno once it has said why through fail().
 */
int run(const char *file, const char *pin);

#endif
