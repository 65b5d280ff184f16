// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/api.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "io/parse.h"
#include "kernel/clock.h"
#include "show/guard.h"
#include "show/peer.h"
#include "show/window.h"
#include "web/phi.h"
#include "web/say.h"

#define SECOND_NS       1000000000ULL
#define HISTORY_DEFAULT 600

/* The store, or a reply that says why there is none. */
static const struct store *need_store(struct server *s, struct reply *r)
{
	struct why w = {""};
	const struct store *store = source_store(&s->source, &w);

	if (!store)
		reply_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "%s", w.text);
	return store;
}

/* False, and the reply says so. */
static bool begin(struct json_document *d, struct reply *r)
{
	if (json_begin(d))
		return true;
	reply_json(r, d);
	return false;
}

/* The number that stands in the query, or `otherwise`. False, and the reply says so, if it is none. */
static bool take_number(const struct request *rq, const char *name, uint64_t min, uint64_t max,
			uint64_t otherwise, uint64_t *number, struct reply *r)
{
	const char *text = rq->argument(rq->context, name);
	char why[WHY_SIZE];

	*number = otherwise;
	if (!text || !parse_u64(text, min, max, number, why, sizeof(why)))
		return true;
	reply_error(r, MHD_HTTP_BAD_REQUEST, "%s: %s", name, why);
	return false;
}

void api_health(struct server *s, const struct request *rq, struct reply *r)
{
	struct json_document d;

	(void)rq;
	if (!need_store(s, r) || !begin(&d, r))
		return;
	out_open_object(d.out, NULL);
	out_bool(d.out, "store", NULL, true);
	out_close_object(d.out);
	reply_json(r, &d);
}

void api_metrics(struct server *s, const struct request *rq, struct reply *r)
{
	const struct store *store = need_store(s, r);
	struct document d;
	int err = -ENOMEM;

	(void)rq;
	if (!store)
		return;
	document_begin(&d);
	if (d.stream)
		err = metrics_write(d.stream, &s->source.pin, store, &s->options->metrics,
				    clock_monotonic_ns());
	reply_document(r, METRICS_CONTENT_TYPE, &d);
	r->is_common = true;
	if (!err)
		return;
	reply_clear(r);
	reply_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "no metrics: %s", strerror(-err));
}

void api_peers(struct server *s, const struct request *rq, struct reply *r)
{
	const struct store *store = need_store(s, r);
	struct json_document d;
	bool suspect;
	uint32_t busy;
	int err;

	(void)rq;
	if (!store || !begin(&d, r))
		return;
	err = say_peers(d.out, NULL, store, clock_monotonic_ns(), &suspect, &busy);
	reply_json(r, &d);
	r->is_common = true;
	if (!err)
		return;
	reply_clear(r);
	reply_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "there is no memory for the list of peers");
}

void api_guard(struct server *s, const struct request *rq, struct reply *r)
{
	const struct store *store = need_store(s, r);
	struct json_document d;

	(void)rq;
	if (!store || !begin(&d, r))
		return;
	out_open_object(d.out, NULL);
	say_guard(d.out, &s->source.pin, store, clock_monotonic_ns());
	out_close_object(d.out);
	reply_json(r, &d);
}

void api_daemon(struct server *s, const struct request *rq, struct reply *r)
{
	const struct store *store = need_store(s, r);
	struct json_document d;

	(void)rq;
	if (!store || !begin(&d, r))
		return;
	out_open_object(d.out, NULL);
	say_daemon(d.out, store, clock_monotonic_ns());
	out_close_object(d.out);
	reply_json(r, &d);
}

/* The objects are the daemon's own text. */
void api_events(struct server *s, const struct request *rq, struct reply *r)
{
	const struct news *news = s->news;
	struct document d;
	uint64_t after, number;

	if (!take_number(rq, "after", 0, UINT64_MAX, 0, &after, r))
		return;
	document_begin(&d);
	number = news_next(news, after ? news_by_seq(news, after) : 0);
	for (const char *between = "["; d.stream && number <= news_last(news); number++, between = ",") {
		const struct packet *event = news_at(news, number);

		fputs(between, d.stream);
		fwrite(event->text, 1, event->length, d.stream);
	}
	if (d.stream)
		fputs(ftell(d.stream) ? "]\n" : "[]\n", d.stream);
	reply_document(r, "application/json", &d);
}

/* A settled copy of the peer with its ring. NULL, and the reply says why, if there is none to be had. */
static uint64_t *read_window(const struct store *store, const char *name, struct view *v, struct reply *r)
{
	int64_t slot = store_find(store, name);
	struct kphi_record newer;
	uint64_t *ring;

	if (slot < 0) {
		reply_error(r, MHD_HTTP_NOT_FOUND,
			    "peer: there is none of the name " QUOTED ". /api/v1/peers lists them", name);
		return NULL;
	}
	*v = (struct view){.slot = (uint32_t)slot};
	ring = calloc(store->header->window, sizeof(*ring));
	if (ring && !store_read(store, v->slot, &v->record, &v->peer) &&
	    !store_read_ring(store, v->slot, &newer, ring) && newer.generation == v->record.generation) {
		v->record = newer;
		return ring;
	}
	free(ring);
	reply_error(r, MHD_HTTP_SERVICE_UNAVAILABLE,
		    QUOTED ": its record is busy: it was being written each time it was read. Try again",
		    name);
	return NULL;
}

void api_window(struct server *s, const struct request *rq, struct reply *r)
{
	const char *name = rq->argument(rq->context, "peer");
	const struct store *store = need_store(s, r);
	struct json_document d;
	uint64_t *ring;
	struct view v;

	if (!store)
		return;
	if (!name || !*name) {
		reply_error(r, MHD_HTTP_BAD_REQUEST, "peer: is missing: the name of a peer, as in ?peer=db1");
		return;
	}
	ring = read_window(store, name, &v, r);
	if (!ring)
		return;
	if (begin(&d, r)) {
		out_open_object(d.out, NULL);
		say_window(d.out, name, &v.record.window, ring);
		out_string(d.out, "model", NULL, model_name(v.peer.model));
		say_settings(d.out, &v, false);
		out_close_object(d.out);
		reply_json(r, &d);
	}
	free(ring);
}

static void say_past(struct out *o, const struct store *store, const struct look *look,
		     const struct history *history, uint32_t seconds)
{
	uint8_t cells[HISTORY_SECONDS];

	out_open_table(o, "peers");
	for (uint32_t i = 0; i < look->n; i++) {
		const struct look_peer *peer = &look->peer[i];

		if (!history_read(history, peer->slot, peer->generation, seconds, cells))
			continue;
		out_open_row(o);
		say_who(o, store, peer);
		say_cells(o, cells, seconds);
		out_close_row(o);
	}
	out_close_table(o);
}

void api_history(struct server *s, const struct request *rq, struct reply *r)
{
	struct json_document d;
	const struct store *store;
	uint64_t seconds;

	if (!take_number(rq, "seconds", 1, HISTORY_SECONDS, HISTORY_DEFAULT, &seconds, r))
		return;
	store = need_store(s, r);
	if (!store)
		return;
	if (server_look(s)) {
		reply_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "there is no memory for the list of peers");
		return;
	}
	if (!begin(&d, r))
		return;
	out_open_object(d.out, NULL);
	out_u64(d.out, "step_ns", NULL, SECOND_NS);
	out_u64(d.out, "end_ns", NULL, s->look.now_ns);
	out_u64(d.out, "columns", NULL, seconds);
	out_u64(d.out, "roster", NULL, s->look.roster);
	out_u64(d.out, "truncated", NULL, s->look.n - history_peers(s->history));
	say_past(d.out, store, &s->look, s->history, (uint32_t)seconds);
	out_close_object(d.out);
	reply_json(r, &d);
}

void api_phi(struct server *s, const struct request *rq, struct reply *r)
{
	struct phi_request *request = malloc(sizeof(*request));
	char why[WHY_SIZE] = "there is no memory for the request";
	struct json_document d;
	int err = request ? phi_parse(request, rq->body, rq->length, why, sizeof(why)) : -ENOMEM;

	(void)s;
	if (err) {
		reply_error(r, err == -EINVAL ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_SERVICE_UNAVAILABLE, "%s",
			    why);
	} else if (begin(&d, r)) {
		out_open_object(d.out, NULL);
		err = say_phi(d.out, request);
		out_close_object(d.out);
		reply_json(r, &d);
	}
	if (err == -ENOMEM && request) {
		reply_clear(r);
		reply_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "there is no memory for the answer");
	}
	free(request);
}
