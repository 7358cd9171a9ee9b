/* SPDX-License-Identifier: MIT */
/* server/worker_calls.h -- the routes of remote activity workers; see worker_calls.c. */
#ifndef PAWL_SERVER_WORKER_CALLS_H
#define PAWL_SERVER_WORKER_CALLS_H

#include "server/server.h"

void handle_poll(struct call *c);
void handle_complete(struct call *c);
void handle_fail(struct call *c);
void handle_beat(struct call *c);
void handle_abandon(struct call *c);
void handle_workers(struct call *c);

/* clang-format off */
#define WORK_ROUTES                                                                               \
    ROUTE("GET", "/api/v1/workers", handle_workers, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API, "", \
     "200", "workers that polled under a name in the last ten minutes, and what they have"),     \
    ROUTE("POST", "/api/v1/work/poll", handle_poll, SCOPE_WORK, ON_LOOP, &takes_poll, FAMILY_API, "", \
     "200", "lease work to a worker; waits until there is some"),                                 \
    ROUTE("POST", "/api/v1/work/{token}/complete", handle_complete, SCOPE_WORK, ON_LOOP, &takes_complete, \
     FAMILY_API, "", "200 410", "hand in a result"),                                              \
    ROUTE("POST", "/api/v1/work/{token}/fail", handle_fail, SCOPE_WORK, ON_LOOP, &takes_fail,         \
     FAMILY_API, "", "200 410", "hand in an error; the call's policy decides what follows"),      \
    ROUTE("POST", "/api/v1/work/{token}/heartbeat", handle_beat, SCOPE_WORK, ON_LOOP,               \
     &takes_beat, FAMILY_API, "", "200 410", "still alive: a new end of the lease"),            \
    ROUTE("POST", "/api/v1/work/{token}/abandon", handle_abandon, SCOPE_WORK, ON_LOOP,              \
     &takes_abandon, FAMILY_API, "", "200 410", "give it back undone"),
/* clang-format on */

#endif
