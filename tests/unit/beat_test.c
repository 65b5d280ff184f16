/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sender's parts without a network: the bytes of a beat, what is said about failing destinations, what is
 * known about the host.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beat/destinations.h"
#include "beat/node_id.h"
#include "beat/trouble.h"
#include "beat/vitals.h"
#include "beat/wire_codec.h"

#define WIRE_SIZE sizeof(struct kphi_wire)
#define SECOND_NS 1000000000ULL

/* --- the bytes ------------------------------------------------------------------------------------------ */

static const struct wire_message golden_message = {
	.type = KPHI_WIRE_LEAVE,
	.flags = KPHI_WIRE_DEGRADED | KPHI_WIRE_SIGNED,
	.key_id = 0x01020304,
	.node_id = {0x3d, 0x12, 0x19, 0xc7, 0xc4, 0xc5, 0x40, 0x4a, 0xaa, 0x1f, 0x6d, 0x2a, 0x48, 0xad, 0xfd,
		    0xa4},
	.epoch = 0x1112131415161718,
	.sequence = 0x2122232425262728,
	.timestamp_ms = 0x3132333435363738,
	.load_average = 1.5f,
	.available_capacity = 0.25f,
	.cluster_version = 0x4142434445464748,
	.ack_sequence = 0x5152535455565758,
	.tag = 0x6162636465666768,
};

/* Written by hand from kphi/wire.h and IEEE 754: 1.5 is 0x3fc00000, 0.25 is 0x3e800000. */
static const uint8_t golden_bytes[WIRE_SIZE] =
	"KPHI\x01\x02\x00\x03\x00\x58\x00\x00\x01\x02\x03\x04"
	"\x3d\x12\x19\xc7\xc4\xc5\x40\x4a\xaa\x1f\x6d\x2a\x48\xad\xfd\xa4"
	"\x11\x12\x13\x14\x15\x16\x17\x18\x21\x22\x23\x24\x25\x26\x27\x28"
	"\x31\x32\x33\x34\x35\x36\x37\x38\x3f\xc0\x00\x00\x3e\x80\x00\x00"
	"\x41\x42\x43\x44\x45\x46\x47\x48\x51\x52\x53\x54\x55\x56\x57\x58"
	"\x61\x62\x63\x64\x65\x66\x67\x68";

static void assert_same_message(const struct wire_message *a, const struct wire_message *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->key_id, b->key_id);
	assert_memory_equal(a->node_id, b->node_id, sizeof(a->node_id));
	assert_true(a->epoch == b->epoch && a->sequence == b->sequence);
	assert_true(a->timestamp_ms == b->timestamp_ms && a->cluster_version == b->cluster_version);
	assert_memory_equal(&a->load_average, &b->load_average, sizeof(a->load_average));
	assert_memory_equal(&a->available_capacity, &b->available_capacity, sizeof(a->available_capacity));
	assert_true(a->ack_sequence == b->ack_sequence && a->tag == b->tag);
}

static void golden_packet(void **state)
{
	uint8_t bytes[WIRE_SIZE];
	struct wire_message message;

	(void)state;
	wire_encode(&golden_message, bytes);
	assert_memory_equal(bytes, golden_bytes, WIRE_SIZE);
	assert_int_equal(wire_decode(golden_bytes, WIRE_SIZE, &message), 0);
	assert_same_message(&message, &golden_message);
}

static uint64_t random_u64(void)
{
	static uint64_t state = 88172645463325252U;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static struct wire_message random_message(void)
{
	struct wire_message message = {
		.type = (enum kphi_wire_type)(KPHI_WIRE_BEAT + random_u64() % 5),
		.flags = (uint16_t)random_u64(),
		.key_id = (uint32_t)random_u64(),
		.epoch = random_u64(),
		.sequence = random_u64() | 1,
		.timestamp_ms = random_u64(),
		.load_average = (float)(random_u64() % 100000) / 7.0f,
		.available_capacity = (float)(random_u64() % 1000) / 1000.0f,
		.cluster_version = random_u64(),
		.ack_sequence = random_u64(),
		.tag = random_u64(),
	};

	for (unsigned int i = 0; i < sizeof(message.node_id); i++)
		message.node_id[i] = (uint8_t)random_u64();
	return message;
}

static void random_messages_return(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		/* Odd offset and a tail: neither alignment nor what follows matters. */
		uint8_t datagram[1 + WIRE_SIZE + 40];
		struct wire_message sent = random_message(), received;
		size_t tail = random_u64() % 40;

		memset(datagram, 0xee, sizeof(datagram));
		wire_encode(&sent, datagram + 1);
		assert_int_equal(wire_decode(datagram + 1, WIRE_SIZE + tail, &received), 0);
		assert_same_message(&sent, &received);
	}
}

static void truncated_is_refused(void **state)
{
	struct wire_message message;

	(void)state;
	for (size_t size = 0; size < WIRE_SIZE; size++) {
		/* Of exactly this size, so that the sanitizer sees a read beyond it. */
		uint8_t *bytes = malloc(size ? size : 1);

		assert_non_null(bytes);
		memcpy(bytes, golden_bytes, size);
		assert_int_equal(wire_decode(bytes, size, &message), -EMSGSIZE);
		free(bytes);
	}
}

static int decode_with(size_t offset, uint8_t value)
{
	uint8_t bytes[WIRE_SIZE];
	struct wire_message message;

	memcpy(bytes, golden_bytes, WIRE_SIZE);
	bytes[offset] = value;
	return wire_decode(bytes, WIRE_SIZE, &message);
}

static void garbled_is_refused(void **state)
{
	uint8_t bytes[WIRE_SIZE];
	struct wire_message message = golden_message;

	(void)state;
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(decode_with(i, 'X'), -EBADMSG);
	assert_int_equal(decode_with(4, 0), -EPROTONOSUPPORT);
	assert_int_equal(decode_with(4, 2), -EPROTONOSUPPORT);
	assert_int_equal(decode_with(5, 0), -ENOMSG);
	assert_int_equal(decode_with(5, KPHI_WIRE_REPLY + 1), -ENOMSG);
	assert_int_equal(decode_with(9, WIRE_SIZE - 1), -EMSGSIZE); /* a length below the smallest */
	assert_int_equal(decode_with(9, WIRE_SIZE + 1), -EMSGSIZE); /* a length beyond what came */
	assert_int_equal(decode_with(8, 1), -EMSGSIZE);

	message.sequence = 0;
	wire_encode(&message, bytes);
	assert_int_equal(wire_decode(bytes, WIRE_SIZE, &message), -ENOMSG);
}

/* A later version may use these; a receiver of this one does not look. */
static void unknown_bits_are_ignored(void **state)
{
	(void)state;
	assert_int_equal(decode_with(6, 0x80), 0);
	assert_int_equal(decode_with(10, 0xff), 0);
	assert_int_equal(decode_with(11, 0xff), 0);
}

/* --- who, to whom, and what is said --------------------------------------------------------------------- */

static void id_of_host_is_stable_and_its_own(void **state)
{
	uint8_t once[16], again[16];
	char machine[33] = "", text[33];
	FILE *file = fopen("/etc/machine-id", "r");

	(void)state;
	if (!file) {
		print_message("no /etc/machine-id\n");
		skip();
	}
	assert_non_null(fgets(machine, sizeof(machine), file));
	fclose(file);
	assert_int_equal(node_id_of_host(once), 0);
	assert_int_equal(node_id_of_host(again), 0);
	assert_memory_equal(once, again, sizeof(once));
	for (unsigned int i = 0; i < sizeof(once); i++)
		snprintf(text + 2 * i, 3, "%02x", once[i]);
	assert_string_not_equal(text, machine);
}

static struct sockaddr_storage endpoint(const char *address, uint16_t port)
{
	struct sockaddr_storage storage = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&storage;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&storage;

	if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
	} else {
		assert_int_equal(inet_pton(AF_INET6, address, &in6->sin6_addr), 1);
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
	}
	return storage;
}

static void destinations_are_named_and_counted(void **state)
{
	struct sockaddr_storage four = endpoint("192.0.2.1", 7441), six = endpoint("2001:db8::1", 9),
				other_port = endpoint("192.0.2.1", 7442);
	struct destinations *to = malloc(sizeof(*to));

	(void)state;
	assert_non_null(to);
	destinations_init(to);
	assert_int_equal(destinations_add(to, &four), 0);
	assert_int_equal(destinations_add(to, &six), 0);
	assert_int_equal(destinations_add(to, &other_port), 0);
	assert_int_equal(destinations_add(to, &four), -EEXIST);
	assert_int_equal(destinations_add(to, &six), -EEXIST);
	assert_int_equal(to->count, 3);
	assert_string_equal(to->list[0].name, "192.0.2.1:7441");
	assert_string_equal(to->list[1].name, "[2001:db8::1]:9");
	assert_string_equal(to->list[2].name, "192.0.2.1:7442");

	for (uint16_t port = 1; to->count < DESTINATIONS_MAX; port++) {
		struct sockaddr_storage more = endpoint("192.0.2.2", port);

		assert_int_equal(destinations_add(to, &more), 0);
	}
	six = endpoint("2001:db8::2", 9);
	assert_int_equal(destinations_add(to, &six), -E2BIG);
	free(to);
}

static enum trouble_news note_and_say(struct trouble *trouble, int error, uint64_t now_ns)
{
	enum trouble_news news = trouble_note(trouble, error, now_ns);

	if (news != TROUBLE_NOTHING)
		trouble_said(trouble, news, now_ns);
	return news;
}

static void trouble_is_said_once_a_minute(void **state)
{
	struct trouble trouble = {0};
	unsigned int lines = 0;
	uint64_t now_ns = 5 * SECOND_NS;

	(void)state;
	assert_int_equal(note_and_say(&trouble, 0, now_ns), TROUBLE_NOTHING);
	/* Ten minutes at ten beats a second. */
	for (unsigned int i = 0; i < 6000; i++, now_ns += SECOND_NS / 10)
		lines += note_and_say(&trouble, ENETUNREACH, now_ns) == TROUBLE_FAILS;
	assert_int_equal(lines, 10);
	assert_int_equal(trouble.errors, 6000);
}

static void trouble_with_a_new_reason_is_said_at_once(void **state)
{
	struct trouble trouble = {0};
	uint64_t now_ns = 5 * SECOND_NS;

	(void)state;
	assert_int_equal(note_and_say(&trouble, ENETUNREACH, now_ns), TROUBLE_FAILS);
	/* Within the same second it waits, and is said with how many there were. */
	assert_int_equal(note_and_say(&trouble, EPERM, now_ns + SECOND_NS / 2), TROUBLE_NOTHING);
	assert_int_equal(trouble_note(&trouble, EPERM, now_ns + SECOND_NS), TROUBLE_FAILS);
	assert_int_equal(trouble.unsaid, 2);

	/* Nobody could write the line: it stays due. */
	assert_int_equal(trouble_note(&trouble, EPERM, now_ns + SECOND_NS), TROUBLE_FAILS);
	trouble_said(&trouble, TROUBLE_FAILS, now_ns + SECOND_NS);
	assert_int_equal(trouble_note(&trouble, EPERM, now_ns + SECOND_NS), TROUBLE_NOTHING);
	assert_int_equal(trouble.unsaid, 1);
}

static void trouble_ends_after_ten_quiet_seconds(void **state)
{
	struct trouble trouble = {0};
	uint64_t now_ns = 5 * SECOND_NS;

	(void)state;
	note_and_say(&trouble, ENETUNREACH, now_ns);
	assert_int_equal(note_and_say(&trouble, 0, now_ns + 9 * SECOND_NS), TROUBLE_NOTHING);
	assert_int_equal(note_and_say(&trouble, 0, now_ns + 10 * SECOND_NS), TROUBLE_OVER);
	assert_int_equal(note_and_say(&trouble, 0, now_ns + 11 * SECOND_NS), TROUBLE_NOTHING);
	/* The next one is news again. */
	assert_int_equal(note_and_say(&trouble, ENETUNREACH, now_ns + 12 * SECOND_NS), TROUBLE_FAILS);
}

/* Every other beat fails, for two reasons in turn: a line a second, not a line a beat. */
static void flapping_is_bounded(void **state)
{
	static const int errors[] = {ENETUNREACH, 0, EPERM, 0};
	struct trouble trouble = {0};
	unsigned int lines = 0;

	(void)state;
	for (unsigned int i = 0; i < 10000; i++)
		lines += note_and_say(&trouble, errors[i % 4], SECOND_NS + i * SECOND_NS / 1000) != 0;
	assert_in_range(lines, 1, 11);
}

static void vitals_are_within_limits(void **state)
{
	struct vitals vitals;
	double load;

	(void)state;
	assert_int_equal(vitals_open(&vitals, 0), 0);
	for (uint64_t now_ns = 0; now_ns < 5 * SECOND_NS; now_ns += SECOND_NS / 2) {
		vitals_refresh(&vitals, now_ns);
		assert_true(vitals.available_capacity >= 0.0f && vitals.available_capacity <= 1.0f);
		assert_true(vitals.load_average >= 0.0f && vitals.load_average < FLT_MAX);
	}
	/* The kernel renews it every five seconds, so the two may be one renewal apart. */
	assert_int_equal(getloadavg(&load, 1), 1);
	assert_true(vitals.load_average > load - 2 && vitals.load_average < load + 2);
	vitals_close(&vitals);
	assert_int_equal(vitals.uptime_fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_packet),
		cmocka_unit_test(random_messages_return),
		cmocka_unit_test(truncated_is_refused),
		cmocka_unit_test(garbled_is_refused),
		cmocka_unit_test(unknown_bits_are_ignored),
		cmocka_unit_test(id_of_host_is_stable_and_its_own),
		cmocka_unit_test(destinations_are_named_and_counted),
		cmocka_unit_test(trouble_is_said_once_a_minute),
		cmocka_unit_test(trouble_with_a_new_reason_is_said_at_once),
		cmocka_unit_test(trouble_ends_after_ten_quiet_seconds),
		cmocka_unit_test(flapping_is_bounded),
		cmocka_unit_test(vitals_are_within_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
