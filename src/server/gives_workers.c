/* SPDX-License-Identifier: MIT */
/* server/gives_workers.c -- the answers to remote workers, and about them (gives.h). */
#include "server/gives.h"

#include "pawl/worker.h"
#include "server/worker_calls.h"

/* clang-format off */
static const struct field lease_fields[] = {
    TEXT("token", NEEDED, "for complete, fail, heartbeat and abandon"),
    TEXT("instance", NEEDED | OR_NULL, "that waits for it"),
    COUNT_FIELD("execution", "of the instance"),
    COUNT_FIELD("id", "of the task, in the history"),
    TEXT("activity", NEEDED, "its name"),
    ANY("input", 0, "its input"),
    TEXT("encoding", 0, "text or base64, when input is not JSON"),
    COUNT_FIELD("attempt", "which one, from 1"),
    TEXT("key", NEEDED | OR_NULL, "the same for every attempt: an idempotency key for the outside world"),
    MOMENT("locked_until", "the end of the lease"),
    ANY("details", 0, "of the last heartbeat that had any; absent: none had"),
    TEXT("details_encoding", 0, "text or base64, when details are not JSON"),
    END
};
SHAPE(lease, "Work", NULL);
static const struct field polled_fields[] = {OBJECTS("items", NEEDED, &lease, "none: nothing came in time"), END};
SHAPE(polled, "Polled", NULL);
static const struct field recorded_fields[] = {TRUTH("recorded", NEEDED, "true: in the history"), END};
SHAPE(recorded, "Recorded", "{\"recorded\":true}");
static const struct field beaten_fields[] = {
    TRUTH("cancelled", NEEDED, "the result is no longer wanted"),
    MOMENT("locked_until", "the end of the lease now"),
    END
};
SHAPE(beaten, "Beaten", "{\"cancelled\":false,\"locked_until\":1709139275123}");
static const struct field abandoned_fields[] = {TRUTH("abandoned", NEEDED, "true: others may have it"), END};
SHAPE(abandoned, "Abandoned", NULL);
static const struct field held_fields[] = {
    TEXT("instance", NEEDED, "its id"),
    COUNT_FIELD("id", "of the task, in the history"),
    TEXT("activity", NEEDED, "its name"),
    MOMENT("locked_until", "the end of the lease"),
    END
};
SHAPE(held, "Held", NULL);
static const struct field worker_fields[] = {
    TEXT("worker", NEEDED, "the name it gave"),
    TEXTS("activities", NEEDED, 0, PAWL_POLL_NAMES_MAX, "of its last poll"),
    TEXTS("tags", NEEDED, 0, PAWL_POLL_NAMES_MAX, "of its last poll"),
    MOMENT("seen_at", "its last poll"),
    COUNT_FIELD("polls", "so far"),
    OBJECTS("leases", NEEDED, &held, "what it has"),
    END
};
SHAPE(worker, "Worker", NULL);
static const struct field workers_fields[] = {OBJECTS("items", NEEDED, &worker, "by name"), END};
SHAPE(workers, "Workers", NULL);

const struct given gives_workers[] = {
    {handle_poll, 0, &polled}, {handle_complete, 0, &recorded}, {handle_fail, 0, &recorded},
    {handle_beat, 0, &beaten}, {handle_abandon, 0, &abandoned}, {handle_workers, 0, &workers},
    {0},
};
/* clang-format on */
