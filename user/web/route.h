/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a request to a reply: paths, methods, and who may ask. No sockets. */
#ifndef KPHI_WEB_ROUTE_H
#define KPHI_WEB_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "web/reply.h"
#include "web/server.h"

struct request {
	const char *method, *path;
	const char *host; /* header; NULL: none */
	const char *tag; /* header If-None-Match; NULL: none */
	const char *body;
	size_t length;
	/* The value of the query's `name`, NULL if there is none; "" for one without a value. */
	const char *(*argument)(const void *context, const char *name);
	const void *context;
};

/* Is it to be refused whatever its body says? Then the reply says why. */
bool route_refuses(const struct server *s, const struct request *rq, struct reply *r);

/* Answers what was not refused. The reply is to be cleared. */
void route_answer(struct server *s, const struct request *rq, struct reply *r);

#endif
