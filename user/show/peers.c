// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* All peers, and all of one host. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "show/peer.h"
#include "show/verdict.h"

/* The peers there are, the streams of each host together. NULL: no memory, or (*n is 0) nobody. */
static struct host_stream *arrange(const struct store *s, size_t *n, bool *labels)
{
	struct host_stream *streams;
	size_t used = store_used(s);

	*n = 0;
	*labels = false;
	streams = calloc(used + 1, sizeof(*streams));
	for (uint32_t slot = 0; streams && *n < used && slot < s->header->peers; slot++) {
		struct host_stream *stream = &streams[*n];

		if (s->records[slot].state == KPHI_FREE)
			continue;
		stream->slot = slot;
		/* Somebody may be writing it: for the order of the rows a glance will do. */
		memcpy(stream->host, s->peers[slot].host, sizeof(stream->host));
		stream->host[sizeof(stream->host) - 1] = '\0';
		*labels |= *stream->host;
		++*n;
	}
	if (*labels)
		hosts_arrange(streams, *n);
	return streams;
}

/* Adds to `busy` if it was being written all the time. True: somebody to suspect. */
static bool say_row(struct out *o, const struct store *s, const struct threshold *threshold,
		    const struct kphi_daemon *daemon, uint32_t slot, uint64_t now_ns, bool labels,
		    uint32_t *busy)
{
	struct view v;
	enum view_found found = view_take(&v, s, daemon, threshold, slot, now_ns);

	*busy += found == VIEW_BUSY;
	if (found != VIEW_PEER)
		return false;
	out_open_row(o);
	say_peer(o, &v, labels ? SHOW_HOST_ROW : SHOW_ROW);
	out_close_row(o);
	return view_is_suspect(&v);
}

int say_peers(struct out *o, const char *key, const struct store *s, uint64_t now_ns, bool *suspect,
	      uint32_t *busy)
{
	struct threshold threshold;
	struct kphi_daemon daemon;
	bool labels, alive = store_daemon(s, now_ns, &daemon);
	size_t n;
	struct host_stream *streams = arrange(s, &n, &labels);

	*suspect = false;
	*busy = 0;
	if (!streams)
		return -ENOMEM;
	threshold_prepare(&threshold, POLICY_SUSPECT);
	out_open_table(o, key);
	for (size_t i = 0; i < n; i++)
		*suspect |= say_row(o, s, &threshold, alive ? &daemon : NULL, streams[i].slot, now_ns, labels,
				    busy);
	out_close_table(o);
	free(streams);
	return 0;
}

bool view_stream(struct view *v, const struct store *s, const struct threshold *t, uint32_t slot,
		 const char *label, uint64_t now_ns, bool *busy)
{
	*busy = false;
	if (s->records[slot].state == KPHI_FREE ||
	    strncmp(s->peers[slot].host, label, sizeof(s->peers[slot].host)) != 0)
		return false;
	*busy = store_read(s, slot, &v->record, &v->peer) != 0;
	if (*busy || v->record.state == KPHI_FREE || strcmp(v->peer.host, label) != 0)
		return false;
	view_judge(v, s, slot, t, now_ns);
	return true;
}

void say_siblings(struct out *o, const struct store *s, const struct view *v, const struct threshold *t)
{
	struct view sibling;
	bool busy;

	out_open_table(o, "siblings");
	for (uint32_t slot = 0; *v->peer.host && slot < s->header->peers; slot++) {
		if (slot == v->slot || !view_stream(&sibling, s, t, slot, v->peer.host, v->now_ns, &busy))
			continue;
		out_open_row(o);
		out_string(o, "name", "SAME HOST", sibling.peer.name);
		out_string(o, "state", "STATE", view_state_name(view_state(&sibling)));
		out_close_row(o);
	}
	out_close_table(o);
}
