// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Instead of libFuzzer where only the lines are counted that a corpus reaches: the files that are named, once
 * each. */
#include "fuzz/fuzz.h"

#define LONGEST (1 << 20)

int main(int argc, char **argv)
{
	uint8_t *data = malloc(LONGEST);
	int i = 1;

	for (; data && i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");

		if (!file) {
			perror(argv[i]);
			break;
		}
		LLVMFuzzerTestOneInput(data, fread(data, 1, LONGEST, file));
		fclose(file);
	}
	free(data);
	return i < argc;
}
