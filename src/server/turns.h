/* SPDX-License-Identifier: MIT */
/* server/turns.h -- the routes of workers that run orchestrations; see turns.c. */
#ifndef PAWL_SERVER_TURNS_H
#define PAWL_SERVER_TURNS_H

#include "server/server.h"

void handle_turns(struct call *c);
void handle_turn_history(struct call *c);

/* clang-format off */
#define TURN_ROUTES                                                                               \
    ROUTE("POST", "/api/v1/turns", handle_turns, SCOPE_WORK, ON_LOOP, &takes_turns, FAMILY_API, "", \
     "200 409 429", "hand in what orchestrations decided, get their next messages"),                  \
    ROUTE("GET", "/api/v1/turns/{token}/history", handle_turn_history, SCOPE_WORK, ON_READER, BODY_NONE, \
     FAMILY_API, "after", "200 410", "events of a turn's run, a page at a time"),
/* clang-format on */

#endif
