// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/route.h"

#include <microhttpd.h>
#include <string.h>

#include "io/parse.h"
#include "web/api.h"
#include "web/host_header.h"
#include "web/pages.h"
#include "web/stream.h"

static void show_page(const struct page *page, const struct request *rq, struct reply *r)
{
	bool known = rq->tag && (strstr(rq->tag, page->tag) || !strcmp(rq->tag, "*"));

	*r = (struct reply){.status = known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, .page = page};
}

static void show_map(struct server *s, const struct request *rq, struct reply *r)
{
	(void)s;
	show_page(&page_map, rq, r);
}

static void show_lab(struct server *s, const struct request *rq, struct reply *r)
{
	(void)s;
	show_page(&page_lab, rq, r);
}

static void open_stream(struct server *s, const struct request *rq, struct reply *r)
{
	(void)rq;
	if (streams_has_room(&s->streams))
		*r = (struct reply){.status = MHD_HTTP_OK, .is_stream = true};
	else
		reply_error(r, MHD_HTTP_SERVICE_UNAVAILABLE,
			    "%d streams are open already, and no more are served. Close one", STREAMS_MAX);
}

static const struct route {
	const char *path;
	void (*answer)(struct server *s, const struct request *rq, struct reply *r);
	bool is_post;
} routes[] = {
	{"/", show_map, false},
	{"/lab", show_lab, false},
	{"/metrics", api_metrics, false},
	{"/healthz", api_health, false},
	{"/api/v1/peers", api_peers, false},
	{"/api/v1/guard", api_guard, false},
	{"/api/v1/daemon", api_daemon, false},
	{"/api/v1/events", api_events, false},
	{"/api/v1/window", api_window, false},
	{"/api/v1/history", api_history, false},
	{"/api/v1/stream", open_stream, false},
	{"/api/v1/phi", api_phi, true},
};
#define ROUTES (sizeof(routes) / sizeof(*routes))

static const struct route *find_route(const char *path)
{
	for (size_t i = 0; i < ROUTES; i++)
		if (!strcmp(path, routes[i].path))
			return &routes[i];
	return NULL;
}

static bool takes(const struct route *route, const char *method)
{
	if (route->is_post)
		return !strcmp(method, MHD_HTTP_METHOD_POST);
	return !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
}

bool route_refuses(const struct server *s, const struct request *rq, struct reply *r)
{
	const struct route *route = find_route(rq->path);

	if (!host_header_is_ours(rq->host, s->own_name, s->options->hosts)) {
		reply_error(r, MHD_HTTP_FORBIDDEN,
			    "Host: " QUOTED
			    " is no name of this host that was said to be one: use its address, "
			    "or add the name to `web: {hosts: ...}` (`hosts` of `kphi web serve`)",
			    rq->host);
	} else if (!route) {
		reply_error(r, MHD_HTTP_NOT_FOUND,
			    QUOTED ": there is nothing here. docs/http.md lists the paths", rq->path);
	} else if (!takes(route, rq->method)) {
		const char *allow = route->is_post ? "POST" : "GET, HEAD";

		reply_error(r, MHD_HTTP_METHOD_NOT_ALLOWED, "%s takes %s, not %.20s", rq->path, allow,
			    rq->method);
		r->allow = allow;
	} else {
		return false;
	}
	return true;
}

void route_answer(struct server *s, const struct request *rq, struct reply *r)
{
	const struct route *route = find_route(rq->path);

	if (route)
		route->answer(s, rq, r);
}
