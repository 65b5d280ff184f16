// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "replay/detector.h"

#include <string.h>

const struct detector *const detectors[] = {
	&detector_fixed,       &detector_bfd,  &detector_jacobson,  &detector_chen,      &detector_bertier,
	&detector_two_windows, &detector_akka, &detector_akka_port, &detector_cassandra, NULL,
};

const struct detector *detector_by_name(const char *name)
{
	for (size_t i = 0; detectors[i]; i++)
		if (!strcmp(detectors[i]->name, name))
			return detectors[i];
	return NULL;
}
