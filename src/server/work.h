/* SPDX-License-Identifier: MIT */
/* server/work.h -- the routes of remote activity workers; see work.c. */
#ifndef PAWL_SERVER_WORK_H
#define PAWL_SERVER_WORK_H

#include "server/server.h"

void handle_poll(struct call *c);
void handle_complete(struct call *c);
void handle_fail(struct call *c);
void handle_beat(struct call *c);
void handle_abandon(struct call *c);

/* clang-format off */
#define WORK_ROUTES                                                                               \
    {"POST", "/api/v1/work/poll", handle_poll, SCOPE_OPERATE, ON_LOOP, BODY_JSON, FAMILY_API, "", \
     "200", "lease work to a worker; waits until there is some"},                                 \
    {"POST", "/api/v1/work/{token}/complete", handle_complete, SCOPE_OPERATE, ON_LOOP, BODY_JSON, \
     FAMILY_API, "", "200 410", "hand in a result"},                                              \
    {"POST", "/api/v1/work/{token}/fail", handle_fail, SCOPE_OPERATE, ON_LOOP, BODY_JSON,         \
     FAMILY_API, "", "200 410", "hand in an error; the call's policy decides what follows"},      \
    {"POST", "/api/v1/work/{token}/heartbeat", handle_beat, SCOPE_OPERATE, ON_LOOP,               \
     BODY_OPTIONAL, FAMILY_API, "", "200 410", "still alive: a new end of the lease"},            \
    {"POST", "/api/v1/work/{token}/abandon", handle_abandon, SCOPE_OPERATE, ON_LOOP,              \
     BODY_OPTIONAL, FAMILY_API, "", "200 410", "give it back undone"},
/* clang-format on */

#endif
