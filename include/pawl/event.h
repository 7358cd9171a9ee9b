/* SPDX-License-Identifier: MIT */
/*
 * pawl/event.h -- what a history is made of.
 *
 * A history is a list of events per (instance, execution), numbered 1, 2, 3 …
 * by `seq`.  Some events are *messages* (something happened: a completion, a
 * raised event, a cancel request), the others are *decisions* (the code called
 * something).  Order: a message, the decisions it led to, the next message.
 * A decision that starts work carries the next task id of its execution in
 * `ref`; every later event of that task carries the same `ref`.
 */
#ifndef PAWL_EVENT_H
#define PAWL_EVENT_H

#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(ENUM, stored number, name, class).  Numbers are stored: append, never renumber.
 * START opens a history, MESSAGE happened to it, DECISION was made by code,
 * MARK is skipped by replay matching, END closes it. */
/* clang-format off */
#define PAWL_EVENT_KINDS(X)                                                             \
    X(ORCHESTRATION_STARTED,              1, "OrchestrationStarted",            START)    \
    X(ORCHESTRATION_COMPLETED,            2, "OrchestrationCompleted",          END)      \
    X(ORCHESTRATION_FAILED,               3, "OrchestrationFailed",             END)      \
    X(ORCHESTRATION_CONTINUED_AS_NEW,     4, "OrchestrationContinuedAsNew",     END)      \
    X(ORCHESTRATION_CANCELLED,            5, "OrchestrationCancelled",          END)      \
    X(ORCHESTRATION_TERMINATED,           6, "OrchestrationTerminated",         END)      \
    X(ORCHESTRATION_CANCEL_REQUESTED,     7, "OrchestrationCancelRequested",    MESSAGE)  \
    X(ORCHESTRATION_SUSPENDED,            8, "OrchestrationSuspended",          MESSAGE)  \
    X(ORCHESTRATION_RESUMED,              9, "OrchestrationResumed",            MESSAGE)  \
    X(ACTIVITY_SCHEDULED,                10, "ActivityScheduled",               DECISION) \
    X(ACTIVITY_COMPLETED,                11, "ActivityCompleted",               MESSAGE)  \
    X(ACTIVITY_FAILED,                   12, "ActivityFailed",                  MESSAGE)  \
    X(ACTIVITY_CANCEL_REQUESTED,         13, "ActivityCancelRequested",         DECISION) \
    X(TIMER_CREATED,                     20, "TimerCreated",                    DECISION) \
    X(TIMER_FIRED,                       21, "TimerFired",                      MESSAGE)  \
    X(TIMER_CANCELLED,                   22, "TimerCancelled",                  DECISION) \
    X(EXTERNAL_SUBSCRIBED,               30, "ExternalSubscribed",              DECISION) \
    X(EXTERNAL_EVENT,                    31, "ExternalEvent",                   MESSAGE)  \
    X(EXTERNAL_CANCELLED,                32, "ExternalCancelled",               DECISION) \
    X(EVENT_SENT,                        33, "EventSent",                       DECISION) \
    X(UPDATE_ACCEPTED,                   34, "UpdateAccepted",                  MESSAGE)  \
    X(UPDATE_ANSWERED,                   35, "UpdateAnswered",                  DECISION) \
    X(UPDATE_WAITED,                     36, "UpdateWaited",                    DECISION) \
    X(UPDATE_WAIT_CANCELLED,             37, "UpdateWaitCancelled",             DECISION) \
    X(SUB_ORCHESTRATION_SCHEDULED,       40, "SubOrchestrationScheduled",       DECISION) \
    X(SUB_ORCHESTRATION_COMPLETED,       41, "SubOrchestrationCompleted",       MESSAGE)  \
    X(SUB_ORCHESTRATION_FAILED,          42, "SubOrchestrationFailed",          MESSAGE)  \
    X(SUB_ORCHESTRATION_CANCEL_REQUESTED,43, "SubOrchestrationCancelRequested", DECISION) \
    X(ORCHESTRATION_CHAINED,             50, "OrchestrationChained",            DECISION) \
    X(CUSTOM_STATUS_UPDATED,             60, "CustomStatusUpdated",             DECISION) \
    X(PATCH_RECORDED,                    61, "PatchRecorded",                   MARK)     \
    X(STATE_CHANGED,                     62, "StateChanged",                    DECISION) \
    X(ATTRIBUTES_SET,                    63, "AttributesSet",                   DECISION) \
    X(STATE_CARRIED,                     65, "StateCarried",                    MARK)     \
    X(QUEUE_PUSHED,                      70, "QueuePushed",                     DECISION)
/* clang-format on */

typedef enum pawl_event_kind {
#define PAWL_EVENT_ENUM(name, number, text, klass) PAWL_EV_##name = (number),
    PAWL_EVENT_KINDS(PAWL_EVENT_ENUM)
#undef PAWL_EVENT_ENUM
} pawl_event_kind;

/* "ActivityScheduled", …; NULL for a number that is no kind. */
PAWL_API const char *pawl_event_kind_name(int kind);
/* The number of a name; 0 when there is none. */
PAWL_API int pawl_event_kind_of(pawl_str name);

/*
 * One event.
 *
 * `name`  orchestration, activity, event, child orchestration, patch, queue or state key.
 * `data`  input, result, error text, event data, status text, state value or reason.
 * `attrs` empty, or a small JSON object with what else the kind has:
 *   OrchestrationStarted      version, seed, parent, parent_uid, parent_execution, parent_ref,
 *                             deadline_ms (a moment: it is cancelled then);
 *                             schedule, scheduled_at (of a run of a schedule)
 *   ActivityScheduled         the call options that are not default; refused
 *   ActivityCompleted/Failed  attempts (when not 1), crashes (when above 0), last_error,
 *                             lease (part of the token it came by), started_ms (when the last
 *                             attempt began; none: the only one, within 20 ms, or the history
 *                             was written before this was recorded), worker (outside, that had it), tries (at most the last
 *                             eight failed attempts before it: [{n, from, to, worker, error}])
 *   ActivityFailed, SubOrchestrationFailed   kind (a pawl_result_kind word; none: "failed")
 *   TimerCreated              delay_ms, fire_at_ms; refused
 *   TimerFired                fire_at_ms
 *   ExternalEvent             message (the row id of the mail; an ExternalCancelled of the
 *                             same ref after it gives it back under that id), was (the row
 *                             it was adopted from, in stores without atomic rounds)
 *   SubOrchestrationScheduled, OrchestrationChained   instance, version, abandon,
 *                             deadline_ms, limit_ms (how long that is, if it is its own); refused
 *   EventSent                 instance, await_start; refused
 *   UpdateAccepted            update (its id), message (as of ExternalEvent)
 *   UpdateAnswered            update; rejected; left (by the end, not by the code); refused (too
 *                             large an answer: rejected with that text)
 *   OrchestrationContinuedAsNew   version
 *   QueuePushed               priority, delay_ms (when not 0); refused
 *   StateChanged              cleared; refused
 *   any END                   forced (ended from outside), refused (over a limit)
 */
typedef struct pawl_event {
    uint64_t rid; /* row id: grows over the whole store, never used again */
    uint64_t execution;
    uint64_t seq;
    uint64_t ref;
    int kind; /* pawl_event_kind */
    pawl_str name;
    pawl_str data;
    pawl_str attrs;
    int64_t at_ms;
} pawl_event;

/* X(ENUM, stored number, name, addressee): messages for an INSTANCE, a QUEUE or a SCHEDULE.  Numbers and names
 * are stored: append, never change.  What they have, beside `uid` or `instance`:
 *   Start              name, data = input, attrs as OrchestrationStarted
 *   ActivityCompleted, ActivityFailed   execution, ref, data; attrs attempts, last_error
 *   TimerFired         execution, ref; visible at fire time; id = rid of TimerCreated
 *   ExternalRaised     name, data; attrs key and await_start when an orchestration raised it
 *   Update             name, data; attrs update: its id
 *   ChildCompleted, ChildFailed   execution, ref, data
 *   Cancel, Terminate, Suspend, Resume   data = reason
 *   CancelDeadline     written by older versions: dropped
 *   Wake               makes the instance look at its messages again (retry, new code)
 *   QueuePush          name = queue, data; attrs as QueuePushed
 *   Schedule           name = schedule; look at it: an occurrence is due, or with data, an instance
 *                      id, and attrs = ended: a run of it has ended */
/* clang-format off */
#define PAWL_MESSAGE_KINDS(X)                               \
    X(START,              1, "Start",             INSTANCE) \
    X(ACTIVITY_COMPLETED, 2, "ActivityCompleted", INSTANCE) \
    X(ACTIVITY_FAILED,    3, "ActivityFailed",    INSTANCE) \
    X(TIMER_FIRED,        4, "TimerFired",        INSTANCE) \
    X(EXTERNAL_RAISED,    5, "ExternalRaised",    INSTANCE) \
    X(CHILD_COMPLETED,    6, "ChildCompleted",    INSTANCE) \
    X(CHILD_FAILED,       7, "ChildFailed",       INSTANCE) \
    X(CANCEL,             8, "Cancel",            INSTANCE) \
    X(TERMINATE,          9, "Terminate",         INSTANCE) \
    X(SUSPEND,           10, "Suspend",           INSTANCE) \
    X(RESUME,            11, "Resume",            INSTANCE) \
    X(CANCEL_DEADLINE,   12, "CancelDeadline",    INSTANCE) \
    X(WAKE,              13, "Wake",              INSTANCE) \
    X(QUEUE_PUSH,        14, "QueuePush",         QUEUE)    \
    X(SCHEDULE,          15, "Schedule",          SCHEDULE) \
    X(UPDATE,            16, "Update",            INSTANCE)
/* clang-format on */

typedef enum pawl_message_kind {
#define PAWL_MESSAGE_ENUM(name, number, text, to) PAWL_MSG_##name = (number),
    PAWL_MESSAGE_KINDS(PAWL_MESSAGE_ENUM)
#undef PAWL_MESSAGE_ENUM
} pawl_message_kind;

#ifdef __cplusplus
}
#endif
#endif
