/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `kphi complete WORD...`, for a shell: what may stand in place of the last WORD, a candidate a line, with a
 * tab and what it is for behind it where that is known. A single line ":files" says that a file's name is
 * wanted. The words come from the parser's own table, names from the store and the kernel. Nothing is said of
 * what goes wrong: a shell that completes is no place for it.
 */
#ifndef KPHI_CMD_COMPLETE_H
#define KPHI_CMD_COMPLETE_H

#include "cmd/cmd.h"

/* One candidate, if it begins with what is there already. `help` may be NULL. */
void complete_offer(const char *begun, const char *word, const char *help);

/* argv: the words behind the OBJECT, the last of them the one in question. Returns the exit code. */
int complete_words(const struct kphi_cli *cli, const struct object *object, int argc, char **argv);

#endif
