/* SPDX-License-Identifier: MIT */
/* server/gives_schedules.c -- the answers about schedules (gives.h). */
#include "server/gives.h"

#include "server/schedules.h"

/* clang-format off */
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
    TRUTH("started", 0, "trigger of an orchestration: its instance is there; false: it is not yet, after 5 s"),
    END
};
SHAPE(steered_schedule, "ScheduleAccepted", NULL);
static const struct field removed_schedule_fields[] = {
    TEXT("name", NEEDED, "of the schedule"), TRUTH("removed", NEEDED, "true: it is gone"), END
};
SHAPE(removed_schedule, "ScheduleRemoved", NULL);

const struct given gives_schedules[] = {
    {handle_preview, 0, &preview}, {handle_schedule_next, 0, &preview},
    {handle_schedules, 0, &schedule_page}, {handle_schedule, 0, &stored_schedule},
    {handle_put_schedule, 0, &put_schedule}, {handle_remove_schedule, 0, &removed_schedule},
    {handle_pause_schedule, 0, &steered_schedule}, {handle_resume_schedule, 0, &steered_schedule},
    {handle_trigger_schedule, 0, &steered_schedule},
    {handle_backfill_schedule, 0, &steered_schedule},
    {0},
};
/* clang-format on */
