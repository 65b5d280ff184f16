// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Instead of libFuzzer where only the lines are counted that a corpus reaches: the files that are named, once
 * each. */
#include <err.h>

#include "fuzz/fuzz.h"

#define LONGEST (1 << 20)

int main(int argc, char **argv)
{
	uint8_t *data = malloc(LONGEST);

	for (int i = 1; data && i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");

		if (!file)
			err(1, "%s", argv[i]);
		LLVMFuzzerTestOneInput(data, fread(data, 1, LONGEST, file));
		fclose(file);
	}
	free(data);
	return !data;
}
