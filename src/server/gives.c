/* SPDX-License-Identifier: MIT */
/*
 * server/gives.c -- what answers have in them, and what may be asked in queries and paths.
 *
 * Read by openapi.c only: handlers write their answers themselves.  An answer may get
 * further members; the members here stay.  A test from outside (tests/clients) compares
 * every answer to thousands of requests with its schema.
 */
#include "pawl/worker.h"
#include "server/handlers.h"
#include "server/queues.h"
#include "server/schedules.h"
#include "server/shape.h"
#include "server/worker_calls.h"
#include "tables/instance_texts.h"

/* clang-format off */
#define SHAPE(id, name, example) \
    static const struct shape id = {name, BODY_JSON, id##_fields, NULL, false, example}
#define COUNT_FIELD(n, a)     WHOLE(n, NEEDED, 0, INT64_MAX, a)
#define MOMENT(n, a)          WHOLE(n, NEEDED | OR_NULL, 0, INT64_MAX, a " (milliseconds since 1970)")
#define SECONDS(n, a)         NUMBER(n, NEEDED | OR_NULL, 0, 0, a " (seconds since 1970)")
#define SUCCESS               TRUTH("success", NEEDED, "it is done, and durable")
#define MESSAGE               TEXT("message", NEEDED, "for people")

/* ---- Operations and errors ----------------------------------------------------------- */

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

static const struct field locked_fields[] = {
    MESSAGE,
    SECONDS("lock_expires_at", "when the lock that is in the way ends"),
    END
};
SHAPE(locked, "QueueLocked", NULL);

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
    TEXT("scope", NEEDED | OR_NULL, "what the caller may do; null: nothing", .words = "read operate admin"),
    TEXT("token", NEEDED | OR_NULL, "the id of the caller's token"),
    {.name = "queues", .kind = KIND_TEXTS, .flags = NEEDED | OR_NULL, .about = "prefixes of the queues that the token allows; null: all"},
    TRUTH("queues_only", NEEDED, "the token is for queues and nothing else"),
    TEXT("version", NEEDED | OR_NULL, "of pawl, if the caller may know it"),
    MOMENT("now", "the clock of the server"),
    END
};
SHAPE(session, "Session", NULL);

/* ---- This server -------------------------------------------------------------------- */

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
    TEXT("kind", NEEDED, "of the problem", .words = "blocked failed suspended health"),
    COUNT_FIELD("count", "instances with it"),
    MOMENT("since", "the oldest of them"),
    TEXT("detail", NEEDED | OR_NULL, "what one of them says"),
    TEXT("orchestration", NEEDED | OR_NULL, "of them"),
    TEXTS("instances", NEEDED, 0, 5, "some of them"),
    END
};
SHAPE(problem, "Problem", NULL);
static const struct field overview_fields[] = {
    MOMENT("now", "the clock of the server"),
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
    OBJECT("series", NEEDED, NULL, "numbers by name, the oldest first"),
    END
};
SHAPE(series, "Series", NULL);

/* ---- Instances ------------------------------------------------------------------------- */

static const struct field started_fields[] = {
    TEXT("instance", NEEDED, "its id"),
    COUNT_FIELD("execution", "the one that runs"),
    TRUTH("created", NEEDED, "false: it was there already, and is the same"),
    END
};
SHAPE(started, "Started", "{\"instance\":\"o-1\",\"execution\":1,\"created\":true}");

static const struct field try_made_fields[] = {
    COUNT_FIELD("n", "counts from 1"),
    WHOLE("from", 0, 0, INT64_MAX, "when it began (milliseconds since 1970); absent: not known"),
    WHOLE("to", 0, 0, INT64_MAX, "when it failed (milliseconds since 1970)"),
    TEXT("worker", 0, "the remote worker that had it"),
    TEXT("error", 0, "what it said, at most 160 bytes"),
    END
};
SHAPE(try_made, "Try", NULL);

#define WAITING                                                                              \
    COUNT_FIELD("id", "of the task, in the history"),                                        \
    TEXT("kind", NEEDED, "activity, timer, event, child …"),                                 \
    TEXT("name", NEEDED | OR_NULL, "of the activity, event or orchestration"),               \
    TEXT("instance", 0, "of a child: its id"),                                               \
    MOMENT("since", "since when"),                                                           \
    WHOLE("due_at", 0, 0, INT64_MAX, "of a timer or the next attempt (milliseconds since 1970)"),    \
    WHOLE("attempt", 0, 0, INT64_MAX, "of an activity: which one"),                                  \
    TRUTH("running", 0, "of an activity: a worker has it"),                                  \
    TEXT("worker", 0, "of an activity: the worker, by the name it gave in its poll"),        \
    WHOLE("leased_until", 0, 0, INT64_MAX, "of an activity: the end of that worker's lease (milliseconds since 1970)"), \
    TRUTH("unknown", 0, "of an activity: not registered here, and no worker polled for it"), \
    TEXT("did_you_mean", 0, "of an unknown activity: a known name that resembles it"),     \
    TEXT("last_error", OR_NULL, "of an activity: what the last attempt said"), \
    WHOLE("started_at", 0, 0, INT64_MAX, "of an activity that runs: when this attempt began (milliseconds since 1970)"), \
    OBJECTS("tries", 0, &try_made, "of an activity: its last failed attempts since the server started, at most eight")

static const struct field waiting_fields[] = {WAITING, END};
SHAPE(waiting, "Waiting", NULL);

#define TEXT_MEMBER(field, as, presence, label, about)                                       \
    TEXT(#field, (presence) == TEXT_ALWAYS ? NEEDED | OR_NULL : OR_NULL, about),
#define INSTANCE_FIELDS                                                                      \
    TEXT("instance", NEEDED, "its id"),                                                      \
    TEXT("orchestration", NEEDED | OR_NULL, "which one"),                                    \
    TEXT("version", NEEDED | OR_NULL, "of its code"),                                        \
    TEXT("status", NEEDED, "in which state it is", .words = STATES),                         \
    COUNT_FIELD("execution", "counts from 1; continue-as-new begins another"),               \
    MOMENT("created_at", "when it was started"),                                             \
    MOMENT("updated_at", "when it last changed"),                                            \
    ANY("input", 0, "as it was given"),                                                      \
    TEXT("input_encoding", 0, "text or base64, when input is not JSON"),                     \
    ANY("output", 0, "its result; null while there is none"),                                \
    TEXT("encoding", 0, "text or base64, when output is not JSON"),                          \
    TEXT("error", NEEDED | OR_NULL, "why it failed"),                                        \
    INSTANCE_TEXTS(TEXT_MEMBER)                                                              \
    OBJECTS("waiting_for", NEEDED, &waiting, "its open tasks"),                                 \
    TEXT("parent", NEEDED | OR_NULL, "whose child it is"),                                   \
    WHOLE("start_at", 0, 0, INT64_MAX, "pending: when it starts (milliseconds since 1970); absent: as soon as it can"),              \
    WHOLE("deadline_at", 0, 0, INT64_MAX, "open: it is cancelled then (milliseconds since 1970); absent: it has no deadline")

static const struct field instance_fields[] = {INSTANCE_FIELDS, END};
SHAPE(instance, "Instance", NULL);

static const struct field instances_fields[] = {
    OBJECTS("instances", NEEDED, &instance, "the newest first"),
    TEXT("next", NEEDED | OR_NULL, "give it as after for the next page; null: this was the last"),
    COUNT_FIELD("examined", "instances that were looked at for this page"),
    TRUTH("complete", 0, "of a sorted list: false: there are more"),
    END
};
SHAPE(instances, "Instances", NULL);

static const struct shape tree;
static const struct field tree_fields[] = {
    INSTANCE_FIELDS,
    OBJECTS("children", NEEDED, &tree, "the oldest first"),
    TRUTH("truncated", 0, "there are more than fit into an answer"),
    END
};
SHAPE(tree, "Tree", NULL);

static const struct field event_fields[] = {
    COUNT_FIELD("seq", "its place in the history"),
    TEXT("kind", NEEDED, "ActivityScheduled, TimerFired …"),
    WHOLE("ref", NEEDED | OR_NULL, 0, INT64_MAX, "the event that it answers"),
    TEXT("name", NEEDED | OR_NULL, "of the activity, event or orchestration"),
    ANY("data", 0, "input, result or text"),
    TEXT("encoding", 0, "text, base64, or json for a null that was given"),
    MOMENT("at", "when"),
    TEXT("result_kind", 0, "of a completion: ok, failed, start_to_close, heartbeat, poison …"),
    WHOLE("attempts", 0, 0, INT64_MAX, "of a completed activity: how many it took"),
    OBJECT("attrs", 0, NULL, "what else is recorded"),
    END
};
SHAPE(event, "HistoryEvent", NULL);

static const struct field history_fields[] = {
    TEXT("instance", NEEDED, "its id"),
    COUNT_FIELD("execution", "whose history this is"),
    OBJECTS("events", NEEDED, &event, "in order"),
    WHOLE("next", NEEDED | OR_NULL, 0, INT64_MAX, "give it as after for the next page; null: this was the last"),
    END
};
SHAPE(history, "History", NULL);

static const struct field why_waiting_fields[] = {
    WAITING, TEXT("woken_by", OR_NULL, "who can end this wait"), END
};
SHAPE(why_waiting, "WhyWaiting", NULL);
static const struct field failure_fields[] = {
    TEXT("name", NEEDED | OR_NULL, "of the activity or child"),
    TEXT("error", NEEDED | OR_NULL, "what it said"),
    MOMENT("at", "when"),
    END
};
SHAPE(failure, "Failure", NULL);
static const struct field why_fields[] = {
    TEXT("instance", NEEDED, "its id"),
    TEXT("status", NEEDED, "in which state it is", .words = STATES),
    TEXT("sentence", NEEDED | OR_NULL, "all of it, for people"),
    OBJECTS("waiting_for", NEEDED, &why_waiting, "its open tasks"),
    OBJECT("schedule", 0, NULL, "name and at of the schedule that started it"),
    OBJECT("last_failure", NEEDED | OR_NULL, &failure, "what failed last"),
    MOMENT("next_at", "when something happens by itself"),
    COUNT_FIELD("mailbox", "events raised and not taken yet"),
    TEXT("finding", NEEDED | OR_NULL, "what keeps it from going on"),
    WHOLE("owner_pid", NEEDED | OR_NULL, 0, INT64_MAX, "the process that has it"),
    MOMENT("now", "the clock that its times are of"),
    END
};
SHAPE(why, "Why", NULL);

#define PLACE(n, a) NUMBER(n, NEEDED, 0, 0, a ", 0 to 1")
static const struct field part_fields[] = {
    MOMENT("from", "where it begins"),
    MOMENT("to", "where it ends"),
    PLACE("at", "where it begins on the axis"),
    PLACE("until", "where it ends on the axis"),
    TRUTH("cut", NEEDED, "nothing happened meanwhile: it is only marked"),
    END
};
SHAPE(part, "TimelinePart", NULL);
static const struct field attempt_fields[] = {
    COUNT_FIELD("n", "which attempt"),
    MOMENT("from", "when it began"),
    MOMENT("to", "when it failed or ended; of one that goes on: now"),
    TEXT("worker", 0, "the remote worker that had it"),
    TEXT("error", 0, "what it said"),
    TRUTH("last", 0, "true: it ended the activity, or goes on"),
    TRUTH("estimated", 0, "true: not recorded; its place follows from the retry policy"),
    END
};
SHAPE(attempt, "TimelineTry", NULL);
#define OUTCOMES "open done failed cancelled"
static const struct field bar_fields[] = {
    TEXT("kind", NEEDED, "of the step", .words = "activity timer event child queue detached"),
    TEXT("name", NEEDED | OR_NULL, "of the activity, event, orchestration or queue"),
    WHOLE("ref", NEEDED | OR_NULL, 0, INT64_MAX, "the task; null: a push or a detached start"),
    COUNT_FIELD("seq", "of the event that scheduled it"),
    WHOLE("end_seq", NEEDED | OR_NULL, 0, INT64_MAX, "of the event that ended it"),
    TEXT("outcome", NEEDED, "how it went; cancelled: also what was open when the run ended", .words = OUTCOMES),
    MOMENT("scheduled_at", "when the code asked for it"),
    MOMENT("started_at", "when its last attempt began; null: at once, or not known"),
    MOMENT("ended_at", "when it ended"),
    WHOLE("due_at", 0, 0, INT64_MAX, "of a timer or the next attempt (milliseconds since 1970)"),
    WHOLE("attempts", 0, 0, INT64_MAX, "of an activity: how many there were, with the one that goes on"),
    TRUTH("running", 0, "of an open activity: a worker has it"),
    TEXT("instance", 0, "of a child or a detached start: its id"),
    TEXT("worker", 0, "the remote worker that had it"),
    TEXT("error", 0, "why it failed, or what the last attempt said; at most 200 bytes"),
    OBJECTS("tries", 0, &attempt, "of an activity with more than one attempt: at most the last nine"),
    END
};
SHAPE(bar, "TimelineBar", NULL);
static const struct field by_name_fields[] = {
    TEXT("kind", NEEDED, "of the steps; mixed: all beyond the first 200 names", .words = "activity timer event child queue detached mixed"),
    TEXT("name", NEEDED | OR_NULL, "of the activity, event, orchestration or queue"),
    COUNT_FIELD("count", "steps of this name"),
    COUNT_FIELD("open", "of them"),
    COUNT_FIELD("failed", "of them"),
    COUNT_FIELD("cancelled", "of them"),
    MOMENT("from", "when the first was scheduled"),
    MOMENT("to", "when the last ended"),
    WHOLE("median_ms", NEEDED | OR_NULL, 0, INT64_MAX, "half of them took less"),
    WHOLE("longest_ms", NEEDED | OR_NULL, 0, INT64_MAX, "the longest"),
    FIELD_OF(KIND_NUMBERS, "skyline", NEEDED, "how many were open, at 80 equal places of the axis"),
    COUNT_FIELD("most_at_once", "the highest of them"),
    FIELD_OF(KIND_NUMBERS, "failed_in", NEEDED, "in which of those places one failed"),
    END
};
SHAPE(by_name, "TimelineName", NULL);
static const struct field timeline_fields[] = {
    TEXT("instance", NEEDED, "its id"),
    TEXT("orchestration", NEEDED | OR_NULL, "which one"),
    TEXT("version", NEEDED | OR_NULL, "of its code"),
    TEXT("status", NEEDED, "in which state it is", .words = STATES),
    COUNT_FIELD("execution", "whose steps these are"),
    COUNT_FIELD("events", "of that execution"),
    COUNT_FIELD("steps", "of that execution"),
    TRUTH("grouped", NEEDED, "true: more than 160 steps, told in names; else in bars"),
    TRUTH("truncated", NEEDED, "true: steps beyond the first 100,000 are only counted"),
    MOMENT("from", "when the execution began"),
    MOMENT("to", "when it ended; of an open one: now"),
    MOMENT("ended_at", "when it ended; null: it is open"),
    MOMENT("now", "the clock that its times are of"),
    OBJECTS("axis", NEEDED, &part, "which times are where; at most ten parts are cut"),
    OBJECTS("bars", NEEDED, &bar, "a step each, in order"),
    OBJECTS("names", NEEDED, &by_name, "the steps of a name each, in order of the first"),
    END
};
SHAPE(timeline, "Timeline", NULL);

static const struct field published_fields[] = {
    TEXT("key", NEEDED, "as the code named it"),
    ANY("value", NEEDED | OR_NULL, "as the code set it; null: empty"),
    TEXT("encoding", 0, "of a value that is not JSON: text or base64"),
    COUNT_FIELD("version", "one more with each change of the key"),
    MOMENT("updated_at", "when it was set"),
    END
};
SHAPE(published, "PublishedValue", NULL);
static const struct field state_fields[] = {
    TEXT("instance", NEEDED, "its id"),
    OBJECTS("items", NEEDED, &published, "in byte order of the keys"),
    COUNT_FIELD("count", "of the keys"),
    END
};
SHAPE(state, "PublishedState", NULL);

static const struct field instance_now_fields[] = {
    INSTANCE_FIELDS,
    MOMENT("started_at", "when this execution began"),
    COUNT_FIELD("events", "of this execution, so far"),
    OBJECT("why", 0, &why, "with=why: what it waits for, since when, and what wakes it"),
    END
};
SHAPE(instance_now, "InstanceNow", NULL);
static const struct field export_fields[] = {
    COUNT_FIELD("pawl_export", "1: the form of this file"),
    INSTANCE_FIELDS,
    OBJECTS("events", NEEDED, &event, "all of them, in order"),
    END
};
SHAPE(export, "Export", NULL);
static const struct field execution_fields[] = {
    COUNT_FIELD("execution", "counts from 1"),
    TEXT("status", NEEDED, "in which state it is", .words = STATES),
    TEXT("version", NEEDED | OR_NULL, "of its code"),
    MOMENT("started_at", "when it began"),
    MOMENT("ended_at", "when it ended"),
    COUNT_FIELD("events", "of it, so far"),
    END
};
SHAPE(execution, "Execution", NULL);
static const struct field executions_fields[] = {
    TEXT("instance", NEEDED, "its id"),
    OBJECTS("executions", NEEDED, &execution, "the newest first; those that were pruned are gone"),
    WHOLE("next", NEEDED | OR_NULL, 0, INT64_MAX, "give it as after for the next page; null: this was the last"),
    END
};
SHAPE(executions, "Executions", NULL);

static const struct field accepted_fields[] = {
    TEXT("instance", NEEDED, "its id"), TRUTH("accepted", NEEDED, "true: recorded"), END
};
SHAPE(accepted, "Accepted", "{\"instance\":\"o-1\",\"accepted\":true}");

static const struct field removed_fields[] = {
    TEXT("instance", NEEDED, "its id"),
    COUNT_FIELD("instances", "how many went, descendants included"),
    COUNT_FIELD("executions", "of these"),
    COUNT_FIELD("events", "of these"),
    END
};
SHAPE(removed, "Removed", NULL);

static const struct field pruned_fields[] = {
    COUNT_FIELD("instances", "how many went, descendants included"),
    COUNT_FIELD("executions", "of these"),
    COUNT_FIELD("events", "of these"),
    END
};
SHAPE(pruned, "Pruned", NULL);

static const struct field undone_fields[] = {
    TEXT("instance", NEEDED, "its id"), TEXT("code", NEEDED, "why not"), END
};
SHAPE(undone, "Undone", NULL);
static const struct field batched_fields[] = {
    TEXT("action", NEEDED, "as it was asked for"),
    TRUTH("dry_run", NEEDED, "true: nothing was done"),
    COUNT_FIELD("matched", "how many there are on this page"),
    COUNT_FIELD("done", "to how many it was done"),
    TEXTS("instances", NEEDED, 0, 0, "their ids"),
    OBJECTS("failed", NEEDED, &undone, "those it could not be done to"),
    TEXT("next", NEEDED | OR_NULL, "give it as after for the next page; null: this was the last"),
    END
};
SHAPE(batched, "Batched", NULL);

/* ---- Schedules --------------------------------------------------------------------------- */

static const struct field occurrence_fields[] = {
    MOMENT("at", "the instant"),
    TEXT("utc", NEEDED, "the same, like 2026-10-25T00:30:00Z"),
    TEXT("local", NEEDED, "the same in the zone, like 2026-10-25T02:30:00+02:00"),
    END
};
SHAPE(occurrence, "Occurrence", NULL);
static const struct field preview_fields[] = {
    TEXT("zone", NEEDED, "of the local times"),
    OBJECTS("next", NEEDED, &occurrence, "in order; fewer than asked for when the schedule ends"),
    END
};
SHAPE(preview, "NextOccurrences", NULL);
static const struct field stored_schedule_fields[] = {
    TEXT("name", NEEDED, "of the schedule"),
    COUNT_FIELD("revision", "of its spec; If-Match takes it"),
    OBJECT("spec", NEEDED, &takes_schedule, "as it was stored, without what has its default"),
    TRUTH("paused", 0, "true: it starts nothing"),
    TEXT("reason", 0, "why it is paused"),
    TEXT("finding", 0, "why it cannot go on"),
    WHOLE("created_ms", 0, 0, INT64_MAX, "when it was stored first"),
    WHOLE("updated_ms", 0, 0, INT64_MAX, "when it changed last"),
    WHOLE("next_ms", 0, 0, INT64_MAX, "the occurrence that is waited for"),
    WHOLE("last_ms", 0, 0, INT64_MAX, "no occurrence up to here is due any more"),
    WHOLE("runs", 0, 0, INT64_MAX, "occurrences that were started"),
    WHOLE("missed", 0, 0, INT64_MAX, "occurrences that were not started because they were past"),
    WHOLE("skipped", 0, 0, INT64_MAX, "occurrences that were not started because a run was open"),
    WHOLE("existed", 0, 0, INT64_MAX, "occurrences whose instance was there already"),
    WHOLE("triggered", 0, 0, INT64_MAX, "starts by hand"),
    TEXT("open", 0, "the run that must end before another begins"),
    FIELD_OF(KIND_NUMBERS, "waiting", 0, "occurrences that wait for that"),
    OBJECT("last_run", 0, NULL, "instance, state and ended_ms of the run that ended last"),
    OBJECT("backfill", 0, NULL, "how far a backfill is"),
    TEXT("zone", NEEDED, "of the local times"),
    OBJECTS("next", NEEDED, &occurrence, "the next three; none while it is paused"),
    END
};
SHAPE(stored_schedule, "StoredSchedule", NULL);
static const struct field schedule_page_fields[] = {
    OBJECTS("schedules", NEEDED, &stored_schedule, "by name"),
    TEXT("next", NEEDED | OR_NULL, "give it as after for the next page; null: this was the last"),
    END
};
SHAPE(schedule_page, "Schedules", NULL);
static const struct field put_schedule_fields[] = {
    TEXT("name", NEEDED, "of the schedule"),
    COUNT_FIELD("revision", "of its spec; If-Match takes it"),
    TEXT("zone", NEEDED, "of the local times"),
    OBJECTS("next", NEEDED, &occurrence, "the next three"),
    END
};
SHAPE(put_schedule, "ScheduleStored", NULL);
static const struct field steered_schedule_fields[] = {
    TEXT("name", NEEDED, "of the schedule"),
    TEXT("instance", 0, "of a trigger: what was started"),
    TRUTH("accepted", NEEDED, "true: recorded"),
    END
};
SHAPE(steered_schedule, "ScheduleAccepted", NULL);
static const struct field removed_schedule_fields[] = {
    TEXT("name", NEEDED, "of the schedule"), TRUTH("removed", NEEDED, "true: it is gone"), END
};
SHAPE(removed_schedule, "ScheduleRemoved", NULL);

/* ---- Queues ------------------------------------------------------------------------------ */

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
    TEXT("group", OR_NULL, "none so far"),                                                   \
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
SHAPE(counts, "QueueCounts", NULL);
static const struct field queues_fields[] = {
    OBJECTS("queues", NEEDED, &counts, "by name"),
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
    TRUTH("groups", NEEDED, "false so far"),
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

/* ---- Workers -------------------------------------------------------------------------------- */

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

/* ---- Which is whose ---------------------------------------------------------------------------- */

static const struct {
    void (*handle)(struct call *c);
    unsigned status; /* 0: every 2xx */
    const struct shape *shape;
} answers[] = {
    {handle_health, 0, &health}, {handle_health, 503, &health},
    {handle_ready, 0, &health}, {handle_ready, 503, &health}, {handle_version, 0, &version},
    {handle_login, 0, &session}, {handle_logout, 0, &session}, {handle_session, 0, &session},
    {handle_registry, 0, &registry}, {handle_node, 0, &node_now},
    {handle_overview, 0, &overview}, {handle_series, 0, &series},
    {handle_start, 0, &started}, {handle_job, 0, &started}, {handle_rerun, 0, &started}, {handle_list, 0, &instances}, {handle_batch, 0, &batched},
    {handle_get, 0, &instance_now}, {handle_executions, 0, &executions}, {handle_export, 0, &export}, {handle_wait, 0, &instance}, {handle_remove, 0, &removed}, {handle_prune, 0, &pruned},
    {handle_history, 0, &history}, {handle_why, 0, &why}, {handle_timeline, 0, &timeline}, {handle_tree, 0, &tree},
    {handle_state, 0, &state}, {handle_state_key, 0, &published},
    {handle_raise, 0, &accepted}, {handle_steer, 0, &accepted},
    {handle_preview, 0, &preview}, {handle_schedule_next, 0, &preview}, {handle_schedules, 0, &schedule_page},
    {handle_schedule, 0, &stored_schedule}, {handle_put_schedule, 0, &put_schedule}, {handle_remove_schedule, 0, &removed_schedule},
    {handle_pause_schedule, 0, &steered_schedule}, {handle_resume_schedule, 0, &steered_schedule},
    {handle_trigger_schedule, 0, &steered_schedule}, {handle_backfill_schedule, 0, &steered_schedule},
    {handle_queues, 0, &queues}, {handle_queue, 0, &queue}, {handle_push, 0, &pushed},
    {handle_pop, 0, &popped}, {handle_pop, 423, &locked}, {handle_ack, 0, &acked},
    {handle_extend, 0, &extended}, {handle_release, 0, &released}, {handle_deadletter, 0, &buried},
    {handle_redrive, 0, &moved}, {handle_purge, 0, &purged}, {handle_remove_queue, 0, &queue_gone}, {handle_pause, 0, &done},
    {handle_unpause, 0, &done}, {handle_revoke, 0, &done}, {handle_messages, 0, &messages},
    {handle_message, 0, &message}, {handle_locks, 0, &locks}, {handle_get_config, 0, &config},
    {handle_put_config, 0, &config}, {handle_patch_config, 0, &config}, {handle_poll, 0, &polled}, {handle_complete, 0, &recorded},
    {handle_fail, 0, &recorded}, {handle_beat, 0, &beaten}, {handle_abandon, 0, &abandoned},
    {handle_workers, 0, &workers},
};

static const struct {
    void (*only)(struct call *c); /* NULL: wherever that name is */
    struct field field;
} asks[] = {
    {NULL, TEXT("id", NEEDED, "of the instance", .min = 1, .max = LIMIT_CHILD_ID_BYTES, .pattern = NO_CONTROLS)},
    {NULL, TEXT("name", NEEDED, "of the event", IS_NAME)},
    {NULL, TEXT("queue", NEEDED, "its name", IS_NAME)},
    {NULL, TEXT("schedule", NEEDED, "its name", IS_NAME)},
    {NULL, TEXT("message", NEEDED, "its id")},
    {NULL, TEXT("key", NEEDED, "of the published state", IS_NAME)},
    {handle_state_key, WHOLE("version", 0, 0, INT64_MAX, "what the client has", .otherwise = "0")},
    {handle_state_key, WHOLE("wait_ms", 0, 0, 60000, "how long to wait for a newer one", .otherwise = "0")},
    {NULL, TEXT("token", NEEDED, "as the poll gave it")},
    {NULL, TEXT("status", 0, "only those in this state, or in one of several: failed,blocked", .pattern = SOME_STATES)},
    {NULL, TEXT("q", 0, "only those with this text in id, name, custom status, finding or error; ASCII letters in either case")},
    {NULL, TRUTH("roots", 0, "only those without a parent", .otherwise = "false")},
    {NULL, TEXT("sort", 0, "newest: by time of start; the others are one page, of the newest 10,000 that match: updated, waiting (longest first), attempts", .words = "newest updated waiting attempts")},
    {NULL, TEXT("waiting", 0, "only open ones that wait for this: event, event:NAME …; retrying: for another attempt, noworker: for a worker", .pattern = "^(activity|timer|event|child|retrying|noworker)(:[^\\u0000]*)?$")},
    {handle_list, TEXT("with", 0, "waiting: waiting_for is filled in, as far as there is time", .words = "waiting")},
    {NULL, TEXT("orchestration", 0, "only those of this one")},
    {NULL, TEXT("prefix", 0, "only those that begin so")},
    {NULL, TEXT("parent", 0, "only children of this instance", .max = LIMIT_CHILD_ID_BYTES, .pattern = NO_CONTROLS)},
    {NULL, WHOLE("created_after", 0, 0, INT64_MAX, "only those started later; milliseconds since 1970")},
    {handle_history, WHOLE("limit", 0, 1, 1000, "how many at most", .otherwise = "1000")},
    {NULL, WHOLE("limit", 0, 1, 1000, "how many at most", .otherwise = "100")},
    {handle_executions, WHOLE("after", 0, 0, INT64_MAX, "next of the page before")},
    {handle_get, TEXT("with", 0, "why: the reasons in the same answer", .words = "why")},
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

const struct shape *gives_of(const struct route *r, unsigned status)
{
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        if (answers[i].handle == r->handle &&
            (answers[i].status == status || (!answers[i].status && status / 100 == 2)))
            return answers[i].shape;
    if (status < 400)
        return NULL;
    return r->family == FAMILY_QUEUE ? &queue_error : &error;
}

const struct field *asks_of(const struct route *r, pawl_str name)
{
    for (size_t i = 0; i < COUNT_OF(asks); i++)
        if (pawl_str_is(name, asks[i].field.name) && (!asks[i].only || asks[i].only == r->handle))
            return &asks[i].field;
    return NULL;
}
