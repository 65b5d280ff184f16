/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A store as a file that outlives a reboot: who is watched with which settings, and the highest epoch heard
 * of each. Not the windows: after a reboot of this host the intervals before it are another life.
 *
 * It is UTF-8 text. Each line is eight hexadecimal digits, a blank and a JSON object:
 *
 *   5f1c9a02 {"kphi_store":1,"capacity":1024,"window":1000,"saved_s":1795992874}
 *   0b44e6d1 {"name":"db1","host":"rack 7","id":"0b9d...","interval_ns":100000000,"model":"normal",
 *             "pause_ns":300000000,"epoch":1795990001}
 *   c0ffee11 {"name":"ups","from":"192.0.2.9","port":4001,"interval_ns":0,"model":"normal","epoch":0}
 *   71e3b0aa {"peers":2}
 *
 * (a peer is one line). The digits are the CRC-32 (as of zlib and IEEE 802.3) of everything before them but
 * the digits and the blanks: of the objects of all lines so far and of this one, each with its newline. So
 * what is changed, missing, swapped or cut off shows at its line.
 *
 * Version 2 has more rules than "from" and "port":
 *
 *   {"name":"v51","protocol":112,"preset":3,"match":["0:0133/0fff"],"leave":"2:00","ttl":255,...}
 *   {"name":"r2","from":"192.0.2.2","port":3784,"preset":2,"decoder":"bfd","local_rx_ns":50000000,...}
 *
 * "protocol" is 17 (UDP) if it is not there; without "from" the speaker may change. "preset" is a number of
 * enum preset_number, "match", "leave" and "sequence" are as people write them, "device" is a name. A store
 * that needs none of these is saved as version 1.
 *
 * Version 3 has what native peers demand of their messages, and "require_key":1 in its first line if all must
 * have a key. The key itself is not in the file: it has its name, which is empty after a restore until the
 * key is added again.
 *
 *   {"name":"db1","id":"0b9d...","bound_from":["192.0.2.7"],"bound_device":"eth0","bound_ttl":255,
 *    "key":"cluster","last_sequence":8812,...}
 *
 * "last_sequence" is the highest one heard of "epoch": a recorded message is as stale after a restore as it
 * was before.
 *
 * Settings that were not given have no key. A muted peer has "muted_until_s" (Unix time), "mute_left_ns" (at
 * the time of the save: a clock that is behind makes no mute longer) and "mute_reason".
 */
#ifndef KPHI_IO_SAVED_H
#define KPHI_IO_SAVED_H

#include <kphi/maps.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SAVED_VERSION 3

struct saved_peer {
	struct kphi_peer peer; /* mute_until_ns and added_ns mean nothing here, nor what control_add()
				  adds to the identity */
	struct kphi_rule rule;
	uint64_t epoch; /* highest one heard */
	uint64_t sequence; /* highest one of that epoch, of peers with a key */
	char key[KPHI_NAME_SIZE]; /* name; peer.ring means nothing here */
	uint64_t muted_until_s, mute_left_ns; /* 0: not muted */
};

struct saved_store {
	uint32_t capacity, window;
	uint64_t saved_s; /* Unix time */
	struct saved_peer *peers;
	uint32_t count;
	bool keyed; /* every native peer must have a key */
};

/* The file's text. Errors are left in `to` for ferror(). */
void saved_print(FILE *to, const struct saved_store *store);

/*
 * Back from `size` bytes of text. 0, or -EINVAL after a sentence that begins with "line N: ", or -ENOMEM.
 * What `peers` then points to is the caller's, to be freed.
 */
int saved_parse(const char *text, size_t size, struct saved_store *store, char *why, size_t why_size);

#endif
