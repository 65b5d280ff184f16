// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Beats from somebody else's main loop. */
#include <errno.h>
#include <kphi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "beat/emitter.h"
#include "io/parse.h"

struct kphi_sender {
	struct emitter emitter;
};

static int read_destinations(struct destinations *destinations, const char *const *to, char *why, size_t size)
{
	if (!to || !*to)
		return refuse(-EINVAL, why, size, "nobody to send beats to: `to` has no address");
	for (; *to; to++) {
		int err = destinations_read(destinations, *to, why, size);

		if (err)
			return err == -ERANGE || err == -E2BIG || err == -EEXIST ? -EINVAL : err;
	}
	return 0;
}

/* What can fail is opened before the epoch is raised, so that a refusal costs none. */
static int prepare(struct emitter *e, const struct kphi_beat_config *config, char *why, size_t size)
{
	int err = read_destinations(&e->destinations, config->to, why, size);

	if (!err && config->key)
		err = key_read(config->key, &e->key, why, size);
	err = err ? err : emitter_identify(e, config->id, why, size);
	if (err)
		return err;
	err = destinations_open(&e->destinations);
	if (err)
		return refuse(err, why, size, "cannot open a socket to beat with: %s", strerror(-err));
	/* Without /proc the available capacity is told as 0. */
	vitals_open(&e->vitals, emitter_now_ns());
	e->message.cluster_version = config->cluster_version;
	return emitter_claim(e, config->state, (uint64_t)time(NULL), why, size);
}

int kphi_beat_open(struct kphi_sender **sender, const struct kphi_beat_config *config, char *why,
		   size_t why_size)
{
	struct kphi_sender *fresh = malloc(sizeof(*fresh));
	char nowhere[KPHI_WHY_SIZE];
	int err;

	*sender = NULL;
	if (!why || !why_size) {
		why = nowhere;
		why_size = sizeof(nowhere);
	}
	if (!fresh)
		return refuse(-ENOMEM, why, why_size, "no memory for a sender");
	emitter_init(&fresh->emitter);
	err = prepare(&fresh->emitter, config, why, why_size);
	if (err) {
		kphi_beat_close(fresh, false);
		return err;
	}
	*sender = fresh;
	return 0;
}

int kphi_beat_send(struct kphi_sender *sender, uint32_t flags)
{
	uint64_t now_ns = emitter_now_ns();
	int err;

	if (flags & ~(uint32_t)KPHI_BEAT_DEGRADED)
		return -EINVAL;
	err = emitter_send(&sender->emitter, KPHI_WIRE_BEAT,
			   flags & KPHI_BEAT_DEGRADED ? KPHI_WIRE_DEGRADED : 0, now_ns);
	/* Last: the next beat takes what it finds. */
	vitals_refresh(&sender->emitter.vitals, now_ns);
	return err;
}

uint64_t kphi_beat_epoch(const struct kphi_sender *sender)
{
	return sender->emitter.message.epoch;
}

void kphi_beat_close(struct kphi_sender *sender, bool leave)
{
	if (!sender)
		return;
	if (leave)
		emitter_part(&sender->emitter, KPHI_WIRE_LEAVE, 0);
	emitter_close(&sender->emitter);
	free(sender);
}
