/* SPDX-License-Identifier: MIT */
/* server/gives_queues.c -- the answers about queues (gives.h). */
#include "server/gives.h"

#include "server/queues.h"

/* clang-format off */
static const struct field locked_fields[] = {
    MESSAGE,
    SECONDS("lock_expires_at", "when the lock that is in the way ends"),
    END
};
SHAPE(locked, "QueueLocked", NULL);

static const struct field pushed_one_fields[] = {
    TEXT("id", NEEDED, "of the message; of a duplicate: of the first one"),
    TRUTH("duplicate", NEEDED, "true: it was pushed before, and not again"),
    END
};
SHAPE(pushed_one, "PushedOne", NULL);
static const struct field pushed_fields[] = {
    SUCCESS, MESSAGE,
    TEXT("id", 0, "of the message; with anything but item and priority"),
    TRUTH("duplicate", 0, "true: it was pushed before, and not again"),
    WHOLE("items_pushed", 0, 0, INT64_MAX, "of many: how many, without duplicates"),
    TEXTS("ids", 0, 0, 0, "of many: their ids"),
    OBJECTS("results", 0, &pushed_one, "of many: what became of each"),
    END
};
SHAPE(pushed, "Pushed", "{\"success\":true,\"message\":\"Item pushed to queue mail at priority 0\"}");

#define MESSAGE_FIELDS                                                                       \
    TEXT("id", NEEDED, "of the message"),                                                    \
    COUNT_FIELD("priority", "the lowest comes first"),                                       \
    COUNT_FIELD("delivery_count", "how often it was popped"),                                \
    SECONDS("enqueued_at", "when it was pushed"),                                            \
    TEXT("group", OR_NULL, "as it was pushed"),                                                   \
    OBJECT("headers", OR_NULL, NULL, "as they were pushed")

static const struct field popped_message_fields[] = {
    MESSAGE_FIELDS, TEXT("lock_id", 0, "its own, with meta"), END
};
SHAPE(popped_message, "PoppedMessage", NULL);
static const struct field popped_fields[] = {
    {.name = "items", .kind = KIND_VALUES, .flags = NEEDED, .about = "as they were pushed"},
    COUNT_FIELD("count", "of items"),
    TRUTH("locked", 0, "with require_ack: a lock is on them"),
    TEXT("lock_id", 0, "to acknowledge them with"),
    NUMBER("lock_expires_at", 0, 0, 0, "when they come back (seconds since 1970)"),
    OBJECTS("messages", 0, &popped_message, "with count, wait_seconds, meta or max_priority: one for each item"),
    END
};
SHAPE(popped, "Popped", "{\"items\":[{\"to\":\"a@example.org\"}],\"count\":1}");

static const struct field ack_result_fields[] = {
    TEXT("lock_id", NEEDED | OR_NULL, "which"),
    TEXT("status", NEEDED, "acknowledged, expired, not_found, invalid"),
    END
};
SHAPE(ack_result, "AcknowledgeResult", NULL);
static const struct field acked_fields[] = {
    TRUTH("success", NEEDED, "all of them were"), MESSAGE,
    COUNT_FIELD("items_acknowledged", "how many items are done"),
    OBJECTS("results", 0, &ack_result, "with lock_ids: one for each"),
    END
};
SHAPE(acked, "Acknowledged", NULL);

static const struct field extended_fields[] = {
    SUCCESS, TEXT("lock_id", NEEDED, "as given"), SECONDS("new_expires_at", "its end now"), END
};
SHAPE(extended, "Extended", NULL);
static const struct field released_fields[] = {SUCCESS, MESSAGE, COUNT_FIELD("items_released", "how many"), END};
SHAPE(released, "Released", NULL);
static const struct field buried_fields[] = {SUCCESS, MESSAGE, TEXT("dlq_id", NEEDED, "the queue they are in now"), END};
SHAPE(buried, "Buried", NULL);
static const struct field moved_fields[] = {SUCCESS, COUNT_FIELD("items_moved", "how many"), TEXT("warning", 0, "what stays, because where it goes is full"), END};
SHAPE(moved, "Moved", NULL);
static const struct field purged_fields[] = {SUCCESS, COUNT_FIELD("items_purged", "how many"), END};
SHAPE(purged, "Purged", NULL);
static const struct field queue_gone_fields[] = {SUCCESS, MESSAGE, COUNT_FIELD("items_removed", "how many messages it had"), END};
SHAPE(queue_gone, "QueueRemoved", NULL);
static const struct field done_fields[] = {SUCCESS, MESSAGE, END};
SHAPE(done, "QueueDone", NULL);

#define COUNTS                                                                               \
    TEXT("name", NEEDED, "of the queue"),                                                    \
    COUNT_FIELD("ready", "items that can be popped"),                                        \
    COUNT_FIELD("delayed", "items that wait for their time"),                                \
    COUNT_FIELD("locked", "items under a lock"),                                             \
    COUNT_FIELD("locks", "live locks"),                                                      \
    COUNT_FIELD("bytes", "of all items"),                                                    \
    TRUTH("paused", NEEDED, "pops find nothing"),                                            \
    NUMBER("oldest_age_seconds", NEEDED | OR_NULL, 0, 0, "of the item first in line")

static const struct field counts_fields[] = {COUNTS, END};
const struct shape gives_queue_counts = {"QueueCounts", BODY_JSON, counts_fields, NULL, false, NULL, NULL};
static const struct field queues_fields[] = {
    OBJECTS("queues", NEEDED, &gives_queue_counts, "by name"),
    TEXT("next", NEEDED | OR_NULL, "give it as after for the next page; null: this was the last"),
    END
};
SHAPE(queues, "Queues", NULL);

static const struct field config_fields[] = {
    COUNT_FIELD("max_locks", "live locks at a time; 0: any number"),
    NUMBER("default_ttl_seconds", NEEDED, 0, 0, "of a lock"),
    NUMBER("max_lock_seconds", NEEDED, 0, 0, "life of a lock"),
    TEXT("on_expire", NEEDED, "front or back"),
    COUNT_FIELD("max_deliveries", "0: any number"),
    TEXT("dead_letter_queue", NEEDED, "its name"),
    {.name = "retry_backoff_seconds", .kind = KIND_NUMBERS, .flags = NEEDED, .about = "delays"},
    NUMBER("dedup_window_seconds", NEEDED, 0, 0, "how long a dedup_id is remembered"),
    NUMBER("message_ttl_seconds", NEEDED, 0, 0, "0: for ever"),
    TRUTH("dead_letter_expired", NEEDED, "such items are kept as dead letters"),
    COUNT_FIELD("max_length", "0: no limit"),
    COUNT_FIELD("max_bytes", "0: no limit"),
    COUNT_FIELD("default_priority", "of a push without one"),
    TRUTH("groups", NEEDED, "one item of a group is out at a time, in order"),
    TRUTH("retain", NEEDED, "false so far"),
    TEXT("orchestration", NEEDED | OR_NULL, "started for each message"),
    TEXT("version", NEEDED | OR_NULL, "of that orchestration"),
    TEXT("warning", 0, "that orchestration is not registered here"),
    END
};
SHAPE(config, "QueueConfig", NULL);

static const struct field totals_fields[] = {
    COUNT_FIELD("pushed", "items"), COUNT_FIELD("popped", "items"), COUNT_FIELD("acknowledged", "items"),
    COUNT_FIELD("expired", "items whose lock ran out"), COUNT_FIELD("released", "items"),
    COUNT_FIELD("dead_lettered", "items"), COUNT_FIELD("dropped", "items"), COUNT_FIELD("purged", "items"),
    COUNT_FIELD("duplicates", "pushes"), COUNT_FIELD("redriven", "items"), COUNT_FIELD("started", "instances"),
    COUNT_FIELD("id_taken", "dead letters because their instance id was taken"),
    END
};
SHAPE(totals, "QueueTotals", NULL);
static const struct field queue_fields[] = {
    COUNTS,
    OBJECT("ready_by_priority", NEEDED, NULL, "counts, by priority"),
    OBJECT("totals", NEEDED, &totals, "since the queue was made"),
    SECONDS("created_at", "when the queue was made"),
    OBJECT("config", NEEDED, &config, "its configuration"),
    TEXT("warning", 0, "the orchestration it is bound to is not registered here"),
    END
};
SHAPE(queue, "Queue", NULL);

static const struct field message_fields[] = {
    MESSAGE_FIELDS,
    TEXT("state", NEEDED, "where it is", .words = "ready delayed locked"),
    SECONDS("deliver_at", "when it can be popped"),
    SECONDS("expires_at", "when it is dropped"),
    TEXT("source", OR_NULL, "of a dead letter: the queue it came from"),
    TEXT("reason", OR_NULL, "of a dead letter: why"),
    SECONDS("died_at", "of a dead letter: when"),
    ANY("item", 0, "as it was pushed"),
    TEXT("encoding", 0, "text or base64, when item is not JSON"),
    END
};
SHAPE(message, "QueueMessage", NULL);
static const struct field messages_fields[] = {
    OBJECTS("messages", NEEDED, &message, "in the order of delivery: ready, delayed, locked"),
    TEXT("next", NEEDED | OR_NULL, "give it as after for the next page; null: this was the last"),
    END
};
SHAPE(messages, "QueueMessages", NULL);

static const struct field lock_fields[] = {
    TEXT("lock_id", NEEDED, "masked"),
    SECONDS("created_at", "when it was popped"),
    SECONDS("expires_at", "when it ends"),
    COUNT_FIELD("items", "under it"),
    END
};
SHAPE(lock, "QueueLock", NULL);
static const struct field locks_fields[] = {OBJECTS("locks", NEEDED, &lock, "live ones"), END};
SHAPE(locks, "QueueLocks", NULL);

const struct given gives_queues[] = {
    {handle_queues, 0, &queues}, {handle_queue, 0, &queue}, {handle_push, 0, &pushed},
    {handle_pop, 0, &popped}, {handle_pop, 423, &locked}, {handle_ack, 0, &acked},
    {handle_extend, 0, &extended}, {handle_release, 0, &released}, {handle_deadletter, 0, &buried},
    {handle_redrive, 0, &moved}, {handle_purge, 0, &purged}, {handle_remove_queue, 0, &queue_gone},
    {handle_pause, 0, &done}, {handle_unpause, 0, &done}, {handle_revoke, 0, &done},
    {handle_messages, 0, &messages}, {handle_message, 0, &message}, {handle_locks, 0, &locks},
    {handle_get_config, 0, &config}, {handle_put_config, 0, &config},
    {handle_patch_config, 0, &config},
    {0},
};
/* clang-format on */
