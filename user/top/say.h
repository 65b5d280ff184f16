/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KPHI_TOP_SAY_H
#define KPHI_TOP_SAY_H

#include "io/output.h"
#include "top/sample.h"

/* One look as a document: a summary and the table. */
void say_top(struct out *o, const struct top_model *m, const struct top_look *look);

#endif
