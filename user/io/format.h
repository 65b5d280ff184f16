/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From values to what people read. The buffers are the caller's; each *_SIZE is room for the longest text.
 * All return `text`.
 */
#ifndef KPHI_IO_FORMAT_H
#define KPHI_IO_FORMAT_H

#include <stdint.h>

struct kphi_match;
struct kphi_rule;
struct sockaddr_storage;

#define FORMAT_SIZE   32 /* any number below */
#define UUID_SIZE     37
#define ADDRESS_SIZE  46 /* INET6_ADDRSTRLEN */
#define ENDPOINT_SIZE 72 /* [address%device]:port */
#define MATCH_SIZE    41

/* At a glance, three digits: 812ns 4.21us 100ms 12.3s 4m05s 2h03m 3d04h. */
char *format_duration(uint64_t ns, char text[FORMAT_SIZE]);

/* Exactly, in the largest unit that divides it: what parse_duration() reads. */
char *format_duration_exact(uint64_t ns, char text[FORMAT_SIZE]);

/* At a glance, three digits: 812B 1.5KiB 64MiB. */
char *format_bytes(uint64_t bytes, char text[FORMAT_SIZE]);

/* Unsigned Q32.32 with up to nine decimals, correctly rounded (ties to even, as printf does). */
char *format_q32(uint64_t q32, unsigned int decimals, char text[FORMAT_SIZE]);

/* Parts per million as percent: what parse_percent() reads. */
char *format_percent(uint32_t ppm, char text[FORMAT_SIZE]);

/* Lower case, 8-4-4-4-12. */
char *format_uuid(const uint8_t uuid[16], char text[UUID_SIZE]);

/* IPv4-mapped addresses as IPv4. */
char *format_address(const uint8_t address[16], char text[ADDRESS_SIZE]);

/* 0:0181 or 0:30/f0: what parse_match() reads. */
char *format_match(const struct kphi_match *match, char text[MATCH_SIZE]);

/* 23:16 or 4:32le: what parse_sequence() reads. The rule has a sequence number. */
char *format_sequence(const struct kphi_rule *rule, char text[FORMAT_SIZE]);

/* 192.0.2.1:7441 or [fe80::1%eth0]:7441; "?" for other families. */
char *format_endpoint(const struct sockaddr_storage *endpoint, char text[ENDPOINT_SIZE]);

#endif
