/* SPDX-License-Identifier: MIT */
/*
 * engine/kind.c -- what the engine must know about each kind of event.
 *
 * What code can wait for comes in families of one shape (tables/awaitables.h): a schedule
 * that opens a task, completions that close it, a decision that withdraws it.
 * Everything else in this room asks here.  Called by all files of this room.
 */
#include "engine/engine_private.h"

#include "tables/awaitables.h"

struct kind_family {
    const char *word; /* as in the seeds' messages */
    int schedule, done, failed, cancel;
    int refusal; /* follows a refused schedule at once */
};

static const struct kind_family families[] = {
#define FAMILY(word, shown, schedule, done, failed, cancel, refusal, row)                          \
    {word, schedule, done, failed, cancel, refusal},
    AWAITABLES(FAMILY)
#undef FAMILY
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

    return (f && kind == f->schedule) || kind_is_sent(kind);
}

bool kind_is_sent(int kind)
{
    return kind == PAWL_EV_ORCHESTRATION_CHAINED || kind == PAWL_EV_EVENT_SENT;
}

int kind_schedule_of(int kind)
{
    const struct kind_family *f = family_of(kind);

    return f && kind != f->schedule ? f->schedule : 0;
}

bool kind_belongs_to_end(int kind)
{
    return (event_class(kind) == CLASS_DECISION && kind_schedule_of(kind)) ||
           kind == PAWL_EV_UPDATE_ANSWERED;
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

    return f ? f->refusal : 0; /* what is sent has nothing to complete */
}

int kind_of_message(int message_kind)
{
    switch (message_kind) {
#define COMPLETION(message, event)                                                                 \
    case message:                                                                                  \
        return event;
        COMPLETIONS(COMPLETION)
#undef COMPLETION
    default: /* no completion */
        return 0;
    }
}

const char *kind_word(int kind)
{
    const struct kind_family *f = family_of(kind);

    if (f)
        return f->word;
    switch (kind) {
    case PAWL_EV_ORCHESTRATION_CHAINED:
        return "detached";
    case PAWL_EV_EVENT_SENT:
        return "event";
    case PAWL_EV_QUEUE_PUSHED:
        return "queue";
    case PAWL_EV_STATE_CHANGED:
        return "key";
    case PAWL_EV_UPDATE_ANSWERED:
        return "update";
    case PAWL_EV_ATTRIBUTES_SET:
        return "attributes";
    default:
        return "none";
    }
}

bool kind_is_failure(int kind)
{
    const struct kind_family *f = family_of(kind);

    return f && kind == f->failed;
}
