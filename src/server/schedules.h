/* SPDX-License-Identifier: MIT */
/* server/schedules.h -- the routes of schedules (schedules.c). */
#ifndef PAWL_SERVER_SCHEDULES_H
#define PAWL_SERVER_SCHEDULES_H

#include "server/server.h"

#define PREVIEW_MAX 1000 /* occurrences of one answer */

void handle_preview(struct call *c);

/* clang-format off */
#define SCHEDULE_ROUTES                                                                                    \
    ROUTE("POST", "/api/v1/schedules:next", handle_preview, SCOPE_READ, ON_READER, &takes_schedule,       \
     FAMILY_API, "count from", "200", "when a schedule would be due; nothing is stored"),
/* clang-format on */

#endif
