// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The configuration of `kphi run`. */
#include "fuzz/fuzz.h"
#include "run/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[CONFIG_WHY_SIZE] = "", path[32];
	struct config *config;
	int fd;

	config = config_load(fuzz_path(data, size, &fd, path), why);
	close(fd);
	if (!config)
		must_say(why);
	else
		must(config->engine.consumers >= 1 && config->engine.consumers <= ENGINE_CONSUMERS);
	config_free(config);
	return 0;
}
