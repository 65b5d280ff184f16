/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two halves of kphi store: as a whole (store.c), and over a reboot (store_save.c). */
#ifndef KPHI_CMD_STORE_H
#define KPHI_CMD_STORE_H

#include "cmd/cmd.h"

int store_save(struct kphi_cli *cli, struct args *args);
int store_restore(struct kphi_cli *cli, struct args *args);

#endif
