// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* HTTP, by libmicrohttpd: its requests become ours, our replies become its responses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/clock.h"
#include "web/pages.h"
#include "web/phi.h"
#include "web/route.h"

#define MEMORY_A_CONNECTION (32 * 1024) /* what a request line and its headers may take */
#define BODY_MAX            PHI_BODY_MAX

/* A request on its way in. */
struct call {
	char *body;
	size_t length, room;
	bool is_seen, is_too_large;
};

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static const char *argument(const void *context, const char *name)
{
	return MHD_lookup_connection_value((struct MHD_Connection *)context, MHD_GET_ARGUMENT_KIND, name);
}

static struct visitor *visitor_of(struct MHD_Connection *c)
{
	return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* --- out --- */

static uint64_t last_event_id(struct MHD_Connection *c)
{
	const char *text = header(c, "Last-Event-ID");

	return text ? strtoull(text, NULL, 10) : 0;
}

static struct MHD_Response *no_body(void)
{
	return MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
}

/* Takes the body over, whatever comes of it. */
static struct MHD_Response *make_response(struct server *s, struct MHD_Connection *c, const char *method,
					  struct reply *r)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct MHD_Response *response;
	char *body = r->body;

	if (r->is_stream && !strcmp(method, MHD_HTTP_METHOD_HEAD))
		return no_body();
	if (r->is_stream) {
		/* The first roster and frame come at once. */
		sd_event_source_set_time_relative(s->tick, 0);
		return stream_new(&s->streams, c, visitor_of(c), last_event_id(c), now_ns);
	}
	if (r->status == MHD_HTTP_NOT_MODIFIED)
		return no_body();
	if (r->page)
		return MHD_create_response_from_buffer(r->page->length, (void *)r->page->bytes,
						       MHD_RESPMEM_PERSISTENT);
	if (!body)
		return no_body();
	limits_answer(&s->limits, visitor_of(c), r->length, now_ns);
	r->body = NULL;
	response = MHD_create_response_from_buffer(r->length, body, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(body);
	return response;
}

static void add_headers(struct MHD_Response *response, const struct reply *r)
{
	MHD_add_response_header(response, MHD_HTTP_HEADER_X_CONTENT_TYPE_OPTIONS, "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	if (r->allow)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, r->allow);
	if (r->page) {
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/html; charset=utf-8");
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_SECURITY_POLICY, r->page->policy);
		MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, r->page->tag);
		MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
		return;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				r->is_stream ? "text/event-stream" : r->type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_SECURITY_POLICY,
				"default-src 'none'; frame-ancestors 'none'");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
}

static bool is_fresh(const struct common *common, uint64_t now_ns)
{
	return *common->path && now_ns - common->made_ns < COMMON_NS;
}

static void forget(struct common *common)
{
	if (*common->path)
		MHD_destroy_response(common->response);
	*common = (struct common){0};
}

void http_forget(struct server *s, uint64_t now_ns)
{
	for (size_t i = 0; i < COMMON_ANSWERS; i++)
		if (!is_fresh(&s->common[i], now_ns))
			forget(&s->common[i]);
}

static const struct common *find_common(const struct server *s, const char *path)
{
	for (size_t i = 0; i < COMMON_ANSWERS; i++)
		if (!strcmp(s->common[i].path, path) && is_fresh(&s->common[i], clock_monotonic_ns()))
			return &s->common[i];
	return NULL;
}

/* Takes the response over if there is room for it. */
static bool keep_common(struct server *s, const char *path, struct MHD_Response *response, size_t length)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < COMMON_ANSWERS; i++) {
		struct common *common = &s->common[i];

		if (is_fresh(common, now_ns) || strlen(path) >= sizeof(common->path))
			continue;
		forget(common);
		*common = (struct common){.response = response, .length = length, .made_ns = now_ns};
		memcpy(common->path, path, strlen(path) + 1);
		return true;
	}
	return false;
}

/* MHD_NO ends the connection, for want of memory. */
static enum MHD_Result send_reply(struct server *s, struct MHD_Connection *c, const struct request *rq,
				  struct reply *r)
{
	struct MHD_Response *response = make_response(s, c, rq->method, r);
	enum MHD_Result result;

	if (!response) {
		reply_clear(r);
		return MHD_NO;
	}
	add_headers(response, r);
	result = MHD_queue_response(c, r->status, response);
	if (!r->is_common || r->status != MHD_HTTP_OK || !keep_common(s, rq->path, response, r->length))
		MHD_destroy_response(response);
	reply_clear(r);
	return result;
}

/* --- in --- */

static void refuse_size(struct reply *r)
{
	reply_error(r, MHD_HTTP_CONTENT_TOO_LARGE,
		    "the body has more than %u bytes, which is all that is taken", BODY_MAX);
}

/* More than is taken is thrown away: it is not told apart from the end of the request before that is here. */
static bool collect(struct call *call, const char *bytes, size_t n)
{
	char *larger;

	if (call->is_too_large || n > BODY_MAX - call->length) {
		call->is_too_large = true;
		return true;
	}
	if (call->length + n > call->room) {
		call->room = call->length + n < 4096 ? 4096 : 2 * (call->length + n);
		larger = realloc(call->body, call->room);
		if (!larger)
			return false;
		call->body = larger;
	}
	memcpy(call->body + call->length, bytes, n);
	call->length += n;
	return true;
}

/*
 * With the headers alone: what is refused anyway is refused before its body. Only then, because the
 * connection ends with it.
 */
static enum MHD_Result on_headers(struct server *s, struct MHD_Connection *c, const struct request *rq)
{
	const char *length = header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
	const char *coding = header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING);
	struct reply r = {0};

	if (!length && !coding)
		return MHD_YES;
	if (length && coding) {
		/* What stands between us and the client may have taken the other one for true. */
		reply_error(&r, MHD_HTTP_BAD_REQUEST,
			    "Content-Length and Transfer-Encoding exclude each other");
	} else if (!route_refuses(s, rq, &r)) {
		if (!length || strtoull(length, NULL, 10) <= BODY_MAX)
			return MHD_YES;
		refuse_size(&r);
	}
	return send_reply(s, c, rq, &r);
}

static enum MHD_Result on_whole(struct server *s, struct MHD_Connection *c, const struct call *call,
				struct request *rq)
{
	const struct common *common;
	struct reply r = {0};

	rq->body = call->body ? call->body : "";
	rq->length = call->length;
	if (call->is_too_large) {
		refuse_size(&r);
	} else if (!route_refuses(s, rq, &r)) {
		common = find_common(s, rq->path);
		if (common) {
			limits_answer(&s->limits, visitor_of(c), common->length, clock_monotonic_ns());
			return MHD_queue_response(c, MHD_HTTP_OK, common->response);
		}
		route_answer(s, rq, &r);
	}
	return send_reply(s, c, rq, &r);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload, size_t *size,
				  void **memory)
{
	struct request rq = {
		.method = method,
		.path = url,
		.host = header(c, MHD_HTTP_HEADER_HOST),
		.tag = header(c, MHD_HTTP_HEADER_IF_NONE_MATCH),
		.argument = argument,
		.context = c,
	};
	struct call *call = *memory;

	(void)version;
	if (!call) {
		*memory = calloc(1, sizeof(*call));
		return *memory ? on_headers(context, c, &rq) : MHD_NO;
	}
	if (!*size)
		return on_whole(context, c, call, &rq);
	if (!collect(call, upload, *size))
		return MHD_NO;
	*size = 0;
	return MHD_YES;
}

static void on_completed(void *context, struct MHD_Connection *c, void **memory,
			 enum MHD_RequestTerminationCode how)
{
	struct server *s = context;
	struct call *call = *memory;

	(void)how;
	if (!call)
		return;
	free(call->body);
	free(call);
	*memory = NULL;
	limits_answered(&s->limits, visitor_of(c), clock_monotonic_ns());
}

static void on_connection(void *context, struct MHD_Connection *c, void **visitor,
			  enum MHD_ConnectionNotificationCode what)
{
	struct server *s = context;
	int fd;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		limits_leave(&s->limits, *visitor);
		*visitor = NULL;
		return;
	}
	fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	*visitor = limits_enter(&s->limits, fd, clock_monotonic_ns());
	if (!*visitor)
		shutdown(fd, SHUT_RDWR);
}

struct MHD_Daemon *http_start(struct server *s)
{
	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, s,
		MHD_OPTION_LISTEN_SOCKET, s->listener.fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_CONNECTION_LIMIT,
		s->limits.connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_A_CONNECTION,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}
