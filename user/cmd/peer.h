/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of kphi peer: adding (peer_add.c), who might be added (peer_discover.c), other changes (peer.c),
 * showing (peer_show.c, peer_metrics.c) and explaining (peer_explain.c). */
#ifndef KPHI_CMD_PEER_H
#define KPHI_CMD_PEER_H

#include "cmd/cmd.h"

extern const struct option_spec peer_add_specs[];
extern const size_t peer_add_specs_count;
int peer_add(struct kphi_cli *cli, struct args *args);
int peer_presets(struct kphi_cli *cli, struct args *args);

extern const struct option_spec peer_discover_specs[];
extern const size_t peer_discover_specs_count;
int peer_discover(struct kphi_cli *cli, struct args *args);

int peer_show(struct kphi_cli *cli, struct args *args);
int peer_window(struct kphi_cli *cli, struct args *args);

/* The words after `peer show metrics`. */
extern const struct option_spec peer_metrics_specs[];
extern const size_t peer_metrics_specs_count;
int peer_metrics(struct kphi_cli *cli, struct args *args);

extern const struct option_spec peer_explain_specs[];
extern const size_t peer_explain_specs_count;
int peer_explain(struct kphi_cli *cli, struct args *args);

/* Reads the name that comes next, after an optional keyword `name`, into name[KPHI_NAME_SIZE]. 0 or -EINVAL.
 */
int peer_name(struct args *args, char *name);

/* The document of a change: {"added": NAME}. Returns the exit code. */
int peer_done(struct kphi_cli *cli, const char *what, const char *name);

#endif
