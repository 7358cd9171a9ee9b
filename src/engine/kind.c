/* SPDX-License-Identifier: MIT */
/*
 * engine/kind.c -- what the engine must know about each kind of event.
 *
 * Four families (activity, timer, external, sub) have the same shape: a schedule
 * that opens a task, completions that close it, a decision that withdraws it.
 * One row each; everything else asks here.  Called by all files of this room.
 */
#include "engine/engine_private.h"

struct kind_family {
    const char *word; /* as in the seeds' messages */
    int schedule, done, failed, cancel;
    int refusal; /* follows a refused schedule at once */
};

static const struct kind_family families[] = {
    {"activity", PAWL_EV_ACTIVITY_SCHEDULED,          PAWL_EV_ACTIVITY_COMPLETED,          PAWL_EV_ACTIVITY_FAILED,
     PAWL_EV_ACTIVITY_CANCEL_REQUESTED,                                                                                                                         PAWL_EV_ACTIVITY_FAILED},
    {"timer",    PAWL_EV_TIMER_CREATED,               PAWL_EV_TIMER_FIRED,                 0,                       PAWL_EV_TIMER_CANCELLED,
     PAWL_EV_TIMER_CANCELLED                                                                                                                                                           },
    {"external", PAWL_EV_EXTERNAL_SUBSCRIBED,         PAWL_EV_EXTERNAL_EVENT,              0,                       PAWL_EV_EXTERNAL_CANCELLED,
     PAWL_EV_EXTERNAL_CANCELLED                                                                                                                                                        },
    {"sub",      PAWL_EV_SUB_ORCHESTRATION_SCHEDULED, PAWL_EV_SUB_ORCHESTRATION_COMPLETED,
     PAWL_EV_SUB_ORCHESTRATION_FAILED,                                                                              PAWL_EV_SUB_ORCHESTRATION_CANCEL_REQUESTED,
     PAWL_EV_SUB_ORCHESTRATION_FAILED                                                                                                                                                  },
};

static const struct kind_family *family_of(int kind)
{
    for (size_t i = 0; kind && i < COUNT_OF(families); i++) {
        const struct kind_family *f = &families[i];
        if (kind == f->schedule || kind == f->done || kind == f->failed || kind == f->cancel)
            return f;
    }
    return NULL;
}

enum event_class event_class(int kind)
{
    switch (kind) {
#define CLASS_CASE(name, number, text, klass)                                                      \
    case PAWL_EV_##name:                                                                           \
        return CLASS_##klass;
        PAWL_EVENT_KINDS(CLASS_CASE)
#undef CLASS_CASE
    default: /* a number from a store, not one of our enums */
        return CLASS_NONE;
    }
}

bool kind_opens_task(int kind)
{
    const struct kind_family *f = family_of(kind);

    return (f && kind == f->schedule) || kind == PAWL_EV_ORCHESTRATION_CHAINED;
}

int kind_schedule_of(int kind)
{
    const struct kind_family *f = family_of(kind);

    return f && kind != f->schedule ? f->schedule : 0;
}

int kind_cancel_of(int schedule)
{
    const struct kind_family *f = family_of(schedule);

    assert_that(f != NULL);
    return f->cancel;
}

int kind_refusal_of(int schedule)
{
    const struct kind_family *f = family_of(schedule);

    return f ? f->refusal : 0; /* detached starts have nothing to complete */
}

int kind_of_message(int message_kind)
{
    switch (message_kind) {
    case PAWL_MSG_ACTIVITY_COMPLETED:
        return PAWL_EV_ACTIVITY_COMPLETED;
    case PAWL_MSG_ACTIVITY_FAILED:
        return PAWL_EV_ACTIVITY_FAILED;
    case PAWL_MSG_TIMER_FIRED:
        return PAWL_EV_TIMER_FIRED;
    case PAWL_MSG_CHILD_COMPLETED:
        return PAWL_EV_SUB_ORCHESTRATION_COMPLETED;
    case PAWL_MSG_CHILD_FAILED:
        return PAWL_EV_SUB_ORCHESTRATION_FAILED;
    default: /* no completion */
        return 0;
    }
}

const char *kind_word(int kind)
{
    const struct kind_family *f = family_of(kind);

    if (f)
        return f->word;
    return kind == PAWL_EV_ORCHESTRATION_CHAINED ? "detached" : "none";
}

bool kind_is_failure(int kind)
{
    const struct kind_family *f = family_of(kind);

    return f && kind == f->failed;
}
