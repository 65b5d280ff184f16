// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The window as the program in the kernel keeps it, with real stamps: learning, cap, retuning, eviction, and
 * bit for bit the same record as the same messages and stamps give on the host.
 */
#include <kphi/record.h>
#include <time.h>

#include "prog/world.h"
#include "unit/random.h"
#include "unit/window_model.h"

#define US 1000ULL
#define MS 1000000ULL

static const struct kphi_peer hourly = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 3600000 * MS};

static struct world world;

static void open_world_of(uint32_t window)
{
	world_open(&world, "window", 16, window);
}

static void pause_ns(uint64_t ns)
{
	struct timespec t = {0, (long)ns};

	nanosleep(&t, NULL);
}

static void beat(uint32_t slot, uint64_t sequence, uint32_t notes)
{
	struct message m = world_message(&world, slot, 1, sequence);

	expect_message(&world, &m, KPHI_COUNT_beat, notes, "beat");
}

static void eight_intervals_are_learned(void **state)
{
	struct kphi_record r;
	uint32_t slot;

	(void)state;
	open_world_of(16);
	slot = world_add(&world, NULL);
	for (uint64_t i = 1; i <= 9; i++) {
		assert_int_equal(world_record(&world, slot).window.interval_ns, 0);
		assert_int_equal(world_record(&world, slot).window.cap_ns, KPHI_INTERVAL_MAX_NS);
		beat(slot, i, 0);
	}
	r = world_record(&world, slot);
	assert_int_equal(r.window.n, 8);
	assert_int_equal(r.window.interval_ns, r.window.sum_ns / 8);
	assert_int_equal(r.window.cap_ns, 10 * r.window.interval_ns);
	world_close(&world);
}

/* Seven too long in a row are forgiven, the eighth says that the setting is wrong. */
static void caps_and_a_retune(void **state)
{
	const struct kphi_peer settings = {
		.id.kind = KPHI_ID_NATIVE, .interval_ns = 10 * MS, .max_interval_ns = 30 * MS};
	uint64_t sequence = 0;
	struct kphi_record r;
	uint32_t slot;

	(void)state;
	open_world_of(8);
	slot = world_add(&world, &settings);
	beat(slot, ++sequence, 0);
	for (int i = 0; i < 7; i++) {
		pause_ns(30 * MS);
		beat(slot, ++sequence, KPHI_NOTE(capped));
	}
	beat(slot, ++sequence, 0);
	for (int i = 0; i < 8; i++) {
		r = world_record(&world, slot);
		assert_int_equal(r.window.n, 1);
		assert_int_equal(r.window.interval_ns, 10 * MS);
		pause_ns(30 * MS);
		beat(slot, ++sequence, KPHI_NOTE(capped) | (i == 7 ? KPHI_NOTE(retuned) : 0));
	}
	r = world_record(&world, slot);
	assert_int_equal(r.capped, 15);
	assert_int_equal(r.retuned, 1);
	assert_int_equal(r.window.n, 8);
	assert_int_equal(r.window.interval_ns, r.window.sum_ns / 8);
	assert_true(r.window.interval_ns > 30 * MS);
	beat(slot, ++sequence, 0);
	assert_int_equal(world_record(&world, slot).window.n,
			 8); /* a full ring that goes on at its beginning */
	world_close(&world);
}

/* The differences of the stamps that the record showed, kept as a list, against the ring after each of them.
 */
static void evict(uint32_t size, uint64_t beats)
{
	static struct window_model model;
	uint64_t ring[64], last = 0;
	struct kphi_record r;
	uint32_t slot;

	open_world_of(size);
	slot = world_add(&world, &hourly);
	window_model_begin(&model, size, &hourly);
	for (uint64_t i = 1; i <= beats; i++) {
		beat(slot, i, 0);
		assert_int_equal(store_read_ring(&world.store, slot, &r, ring), 0);
		if (last)
			window_model_take(&model, r.last_ns - last, 1);
		last = r.last_ns;
		assert_true(window_model_same(&model, &r.window, world_ring(&world, slot), 1));
		for (uint32_t k = 0; k < model.n; k++)
			assert_true(window_model_entry(&model, k, ring[k]));
	}
	assert_int_equal(r.window.n, size);
	world_close(&world);
}

static void the_oldest_make_room(void **state)
{
	(void)state;
	evict(8, 3000);
	evict(16, 3000);
	evict(63, 3000);
}

/* --- the same text on the host --- */

struct mirror {
	struct kphi_record record;
	uint64_t ring[KPHI_RING_SIZE(64)];
	uint32_t slot, size;
	uint64_t random, sequence, epoch;
	uint16_t port; /* of a rule; 0: a native sender */
};

static struct message some_message(struct mirror *m)
{
	struct message message;

	m->epoch += !random_below(&m->random, 200);
	m->sequence += random_below(&m->random, 10) ? 1 : random_below(&m->random, 70);
	message = world_message(&world, m->slot, m->epoch, m->sequence);
	if (!random_below(&m->random, 8))
		message.sequence -= random_below(&m->random, 70) % message.sequence;
	if (!random_below(&m->random, 40))
		message.epoch -= random_below(&m->random, message.epoch);
	if (!random_below(&m->random, 60))
		message.type = 2;
	if (!random_below(&m->random, 400))
		message.type = 3;
	message.flags = (uint16_t)random_below(&m->random, 2);
	message.timestamp_ms = random_bits(&m->random);
	message.load_average = (uint32_t)random_bits(&m->random);
	message.available_capacity = (uint32_t)random_bits(&m->random);
	message.cluster_version = random_bits(&m->random);
	return message;
}

/* What the packet path made of the message: its fields, and the stamp, which the record shows if it matters.
 */
static struct kphi_beat as_beat(const struct message *m, const struct kphi_record *after, int outcome)
{
	bool stale = outcome == KPHI_COUNT_stale_epoch || outcome == KPHI_COUNT_stale_sequence;

	return (struct kphi_beat){
		.now_ns = stale ? after->stale_ns : after->last_ns,
		.epoch = m->epoch,
		.sequence = m->sequence,
		.epoch_limit = UINT64_MAX,
		.cluster_version = m->cluster_version,
		.stalled_total_ns = after->stalled_copy_ns,
		.stall_end_ns = world.store.ticks[0].stall_end_ns,
		.stall_length_ns = world.store.ticks[0].stall_length_ns,
		.device = after->device,
		.load_average = m->load_average,
		.available_capacity = m->available_capacity,
		.type = m->type,
		.flags = (uint8_t)m->flags,
		.native = 1,
	};
}

/* The same of a packet of a rule: it has a source, and no number. */
static struct kphi_beat as_rule_beat(const struct kphi_record *after)
{
	return (struct kphi_beat){
		.now_ns = after->last_ns,
		.stalled_total_ns = after->stalled_copy_ns,
		.stall_end_ns = world.store.ticks[0].stall_end_ns,
		.stall_length_ns = world.store.ticks[0].stall_length_ns,
		.speaker = {after->speaker[0], after->speaker[1]},
		.device = after->device,
		.type = KPHI_WIRE_BEAT,
	};
}

static void mirror_message(struct mirror *m)
{
	struct shape shape = {.version = 4, .port = m->port};
	static struct packet packet;
	struct message message = some_message(m);
	uint64_t before[KPHI_COUNTERS], ring[64];
	struct kphi_record kernel;
	struct kphi_beat b;
	uint32_t notes;
	int outcome;

	packet_build(&packet, &shape, &message);
	world_counts(&world, before);
	assert_int_equal(world_try(&world, &packet), 0);
	assert_int_equal(store_read_ring(&world.store, m->slot, &kernel, ring), 0);
	for (outcome = 0; store_count(&world.store, outcome) == before[outcome]; outcome++)
		assert_true(outcome < KPHI_COUNT_restart);
	b = m->port ? as_rule_beat(&kernel) : as_beat(&message, &kernel, outcome);
	assert_int_equal(
		kphi_record_take(&m->record, &world.store.peers[m->slot], m->ring, m->size, &b, &notes),
		outcome);
	assert_moved(&world, before, outcome, notes, "mirrored", 0);
	m->record.version = kernel.version;
	assert_memory_equal(&m->record, &kernel, sizeof(kernel));
	assert_memory_equal(m->ring, world_ring(&world, m->slot), KPHI_RING_SIZE(m->size) * sizeof(*ring));
}

/* In between, this host stalls as only the guard's tick can tell it, and the sender pauses for longer than
 * its cap. */
static void disturb(struct mirror *m, int *slow)
{
	const uint32_t zero = 0;
	struct kphi_tick tick = world.store.ticks[0];

	if (!*slow && !random_below(&m->random, 150))
		*slow = (int)random_below(&m->random, 16);
	if (*slow && (*slow)--)
		pause_ns(300 * US);
	if (random_below(&m->random, 300))
		return;
	tick.stalled_total_ns += random_below(&m->random, MS);
	/* Long enough ago that its burst is nearly drained. */
	tick.stall_end_ns = clock_monotonic_ns() - KPHI_CLEAN_MIN_NS + random_below(&m->random, 200 * US);
	tick.stall_length_ns = MS * 1000; /* no peer can say that this is nothing to it */
	assert_int_equal(bpf_map_update_elem(load_map_fd(world.skeleton, "ticks"), &zero, &tick, BPF_ANY), 0);
}

static void mirror(uint32_t size, int messages)
{
	const struct kphi_peer settings = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 20 * US};
	struct mirror m = {.size = size, .random = size, .epoch = 1};
	struct kphi_record r;
	int slow = 0;

	world_open_loose(&world, 16, size);
	m.slot = world_add(&world, &settings);
	m.record = world_record(&world, m.slot);
	for (int i = 0; i < messages; i++) {
		disturb(&m, &slow);
		mirror_message(&m);
	}
	r = world_record(&world, m.slot);
	assert_true(r.capped > 50 && r.retuned && r.unlearned && r.restarts && r.duplicates && r.reordered &&
		    r.stale);
	assert_true(r.window.n && r.window.losses.lost);
	world_close(&world);
}

/* Nothing tells what a rule's packets without numbers span: it is guessed, from the stamps. */
static void mirror_rule(uint32_t size, int messages)
{
	const struct kphi_rule rule = {.min_ttl = 0};
	struct kphi_peer settings = {
		.id = {.kind = KPHI_ID_RULE, .protocol = 17, .port = 9000, .bytes = {[10] = 0xff, 0xff, 10}}};
	struct mirror m = {.size = size, .random = size, .epoch = 1, .port = 9000};
	struct kphi_losses losses;
	int slow = 0;

	world_open_loose(&world, 16, size);
	m.slot = world_add_rule(&world, &settings, &rule);
	m.record = world_record(&world, m.slot);
	for (int i = 0; i < messages; i++) {
		disturb(&m, &slow);
		mirror_message(&m);
	}
	losses = world_record(&world, m.slot).window.losses;
	assert_true(losses.runs && losses.lost >= losses.runs && losses.beats > losses.runs);
	world_close(&world);
}

static void guesses_are_those_of_the_host(void **state)
{
	(void)state;
	mirror_rule(8, 4000);
	mirror_rule(64, 6000);
}

static void bit_for_bit_as_on_the_host(void **state)
{
	(void)state;
	mirror(8, 4000);
	mirror(16, 4000);
	mirror(64, 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_intervals_are_learned),   cmocka_unit_test(caps_and_a_retune),
		cmocka_unit_test(the_oldest_make_room),          cmocka_unit_test(bit_for_bit_as_on_the_host),
		cmocka_unit_test(guesses_are_those_of_the_host),
	};

	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
