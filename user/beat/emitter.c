// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "beat/emitter.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "beat/epoch_file.h"
#include "beat/node_id.h"
#include "io/parse.h"

#define NS_PER_SECOND 1000000000ULL

/*
 * UDP loses, and after a goodbye no beat follows that would make up for it. So the same datagram goes out
 * three times, far enough apart for a full queue to drain; a receiver counts the other two as duplicates.
 */
#define GOODBYE_COPIES 3
#define GOODBYE_GAP_NS 20000000ULL

uint64_t emitter_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t wall_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void emitter_init(struct emitter *e)
{
	memset(e, 0, sizeof(*e));
	destinations_init(&e->destinations);
	e->vitals.uptime_fd = -1;
	e->lock_fd = -1;
}

int emitter_identify(struct emitter *e, const uint8_t *id, char *why, size_t size)
{
	int err = 0;

	if (id)
		memcpy(e->message.node_id, id, sizeof(e->message.node_id));
	else
		err = node_id_of_host(e->message.node_id);
	return err ? refuse(err, why, size,
			    "this host has no usable /etc/machine-id (%s). Say who is beating with `id "
			    "UUID`.",
			    strerror(-err))
		   : 0;
}

int emitter_claim(struct emitter *e, const char *path, uint64_t wall_s, char *why, size_t size)
{
	char uuid[UUID_SIZE];

	format_uuid(e->message.node_id, uuid);
	snprintf(e->state, sizeof(e->state), EMITTER_FOLDER "/epoch-%s", uuid);
	if (!path) {
		/* Whether it is there now is told by what comes next. */
		mkdir(EMITTER_FOLDER, 0755);
		path = e->state;
	}
	e->lock_fd = epoch_take(path, e->message.node_id, wall_s, &e->message.epoch);
	if (e->lock_fd >= 0)
		return 0;
	epoch_explain(e->lock_fd, path, uuid, why, size);
	return e->lock_fd;
}

/* The next message of this epoch: the same fields for beats and goodbyes. */
static void compose(struct emitter *e, enum kphi_wire_type type, uint16_t flags,
		    uint8_t bytes[sizeof(struct kphi_wire)])
{
	struct wire_message *message = &e->message;

	message->type = type;
	message->flags = flags;
	message->sequence++;
	message->timestamp_ms = wall_clock_ms();
	message->load_average = e->vitals.load_average;
	message->available_capacity = e->vitals.available_capacity;
	wire_encode(message, bytes);
	if (e->key.id)
		wire_sign(bytes, &e->key);
}

int emitter_send(struct emitter *e, enum kphi_wire_type type, uint16_t flags, uint64_t now_ns)
{
	uint8_t bytes[sizeof(struct kphi_wire)];

	compose(e, type, flags, bytes);
	return destinations_send(&e->destinations, bytes, sizeof(bytes), now_ns);
}

void emitter_part(struct emitter *e, enum kphi_wire_type type, uint16_t flags)
{
	uint8_t bytes[sizeof(struct kphi_wire)];
	uint64_t begin_ns = emitter_now_ns();

	compose(e, type, flags, bytes);
	for (unsigned int copy = 0; copy < GOODBYE_COPIES; copy++) {
		uint64_t at_ns = begin_ns + copy * GOODBYE_GAP_NS;
		struct timespec at = {.tv_sec = (time_t)(at_ns / NS_PER_SECOND),
				      .tv_nsec = (long)(at_ns % NS_PER_SECOND)};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		destinations_send(&e->destinations, bytes, sizeof(bytes), emitter_now_ns());
	}
}

void emitter_close(struct emitter *e)
{
	destinations_close(&e->destinations);
	vitals_close(&e->vitals);
	if (e->lock_fd >= 0)
		close(e->lock_fd);
	e->lock_fd = -1;
	explicit_bzero(&e->key, sizeof(e->key));
}
