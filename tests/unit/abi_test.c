// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What other programs rely on: the name of the pins' folder, where fields lie in the maps and on the wire. A
 * failure here says that a layout moved; the ABI's hash then moves by itself, and the wire's version has to.
 */
#include <abi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <kphi/counters.h>
#include <kphi/maps.h>
#include <kphi/record.h>
#include <kphi/wire.h>

#define AT(type, field)                                                                                      \
	{                                                                                                    \
#type "." #field, offsetof(struct type, field), sizeof(((struct type *)0)->field)            \
	}

static const struct field {
	const char *name;
	size_t offset, size;
} wire[] = {
	AT(kphi_wire, magic),
	AT(kphi_wire, version),
	AT(kphi_wire, type),
	AT(kphi_wire, flags),
	AT(kphi_wire, length),
	AT(kphi_wire, reserved),
	AT(kphi_wire, key_id),
	AT(kphi_wire, node_id),
	AT(kphi_wire, epoch),
	AT(kphi_wire, sequence),
	AT(kphi_wire, timestamp_ms),
	AT(kphi_wire, load_average),
	AT(kphi_wire, available_capacity),
	AT(kphi_wire, cluster_version),
	AT(kphi_wire, ack_sequence),
	AT(kphi_wire, tag),
};

static void abi_is_eight_hexadecimal_digits(void **state)
{
	(void)state;
	assert_int_equal(strlen(KPHI_ABI), 8);
	assert_int_equal(strspn(KPHI_ABI, "0123456789abcdef"), 8);
}

/* No holes, nothing out of alignment: what is on the wire is all there is. */
static void wire_fields_follow_one_another(void **state)
{
	static const size_t sizes[] = {4, 1, 1, 2, 2, 2, 4, 16, 8, 8, 8, 4, 4, 8, 8, 8};
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(wire) / sizeof(*wire); i++) {
		if (wire[i].offset != at || wire[i].size != sizes[i] ||
		    (at % (wire[i].size > 8 ? 8 : wire[i].size)))
			fail_msg("%s is at %zu, expected %zu", wire[i].name, wire[i].offset, at);
		at += sizes[i];
	}
	assert_int_equal(at, sizeof(struct kphi_wire));
	assert_int_equal(at, 88);
}

/* Elements of mmapped arrays are copied word by word, and the kernel rounds an element up to eight bytes. */
static void map_values_are_whole_words(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct kphi_store), 64);
	assert_int_equal(sizeof(struct kphi_peer), 280);
	assert_int_equal(sizeof(struct kphi_rule), 128);
	assert_int_equal(sizeof(struct kphi_record), 304);
	assert_int_equal(sizeof(struct kphi_tick), 384);
	assert_int_equal(sizeof(struct kphi_counters) % 64, 0);
	assert_int_equal(sizeof(struct kphi_id), 48);
	assert_int_equal(sizeof(struct kphi_slot), 8);
	assert_int_equal(sizeof(struct kphi_verdict), 64);
	assert_int_equal(sizeof(struct kphi_hint), 8);
	assert_int_equal(sizeof(struct kphi_stranger), 72);
	assert_int_equal(sizeof(struct kphi_control), 576);
	assert_int_equal(sizeof(struct kphi_seal), 24);
	assert_int_equal(sizeof(struct kphi_ring), 104);
	assert_int_equal(offsetof(struct kphi_record, version), 0);
}

static void counters_have_a_name_each(void **state)
{
	static const char *const names[] = {
#define X(name, help) #name,
		KPHI_OUTCOMES(X) KPHI_NOTES(X)
#undef X
	};

	(void)state;
	assert_int_equal(sizeof(names) / sizeof(*names), KPHI_COUNTERS);
	for (int i = 0; i < KPHI_COUNTERS; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(names[i], names[k]);
	assert_int_equal(KPHI_NOTE(restart), 1);
	assert_true(KPHI_COUNTERS - KPHI_COUNT_restart <= 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(abi_is_eight_hexadecimal_digits),
		cmocka_unit_test(wire_fields_follow_one_another),
		cmocka_unit_test(map_values_are_whole_words),
		cmocka_unit_test(counters_have_a_name_each),
	};

	return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
