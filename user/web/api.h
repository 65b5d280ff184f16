/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One function for each path of docs/http.md. */
#ifndef KPHI_WEB_API_H
#define KPHI_WEB_API_H

#include "web/route.h"

void api_health(struct server *s, const struct request *rq, struct reply *r);
void api_metrics(struct server *s, const struct request *rq, struct reply *r);
void api_peers(struct server *s, const struct request *rq, struct reply *r);
void api_guard(struct server *s, const struct request *rq, struct reply *r);
void api_daemon(struct server *s, const struct request *rq, struct reply *r);
void api_events(struct server *s, const struct request *rq, struct reply *r);
void api_window(struct server *s, const struct request *rq, struct reply *r);
void api_history(struct server *s, const struct request *rq, struct reply *r);
void api_phi(struct server *s, const struct request *rq, struct reply *r);

#endif
