/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers by MPFR to test against: those that are committed, and fresh ones. Include it behind cmocka.h. */
#ifndef KPHI_TESTS_VECTORS_H
#define KPHI_TESTS_VECTORS_H

#include <stdio.h>
#include <unistd.h>

#define GENERATOR "build/tools/phi-vectors"

/* `check` gets NULL if there are none, and has to mind. */
static inline void vectors_committed(const char *path, void (*check)(FILE *vectors))
{
	FILE *vectors = fopen(path, "r");

	check(vectors);
	fclose(vectors);
}

/* Numbers nobody has seen before, so that nothing can have been fitted to them: so many of a kind. */
static inline void vectors_fresh(const char *kind, unsigned count, void (*check)(FILE *vectors))
{
	char command[128];
	FILE *vectors;

	if (access(GENERATOR, X_OK))
		skip();
	snprintf(command, sizeof(command), GENERATOR " %s $(od -An -N6 -tu8 /dev/urandom) %u", kind, count);
	/* NOLINTNEXTLINE(cert-env33-c): a command of the test's own */
	vectors = popen(command, "r");
	check(vectors);
	assert_int_equal(pclose(vectors), 0);
}

#endif
