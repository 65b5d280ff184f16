/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From what people type to values. Every parser returns 0, -EINVAL (malformed) or -ERANGE (well-formed, but
 * too small or too large) and then says in `why` what is wrong and what would be right; the value is touched
 * only on success. What a parser accepts, the function of the same name in format.h writes back so that it
 * reads the same.
 */
#ifndef KPHI_IO_PARSE_H
#define KPHI_IO_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include "kphi/maps.h"

#define WHY_SIZE 1024 /* room enough for any sentence below; a smaller buffer cuts it short */

struct sockaddr_storage;

/* How a word of the user's stands in a sentence: no longer than a line can bear. */
#define QUOTED "'%.60s'"

/* Fills `why` and returns `error`: the last line of a parser that refuses. For parsers elsewhere too. */
int refuse(int error, char *why, size_t size, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Decimal digits only: no sign, no 0x, no blanks. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value, char *why, size_t size);

/* 1 to 65535, host order. */
int parse_port(const char *text, uint16_t *port, char *why, size_t size);

/*
 * A decimal number with a unit: ns us ms s m h d. A bare "0" needs none. The arithmetic is exact, so what is
 * not a whole number of nanoseconds is refused, and what does not fit 64 bits too.
 */
int parse_duration(const char *text, uint64_t min_ns, uint64_t max_ns, uint64_t *ns, char *why, size_t size);

/* "0%" to "100%" with up to four decimals, exactly, in parts per million. */
int parse_percent(const char *text, uint32_t *ppm, char *why, size_t size);

/* 8-4-4-4-12 or 32 hex digits in any case, but not all zero. */
int parse_uuid(const char *text, uint8_t uuid[16], char *why, size_t size);

/*
 * A peer's name or label: 1 to 63 bytes of UTF-8 without control characters (utf8_is_control()) and without a
 * blank at either end. The whole array is written, zeros after the end, as maps want it.
 */
int parse_name(const char *text, char name[KPHI_NAME_SIZE], char *why, size_t size);

/*
 * What a rule asks of a payload: OFFSET:HEX or OFFSET:HEX/MASK, as in 0:0181 or 0:30/f0, of 1 to 8 bytes. A
 * mask that asks for nothing is refused, and a value with bits outside its mask.
 */
#define PARSE_OFFSET_MAX 9000 /* no frame is longer */
int parse_match(const char *text, struct kphi_match *match, char *why, size_t size);

/* Where a rule's packets have their sequence number: OFFSET:BITS, or OFFSET:BITSle if the least significant
 * byte comes first. Fills the three fields of the rule. */
int parse_sequence(const char *text, struct kphi_rule *rule, char *why, size_t size);

/* The name of a network device, whether there is one or not. The whole array is written. */
int parse_device(const char *text, char device[KPHI_DEVICE_SIZE], char *why, size_t size);

/* An IPv4 (as ::ffff:a.b.c.d) or IPv6 literal. Host names are not resolved, scope ids have no place here. */
int parse_address(const char *text, uint8_t address[16], char *why, size_t size);

/*
 * Where a socket goes: ADDRESS, ADDRESS:PORT or [IPV6]:PORT; link-local IPv6 needs its device, as in
 * fe80::1%eth0. `default_port` 0: the port must be given. An IPv4-mapped IPv6 address becomes the IPv4 one.
 */
int parse_endpoint(const char *text, uint16_t default_port, struct sockaddr_storage *endpoint, char *why,
		   size_t size);

#endif
