/* SPDX-License-Identifier: MIT */
/*
 * server/gives.h -- what answers have in them, one table per family of routes.
 *
 * Read by openapi.c only (gives_of): handlers write their answers themselves.  An answer may get
 * further members; the members here stay.  A test from outside (tests/clients) compares every
 * answer to thousands of requests with its schema.
 */
#ifndef PAWL_SERVER_GIVES_H
#define PAWL_SERVER_GIVES_H

#include "server/server.h"
#include "server/shape.h"

/* The answer of a handler.  A table ends with a row of zeros. */
struct given {
    void (*handle)(struct call *c);
    unsigned status; /* 0: every 2xx */
    const struct shape *shape;
};

extern const struct given gives_server[], gives_instances[], gives_schedules[], gives_queues[],
    gives_workers[], gives_turns[], gives_limits[];
extern const struct shape gives_queue_counts; /* of a queue in a list */

/* clang-format off */
#define SHAPE(id, name, example) \
    static const struct shape id = {name, BODY_JSON, id##_fields, NULL, false, example, NULL}
#define COUNT_FIELD(n, a)     WHOLE(n, NEEDED, 0, INT64_MAX, a)
#define MOMENT(n, a)          WHOLE(n, NEEDED | OR_NULL, 0, INT64_MAX, a " (milliseconds since 1970)")
#define SECONDS(n, a)         NUMBER(n, NEEDED | OR_NULL, 0, 0, a " (seconds since 1970)")
#define SUCCESS               TRUTH("success", NEEDED, "it is done, and durable")
#define MESSAGE               TEXT("message", NEEDED, "for people")
/* clang-format on */

#endif
