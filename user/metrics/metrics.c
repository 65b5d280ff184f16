// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "metrics/metrics.h"

#include "metrics/families.h"

int metrics_write(FILE *to, const struct pin *pin, const struct store *s,
		  const struct metrics_options *options, uint64_t now_ns)
{
	struct kphi_daemon daemon = {0};
	bool alive = store_daemon(s, now_ns, &daemon);
	struct facts f;
	struct om m;
	int err = facts_read(&f, s, options, alive ? &daemon : NULL, now_ns);

	if (daemon.consumers > KPHI_CONSUMERS)
		daemon.consumers = KPHI_CONSUMERS;
	if (!err) {
		om_begin(&m, to, options->format);
		families_host(&m, s, &f, now_ns);
		families_devices(&m, pin, now_ns);
		families_daemon(&m, &daemon, alive, &f, now_ns);
		families_peer(&m, &f, alive ? &daemon : NULL);
		err = om_end(&m);
	}
	facts_free(&f);
	return err;
}
