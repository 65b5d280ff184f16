// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SipHash-2-4 against the reference's vectors and messages against another implementation's tags (both by
 * OpenSSL's `openssl mac SIPHASH`), and files with keys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <kphi/siphash.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beat/wire_codec.h"
#include "io/key_file.h"
#include "io/parse.h"

/* --- the hash --- */

/* The reference's key, 00 01 .. 0f, and of its messages, 00 01 .., the hashes by length. */
static const uint64_t key_of_reference[2] = {0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL};
static const uint64_t reference[64] = {
	0x726fdb47dd0e0e31ULL, 0x74f839c593dc67fdULL, 0x0d6c8009d9a94f5aULL, 0x85676696d7fb7e2dULL,
	0xcf2794e0277187b7ULL, 0x18765564cd99a68dULL, 0xcbc9466e58fee3ceULL, 0xab0200f58b01d137ULL,
	0x93f5f5799a932462ULL, 0x9e0082df0ba9e4b0ULL, 0x7a5dbbc594ddb9f3ULL, 0xf4b32f46226bada7ULL,
	0x751e8fbc860ee5fbULL, 0x14ea5627c0843d90ULL, 0xf723ca908e7af2eeULL, 0xa129ca6149be45e5ULL,
	0x3f2acc7f57c29bdbULL, 0x699ae9f52cbe4794ULL, 0x4bc1b3f0968dd39cULL, 0xbb6dc91da77961bdULL,
	0xbed65cf21aa2ee98ULL, 0xd0f2cbb02e3b67c7ULL, 0x93536795e3a33e88ULL, 0xa80c038ccd5ccec8ULL,
	0xb8ad50c6f649af94ULL, 0xbce192de8a85b8eaULL, 0x17d835b85bbb15f3ULL, 0x2f2e6163076bcfadULL,
	0xde4daaaca71dc9a5ULL, 0xa6a2506687956571ULL, 0xad87a3535c49ef28ULL, 0x32d892fad841c342ULL,
	0x7127512f72f27cceULL, 0xa7f32346f95978e3ULL, 0x12e0b01abb051238ULL, 0x15e034d40fa197aeULL,
	0x314dffbe0815a3b4ULL, 0x027990f029623981ULL, 0xcadcd4e59ef40c4dULL, 0x9abfd8766a33735cULL,
	0x0e3ea96b5304a7d0ULL, 0xad0c42d6fc585992ULL, 0x187306c89bc215a9ULL, 0xd4a60abcf3792b95ULL,
	0xf935451de4f21df2ULL, 0xa9538f0419755787ULL, 0xdb9acddff56ca510ULL, 0xd06c98cd5c0975ebULL,
	0xe612a3cb9ecba951ULL, 0xc766e62cfcadaf96ULL, 0xee64435a9752fe72ULL, 0xa192d576b245165aULL,
	0x0a8787bf8ecb74b2ULL, 0x81b3e73d20b49b6fULL, 0x7fa8220ba3b2eceaULL, 0x245731c13ca42499ULL,
	0xb78dbfaf3a8d83bdULL, 0xea1ad565322a1a0bULL, 0x60e61c23a3795013ULL, 0x6606d7e446282b93ULL,
	0x6ca4ecb15c5f91e1ULL, 0x9f626da15c9625f3ULL, 0xe51b38608ef25f57ULL, 0x958a324ceb064572ULL,
};

static uint64_t hash(const uint8_t *bytes, size_t length, const uint64_t key[2])
{
	size_t whole = length / 8 * 8;
	struct kphi_siphash s;
	uint64_t word;

	kphi_siphash_begin(&s, key);
	for (size_t i = 0; i < whole; i += 8) {
		memcpy(&word, bytes + i, 8);
		kphi_siphash_word(&s, kphi_le64(word));
	}
	word = 0;
	memcpy(&word, bytes + whole, length - whole);
	return kphi_siphash_end(&s, kphi_le64(word), length);
}

static void reference_vectors(void **state)
{
	uint8_t bytes[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	for (size_t length = 0; length < 64; length++)
		if (hash(bytes, length, key_of_reference) != reference[length])
			fail_msg("%zu bytes", length);
	assert_true(hash(bytes, 15, key_of_reference) == 0xa129ca6149be45e5ULL); /* the paper's, appendix A */
}

/* --- messages --- */

static const struct {
	const char *message; /* 80 bytes */
	uint64_t key[2], tag;
} messages[] = {
	{"4b5048490101000200580000000000076f1c0000000040008000000000000001000000006b0cad2a0000000000000001000"
	 "001a2"
	 "29846c103e8000003f40000000000000000000000000000000000000",
	 {0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL},
	 0xc3a82bd3ef984f0aULL},
	{"4b5048490101000300580000000000076f1c0000000040008000000000000001000000006b0cad2a0000000000000002000"
	 "001a2"
	 "29846ff83e8000003f400000000000000000002a0000000000000000",
	 {0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL},
	 0xf044574aa34d675fULL},
	{"4b5048490102000200580000000000076f1c0000000040008000000000000001000000006b0cad2a0000000000000003000"
	 "00000"
	 "00000000000000000000000000000000000000000000000000000000",
	 {0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL},
	 0x06c7a202cfb6ad46ULL},
	{"4b5048490103000200580000fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
	 "fffff"
	 "ffffffffffffffffffffffffffffffffffffffff0000000000000000",
	 {0x8899aabbccddeeffULL, 0x0011223344556677ULL},
	 0xbd3fd45920c10f34ULL},
};

static void from_hex(const char *hex, uint8_t *bytes, size_t size)
{
	unsigned int byte;

	assert_int_equal(strlen(hex), 2 * size);
	for (size_t i = 0; i < size; i++) {
		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		bytes[i] = (uint8_t)byte;
	}
}

static void tags_are_those_of_another_implementation(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
		struct kphi_wire w = {.tag = UINT64_MAX}; /* which is not looked at */

		from_hex(messages[i].message, (uint8_t *)&w, KPHI_TAGGED);
		assert_true(kphi_wire_tag(&w, messages[i].key) == messages[i].tag);
	}
}

/* What a sender composes and signs is the same message with the same tag. */
static void senders_sign_so(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
		uint8_t wanted[sizeof(struct kphi_wire)] = {0}, bytes[sizeof(struct kphi_wire)];
		struct wire_message m;
		struct key key = {.word = {messages[i].key[0], messages[i].key[1]}};

		from_hex(messages[i].message, wanted, KPHI_TAGGED);
		for (int k = 0; k < 8; k++)
			wanted[KPHI_TAGGED + k] = (uint8_t)(messages[i].tag >> (56 - 8 * k));
		assert_int_equal(wire_decode(wanted, sizeof(wanted), &m), 0);
		assert_true(m.flags & KPHI_WIRE_SIGNED);
		assert_true(m.tag == messages[i].tag);
		key.id = m.key_id;
		m.flags &= (uint16_t)~KPHI_WIRE_SIGNED;
		m.key_id = 0;
		m.tag = 0;
		wire_encode(&m, bytes);
		wire_sign(bytes, &key);
		assert_memory_equal(bytes, wanted, sizeof(bytes));
	}
}

/* --- files --- */

static const struct {
	const char *text;
	const char *why; /* NULL: it is a key */
	uint32_t id;
} files[] = {
	{"7:000102030405060708090a0b0c0d0e0f\n", NULL, 7},
	{"7:000102030405060708090A0B0C0D0E0F", NULL, 7},
	{"# rack 7\n\n4294967295:000102030405060708090a0b0c0d0e0f\n\n", NULL, UINT32_MAX},
	{"", "no key: it has one line", 0},
	{"# nothing\n", "no key: it has one line", 0},
	{"0:000102030405060708090a0b0c0d0e0f\n", "line 1: no key", 0},
	{"4294967296:000102030405060708090a0b0c0d0e0f\n", "line 1: no key", 0},
	{"99999999999999999999999:000102030405060708090a0b0c0d0e0f\n", "line 1: no key", 0},
	{":000102030405060708090a0b0c0d0e0f\n", "line 1: no key", 0},
	{"-7:000102030405060708090a0b0c0d0e0f\n", "line 1: no key", 0},
	{"000102030405060708090a0b0c0d0e0f\n", "line 1: no key", 0},
	{"7:000102030405060708090a0b0c0d0e0\n", "line 1: no key", 0},
	{"7:000102030405060708090a0b0c0d0e0f0\n", "line 1: no key", 0},
	{"7:000102030405060708090a0b0c0d0e0g\n", "line 1: no key", 0},
	{"7:000102030405060708090a0b0c0d0e0f \n", "line 1: no key", 0},
	{"7:000102030405060708090a0b0c0d0e0f\n\n8:ff0102030405060708090a0b0c0d0e0f\n", "line 3: a second key",
	 0},
};

static void texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		size_t size = strlen(files[i].text);
		char *text = malloc(size + 1), why[WHY_SIZE] = ""; /* whose last byte the sanitizer guards */
		struct key key = {0};
		int err;

		memcpy(text, files[i].text, size);
		err = key_parse(text, size, &key, why, sizeof(why));
		free(text);
		assert_int_equal(err, files[i].why ? -EINVAL : 0);
		if (files[i].why && !strstr(why, files[i].why))
			fail_msg("\"%s\" rather than \"%s\"", why, files[i].why);
		assert_null(strstr(why, "0102030405")); /* secrets are not for logs */
		if (files[i].why)
			continue;
		assert_int_equal(key.id, files[i].id);
		assert_memory_equal(key.word, key_of_reference, sizeof(key.word));
	}
}

static char path[] = "build/key-test-XXXXXX";

static int make_path(void **state)
{
	(void)state;
	strcpy(path, "build/key-test-XXXXXX");
	return close(mkstemp(path));
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

static void put(const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void assert_unread(const char *name, const char *expected)
{
	char why[2 * WHY_SIZE] = "";
	struct key key;

	assert_int_equal(key_read(name, &key, why, sizeof(why)), -EINVAL);
	if (!strstr(why, expected))
		fail_msg("\"%s\" rather than \"%s\"", why, expected);
}

static void what_others_may_read_is_no_secret(void **state)
{
	static const mode_t open_modes[] = {0644, 0640, 0604, 0620, 0602, 0610, 0660, 0777};
	char why[2 * WHY_SIZE];
	struct key key;

	(void)state;
	put(files[0].text, 0600);
	assert_int_equal(key_read(path, &key, why, sizeof(why)), 0);
	assert_int_equal(key.id, 7);
	put(files[0].text, 0400);
	assert_int_equal(key_read(path, &key, why, sizeof(why)), 0);
	for (size_t i = 0; i < sizeof(open_modes) / sizeof(*open_modes); i++) {
		put(files[0].text, open_modes[i]);
		assert_unread(path, "others than its owner have access");
	}
	put("hello\n", 0600);
	assert_unread(path, "line 1: no key");
	assert_unread("build/no-such-key", "cannot be read: No such file");
	assert_unread("build", "no key file");
	assert_unread("/dev/zero", "no key file");
}

static void generated_keys_come_back(void **state)
{
	char why[2 * WHY_SIZE] = "";
	struct key made = {0}, other = {0}, read_back = {0};
	struct stat st;
	mode_t mask;

	(void)state;
	assert_int_equal(key_generate(path, 3, &made, why, sizeof(why)),
			 -EEXIST); /* whatever was in it stays */
	assert_non_null(strstr(why, "File exists"));
	unlink(path);
	mask = umask(0);
	assert_int_equal(key_generate(path, 3, &made, why, sizeof(why)), 0);
	umask(mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(key_read(path, &read_back, why, sizeof(why)), 0);
	assert_memory_equal(&made, &read_back, sizeof(made));
	assert_true(key_fingerprint(&made) == key_fingerprint(&read_back));
	unlink(path);
	assert_int_equal(key_generate(path, 3, &other, why, sizeof(why)), 0);
	assert_memory_not_equal(made.word, other.word, sizeof(made.word));
	assert_true(key_fingerprint(&made) != key_fingerprint(&other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_vectors),
		cmocka_unit_test(tags_are_those_of_another_implementation),
		cmocka_unit_test(senders_sign_so),
		cmocka_unit_test(texts),
		cmocka_unit_test_setup_teardown(what_others_may_read_is_no_secret, make_path, remove_path),
		cmocka_unit_test_setup_teardown(generated_keys_come_back, make_path, remove_path),
	};

	return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
