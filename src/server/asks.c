/* SPDX-License-Identifier: MIT */
/*
 * server/asks.c -- the parameters of queries and paths.
 *
 * Read by openapi.c only (shape.h): handlers read their parameters themselves.
 */
#include "server/handlers.h"
#include "server/limit_routes.h"
#include "server/queues.h"
#include "server/schedules.h"
#include "server/shape.h"
#include "server/turns.h"

/* clang-format off */
/* In a path it is a name; in a query, how many. */
#define A_LIMITS_NAME TEXT("limit", NEEDED, "its name", IS_NAME)
static const struct {
    void (*only)(struct call *c); /* NULL: wherever that name is */
    struct field field;
} asks[] = {
    {NULL, TEXT("id", NEEDED, "of the instance", .min = 1, .max = LIMIT_CHILD_ID_BYTES, .pattern = NO_CONTROLS)},
    {NULL, TEXT("name", NEEDED, "of the event or the update", IS_NAME)},
    {NULL, TEXT("update", NEEDED, "its id")},
    {handle_stream, TRUTH("brief", 0, "once per second: some of what changed, and how much", .otherwise = "false")},
    {handle_stream, TEXT("instance", 0, "only this one and its children", .min = 1, .max = LIMIT_CHILD_ID_BYTES, .pattern = NO_CONTROLS)},
    {handle_stream, TEXT("queue", 0, "only this one", IS_NAME)},
    {NULL, TEXT("queue", NEEDED, "its name", IS_NAME)},
    {NULL, TEXT("schedule", NEEDED, "its name", IS_NAME)},
    {NULL, TEXT("message", NEEDED, "its id")},
    {NULL, TEXT("key", NEEDED, "of the published state", IS_NAME)},
    {handle_state_key, WHOLE("version", 0, 0, INT64_MAX, "what the client has", .otherwise = "0")},
    {handle_state_key, WHOLE("wait_ms", 0, 0, 60000, "how long to wait for a newer one", .otherwise = "0")},
    {handle_update_result, WHOLE("wait_ms", 0, 0, 60000, "how long to wait for the answer", .otherwise = "0")},
    {handle_update, WHOLE("timeout_ms", 0, 0, 60000, "how long to wait for the answer", .otherwise = "10000")},
    {NULL, TEXT("token", NEEDED, "as the poll gave it")},
    {NULL, TEXT("status", 0, "only those in this state, or in one of several: failed,blocked", .pattern = SOME_STATES)},
    {NULL, TEXT("q", 0, "only those with this text in id, name, custom status, finding or error; ASCII letters in either case")},
    {NULL, TRUTH("roots", 0, "only those without a parent", .otherwise = "false")},
    {NULL, TEXT("sort", 0, "newest: by time of start; the others are one page, of the newest 10,000 that match: updated, waiting (longest first), attempts", .words = "newest updated waiting attempts")},
    {NULL, TEXT("waiting", 0, "only open ones that wait for this: event, event:NAME …; retrying: for another attempt, noworker: for a worker", .pattern = "^(activity|timer|event|update|child|retrying|noworker)(:[^\\u0000]*)?$")},
    {handle_list, TEXT("with", 0, "waiting: waiting_for is filled in, as far as there is time", .words = "waiting")},
    {NULL, TEXT("event", 0, "only those that this event answers")},
    {NULL, TEXT("by", 0, "status, orchestration, or the name of an attribute; left out: their number alone", .pattern = "^[a-z][a-z0-9_.-]{0,62}$")},
    {NULL, TEXT("orchestration", 0, "only those of this one")},
    {NULL, TEXT("prefix", 0, "only those that begin with this")},
    {NULL, TEXT("parent", 0, "only children of this instance", .max = LIMIT_CHILD_ID_BYTES, .pattern = NO_CONTROLS)},
    {NULL, WHOLE("created_after", 0, 0, INT64_MAX, "only those started later; milliseconds since 1970")},
    {NULL, WHOLE("created_before", 0, 0, INT64_MAX, "only those started earlier; milliseconds since 1970")},
    {NULL, WHOLE("ended_after", 0, 0, INT64_MAX, "only those that ended later; milliseconds since 1970")},
    {NULL, WHOLE("ended_before", 0, 0, INT64_MAX, "only those that ended earlier; milliseconds since 1970")},
    {NULL, TEXT("where", 0, "a condition on an attribute, such as total>=500; up to 8 of them", .pattern = CONDITION)},
    {NULL, TEXT("error", 0, "only those with this text in why they failed or are blocked", .pattern = "^[^\\u0000]*$")},
    {handle_limit, A_LIMITS_NAME},
    {handle_put_limit, A_LIMITS_NAME},
    {handle_remove_limit, A_LIMITS_NAME},
    {handle_history, WHOLE("limit", 0, 1, 1000, "how many at most", .otherwise = "1000")},
    {NULL, WHOLE("limit", 0, 1, 1000, "how many at most", .otherwise = "100")},
    {handle_executions, WHOLE("after", 0, 0, INT64_MAX, "next of the page before")},
    {handle_overview, TEXT("with", 0, "all: what instances wait for, queues and rates, too; one answer for all callers, about a second old at most", .words = "all")},
    {handle_get, TEXT("with", 0, "why: the reasons in the same answer", .words = "why")},
    {handle_export, WHOLE("after", 0, 0, INT64_MAX, "next of the page before")},
    {handle_turn_history, WHOLE("after", 0, 0, INT64_MAX, "the seq of the last event that is known", .otherwise = "0")},
    {handle_history, WHOLE("after", 0, 0, INT64_MAX, "next of the page before")},
    {handle_messages, TEXT("after", 0, "next of the page before", .pattern = "^[rdl](0|[1-9][0-9]{0,17})[.](0|[1-9][0-9]{0,17})$")},
    {handle_list, TEXT("after", 0, "next of the page before", IS_CURSOR)},
    {NULL, TEXT("after", 0, "next of the page before")},
    {NULL, WHOLE("execution", 0, 0, INT64_MAX, "which one; 0: the newest", .otherwise = "0")},
    {NULL, TRUTH("force", 0, "although it is in use", .otherwise = "false")},
    {NULL, TRUTH("await_start", 0, "keep it for an instance that does not exist yet", .otherwise = "false")},
    {NULL, WHOLE("timeout_ms", 0, 0, 60000, "how long to wait")},
    {NULL, TRUTH("require_ack", 0, "under a lock, to be acknowledged", .otherwise = "false")},
    {NULL, WHOLE("ttl_seconds", 0, 0, 0, "of the lock; clamped to 1 to 300", .otherwise = "30")},
    {handle_schedule_next, WHOLE("count", 0, 1, PREVIEW_MAX, "how many at most", .otherwise = "10")},
    {handle_preview, WHOLE("count", 0, 1, PREVIEW_MAX, "how many at most", .otherwise = "10")},
    {NULL, WHOLE("from", 0, 0, PAWL_SCHEDULE_END, "not earlier; milliseconds since 1970; left out, now")},
    {NULL, WHOLE("count", 0, 1, PAWL_QUEUE_POP_MAX, "how many at most", .otherwise = "1")},
    {NULL, WHOLE("wait_seconds", 0, 0, 0, "how long to wait for an item; clamped to 0 to 30", .otherwise = "0")},
    {NULL, TRUTH("meta", 0, "a lock_id of its own for each message", .otherwise = "false")},
    {NULL, WHOLE("max_priority", 0, 0, INT64_MAX, "nothing above it")},
    {NULL, WHOLE("priority", 0, 0, INT64_MAX, "only items of this priority")},
    {NULL, WHOLE("seconds", 0, 1, 600, "how many", .otherwise = "300")},
    {NULL, TEXT("state", 0, "only those", .words = "ready delayed locked")},
};
/* clang-format on */

const struct field *asks_of(const struct route *r, pawl_str name)
{
    for (size_t i = 0; i < COUNT_OF(asks); i++)
        if (pawl_str_is(name, asks[i].field.name) && (!asks[i].only || asks[i].only == r->handle))
            return &asks[i].field;
    return NULL;
}
