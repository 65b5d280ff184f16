/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wide integers, each result held against its definition; and that nothing in user/core is anything but
 * integers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/fixed.h"
#include "phi_random.h"

#define ROUNDS 4000000

static u128 random128(uint64_t *random)
{
	u128 wide = (u128)random_bits(random) << 64;

	return (wide | random_bits(random)) >> random_bits(random) % 128;
}

/* r * r <= d < (r + 1) * (r + 1), without leaving 128 bits. */
static void assert_root(u128 d)
{
	u128 r = isqrt128(d);

	if (r * r > d || d - r * r > 2 * r)
		fail_msg("the root of %016llx%016llx is not %016llx", (unsigned long long)(d >> 64),
			 (unsigned long long)d, (unsigned long long)r);
}

static void assert_roots_around(u128 d)
{
	for (int step = -2; step <= 2; step++)
		assert_root(d + (u128)step); /* may wrap to the other end, which is as good a number */
}

static void roots_are_exact(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < ROUNDS; i++)
		assert_root(random128(&random));
	for (u128 d = 0; d < 100000; d++)
		assert_root(d);
}

static void roots_are_exact_around_squares(void **state)
{
	uint64_t random = 2;

	(void)state;
	for (int i = 0; i < ROUNDS / 4; i++) {
		uint64_t r = random_bits(&random) >> random_bits(&random) % 64;

		assert_roots_around((u128)r * r);
	}
	for (uint64_t off = 0; off < 1000; off++)
		assert_roots_around((u128)(UINT64_MAX - off) * (UINT64_MAX - off));
}

/* Powers of two, and the edges of the seed table's cells at every size. */
static void roots_are_exact_where_the_seed_changes(void **state)
{
	(void)state;
	for (int bit = 0; bit < 128; bit++)
		assert_roots_around((u128)1 << bit);
	for (u128 cell = 128; cell < 512; cell++)
		for (int shift = 0; shift < 120; shift++)
			assert_roots_around(cell << shift);
	assert_true(isqrt128(~(u128)0) == UINT64_MAX);
}

static void quotients_are_exact(void **state)
{
	uint64_t random = 3;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		u128 dividend = random128(&random);
		uint64_t divisor = random_positive(&random, 63), remainder;
		u128 quotient = dividend / divisor, up = quotient + (dividend % divisor != 0);

		assert_true(div_floor(dividend, divisor) == (quotient > UINT64_MAX ? UINT64_MAX : quotient));
		assert_true(div_ceil(dividend, divisor) == (up > UINT64_MAX ? UINT64_MAX : up));
		if (quotient > UINT64_MAX)
			continue;
		assert_true(div_wide(dividend, divisor, &remainder) == quotient);
		assert_true(remainder == dividend % divisor);
	}
}

static void quotients_saturate(void **state)
{
	(void)state;
	assert_true(div_floor(~(u128)0, 1) == UINT64_MAX);
	assert_true(div_ceil(~(u128)0, UINT64_MAX) == UINT64_MAX);
	assert_true(div_ceil((u128)UINT64_MAX << 1 | 1, 2) ==
		    UINT64_MAX); /* the quotient fits, rounded up it does not */
	assert_true(div_floor(0, UINT64_MAX) == 0 && div_ceil(0, UINT64_MAX) == 0);
	assert_true(mul_high(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
}

/* --- no floating point
 * ----------------------------------------------------------------------------------------- */

/* Registers of SSE, AVX, MMX, x87 (x86) or SIMD (ARM), mnemonics of x87, and libgcc's floats in software. */
#if defined(__aarch64__)
#define FLOATS "[ ,{][vdshbq][0-9]+[.,} \t]|__[a-z]*[sdt]f[0-9]?(\\b|\\+|$)"
#else
#define FLOATS "%[xyz]?mm[0-9]|%st\\b|:\t(f[a-z]+|v[a-z]+[sp][sd])\\b|__[a-z]*[sdtx]f[0-9]?(\\b|-|$)"
#endif

struct disassembly {
	unsigned instructions, floats;
	char first[160];
};

static struct disassembly disassemble(const char *objects)
{
	struct disassembly seen = {0};
	char command[160], line[160];
	regex_t instruction, floats;
	FILE *dump;

	snprintf(command, sizeof(command), "objdump -dr --no-show-raw-insn %s", objects);
	assert_int_equal(regcomp(&instruction, "^ +[0-9a-f]+:\t", REG_EXTENDED | REG_NOSUB), 0);
	assert_int_equal(regcomp(&floats, FLOATS, REG_EXTENDED | REG_NOSUB), 0);
	/* NOLINTNEXTLINE(cert-env33-c): no word of the command comes from outside */
	dump = popen(command, "r");
	assert_non_null(dump);
	while (fgets(line, sizeof(line), dump)) {
		seen.instructions += !regexec(&instruction, line, 0, NULL, 0);
		if (!regexec(&floats, line, 0, NULL, 0) && !seen.floats++)
			snprintf(seen.first, sizeof(seen.first), "%s", line);
	}
	assert_int_equal(pclose(dump), 0);
	regfree(&instruction);
	regfree(&floats);
	return seen;
}

static void core_has_no_floating_point(void **state)
{
	struct disassembly core = disassemble("build/obj/user/core/*.o");

	(void)state;
	if (core.floats)
		fail_msg("%u instructions with floating point, the first: %s", core.floats, core.first);
	assert_true(core.instructions > 1000); /* it did look at something */
}

/* Would it be found? */
static void floating_point_is_found(void **state)
{
	static const char *const sources[] = {
		"double f(double a) { return a * 1.5; }",
		"long double f(long double a) { return a * a; }",
		"unsigned long f(unsigned long a) { return (unsigned long)((double)a * 1.5); }",
		"_Float128 f(_Float128 a) { return a + a; }",
	};
	char object[] = "/tmp/kphi-floats-XXXXXX", command[256];
	int fd = mkstemp(object);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		snprintf(command, sizeof(command), "echo '%s' | cc -O2 -c -x c -o %s -", sources[i], object);
		/* NOLINTNEXTLINE(cert-env33-c): as above */
		assert_int_equal(system(command), 0);
		assert_true(disassemble(object).floats > 0);
	}
	close(fd);
	remove(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_are_exact),
		cmocka_unit_test(roots_are_exact_around_squares),
		cmocka_unit_test(roots_are_exact_where_the_seed_changes),
		cmocka_unit_test(quotients_are_exact),
		cmocka_unit_test(quotients_saturate),
		cmocka_unit_test(core_has_no_floating_point),
		cmocka_unit_test(floating_point_is_found),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("fixed", tests, NULL, NULL);
}
