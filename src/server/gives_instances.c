/* SPDX-License-Identifier: MIT */
/* server/gives_instances.c -- the answers about instances (gives.h). */
#include "server/gives.h"

#include "server/handlers.h"
#include "tables/instance_texts.h"

/* clang-format off */
static const struct field start_updated_fields[] = {
    TEXT("update", NEEDED, "its id"),
    ANY("result", 0, "the answer"),
    TEXT("encoding", 0, "text or base64, when result is not JSON"),
    TEXT("rejected", 0, "why the code rejected it"),
    TEXT("error", 0, "why there is no answer; absent, as result and rejected: it is not answered yet"),
    END
};
SHAPE(start_updated, "StartUpdated", NULL);
static const struct field started_fields[] = {
    TEXT("instance", NEEDED, "its id"),
    COUNT_FIELD("execution", "the one that runs"),
    TRUTH("created", NEEDED, "false: it was there already, and is the same"),
    OBJECT("update", 0, &start_updated, "what became of the update that came with it"),
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
    OBJECT("ask", 0, &ask, "of an event: what it asks for"),                                               \
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
    OBJECTS("tries", 0, &try_made, "of an activity: its last failed attempts since the server started, at most eight"), \
    ANY("details", 0, "of an activity: of its last heartbeat that had any"), \
    TEXT("details_encoding", 0, "text or base64, when details are not JSON"), \
    OBJECT("limit", 0, &limit_wait, "of an activity: the limit it waits for")

static const struct field limit_wait_fields[] = {
    TEXT("name", NEEDED, "of the limit"),
    TEXT("key", NEEDED | OR_NULL, "of the bucket; null: that of all, or of calls without a key"),
    COUNT_FIELD("in_use", "attempts that have a place in it"),
    WHOLE("concurrency", NEEDED | OR_NULL, 0, INT64_MAX, "how many places there are; null: it waits for the rate"),
    COUNT_FIELD("before", "calls that come before it, as far as is known"),
    MOMENT("begins_at", "of a rate: when its turn may come"),
    END
};
SHAPE(limit_wait, "LimitWait", NULL);

static const struct field ask_fields[] = {
    TEXT("title", 0, "in one line"),
    TEXT("text", 0, "in more"),
    OBJECT("schema", 0, NULL, "of the answer; it is not compared"),
    TEXTS("choices", 0, 1, LIMIT_ASK_CHOICES, "answers to choose from"),
    END
};
SHAPE(ask, "Ask", NULL);
static const struct field open_ask_fields[] = {
    TEXT("instance", NEEDED, "raise the event to it"),
    TEXT("orchestration", NEEDED, "which one it is of"),
    COUNT_FIELD("execution", "which one of it"),
    COUNT_FIELD("id", "of the task"),
    TEXT("event", NEEDED, "that answers"),
    MOMENT("since", "when it was asked"),
    OBJECT("ask", NEEDED, &ask, "what is wanted"),
    END
};
SHAPE(open_ask, "OpenAsk", NULL);
static const struct field open_asks_fields[] = {
    OBJECTS("asks", NEEDED, &open_ask, "those of the oldest instance first"),
    TEXT("next", NEEDED | OR_NULL, "give it as after for the next page; null: this was the last"),
    END
};
SHAPE(open_asks, "OpenAsks", NULL);
static const struct field waiting_fields[] = {WAITING, END};
SHAPE(waiting, "Waiting", NULL);

#define TEXT_MEMBER(field, as, presence, label, about)                                       \
    FIELD_OF((presence) == JSON_IF_SET ? KIND_OBJECT : KIND_TEXT, #field,                    \
             (presence) == TEXT_ALWAYS ? NEEDED | OR_NULL : OR_NULL, about),
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
static const struct field count_group_fields[] = {
    ANY("value", NEEDED, "a text or a whole number"),
    COUNT_FIELD("count", "of the instances that have it"),
    END
};
SHAPE(count_group, "CountGroup", NULL);
static const struct field counted_fields[] = {
    TEXT("by", NEEDED | OR_NULL, "what they are counted by"),
    OBJECTS("groups", NEEDED, &count_group, "in the order of their values, at most 1,000"),
    COUNT_FIELD("total", "that match"),
    COUNT_FIELD("examined", "that were looked at"),
    TRUTH("more", NEEDED, "there may be more, and counts may be too small"),
    END
};
SHAPE(counted, "Counted", NULL);
static const struct field updated_fields[] = {
    TEXT("update", NEEDED, "its id"),
    ANY("result", OR_NULL, "what the code answered; null: nothing; left out with 202: not answered yet"),
    TEXT("encoding", 0, "of a result that is not JSON: text or base64"),
    END
};
SHAPE(updated, "Updated", NULL);
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
    OBJECTS("events", NEEDED, &event, "in order; at most 20,000, and about 4 MiB of payloads"),
    WHOLE("next", 0, 0, INT64_MAX, "there are more: give it as after; left out, these were the last"),
    OBJECT("timeline", 0, &timeline, "with the last events: the run as bars, up to its last change"),
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

const struct given gives_instances[] = {
    {handle_start, 0, &started}, {handle_job, 0, &started}, {handle_rerun, 0, &started},
    {handle_list, 0, &instances}, {handle_count, 0, &counted}, {handle_batch, 0, &batched}, {handle_get, 0, &instance_now},
    {handle_executions, 0, &executions}, {handle_export, 0, &export}, {handle_wait, 0, &instance},
    {handle_remove, 0, &removed}, {handle_prune, 0, &pruned}, {handle_history, 0, &history},
    {handle_why, 0, &why}, {handle_timeline, 0, &timeline}, {handle_tree, 0, &tree},
    {handle_asks, 0, &open_asks},
    {handle_state, 0, &state}, {handle_state_key, 0, &published}, {handle_raise, 0, &accepted},
    {handle_update, 0, &updated}, {handle_update_result, 0, &updated},
    {handle_steer, 0, &accepted}, {handle_set_attributes, 0, &accepted},
    {0},
};
/* clang-format on */
