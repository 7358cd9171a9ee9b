/* SPDX-License-Identifier: MIT */
/* server/gives_server.c -- the answers of probes, sign-in and the routes about this server (gives.h). */
#include "server/gives.h"

#include "server/handlers.h"

/* clang-format off */
static const struct field health_fields[] = {
    TEXT("status", NEEDED, "healthy, unhealthy; of /ready: ready, stopping, unavailable"),
    TEXT("service", 0, "pawl"),
    TEXT("version", 0, "of pawl, if the caller may know it"),
    TEXT("reason", 0, "why it is not healthy, or unavailable"),
    END
};
SHAPE(health, "Health", "{\"status\":\"healthy\",\"service\":\"pawl\"}");

static const struct field version_fields[] = {
    TEXT("service", NEEDED, "pawl"), TEXT("version", 0, "of pawl"), END
};
SHAPE(version, "Version", NULL);

static const struct field session_fields[] = {
    TRUTH("needs_token", NEEDED, "calls without one are refused"),
    TEXT("scope", NEEDED | OR_NULL, "what the caller may do; null: nothing", .words = "work read operate admin"),
    TEXT("token", NEEDED | OR_NULL, "the id of the caller's token"),
    {.name = "queues", .kind = KIND_TEXTS, .flags = NEEDED | OR_NULL, .about = "prefixes of the queues that the token allows; null: all"},
    TRUTH("queues_only", NEEDED, "the token is for queues and nothing else"),
    TEXT("version", NEEDED | OR_NULL, "of pawl, if the caller may know it"),
    MOMENT("now", "the clock of the server"),
    END
};
SHAPE(session, "Session", NULL);

static const struct field code_fields[] = {
    TEXT("name", NEEDED, "of the orchestration"),
    TEXTS("versions", NEEDED, 0, INT64_MAX, "the lowest first"),
    TEXT("module", NEEDED | OR_NULL, "it came with; null: the program itself"),
    END
};
SHAPE(code, "Orchestration", NULL);
static const struct field activity_fields[] = {
    TEXT("name", NEEDED, "of the activity"),
    TEXT("module", NEEDED | OR_NULL, "it came with; null: the program itself"),
    END
};
SHAPE(activity, "Activity", NULL);
static const struct field registry_fields[] = {
    MOMENT("now", "the clock of the server"),
    OBJECTS("orchestrations", NEEDED, &code, "by name"),
    OBJECTS("activities", NEEDED, &activity, "by name; without those of remote workers"),
    TEXTS("modules", NEEDED, 0, INT64_MAX, "that were loaded"),
    END
};
SHAPE(registry, "Registry", NULL);
static const struct field node_fields[] = {
    TEXT("version", NEEDED, "of pawl"),
    COUNT_FIELD("pid", "of the process"),
    MOMENT("started_at", "when it began to serve"),
    COUNT_FIELD("rss_bytes", "memory in use"),
    COUNT_FIELD("resident", "instances in memory"),
    COUNT_FIELD("running_activities", "now, here"),
    COUNT_FIELD("commits", "since it was opened"),
    COUNT_FIELD("commit_us", "that they took together"),
    COUNT_FIELD("store_log_bytes", "in the write-ahead log"),
    WHOLE("disk_free_bytes", 0, 0, INT64_MAX, "on the disk of the data directory"),
    TRUTH("healthy", NEEDED, "the engine makes progress"),
    TEXT("trouble", 0, "why it does not"),
    END
};
SHAPE(node, "Node", NULL);
static const struct field node_now_fields[] = {
    MOMENT("now", "the clock of the server"), OBJECT("node", NEEDED, &node, "the process"), END
};
SHAPE(node_now, "NodeNow", NULL);
static const struct field by_state_fields[] = {
    COUNT_FIELD("pending", "instances"), COUNT_FIELD("running", "instances"),
    COUNT_FIELD("suspended", "instances"), COUNT_FIELD("blocked", "instances"),
    COUNT_FIELD("completed", "instances"), COUNT_FIELD("failed", "instances"),
    COUNT_FIELD("cancelled", "instances"), END
};
SHAPE(by_state, "Counts", NULL);
static const struct field kind_fields[] = {
    TEXT("name", NEEDED | OR_NULL, "of the orchestration; null: all beyond the first 200"),
    OBJECT("counts", NEEDED, &by_state, "by state"),
    WHOLE("p50_ms", NEEDED | OR_NULL, 0, INT64_MAX, "half of those that completed since the start took less, about"),
    WHOLE("p95_ms", NEEDED | OR_NULL, 0, INT64_MAX, "the same for 95 of 100"),
    END
};
SHAPE(kind, "OrchestrationCounts", NULL);
static const struct field problem_fields[] = {
    TEXT("kind", NEEDED, "of the problem", .words = "blocked failed suspended health retrying no_worker"),
    COUNT_FIELD("count", "instances with it"),
    MOMENT("since", "the oldest of them"),
    TEXT("detail", NEEDED | OR_NULL, "what one of them says"),
    TEXT("orchestration", NEEDED | OR_NULL, "of them"),
    TEXT("activity", 0, "of them"),
    WHOLE("attempt", 0, 0, UINT32_MAX, "retrying: the highest"),
    TEXTS("instances", NEEDED, 0, 5, "some of them"),
    END
};
SHAPE(problem, "Problem", NULL);
static const struct field event_fields[] = {
    TEXT("event", NEEDED, "not raised yet"),
    TEXT("orchestration", NEEDED, "of those that wait for it"),
    COUNT_FIELD("count", "of them"),
    MOMENT("oldest", "since then the first one waits"),
    TEXT("instance", NEEDED, "that one"),
    END
};
SHAPE(event, "WaitedEvent", NULL);
static const struct field waited_activity_fields[] = {
    TEXT("activity", NEEDED, "instances wait for"),
    COUNT_FIELD("running", "a worker has it"),
    COUNT_FIELD("queued", "no worker has taken it"),
    COUNT_FIELD("backing_off", "another attempt follows later"),
    COUNT_FIELD("attempt", "the highest"),
    MOMENT("oldest", "since then the first one waits"),
    TEXT("instance", NEEDED, "that one"),
    END
};
SHAPE(waited_activity, "WaitedActivity", NULL);
static const struct field waits_fields[] = {
    WHOLE("looked", NEEDED | OR_NULL, 0, 200, "this many of the newest were looked at; null: all that run"),
    OBJECTS("events", NEEDED, &event, "most waited for first"),
    OBJECTS("activities", NEEDED, &waited_activity, "most waited for first"),
    OBJECTS("problems", NEEDED, &problem, "retrying: three attempts or more; no_worker: not taken for 20 s"),
    END
};
SHAPE(waits, "Waits", NULL);
static const struct field overview_fields[] = {
    MOMENT("now", "the clock of the server"),
    TRUTH("current", 0, "with=all: nothing changed since this was put together"),
    WHOLE("made", 0, 0, INT64_MAX, "with=all: how many were put together since the start; 0: for this caller alone"),
    OBJECT("waits", 0, &waits, "with=all: what running instances wait for"),
    OBJECTS("queues", 0, &gives_queue_counts, "with=all: as in GET /queue, at most 1,000"),
    OBJECT("series", 0, NULL, "with=all: as in GET /api/v1/series, of the last 300 seconds"),
    WHOLE("from", 0, 0, INT64_MAX, "with=all: the first second of series begins"),
    OBJECT("counts", NEEDED, &by_state, "instances by state"),
    TRUTH("exact", NEEDED, "false: older instances are still being counted; ask again"),
    OBJECTS("orchestrations", NEEDED, &kind, "by name"),
    OBJECTS("problems", NEEDED, &problem, "by cause; failed: in the last hour"),
    TRUTH("more_problems", NEEDED, "there are more than were looked at"),
    OBJECT("node", NEEDED, &node, "the process"),
    END
};
SHAPE(overview, "Overview", NULL);
static const struct field series_fields[] = {
    MOMENT("now", "the clock of the server"),
    COUNT_FIELD("step_ms", "between two numbers"),
    MOMENT("from", "the first one begins"),
    OBJECT("series", NEEDED, NULL, "numbers by name, the oldest first; a delay is null where no attempt began"),
    END
};
SHAPE(series, "Series", NULL);

const struct given gives_server[] = {
    {handle_health, 0, &health}, {handle_health, 503, &health}, {handle_ready, 0, &health},
    {handle_ready, 503, &health}, {handle_version, 0, &version}, {handle_login, 0, &session},
    {handle_logout, 0, &session}, {handle_session, 0, &session}, {handle_registry, 0, &registry},
    {handle_node, 0, &node_now}, {handle_overview, 0, &overview}, {handle_series, 0, &series},
    {0},
};
/* clang-format on */
