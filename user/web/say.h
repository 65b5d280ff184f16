/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What only the server says of peers and of the daemon. */
#ifndef KPHI_WEB_SAY_H
#define KPHI_WEB_SAY_H

#include "io/output.h"
#include "kernel/store.h"
#include "web/look.h"

/* name, host, slot, generation: of a peer that was there. The name is "" if it has gone since. */
void say_who(struct out *o, const struct store *s, const struct look_peer *peer);

/* "cells": n bytes in base64 */
void say_cells(struct out *o, const uint8_t *cells, uint32_t n);

/* The object of /api/v1/daemon. */
void say_daemon(struct out *o, const struct store *s, uint64_t now_ns);

#endif
