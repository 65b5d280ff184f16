// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/trace_tenants.h"

#include <errno.h>
#include <kphi/window.h>
#include <stdlib.h>
#include <string.h>

static bool is_wanted(const struct tenants *t, const char *name)
{
	for (uint32_t i = 0; i < t->names_count; i++)
		if (!strncmp(t->names[i], name, KPHI_NAME_SIZE))
			return true;
	return !t->names_count;
}

/* Whoever lives in a slot is new to the trace. 0 or t->error. */
static int describe(struct tenants *t, uint32_t slot, uint32_t generation, const struct kphi_peer *settings)
{
	struct trace_peer peer = {.settings = *settings, .rule = t->store->rules[slot]};
	struct tenant *tenant = &t->tenant[slot];
	int64_t number;

	t->astray -= tenant->astray;
	*tenant = (struct tenant){.generation = generation,
				  .interval_ns = settings->interval_ns,
				  .max_interval_ns = settings->max_interval_ns,
				  .is = TENANT_UNWANTED};
	if (!is_wanted(t, settings->name))
		return 0;
	if (settings->id.kind == KPHI_ID_NATIVE)
		peer.rule = (struct kphi_rule){0}; /* the slot may have had one */
	number = trace_add_peer(t->trace, &peer);
	if (number < 0)
		return t->error = (int)number;
	tenant->number = (uint32_t)number;
	tenant->is = TENANT_WANTED;
	t->peers++;
	return 0;
}

static void go_astray(struct tenants *t, struct tenant *tenant)
{
	if (tenant->is != TENANT_WANTED || tenant->astray)
		return;
	tenant->astray = true;
	t->astray++;
}

/* *record, which a reset may have made, is what the tenant's is from here on. */
static int tell(struct tenants *t, struct tenant *tenant, struct kphi_record *record, bool native)
{
	if (native && !t->vitals)
		memset(record->speaker, 0, sizeof(record->speaker));
	t->error = trace_write_state(t->trace, tenant->number, record, t->ring);
	t->astray -= tenant->astray;
	tenant->astray = false;
	return t->error;
}

/* --- changes, in order --- */

/* NULL with t->error 0: the one who was heard is gone already. */
static struct tenant *meet(struct tenants *t, const struct kphi_arrival *a)
{
	struct tenant *tenant = &t->tenant[a->slot];
	struct kphi_record record;
	struct kphi_peer settings;

	if (tenant->is != TENANT_UNKNOWN && tenant->generation == a->generation)
		return tenant;
	if (store_read(t->store, a->slot, &record, &settings) || record.generation != a->generation ||
	    record.state == KPHI_FREE)
		return NULL;
	if (describe(t, a->slot, a->generation, &settings))
		return NULL;
	if (a->what == KPHI_ARRIVAL_MESSAGE)
		go_astray(t, tenant); /* how it began was lost */
	return tenant;
}

/* The record as the control program leaves it. */
static int take_cleared(struct tenants *t, struct tenant *tenant, const struct kphi_arrival *a)
{
	const struct kphi_peer settings = {.interval_ns = tenant->interval_ns,
					   .max_interval_ns = tenant->max_interval_ns};
	struct kphi_record record = {.state = KPHI_WAITING,
				     .since_ns = a->beat.now_ns,
				     .epoch = a->beat.epoch,
				     .sequence.highest = a->beat.sequence};

	kphi_window_begin(&record.window, &settings);
	return tell(t, tenant, &record, false);
}

static int take_message(struct tenants *t, struct tenant *tenant, const struct kphi_arrival *a, bool gap)
{
	struct kphi_beat beat = a->beat;

	if (gap)
		go_astray(t, tenant);
	if (beat.native && !t->vitals)
		memset(beat.speaker, 0, sizeof(beat.speaker));
	t->error = trace_write(t->trace, tenant->number, &beat);
	t->written += !t->error;
	return t->error;
}

static int take_in_order(void *context, const struct kphi_arrival *a, bool gap)
{
	struct tenants *t = context;
	struct tenant *tenant;

	if (a->what == KPHI_ARRIVAL_OTHER) {
		if (gap)
			go_astray(t, &t->tenant[a->slot]);
		return 0;
	}
	tenant = meet(t, a);
	if (!tenant) {
		t->strangers += a->what == KPHI_ARRIVAL_MESSAGE;
		return t->error;
	}
	if (tenant->is == TENANT_UNWANTED)
		return 0;
	return a->what == KPHI_ARRIVAL_CLEARED ? take_cleared(t, tenant, a) : take_message(t, tenant, a, gap);
}

int tenants_take(struct tenants *t, const struct kphi_arrival *a, uint64_t now_ns)
{
	return order_take(&t->order, a, now_ns);
}

/* --- records as a whole --- */

static int begin_slot(struct tenants *t, uint32_t slot)
{
	struct kphi_record record;
	struct kphi_peer settings;
	int err = 0;

	if (store_read_whole(t->store, slot, &record, &settings, t->ring))
		return 0; /* never so busy; but then it is met by its next message */
	order_follow(&t->order, slot, record.version);
	if (record.state == KPHI_FREE)
		return 0;
	err = describe(t, slot, record.generation, &settings);
	if (!err && t->tenant[slot].is == TENANT_WANTED)
		err = tell(t, &t->tenant[slot], &record, settings.id.kind == KPHI_ID_NATIVE);
	return err;
}

int tenants_begin(struct tenants *t)
{
	uint32_t slots = t->store->header->peers;

	t->tenant = calloc(slots, sizeof(*t->tenant));
	t->ring = calloc(KPHI_RING_SIZE(t->store->header->window), sizeof(*t->ring));
	if (!t->tenant || !t->ring || order_begin(&t->order, slots, take_in_order, t))
		return t->error = -ENOMEM;
	for (uint32_t slot = 0; slot < slots && !t->error; slot++)
		begin_slot(t, slot);
	return t->error;
}

/* If all that made the record what it is has been written, or lost. Who has gone is not looked for. */
static int find_back(struct tenants *t, uint32_t slot)
{
	struct tenant *tenant = &t->tenant[slot];
	struct kphi_record record;
	struct kphi_peer settings;

	if (store_read_whole(t->store, slot, &record, &settings, t->ring))
		return 0;
	if (record.generation != tenant->generation || record.state == KPHI_FREE) {
		tenant->astray = false;
		t->astray--;
		return 0;
	}
	if (record.version != order_version(&t->order, slot))
		return 0;
	return tell(t, tenant, &record, settings.id.kind == KPHI_ID_NATIVE);
}

int tenants_tidy(struct tenants *t, uint64_t now_ns)
{
	int err = order_give_up(&t->order, now_ns);

	for (uint32_t slot = 0; slot < t->order.slots && t->astray && !err; slot++)
		if (t->tenant[slot].astray)
			err = find_back(t, slot);
	return err;
}

uint64_t tenants_lost(const struct tenants *t)
{
	return t->strangers + t->order.late;
}

void tenants_end(struct tenants *t)
{
	order_end(&t->order);
	free(t->tenant);
	free(t->ring);
}
