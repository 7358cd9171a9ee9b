/* SPDX-License-Identifier: MIT */
/* server/limit_routes.h -- the routes of limits (pawl/limit.h). */
#ifndef PAWL_SERVER_LIMIT_ROUTES_H
#define PAWL_SERVER_LIMIT_ROUTES_H

#include "server/server.h"

void handle_limits(struct call *c);
void handle_limit(struct call *c);
void handle_put_limit(struct call *c);
void handle_remove_limit(struct call *c);

/* clang-format off */
#define A_LIMIT "/api/v1/limits/{limit}"
#define LIMIT_ROUTES                                                                                    \
    ROUTE("GET", "/api/v1/limits", handle_limits, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,         \
     "prefix limit after", "200", "limits by name, and how much of them is in use"),                   \
    ROUTE("GET", A_LIMIT, handle_limit, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API, "",               \
     "200 404", "a limit: what it says, what is in use, who waits"),                                   \
    ROUTE("PUT", A_LIMIT, handle_put_limit, SCOPE_ADMIN, ON_LOOP, &takes_limit, FAMILY_API,             \
     "", "200 201 412", "store a limit, or change it; If-Match: its revision"),                        \
    ROUTE("DELETE", A_LIMIT, handle_remove_limit, SCOPE_ADMIN, ON_LOOP, BODY_NONE, FAMILY_API,          \
     "", "200 404 412", "remove a limit; what waits for it goes on"),
/* clang-format on */

#endif
