/* SPDX-License-Identifier: MIT */
/*
 * server/takes.c -- the bodies of requests: every member there is, and what it may be.
 *
 * Read by shape.c, which refuses everything else, and by openapi.c.  The handlers check
 * the values themselves, with their own error texts; tests/clients compares them with
 * this table from outside.
 */
#include "server/shape.h"

#include "pawl/limit.h"
#include "pawl/queue.h"
#include "pawl/schedule.h"
#include "pawl/worker.h"
#include "tables/job_options.h"
#include "tables/operations.h"

/* clang-format off */
#define SHAPE(id, name, presence, instead, example) \
    const struct shape takes_##id = {name, presence, id##_fields, instead, false, example, NULL}
#define STRICT(id, name, example) \
    const struct shape takes_##id = {name, BODY_JSON, id##_fields, NULL, true, example, NULL}

static const struct field nothing_fields[] = {END};
#define value_fields nothing_fields
SHAPE(nothing, "Nothing", BODY_OPTIONAL, NULL, "{}");
static const struct field attributes_fields[] = {ATTRIBUTES(NULL, NEEDED, "names and values; null removes one"), END};
SHAPE(attributes, "Attributes", BODY_VALUE, NULL, "{\"customer\":\"c-42\",\"total\":500,\"draft\":null}");
SHAPE(value, "Value", BODY_VALUE, NULL, "{\"approved\":true}");

static const struct field login_fields[] = {
    TEXT("token", NEEDED, "as pawl token new printed it", .min = 1, .pattern = "^[^\\u0000]*$"),
    END
};
STRICT(login, "Login", "{\"token\":\"pawl_0123abcd_…\"}");

/* ---- Instances --------------------------------------------------------------------- */

/* How an instance is started; handle_start() and handle_job() read them. */
#define START_FIELDS                                                                                  \
    TEXT("instance", OR_NULL, "the id; left out, one is made", IS_CHOSEN_ID, .not_with = "id"),       \
    TEXT("id", OR_NULL, "another name for instance", IS_CHOSEN_ID, .not_with = "instance"),           \
    WHOLE("start_at", OR_NULL, 0, INT64_MAX, "not before; milliseconds since 1970, at most 100 years ahead", \
          .not_with = "delay_ms"),                                                                    \
    WHOLE("delay_ms", OR_NULL, 0, LIMIT_DELAY_MS, "not before this many milliseconds have passed",    \
          .not_with = "start_at"),                                                                    \
    WHOLE("deadline_ms", OR_NULL, 1, LIMIT_DELAY_MS, "cancel it this many milliseconds after its start"), \
    TEXT("if_exists", OR_NULL, "what to do when the id exists", .words = "same use rerun terminate",  \
         .otherwise = "\"same\""),                                                                  \
    ATTRIBUTES("attributes", OR_NULL, "names and values it can be found by")

/* RESERVED_KEYS of the runtime: no key begins with the byte 1. */
#define A_KEY "^[^\\u0000\\u0001][^\\u0000]*$"

static const struct field raised_fields[] = {
    TEXT("event", NEEDED, "its name", IS_NAME),
    ANY("data", 0, "what the wait returns"),
    TEXT("key", OR_NULL, "the same key twice raises once", .min = 1, .max = LIMIT_KEY_BYTES, .pattern = A_KEY),
    END
};
STRICT(raised, "Raised", "{\"event\":\"FraudReview\",\"data\":{\"approved\":true}}");

/* With a made-up id, nothing can exist already. */
#define A_TEXT(name) "{\"required\":[\"" name "\"],\"properties\":{\"" name "\":{\"type\":\"string\"}}}"
#define IF_EXISTS "\"if_exists\":{\"enum\":[\"use\",\"rerun\",\"terminate\"]}"
#define EXISTS_NEEDS_ID                                                                                \
    "{\"required\":[\"if_exists\"],\"properties\":{" IF_EXISTS "},"                                    \
    "\"not\":{\"anyOf\":[" A_TEXT("instance") "," A_TEXT("id") "]}}"
/* The next start of that id brings another update: a key tells them apart. */
#define UPDATE_NEEDS_KEY                                                                               \
    "{\"required\":[\"if_exists\",\"update\"],\"properties\":{" IF_EXISTS ",\"update\":"              \
    "{\"type\":\"object\",\"not\":" A_TEXT("key") "}}}"
#define STARTS(id, name, never, example) \
    const struct shape takes_##id = {name, BODY_JSON, id##_fields, NULL, false, example, never}

static const struct field start_update_fields[] = {
    TEXT("name", NEEDED, "its name", IS_NAME),
    ANY("data", 0, "what it asks for"),
    TEXT("key", OR_NULL, "its id; with if_exists give a new one", .min = 1, .max = LIMIT_KEY_BYTES, .pattern = A_KEY,
         .otherwise = "\"start\""),
    WHOLE("timeout_ms", OR_NULL, 0, 60000, "how long to wait for its answer", .otherwise = "10000"),
    END
};
STRICT(start_update, "StartUpdate", "{\"name\":\"checkout\",\"data\":{\"cart\":7}}");

static const struct field start_fields[] = {
    TEXT("orchestration", NEEDED, "which one", IS_NAME),
    ANY("input", 0, "its input"),
    START_FIELDS,
    TEXT("version", OR_NULL, "of the code; left out, the newest", IS_VERSION),
    TRUTH("allow_unregistered", OR_NULL, "start it although its code is not registered", .otherwise = "false"),
    OBJECTS("raise", OR_NULL, &takes_raised, "events for it, in the commit of the start", .max = LIMIT_RAISES),
    OBJECT("update", OR_NULL, &takes_start_update, "an update for it, in the commit of the start; its answer is in the answer"),
    END
};
STARTS(start, "Start", "{\"anyOf\":[" EXISTS_NEEDS_ID "," UPDATE_NEEDS_KEY "]}",
       "{\"orchestration\":\"ProcessOrder\",\"input\":{\"id\":\"o-1\"},\"instance\":\"o-1\"}");

static const struct field rerun_fields[] = {
    ANY("input", 0, "its input; left out, that of its start"),
    TEXT("version", OR_NULL, "of the code; left out, the newest", IS_VERSION),
    WHOLE("deadline_ms", OR_NULL, 1, LIMIT_DELAY_MS, "cancel it this many milliseconds after its start"),
    ATTRIBUTES("attributes", OR_NULL, "merged into those it has"),
    END
};
SHAPE(rerun, "Rerun", BODY_OPTIONAL, NULL, "{\"input\":{\"id\":\"o-1\"}}");

/* The members of the input of pawl.job, and of a start. */
#define JOB_FIELD(name, kind, least, most, about) JOB_##kind(#name, least, most, about),
#define JOB_WHOLE(name, least, most, about)       WHOLE(name, OR_NULL, least, most, about)
#define JOB_NUMBER(name, least, most, about)      NUMBER(name, OR_NULL, least, most, about)
#define JOB_TRUTH(name, least, most, about)       TRUTH(name, OR_NULL, about, .otherwise = "false")
#define JOB_GROWTH(name, least, most, about)      TEXT(name, OR_NULL, about, .words = JOB_BACKOFFS)
#define JOB_TEXTS(name, least, most, about)                                                        \
    TEXTS(name, OR_NULL, least, most, about, .pattern = "^[^\\u0000]*$")
#define JOB_TEXT(name, least, most, about)                                                         \
    TEXT(name, OR_NULL, about, .min = (least), .max = (most),                                      \
         .pattern = "^[^/\\u0000-\\u001f\\u007f-\\u009f]*$")
static const struct field job_fields[] = {
    TEXT("activity", NEEDED, "which one", IS_NAME),
    ANY("input", 0, "its input"),
    START_FIELDS,
    JOB_OPTIONS(JOB_FIELD)
    END
};
STARTS(job, "Job", EXISTS_NEEDS_ID,
       "{\"activity\":\"SendMail\",\"input\":{\"to\":\"a@example.org\"},\"attempts\":5}");

#define REASON(about) TEXT("reason", OR_NULL, about, .max = LIMIT_REASON_BYTES, .pattern = "^[^\\u0000]*$")

static const struct field reason_fields[] = {
    REASON("why; its history keeps it"),
    END
};
SHAPE(reason, "Reason", BODY_OPTIONAL, NULL, "{\"reason\":\"the customer changed his mind\"}");

static const struct field filter_fields[] = {
    TEXT("status", OR_NULL, "only those in this state, or in one of several: failed,blocked", .pattern = SOME_STATES),
    TEXT("orchestration", OR_NULL, "only those of this one", .pattern = "^[^\\u0000]*$"),
    TEXT("prefix", OR_NULL, "only those whose id begins with this", .pattern = "^[^\\u0000]*$"),
    TEXT("parent", OR_NULL, "only children of this instance", .max = LIMIT_CHILD_ID_BYTES, .pattern = NO_CONTROLS),
    WHOLE("created_after", OR_NULL, 0, INT64_MAX, "only those started later; milliseconds since 1970"),
    TEXT("q", OR_NULL, "only those with this text in id, name, status, finding or error", .pattern = "^[^\\u0000]*$"),
    TRUTH("roots", OR_NULL, "only those without a parent", .otherwise = "false"),
    TEXTS("where", OR_NULL, 0, PAWL_WHERE_MAX, "conditions on attributes: customer=c-42", .pattern = CONDITION),
    WHOLE("created_before", OR_NULL, 0, INT64_MAX, "only those started earlier"),
    WHOLE("ended_after", OR_NULL, 0, INT64_MAX, "only those that ended later"),
    WHOLE("ended_before", OR_NULL, 0, INT64_MAX, "only those that ended earlier"),
    TEXT("error", OR_NULL, "only those with this text in why they failed or are blocked", .pattern = "^[^\\u0000]*$"),
    END
};
STRICT(filter, "Filter", "{\"status\":\"failed\"}");

static const struct field batch_fields[] = {
    TEXT("action", NEEDED, "what to do with each", .words = OPERATION_ACTIONS),
    OBJECT("filter", 0, &takes_filter, "which; {} means all", .not_with = "ids"),
    TEXTS("ids", OR_NULL, 1, 1000, "which, by name", .pattern = NO_CONTROLS, .not_with = "filter"),
    TRUTH("dry_run", OR_NULL, "only say which they are", .otherwise = "false"),
    REASON("why; their histories keep it"),
    WHOLE("limit", OR_NULL, 1, 1000, "how many at most", .otherwise = "1000"),
    TEXT("after", OR_NULL, "next of the page before", IS_CURSOR),
    END
};
STRICT(batch, "Batch", "{\"action\":\"retry\",\"filter\":{\"status\":\"blocked\"},\"dry_run\":true}");

static const struct field prune_fields[] = {
    WHOLE("before", NEEDED, 0, INT64_MAX, "what ended earlier goes; milliseconds since 1970"),
    WHOLE("limit", OR_NULL, 1, 1000, "how many instances at most, in one call", .otherwise = "1000"),
    END
};
STRICT(prune, "Prune", "{\"before\":1}");

/* ---- Schedules --------------------------------------------------------------------- */

#define MS_SINCE_1970 "milliseconds since 1970"
/* Words of an X-list of pawl/schedule.h, with blanks between them. */
#define A_WORD(name, number, word, text) word " "

static const struct field schedule_fields[] = {
    TEXTS("cron", 0, 1, PAWL_SCHEDULE_LINES_MAX, "minute hour day month weekday, or six fields with seconds first; one line may be a text"),
    WHOLE("every_ms", OR_NULL, PAWL_SCHEDULE_EVERY_MIN, PAWL_SCHEDULE_EVERY_MAX, "instead of cron: the distance, counted from 1970"),
    WHOLE("offset_ms", OR_NULL, 0, PAWL_SCHEDULE_EVERY_MAX, "and this much later; less than every_ms", .otherwise = "0"),
    {.name = "at_ms", .kind = KIND_NUMBERS, .min = 1, .max = PAWL_SCHEDULE_TIMES_MAX, .each_max = PAWL_SCHEDULE_END, .about = "instead of cron: these times; " MS_SINCE_1970},
    TEXT("zone", OR_NULL, "of the cron lines, such as Europe/Berlin", .max = 64, .pattern = "^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$", .otherwise = "\"UTC\""),
    TEXT("gap", OR_NULL, "a time that does not exist because clocks went forward", .words = PAWL_DST_GAPS(A_WORD), .otherwise = "\"shift\""),
    TEXT("fold", OR_NULL, "a time that exists twice because clocks went back", .words = PAWL_DST_FOLDS(A_WORD), .otherwise = "\"first\""),
    WHOLE("from_ms", OR_NULL, 0, PAWL_SCHEDULE_END, "nothing earlier; " MS_SINCE_1970),
    WHOLE("until_ms", OR_NULL, 0, PAWL_SCHEDULE_END, "nothing later; " MS_SINCE_1970),
    WHOLE("jitter_ms", OR_NULL, 0, PAWL_DAYS(366), "start up to this much later", .otherwise = "0"),
    WHOLE("max_runs", OR_NULL, 0, INT64_MAX, "how many in all; 0: no limit", .otherwise = "0"),
    TEXT("overlap", OR_NULL, "when the run before has not ended", .words = PAWL_OVERLAPS(A_WORD), .otherwise = "\"skip\""),
    WHOLE("queue_max", OR_NULL, 0, PAWL_SCHEDULE_QUEUE_MAX, "with overlap queue: how many may wait; 0: one", .otherwise = "0"),
    TEXT("missed", OR_NULL, "when several occurrences are past", .words = PAWL_MISSEDS(A_WORD), .otherwise = "\"latest\""),
    WHOLE("missed_window_ms", OR_NULL, 0, PAWL_SCHEDULE_EVERY_MAX, "nothing older counts; 0: 24 hours", .otherwise = "0"),
    TRUTH("paused", OR_NULL, "nothing is started until it is resumed", .otherwise = "false"),
    TRUTH("pause_on_failure", OR_NULL, "a run that failed pauses it", .otherwise = "false"),
    TEXT("orchestration", OR_NULL, "to start", IS_NAME, .not_with = "queue"),
    TEXT("version", OR_NULL, "of its code; left out, the newest each time", IS_VERSION),
    TEXT("queue", OR_NULL, "to push to, instead of starting", IS_NAME, .not_with = "orchestration"),
    WHOLE("priority", OR_NULL, 0, INT64_MAX, "of what is pushed", .otherwise = "0"),
    ANY("input", 0, "of what is started, or what is pushed"),
    TRUTH("allow_unregistered", OR_NULL, "accept an orchestration that is not registered", .otherwise = "false"),
    END
};
static const struct field backfill_fields[] = {
    WHOLE("from_ms", NEEDED, 0, PAWL_SCHEDULE_END, "the first instant; " MS_SINCE_1970),
    WHOLE("to_ms", NEEDED, 0, PAWL_SCHEDULE_END, "the last one, not later than now; at most 10,000 occurrences; " MS_SINCE_1970),
    TRUTH("allow", OR_NULL, "all at once; else one run after the other", .otherwise = "false"),
    OBJECT("spec", OR_NULL, &takes_schedule, "at which times; left out, those of the schedule as it is now"),
    END
};
STRICT(backfill, "Backfill", "{\"from_ms\":1790000000000,\"to_ms\":1790086400000}");

STRICT(schedule, "Schedule", "{\"cron\":[\"30 2 * * *\"],\"zone\":\"Europe/Berlin\",\"orchestration\":\"Report\"}");

/* ---- Limits ------------------------------------------------------------------------- */

static const struct field limit_match_fields[] = {
    TEXT("activity", NEEDED, "its name, or the beginning of one and *", .min = 1, .max = LIMIT_NAME_BYTES + 1, .pattern = "^[^/*]*[^/]$"),
    END
};
static STRICT(limit_match, "LimitMatch", "{\"activity\":\"Charge\"}");
static const struct field limit_rate_fields[] = {
    WHOLE("count", NEEDED, 1, PAWL_LIMIT_RATE_MAX, "attempts that begin, retries included"),
    WHOLE("per_ms", NEEDED, 1, PAWL_LIMIT_PERIOD_MAX, "in this time, evenly"),
    WHOLE("burst", OR_NULL, 1, PAWL_LIMIT_RATE_MAX, "as many may begin at once", .otherwise = "1"),
    END
};
static STRICT(limit_rate, "LimitRate", "{\"count\":100,\"per_ms\":60000}");
static const struct field limit_fields[] = {
    OBJECTS("match", NEEDED, &takes_limit_match, "what is limited", .min = 1, .max = PAWL_LIMIT_MATCHES_MAX),
    TEXT("by", OR_NULL, "one bucket for all, one for each key, or one for each first level of the keys", .words = PAWL_LIMIT_BYS(A_WORD), .otherwise = "\"all\""),
    WHOLE("concurrency", OR_NULL, 1, PAWL_LIMIT_CONCURRENCY_MAX, "attempts that run or are leased at a time; left out, any number"),
    OBJECT("rate", OR_NULL, &takes_limit_rate, "how often attempts may begin; left out, any time"),
    OBJECT("weights", OR_NULL, NULL, "shares of keys, 1 to 1000; a key that is not named has 1"),
    END
};
#define IS_OF(name, type) "{\"required\":[\"" name "\"],\"properties\":{\"" name "\":{\"type\":\"" type "\"}}}"
const struct shape takes_limit = {"Limit", BODY_JSON, limit_fields, NULL, true,
    "{\"match\":[{\"activity\":\"Charge\"}],\"by\":\"key\",\"concurrency\":5}",
    /* it limits nothing */
    "{\"not\":{\"anyOf\":[" IS_OF("concurrency", "integer") "," IS_OF("rate", "object") "," IS_OF("weights", "object") "]}}"};

/* ---- Queues ------------------------------------------------------------------------- */

static const struct field item_fields[] = {
    ANY("item", NEEDED, "what is pushed"),
    WHOLE("priority", 0, 0, INT64_MAX, "the lowest comes first; left out, the queue's default_priority"),
    TEXT("dedup_id", OR_NULL, "the same one again within dedup_window_seconds pushes nothing",
         .max = PAWL_QUEUE_DEDUP_BYTES, .pattern = "^[^\\u0000]*$"),
    NUMBER("delay_seconds", OR_NULL, 0, 604800, "not before this many seconds have passed", .not_with = "deliver_at"),
    NUMBER("deliver_at", OR_NULL, 0, 99999999999, "not before; seconds since 1970, at most 7 days ahead",
           .not_with = "delay_seconds"),
    NUMBER("expires_in_seconds", OR_NULL, 0, 315360000, "drop it if it was not popped by then; 0: never"),
    OBJECT("headers", 0, NULL, "given back with meta=1"),
    TEXT("group", OR_NULL, "with groups in the configuration, one item of it is out at a time, in order",
         .max = PAWL_QUEUE_GROUP_BYTES, .pattern = "^[^\\u0000]*$"),
    END
};
SHAPE(item, "Item", BODY_JSON, NULL, "{\"item\":{\"to\":\"a@example.org\"},\"priority\":5}");

static const struct field items_fields[] = {
    OBJECTS("items", NEEDED, &takes_item, "all of them or none", .min = 1, .max = PAWL_QUEUE_PUSH_MAX),
    END
};
static SHAPE(items, "Items", BODY_JSON, NULL, "{\"items\":[{\"item\":1},{\"item\":2}]}");
#define push_fields item_fields
SHAPE(push, "Push", BODY_JSON, &takes_items, "{\"item\":{\"to\":\"a@example.org\"},\"priority\":5}");

#define LOCK_ID TEXT("lock_id", NEEDED, "as the pop gave it", .min = 1)

static const struct field ack_fields[] = {LOCK_ID, END};
static const struct field acks_fields[] = {
    TEXTS("lock_ids", NEEDED, 1, PAWL_QUEUE_LOCKS_MAX, "of as many pops"),
    END
};
static SHAPE(acks, "AcknowledgeMany", BODY_JSON, NULL, "{\"lock_ids\":[\"AbCdEfGhIjK\"]}");
SHAPE(ack, "Acknowledge", BODY_JSON, &takes_acks, "{\"lock_id\":\"AbCdEfGhIjK\"}");

static const struct field extend_fields[] = {
    LOCK_ID,
    NUMBER("additional_ttl_seconds", OR_NULL, 1, 300, "from the old end; 30 when neither is given",
           .not_with = "ttl_seconds"),
    NUMBER("ttl_seconds", OR_NULL, 1, 300, "from now", .not_with = "additional_ttl_seconds"),
    END
};
SHAPE(extend, "ExtendLock", BODY_JSON, NULL, "{\"lock_id\":\"AbCdEfGhIjK\",\"additional_ttl_seconds\":60}");

static const struct field release_fields[] = {
    LOCK_ID,
    NUMBER("delay_seconds", OR_NULL, 0, 604800, "not popped before this many seconds have passed"),
    REASON("kept with the items"),
    END
};
SHAPE(release, "Release", BODY_JSON, NULL, "{\"lock_id\":\"AbCdEfGhIjK\",\"delay_seconds\":10}");

static const struct field deadletter_fields[] = {
    LOCK_ID,
    REASON("kept with the items"),
    END
};
SHAPE(deadletter, "DeadLetter", BODY_JSON, NULL, "{\"lock_id\":\"AbCdEfGhIjK\",\"reason\":\"no such address\"}");

static const struct field redrive_fields[] = {
    WHOLE("max", OR_NULL, 1, INT64_MAX, "how many at most"),
    WHOLE("rate_per_second", OR_NULL, 1, 1000000, "how fast"),
    TEXT("target", OR_NULL, "the queue they go to; left out, where each came from", IS_NAME),
    END
};
SHAPE(redrive, "Redrive", BODY_OPTIONAL, NULL, "{\"max\":100}");

static const struct field purge_fields[] = {
    WHOLE("priority", OR_NULL, 0, INT64_MAX, "only items of this priority"),
    END
};
SHAPE(purge, "Purge", BODY_OPTIONAL, NULL, "{\"priority\":5}");

static const struct field config_fields[] = {
    WHOLE("max_locks", OR_NULL, 0, UINT32_MAX, "live locks at a time; 0: any number", .otherwise = "1"),
    NUMBER("default_ttl_seconds", OR_NULL, 1, 300, "of a lock, when the pop does not say", .otherwise = "30"),
    NUMBER("max_lock_seconds", OR_NULL, 1, 604800, "life of a lock with all its extensions", .otherwise = "43200"),
    TEXT("on_expire", OR_NULL, "where items of a lock that ran out go", .words = "front back", .otherwise = "\"front\""),
    WHOLE("max_deliveries", OR_NULL, 0, UINT32_MAX, "then to the dead letter queue; 0: never", .otherwise = "0"),
    TEXT("dead_letter_queue", OR_NULL, "its name; left out, NAME-deadletter", IS_NAME),
    {.name = "retry_backoff_seconds", .kind = KIND_NUMBERS, .max = 16, .each_max = 604800, .otherwise = "[]",
     .about = "delays after the first, second, … lost lock"},
    NUMBER("dedup_window_seconds", OR_NULL, 0, 604800, "how long a dedup_id is remembered", .otherwise = "300"),
    NUMBER("message_ttl_seconds", OR_NULL, 0, 315360000, "an older item is dropped; 0: kept for ever", .otherwise = "0"),
    TRUTH("dead_letter_expired", OR_NULL, "such items go to the dead letter queue instead", .otherwise = "false"),
    WHOLE("max_length", OR_NULL, 0, INT64_MAX, "items; a push beyond is 429; 0: no limit", .otherwise = "0"),
    WHOLE("max_bytes", OR_NULL, 0, INT64_MAX, "of all items; a push beyond is 429; 0: no limit", .otherwise = "0"),
    WHOLE("default_priority", OR_NULL, 0, INT64_MAX, "of a push without one", .otherwise = "0"),
    TRUTH("groups", OR_NULL, "one item of a group is out at a time, in order; not for a bound queue", .otherwise = "false"),
    TRUTH("retain", OR_NULL, "can only be false so far", .otherwise = "false", .words = "false"),
    TEXT("orchestration", OR_NULL, "started for each message", IS_NAME),
    TEXT("version", OR_NULL, "of that orchestration", IS_VERSION),
    END
};
STRICT(config, "Config", "{\"max_locks\":0,\"max_deliveries\":5}");

/* ---- Workers -------------------------------------------------------------------------- */

#define LOCK_MS WHOLE("lock_ms", OR_NULL, PAWL_LEASE_MIN, PAWL_LEASE_MAX, "how long the lease is", .otherwise = "30000")

static const struct field poll_fields[] = {
    TEXTS("activities", NEEDED, 1, PAWL_POLL_NAMES_MAX, "names it can do", .pattern = "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"),
    TEXTS("tags", 0, 0, PAWL_POLL_NAMES_MAX, "and what they are marked with", .pattern = "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"),
    WHOLE("max", OR_NULL, 1, PAWL_POLL_MAX, "how many at most", .otherwise = "1"),
    WHOLE("wait_ms", OR_NULL, 0, PAWL_POLL_WAIT_MAX, "how long to wait for the first", .otherwise = "0"),
    LOCK_MS,
    TEXT("worker", OR_NULL, "who asks", .pattern = "^[^\\u0000]*$"),
    END
};
SHAPE(poll, "Poll", BODY_JSON, NULL, "{\"activities\":[\"Charge\"],\"max\":10,\"wait_ms\":1000}");

static const struct field complete_fields[] = {
    ANY("result", 0, "null when it is left out"),
    END
};
SHAPE(complete, "Complete", BODY_JSON, NULL, "{\"result\":{\"receipt\":42}}");

static const struct field fail_fields[] = {
    ANY("error", 0, "what went wrong: a text, or any value"),
    TRUTH("retryable", OR_NULL, "false: no other attempt", .otherwise = "true"),
    END
};
SHAPE(fail, "Fail", BODY_JSON, NULL, "{\"error\":\"the card was refused\",\"retryable\":false}");

static const struct field beat_fields[] = {
    LOCK_MS,
    ANY("details", 0, "where the next attempt is to go on from, at most 16 KiB; absent: those before stand"),
    END
};
SHAPE(beat, "Heartbeat", BODY_OPTIONAL, NULL, "{\"lock_ms\":30000,\"details\":{\"page\":7}}");

static const struct field abandon_fields[] = {
    WHOLE("delay_ms", OR_NULL, 0, PAWL_DAYS(7), "deliver it only after this time", .otherwise = "0"),
    END
};
SHAPE(abandon, "Abandon", BODY_OPTIONAL, NULL, "{\"delay_ms\":5000}");
/* clang-format on */
