/* SPDX-License-Identifier: MIT */
/* server/gives_turns.c -- the answers to workers that run orchestrations (gives.h). */
#include "server/gives.h"

#include "server/turns.h"

/* clang-format off */
static const struct field limits_fields[] = {
    COUNT_FIELD("payload_bytes", "of an input, output or event"),
    COUNT_FIELD("item_bytes", "of an item that is pushed"),
    TRUTH("queues", NEEDED, "the store has queues"),
    COUNT_FIELD("turn_ms", "until a silent worker loses its turn"),
    END
};
SHAPE(limits, "TurnLimits", NULL);
static const struct field lease_fields[] = {
    COUNT_FIELD("ref", "of the call"),
    TEXT("lease", NEEDED, "as of /api/v1/work/poll"),
    TEXT("key", NEEDED, "the same for every attempt"),
    COUNT_FIELD("attempt", "which one, from 1"),
    MOMENT("until", "the end of the lease"),
    END
};
SHAPE(lease, "TurnLease", NULL);
static const struct field answered_fields[] = {
    TEXT("token", NEEDED, "of the answer"),
    TEXT("status", NEEDED, "what became of it", .words = "ok lost refused blocked released"),
    WHOLE("seq", 0, 0, INT64_MAX, "ok: of the last recorded event; refused with `call`: of the event of that call"),
    TEXT("next", 0, "ok: the idle token"),
    OBJECTS("leases", 0, &lease, "ok: inline steps to be done"),
    TEXT("code", 0, "refused, blocked: a word"),
    TEXT("message", 0, "refused, blocked: what is wrong"),
    END
};
SHAPE(answered, "TurnAnswered", NULL);
static const struct field event_fields[] = {
    WHOLE("seq", 0, 1, INT64_MAX, "its number; messages have none yet"),
    TEXT("kind", NEEDED, "ActivityCompleted …"),
    WHOLE("ref", 0, 1, INT64_MAX, "of its task"),
    TEXT("name", 0, "of the activity, event …"),
    TEXT("data", 0, "the payload as it is stored"),
    TEXT("data64", 0, "the same in base64 when it is no UTF-8"),
    OBJECT("attrs", 0, NULL, "what else the kind has"),
    COUNT_FIELD("at", "milliseconds since 1970"),
    END
};
SHAPE(event, "TurnEvent", NULL);
static const struct field turn_fields[] = {
    TEXT("token", NEEDED, "for the answer"),
    TEXT("run", NEEDED, "the execution of the instance"),
    TEXT("instance", NEEDED, "its id"),
    COUNT_FIELD("execution", "of the instance"),
    TEXT("orchestration", NEEDED, "which code"),
    TEXT("version", NEEDED, "of it"),
    COUNT_FIELD("after", "events up to this one are known to the session"),
    OBJECTS("events", NEEDED, &event, "recorded, behind after"),
    TRUTH("more", NEEDED, "the rest is to be fetched"),
    COUNT_FIELD("seq", "of the last recorded event"),
    OBJECTS("messages", NEEDED, &event, "to be applied, in order"),
    OBJECTS("carried", 0, &event, "StateCarried events behind OrchestrationStarted"),
    OBJECTS("leases", NEEDED, &lease, "inline steps to be done again"),
    MOMENT("until", "the end of its lease"),
    END
};
SHAPE(turn, "Turn", NULL);
static const struct field turns_fields[] = {
    COUNT_FIELD("protocol", "1"),
    TEXT("boot", NEEDED, "of this server process: caches of another one are void"),
    COUNT_FIELD("now", "milliseconds since 1970"),
    OBJECT("limits", NEEDED, &limits, "until the next answer"),
    OBJECTS("answered", NEEDED, &answered, "in the order of the answers"),
    OBJECTS("turns", NEEDED, &turn, "to be driven"),
    END
};
SHAPE(turns, "TurnsReply", NULL);
static const struct field page_fields[] = {
    COUNT_FIELD("after", "as asked"),
    OBJECTS("events", NEEDED, &event, "behind it"),
    TRUTH("more", NEEDED, "there are more: ask with next"),
    WHOLE("next", 0, 1, INT64_MAX, "the next after"),
    COUNT_FIELD("seq", "of the last event of the turn's run"),
    END
};
SHAPE(page, "TurnHistory", NULL);

const struct given gives_turns[] = {
    {handle_turns, 0, &turns}, {handle_turn_history, 0, &page},
    {0},
};
/* clang-format on */
