/* SPDX-License-Identifier: MIT */
/* server/gives.c -- the answer of a route by its status (gives.h), and the shape of errors. */
#include "server/gives.h"

/* clang-format off */
static const struct field error_inside_fields[] = {
    TEXT("code", NEEDED, "a word that does not change"),
    TEXT("message", NEEDED, "for people: what is wrong, and what to do"),
    END
};
SHAPE(error_inside, "ErrorBody", NULL);
static const struct field error_fields[] = {OBJECT("error", NEEDED, &error_inside, "what is wrong"), END};
SHAPE(error, "ApiError", "{\"error\":{\"code\":\"not_found\",\"message\":\"instance 'x' does not exist\"}}");

static const struct field queue_error_fields[] = {
    TRUTH("success", NEEDED, "false"),
    TEXT("message", NEEDED, "for people: what is wrong, and what to do"),
    TEXT("error_code", 0, "of a lock that ran out: LOCK_EXPIRED"),
    END
};
SHAPE(queue_error, "QueueError", "{\"success\":false,\"message\":\"No active lock found\"}");
/* clang-format on */

static const struct given *const tables[] = {gives_server, gives_instances, gives_schedules,
                                             gives_queues, gives_workers,   gives_turns,
                                             gives_limits};

const struct shape *gives_of(const struct route *r, unsigned status)
{
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        for (const struct given *a = tables[i]; a->handle; a++)
            if (a->handle == r->handle &&
                (a->status == status || (!a->status && status / 100 == 2)))
                return a->shape;
    if (status < 400)
        return NULL;
    return r->family == FAMILY_QUEUE ? &queue_error : &error;
}
