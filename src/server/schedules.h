/* SPDX-License-Identifier: MIT */
/* server/schedules.h -- the routes of schedules (schedules.c: reading; schedule_steer.c: writing). */
#ifndef PAWL_SERVER_SCHEDULES_H
#define PAWL_SERVER_SCHEDULES_H

#include "server/server.h"

#define PREVIEW_MAX 1000 /* occurrences of one answer */

void handle_preview(struct call *c);
void handle_schedules(struct call *c);
void handle_schedule(struct call *c);
void handle_schedule_next(struct call *c);
void handle_put_schedule(struct call *c);
void handle_remove_schedule(struct call *c);
void handle_pause_schedule(struct call *c);
void handle_resume_schedule(struct call *c);
void handle_trigger_schedule(struct call *c);
void handle_backfill_schedule(struct call *c);

/* Answer 400: the schedule is wrong. */
void schedule_refuse(struct call *c, const pawl_error *err);

/* clang-format off */
#define A_SCHEDULE "/api/v1/schedules/{schedule}"
#define SCHEDULE_ROUTES                                                                                    \
    ROUTE("POST", "/api/v1/schedules:next", handle_preview, SCOPE_READ, ON_READER, &takes_schedule,       \
     FAMILY_API, "count from", "200", "when a schedule would be due; nothing is stored"),                 \
    ROUTE("GET", "/api/v1/schedules", handle_schedules, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,      \
     "prefix limit after", "200", "schedules by name, and what is due next"),                             \
    ROUTE("GET", A_SCHEDULE, handle_schedule, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API, "",            \
     "200 404", "a schedule: its spec, how far it is, what is due next"),                                 \
    ROUTE("PUT", A_SCHEDULE, handle_put_schedule, SCOPE_OPERATE, ON_READER, &takes_schedule, FAMILY_API,   \
     "", "200 201 412", "store a schedule, or change it; If-Match: its revision"),                        \
    ROUTE("DELETE", A_SCHEDULE, handle_remove_schedule, SCOPE_OPERATE, ON_LOOP, BODY_NONE, FAMILY_API,     \
     "", "200 404 412", "remove a schedule; its runs stay"),                                              \
    ROUTE("GET", A_SCHEDULE "/next", handle_schedule_next, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,   \
     "count from", "200 404", "when it is due"),                                                          \
    ROUTE("POST", A_SCHEDULE "/pause", handle_pause_schedule, SCOPE_OPERATE, ON_LOOP, &takes_reason,      \
     FAMILY_API, "", "202 404", "start nothing until it is resumed"),                                     \
    ROUTE("POST", A_SCHEDULE "/resume", handle_resume_schedule, SCOPE_OPERATE, ON_LOOP, &takes_nothing,    \
     FAMILY_API, "", "202 404", "go on; what was missed is treated as `missed` says"),                    \
    ROUTE("POST", A_SCHEDULE "/trigger", handle_trigger_schedule, SCOPE_OPERATE, ON_LOOP, &takes_nothing,  \
     FAMILY_API, "", "202 404 409", "start it now, beside what runs"),                                        \
    ROUTE("POST", A_SCHEDULE "/backfill", handle_backfill_schedule, SCOPE_OPERATE, ON_LOOP,                \
     &takes_backfill, FAMILY_API, "", "202 404 409", "start the occurrences of a time that is past"),
/* clang-format on */

#endif
