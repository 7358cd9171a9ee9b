/* SPDX-License-Identifier: MIT */
/*
 * tables/awaitables.h -- what code can wait for, and the events that belong to it.
 *
 * Each has the same shape: a decision that opens a task, events that complete it, a decision that
 * withdraws it.  The engine (engine/kind.c), the rows that follow from events (instance/seal.c,
 * loop/group.c, peek/repair_events.c), the readers (api/query.c, view/render.c) and the progress of
 * `run` (cli/progress.c) follow this list.  What only one of them knows, such as the time of a
 * timer, is theirs.
 */
#ifndef PAWL_TABLES_AWAITABLES_H
#define PAWL_TABLES_AWAITABLES_H

#include "pawl/event.h"

/* Does a row of its own, work or message, stand for the open task?  A wait for an event or an
 * update has none. */
enum awaitable_row { ROW_NONE, ROW_OWN };

/* clang-format off */
/* X(word of the engine's findings, word for people, schedule, done, failed, cancel,
 *   what follows a refused schedule at once, row); failed 0: it cannot fail */
#define AWAITABLES(X)                                                                            \
    X("activity", "activity", PAWL_EV_ACTIVITY_SCHEDULED, PAWL_EV_ACTIVITY_COMPLETED,            \
      PAWL_EV_ACTIVITY_FAILED, PAWL_EV_ACTIVITY_CANCEL_REQUESTED, PAWL_EV_ACTIVITY_FAILED,       \
      ROW_OWN)                                                                                   \
    X("timer", "timer", PAWL_EV_TIMER_CREATED, PAWL_EV_TIMER_FIRED, 0,                           \
      PAWL_EV_TIMER_CANCELLED, PAWL_EV_TIMER_CANCELLED, ROW_OWN)                                 \
    X("external", "event", PAWL_EV_EXTERNAL_SUBSCRIBED, PAWL_EV_EXTERNAL_EVENT, 0,               \
      PAWL_EV_EXTERNAL_CANCELLED, PAWL_EV_EXTERNAL_CANCELLED, ROW_NONE)                          \
    X("update", "update", PAWL_EV_UPDATE_WAITED, PAWL_EV_UPDATE_ACCEPTED, 0,                     \
      PAWL_EV_UPDATE_WAIT_CANCELLED, PAWL_EV_UPDATE_WAIT_CANCELLED, ROW_NONE)                    \
    X("sub", "child", PAWL_EV_SUB_ORCHESTRATION_SCHEDULED, PAWL_EV_SUB_ORCHESTRATION_COMPLETED,  \
      PAWL_EV_SUB_ORCHESTRATION_FAILED, PAWL_EV_SUB_ORCHESTRATION_CANCEL_REQUESTED,              \
      PAWL_EV_SUB_ORCHESTRATION_FAILED, ROW_OWN)

/* X(message, the event it becomes): messages that complete the task in their `ref`. */
#define COMPLETIONS(X)                                                                           \
    X(PAWL_MSG_ACTIVITY_COMPLETED, PAWL_EV_ACTIVITY_COMPLETED)                                   \
    X(PAWL_MSG_ACTIVITY_FAILED, PAWL_EV_ACTIVITY_FAILED)                                         \
    X(PAWL_MSG_TIMER_FIRED, PAWL_EV_TIMER_FIRED)                                                 \
    X(PAWL_MSG_CHILD_COMPLETED, PAWL_EV_SUB_ORCHESTRATION_COMPLETED)                             \
    X(PAWL_MSG_CHILD_FAILED, PAWL_EV_SUB_ORCHESTRATION_FAILED)
/* clang-format on */

/* Does the event open a task that code can wait for?  With a row of its own? */
static inline bool awaitable_opens(int kind)
{
#define OPENS(word, shown, schedule, ...) || kind == (schedule)
    return false AWAITABLES(OPENS);
#undef OPENS
}

static inline bool awaitable_opens_row(int kind)
{
#define OPENS(word, shown, schedule, done, failed, cancel, refusal, row)                           \
    || (kind == (schedule) && (row) == ROW_OWN)
    return false AWAITABLES(OPENS);
#undef OPENS
}

/* Does it withdraw a task that has a row? */
static inline bool awaitable_withdraws_row(int kind)
{
#define WITHDRAWS(word, shown, schedule, done, failed, cancel, refusal, row)                       \
    || (kind == (cancel) && (row) == ROW_OWN)
    return false AWAITABLES(WITHDRAWS);
#undef WITHDRAWS
}

/* Does it complete a task?  Well, or with a failure? */
static inline bool awaitable_succeeds(int kind)
{
#define SUCCEEDS(word, shown, schedule, done, ...) || kind == (done)
    return false AWAITABLES(SUCCEEDS);
#undef SUCCEEDS
}

static inline bool awaitable_fails(int kind)
{
#define FAILS(word, shown, schedule, done, failed, ...) || ((failed) && kind == (failed))
    return false AWAITABLES(FAILS);
#undef FAILS
}

/* Does it end a task that has a row, one way or another? */
static inline bool awaitable_closes_row(int kind)
{
#define CLOSES(word, shown, schedule, done, failed, cancel, refusal, row)                          \
    || ((row) == ROW_OWN && (kind == (done) || ((failed) && kind == (failed)) || kind == (cancel)))
    return false AWAITABLES(CLOSES);
#undef CLOSES
}

/* "activity", "timer", "event", "update", "child"; "task" for any other kind. */
static inline const char *awaitable_word(int schedule)
{
#define WORD_OF(word, shown, opens, ...)                                                           \
    if (schedule == (opens))                                                                       \
        return shown;
    AWAITABLES(WORD_OF)
#undef WORD_OF
    return "task";
}

#endif
