// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi store save and restore: peers and their highest epochs over a reboot. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/session.h"
#include "cmd/store.h"
#include "io/file.h"
#include "io/parse.h"
#include "io/saved.h"
#include "kernel/clock.h"
#include "kernel/keyring.h"
#include "rule/same.h"

#define NS_PER_SECOND 1000000000ULL
#define FIRST_LINE    2 /* of a peer in the file */

static uint64_t wall_s(void)
{
	return (uint64_t)time(NULL);
}

static const char *file_name(struct args *args)
{
	const char *path = args_next(args, "a FILE");

	return path && !args_done(args) ? path : NULL;
}

/* --- save --- */

static void take_peer(const struct store *s, struct saved_peer *saved, const struct kphi_record *r,
		      uint64_t now_ns)
{
	struct kphi_peer *p = &saved->peer;

	saved->epoch = r->epoch;
	if (p->demands & KPHI_DEMAND_KEY) {
		memcpy(saved->key, s->rings[p->ring % KPHI_RINGS].name, sizeof(saved->key));
		saved->sequence = r->sequence.highest;
	}
	if (p->mute_until_ns <= now_ns)
		return;
	saved->mute_left_ns = p->mute_until_ns - now_ns;
	saved->muted_until_s = wall_s() + (saved->mute_left_ns + NS_PER_SECOND - 1) / NS_PER_SECOND;
}

/* The peer and its rule as they belong together: a rule is the same for as long as its generation is. */
static int read_peer(const struct store *s, uint32_t slot, struct kphi_record *r, struct saved_peer *p)
{
	uint32_t generation;
	int err;

	do {
		err = store_read(s, slot, r, &p->peer);
		p->rule = s->rules[slot];
		atomic_thread_fence(memory_order_acquire);
		generation = *(const volatile uint32_t *)&s->records[slot].generation;
	} while (!err && generation != r->generation);
	return err;
}

static int collect(const struct store *s, struct saved_store *saved)
{
	uint64_t now_ns = clock_monotonic_ns();

	*saved = (struct saved_store){
		.capacity = s->header->peers,
		.window = s->header->window,
		.saved_s = wall_s(),
		.keyed = s->header->flags & KPHI_STORE_KEYED,
	};
	saved->peers = calloc(saved->capacity, sizeof(*saved->peers));
	if (!saved->peers)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < saved->capacity; slot++) {
		struct saved_peer *p = &saved->peers[saved->count];
		struct kphi_record r;

		if (s->records[slot].state == KPHI_FREE)
			continue;
		if (read_peer(s, slot, &r, p))
			return -EBUSY;
		if (r.state == KPHI_FREE)
			continue;
		take_peer(s, p, &r, now_ns);
		saved->count++;
	}
	return 0;
}

/* The text is made in memory, so that the file is written whole or not at all. */
static int write_saved(const char *path, const struct saved_store *saved)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	int err = memory ? 0 : -errno;

	if (memory) {
		saved_print(memory, saved);
		err = ferror(memory) ? -ENOMEM : 0;
		if (fclose(memory) && !err)
			err = -errno;
	}
	err = err ? err : file_replace(path, text, size);
	free(text);
	if (err)
		fail("%s: cannot be written: %s", path, file_trouble(err));
	return err ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
}

int store_save(struct kphi_cli *cli, struct args *args)
{
	struct saved_store saved = {0};
	const char *path = file_name(args);
	struct session s;
	struct out *o;
	int exit, err;

	if (!path)
		return KPHI_EXIT_USAGE;
	exit = session_read(&s, cli);
	if (!exit) {
		err = collect(&s.store, &saved);
		if (err)
			fail("the store cannot be read: %s. Try again", strerror(-err));
		exit = err ? KPHI_EXIT_FAILED : write_saved(path, &saved);
	}
	free(saved.peers);
	session_end(&s);
	if (exit)
		return exit;
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	out_string(o, "saved", "saved to", path);
	out_u64(o, "peers", "peers", saved.count);
	out_close_object(o);
	return command_finish(o);
}

/* --- restore: the file --- */

/* All of it, to be freed; NULL, said why. */
static char *read_file(const char *path, size_t *size)
{
	struct stat st;
	char *text = NULL;
	ssize_t got;

	if (stat(path, &st) < 0) {
		fail("%s: cannot be read: %s", path, strerror(errno));
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		fail("%s: is no file that `kphi store save` has written", path);
		return NULL;
	}
	text = malloc((size_t)st.st_size + 1);
	got = text ? file_read(path, text, (size_t)st.st_size + 1) : -ENOMEM;
	if (got >= 0) {
		*size = (size_t)got;
		return text;
	}
	fail("%s: cannot be read: %s", path, file_trouble((int)got));
	free(text);
	return NULL;
}

static int load_saved(const char *path, struct saved_store *saved)
{
	char reason[WHY_SIZE];
	size_t size = 0;
	char *text = read_file(path, &size);
	int err = text ? saved_parse(text, size, saved, reason, sizeof(reason)) : -ENOENT;

	if (text && err)
		fail("%s: %s. Nothing was restored", path, reason);
	free(text);
	return err ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
}

/* --- restore: whoever is there already --- */

struct known {
	const struct kphi_peer *peer;
	const struct kphi_rule *rule;
	uint32_t line; /* of the file; 0: in the store */
};

/* By name and by identity (tsearch). */
struct index {
	void *names, *ids;
	struct known *known;
	uint32_t count;
};

static int by_name(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return strcmp(x->peer->name, y->peer->name);
}

static int by_id(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return rule_compare_identity(x->peer, x->rule, y->peer, y->rule);
}

static const struct known *look_up(void *const *tree, const struct saved_peer *p,
				   int (*compare)(const void *, const void *))
{
	const struct known key = {&p->peer, &p->rule, 0};
	void *found = tfind(&key, tree, compare);

	return found ? *(const struct known *const *)found : NULL;
}

static int remember(struct index *index, const struct kphi_peer *peer, const struct kphi_rule *rule,
		    uint32_t line)
{
	struct known *k = &index->known[index->count++];

	*k = (struct known){peer, rule, line};
	return tsearch(k, &index->names, by_name) && tsearch(k, &index->ids, by_id) ? 0 : -ENOMEM;
}

static void keep(void *node)
{
	(void)node;
}

static void index_free(struct index *index)
{
	tdestroy(index->names, keep);
	tdestroy(index->ids, keep);
	free(index->known);
}

static int index_store(struct index *index, const struct store *s)
{
	int err = 0;

	for (uint32_t slot = 0; s && !err && slot < s->header->peers; slot++)
		if (s->records[slot].state != KPHI_FREE) /* the lock is ours: nobody adds or deletes */
			err = remember(index, &s->peers[slot], &s->rules[slot], 0);
	return err;
}

/* `other` has the name, or else the identity, of `p`. */
static int say_conflict(const char *path, const struct kphi_peer *p, uint32_t line, const struct known *other)
{
	bool name = !strcmp(other->peer->name, p->name);

	if (other->line)
		fail("%s: line %u: %s: %s stands in line %u already. Nothing was restored", path, line,
		     p->name, name ? "a peer of that name" : "its identity", other->line);
	else if (name)
		fail("%s: line %u: %s: a peer of that name, but with another identity, is in the store. "
		     "Nothing was "
		     "restored",
		     path, line, p->name);
	else
		fail("%s: line %u: %s: its identity belongs to %s in the store. Nothing was restored", path,
		     line, p->name, other->peer->name);
	return KPHI_EXIT_FAILED;
}

/* Marks with an empty name who is in the store already. *fresh: how many are not. */
static int compare(const char *path, struct saved_store *saved, struct index *index, uint32_t *fresh)
{
	for (uint32_t i = 0; i < saved->count; i++) {
		const struct saved_peer *p = &saved->peers[i];
		const struct known *name = look_up(&index->names, p, by_name);
		const struct known *id = look_up(&index->ids, p, by_id);
		const struct known *other = name ? name : id;

		if (name && name == id && !name->line) {
			saved->peers[i].peer.name[0] = '\0';
			continue;
		}
		if (other)
			return say_conflict(path, &p->peer, FIRST_LINE + i, other);
		if (remember(index, &p->peer, &p->rule, FIRST_LINE + i)) {
			fail("no memory for %u peers", saved->count);
			return KPHI_EXIT_FAILED;
		}
		++*fresh;
	}
	return KPHI_EXIT_OK;
}

/* `s` NULL: against each other only. */
static int check(const char *path, struct saved_store *saved, const struct store *s, uint32_t *fresh)
{
	struct index index = {0};
	uint32_t there = s ? s->header->peers : 0;
	int exit = KPHI_EXIT_FAILED;

	*fresh = 0;
	index.known = calloc((size_t)there + saved->count + 1, sizeof(*index.known));
	if (!index.known || index_store(&index, s))
		fail("no memory to compare %u peers", saved->count);
	else
		exit = compare(path, saved, &index, fresh);
	if (!exit && s && *fresh > there - (index.count - *fresh)) {
		fail("%s: %u peers to add, but the store has room for %u more. Nothing was restored", path,
		     *fresh, there - (index.count - *fresh));
		exit = KPHI_EXIT_FAILED;
	}
	index_free(&index);
	return exit;
}

/* --- restore: doing it --- */

/* The time it was muted for goes on while the host is down; a clock that was set back makes it no longer. */
static void mute_again(struct saved_peer *p)
{
	uint64_t now_s = wall_s(), left_s = p->muted_until_s > now_s ? p->muted_until_s - now_s : 0;
	uint64_t left_ns = p->mute_left_ns;

	if (left_s < left_ns / NS_PER_SECOND)
		left_ns = left_s * NS_PER_SECOND;
	p->peer.mute_until_ns = left_s && left_ns ? clock_monotonic_ns() + left_ns : 0;
	if (!p->peer.mute_until_ns)
		memset(p->peer.mute_reason, 0, sizeof(p->peer.mute_reason));
}

static int add_one(struct session *s, struct saved_peer *p, uint32_t *slot)
{
	const struct control_floor floor = {p->epoch, p->sequence};
	int ring = *p->key ? keyring_make(&s->control, &s->store, p->key, &s->why) : 0;

	if (ring < 0)
		return ring;
	p->peer.ring = (uint16_t)ring;
	return control_restore(&s->control, &s->store, &p->peer, &p->rule, &floor, slot, &s->why);
}

/* Keys are not saved: who waits for one is told which. */
static void say_keyless(const struct store *s)
{
	for (int i = 0; i < KPHI_RINGS; i++) {
		const struct kphi_ring *r = &s->rings[i];
		uint32_t users = *r->name && !keyring_keys(r) ? keyring_users(s, i) : 0;

		if (users)
			warn("%s: %u peers need this key again, and nothing is accepted of them before `kphi "
			     "key "
			     "add %s file FILE`",
			     r->name, users, r->name);
	}
}

static int add_all(struct session *s, struct saved_store *saved, uint32_t fresh)
{
	struct kphi_slot *added_to = calloc((size_t)fresh + 1, sizeof(*added_to)); /* to take it back */
	uint32_t slot = 0, added = 0, absent = 0;
	struct why ignored;
	int err = 0;

	if (!added_to)
		return session_result(s, why(&s->why, -ENOMEM, "no memory for %u peers", fresh));
	for (uint32_t i = 0; !err && i < saved->count; i++) {
		struct saved_peer *p = &saved->peers[i];

		if (!*p->peer.name)
			continue;
		mute_again(p);
		absent += !rule_find_device(&p->peer, &p->rule);
		err = add_one(s, p, &slot);
		if (!err)
			added_to[added++] = (struct kphi_slot){slot, s->store.records[slot].generation};
	}
	if (err)
		control_delete_all(&s->control, &s->store, added_to, added, &ignored);
	else if (absent)
		warn("%u peers are bound to devices that are not there yet: nothing is heard of them before "
		     "`kphi net attach`",
		     absent);
	if (!err)
		say_keyless(&s->store);
	free(added_to);
	return session_result(s, err);
}

/* A store like the one that was saved, if there is none at all. */
static int make_store(const struct kphi_cli *cli, const struct saved_store *saved)
{
	struct store_size size = {saved->capacity, saved->window, saved->keyed};
	char abi[16];
	struct pin p;
	struct why w;
	int err = pin_open(&p, cli->pin, true, &w);

	err = err ? err : pin_lock(&p, &w);
	if (!err && !pin_has_store(&p) && !pin_other_abi(&p, abi))
		err = store_create(&p, &size, NULL, &w);
	pin_close(&p);
	if (err)
		fail("%s", w.text);
	return err ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
}

static int restore(struct kphi_cli *cli, const char *path, struct saved_store *saved, uint32_t *fresh)
{
	struct session s;
	int exit = check(path, saved, NULL, fresh);

	exit = exit ? exit : make_store(cli, saved);
	if (exit)
		return exit;
	exit = session_change(&s, cli);
	exit = exit ? exit : check(path, saved, &s.store, fresh);
	exit = exit ? exit : add_all(&s, saved, *fresh);
	session_end(&s);
	return exit;
}

int store_restore(struct kphi_cli *cli, struct args *args)
{
	struct saved_store saved = {0};
	const char *path = file_name(args);
	uint32_t fresh = 0;
	struct out *o;
	int exit;

	if (!path)
		return KPHI_EXIT_USAGE;
	exit = load_saved(path, &saved);
	exit = exit ? exit : restore(cli, path, &saved, &fresh);
	free(saved.peers);
	if (exit)
		return exit;
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	out_string(o, "restored", "restored from", path);
	out_u64(o, "peers", "peers added", fresh);
	out_u64(o, "kept", "peers that were there", saved.count - fresh);
	out_close_object(o);
	return command_finish(o);
}
