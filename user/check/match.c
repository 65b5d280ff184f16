// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Each is a key of a peer; NULL: the peer has none. */
static const void *name_of(const struct match_peer *p)
{
	return p->name;
}

static const void *host_of(const struct match_peer *p)
{
	return *p->host ? p->host : NULL;
}

static const void *address_of(const struct match_peer *p)
{
	return p->has_address ? p->address : NULL;
}

static int compare_text(const void *a, const void *b)
{
	return strcasecmp(a, b);
}

static int compare_address(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

struct order {
	const struct match_peer *peer;
	const void *(*key)(const struct match_peer *peer);
	int (*compare)(const void *a, const void *b);
};

/* Without a key first, then by key, then by index. */
static int compare(const void *a, const void *b, void *context)
{
	const struct order *o = context;
	const uint32_t *x = a, *y = b;
	const void *p = o->key(&o->peer[*x]), *q = o->key(&o->peer[*y]);
	int sign = p && q ? o->compare(p, q) : (p != NULL) - (q != NULL);

	return sign ? sign : (*x > *y) - (*x < *y);
}

static uint32_t *sorted(const struct match *m, struct order order)
{
	uint32_t *index = malloc((m->peers + 1) * sizeof(*index));

	for (uint32_t i = 0; index && i < m->peers; i++)
		index[i] = i;
	if (index)
		qsort_r(index, m->peers, sizeof(*index), compare, &order);
	return index;
}

static const struct order by_name = {.key = name_of, .compare = compare_text};
static const struct order by_host = {.key = host_of, .compare = compare_text};
static const struct order by_address = {.key = address_of, .compare = compare_address};

static struct order of(struct order order, const struct match *m)
{
	order.peer = m->peer;
	return order;
}

int match_begin(struct match *m, struct match_peer *peer, uint32_t peers)
{
	*m = (struct match){.peer = peer, .peers = peers};
	for (uint32_t i = 0; i < peers; i++)
		peer[i].seen = 0;
	m->by_name = sorted(m, of(by_name, m));
	m->by_host = sorted(m, of(by_host, m));
	m->by_address = sorted(m, of(by_address, m));
	m->found = malloc((peers + 1) * sizeof(*m->found));
	if (m->by_name && m->by_host && m->by_address && m->found)
		return 0;
	match_end(m);
	return -ENOMEM;
}

void match_end(struct match *m)
{
	free(m->by_name);
	free(m->by_host);
	free(m->by_address);
	free(m->found);
	*m = (struct match){0};
}

/* The first of the index whose key is not below the wanted one. */
static uint32_t lower_bound(const struct match *m, const uint32_t *index, struct order order,
			    const void *wanted)
{
	uint32_t low = 0, high = m->peers;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const void *key = order.key(&m->peer[index[middle]]);

		if (!key || order.compare(key, wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void take(struct match *m, uint32_t which, uint32_t *count)
{
	if (m->peer[which].seen == m->round)
		return;
	m->peer[which].seen = m->round;
	m->found[(*count)++] = which;
}

static void take_all(struct match *m, const uint32_t *index, struct order order, const void *wanted,
		     uint32_t *count)
{
	for (uint32_t at = lower_bound(m, index, order, wanted); at < m->peers; at++) {
		const void *key = order.key(&m->peer[index[at]]);

		if (!key || order.compare(key, wanted) != 0)
			return;
		take(m, index[at], count);
	}
}

static void take_named(struct match *m, const char *text, uint32_t *count)
{
	if (!*text)
		return;
	take_all(m, m->by_name, by_name, text, count);
	take_all(m, m->by_host, by_host, text, count);
}

const uint32_t *match_claim(struct match *m, const struct claim *claim, uint32_t *count)
{
	uint32_t direct;

	*count = 0;
	m->round++;
	if (claim->path && claim->has_address)
		take_all(m, m->by_address, by_address, claim->address, count);
	if (*count)
		return m->found;
	take_named(m, claim->name, count);
	take_named(m, claim->host, count);
	if (claim->has_address)
		take_all(m, m->by_address, by_address, claim->address, count);
	direct = *count;
	for (uint32_t i = 0; i < direct; i++)
		if (*m->peer[m->found[i]].host)
			take_all(m, m->by_host, by_host, m->peer[m->found[i]].host, count);
	return m->found;
}
