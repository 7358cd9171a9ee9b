/* SPDX-License-Identifier: MIT */
/*
 * pawl/schedule.h -- when something is to happen again and again.
 *
 * A schedule says when (cron lines in a time zone, a period, or a list of times) and what:
 * start an orchestration, or push to a queue.  One such time is an occurrence.  It is an
 * instant, in milliseconds since 1970.
 *
 * Cron lines have five fields, `minute hour day month weekday`, or six with seconds in front:
 *
 *     30 2 * * *            each night at 02:30
 *     0 6 * * 1-5           at 06:00, Monday to Friday
 *     0 0 L * *             at the beginning of the last day of each month
 *     @hourly               also @daily @midnight @weekly @monthly @yearly @annually
 *
 * A field is a list of `a`, `a-b` and `*` (or `?`); the last two may have a step `/n`.  Months and
 * weekdays may be English names; Sunday is 0 and 7; `L` is the last day of the month.  When neither the day nor the weekday begins with `*`, a
 * day that fits one of them is enough.  Several lines are a union: equal instants count once.
 *
 * When clocks change: a line whose hour begins with `*` counts instants, so it goes on evenly
 * through the change.  Any other line names times on the wall.  A time that does not
 * exist that day moves to the first instant after the gap (or is skipped: `gap`); one that exists
 * twice counts once (`fold` says which one).
 *
 * Time zones are the TZif files of the system (Debian's package tzdata) in the directory TZDIR,
 * or /usr/share/zoneinfo.  UTC needs no file.
 */
#ifndef PAWL_SCHEDULE_H
#define PAWL_SCHEDULE_H

#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_SCHEDULE_LINES_MAX   16                         /* cron lines of a schedule */
#define PAWL_SCHEDULE_LINE_BYTES  255                        /* of one line */
#define PAWL_SCHEDULE_TIMES_MAX   1000                       /* of a list of times */
#define PAWL_SCHEDULE_EVERY_MIN   PAWL_SECONDS(1)            /* the shortest period */
#define PAWL_SCHEDULE_EVERY_MAX   PAWL_DAYS(36600)           /* the longest: 100 years */
#define PAWL_SCHEDULE_INPUT_BYTES ((size_t)32 * 1024)        /* of the input */
#define PAWL_SCHEDULE_QUEUE_MAX   1000                       /* occurrences that wait */
#define PAWL_SCHEDULE_WINDOW      PAWL_HOURS(24)             /* missed_window_ms when it is 0 */
#define PAWL_SCHEDULE_END         PAWL_SECONDS(253402300799) /* 9999-12-31T23:59:59Z */

/* The words are stored and are in the JSON: append, never change. */
/* clang-format off */
/* A time on the wall that does not exist, because the clocks went forward. */
#define PAWL_DST_GAPS(X)                                                                \
    X(SHIFT,     0, "shift",     "at the first instant after the gap, once")             \
    X(SKIP,      1, "skip",      "not at all")
/* A time on the wall that exists twice, because the clocks went back. */
#define PAWL_DST_FOLDS(X)                                                               \
    X(FIRST,     0, "first",     "the earlier instant")                                  \
    X(SECOND,    1, "second",    "the later instant")                                    \
    X(BOTH,      2, "both",      "both instants")
/* An occurrence is due, and the run before it has not ended. */
#define PAWL_OVERLAPS(X)                                                                \
    X(SKIP,      0, "skip",      "do not start this one")                                \
    X(QUEUE,     1, "queue",     "start it when that one has ended; the newest wait")    \
    X(CANCEL,    2, "cancel",    "cancel that one; start when it has ended")             \
    X(TERMINATE, 3, "terminate", "terminate that one, and start")                        \
    X(ALLOW,     4, "allow",     "start it beside that one")
/* Several occurrences are past when the schedule is looked at. */
#define PAWL_MISSEDS(X)                                                                 \
    X(LATEST,    0, "latest",    "the newest one counts")                                \
    X(ALL,       1, "all",       "each counts, oldest first; the newest 1,000")          \
    X(SKIP,      2, "skip",      "none that is older than 60 seconds")
/* clang-format on */

typedef enum pawl_dst_gap {
#define PAWL_GAP_ENUM(name, number, word, text) PAWL_GAP_##name = (number),
    PAWL_DST_GAPS(PAWL_GAP_ENUM)
#undef PAWL_GAP_ENUM
} pawl_dst_gap;

typedef enum pawl_dst_fold {
#define PAWL_FOLD_ENUM(name, number, word, text) PAWL_FOLD_##name = (number),
    PAWL_DST_FOLDS(PAWL_FOLD_ENUM)
#undef PAWL_FOLD_ENUM
} pawl_dst_fold;

typedef enum pawl_overlap {
#define PAWL_OVERLAP_ENUM(name, number, word, text) PAWL_OVERLAP_##name = (number),
    PAWL_OVERLAPS(PAWL_OVERLAP_ENUM)
#undef PAWL_OVERLAP_ENUM
} pawl_overlap;

typedef enum pawl_missed {
#define PAWL_MISSED_ENUM(name, number, word, text) PAWL_MISSED_##name = (number),
    PAWL_MISSEDS(PAWL_MISSED_ENUM)
#undef PAWL_MISSED_ENUM
} pawl_missed;

/* Zero is the default of each member. */
typedef struct pawl_schedule {
    size_t size;      /* set by PAWL_SCHEDULE */
    const char *name; /* 1..255 bytes, as a queue's */
    /* When: exactly one of cron, every_ms and at_ms. */
    const char *const *cron; /* ends with NULL; at most 16 lines */
    int64_t every_ms;        /* whenever this much time has passed since 1970 … */
    int64_t offset_ms;       /* … and this much more; less than every_ms */
    const int64_t *at_ms;    /* in any order; at most 1,000 */
    size_t at_count;
    const char *zone; /* of the cron lines, "Europe/Berlin"; NULL: UTC */
    pawl_dst_gap gap;
    pawl_dst_fold fold;
    int64_t from_ms, until_ms; /* no occurrence earlier than the one, later than the other */
    int64_t jitter_ms;         /* start up to this much later, by a fixed amount per occurrence */
    uint64_t max_runs;         /* 0: no limit */
    /* How. */
    pawl_overlap overlap;
    uint32_t queue_max; /* with PAWL_OVERLAP_QUEUE: as many may wait; 0: 1 */
    pawl_missed missed;
    int64_t missed_window_ms; /* nothing older counts; 0: 24 hours */
    bool paused;
    bool pause_on_failure; /* a run that failed pauses the schedule */
    /* What: an orchestration or a queue. */
    const char *orchestration, *version; /* version NULL: the newest at each occurrence */
    const char
        *queue; /* push `input` here, once per occurrence: its id is the dedup id, so a trigger
                        * or a backfill that is repeated within the queue's window adds nothing */
    int64_t priority;        /* of the item that is pushed */
    pawl_str input;          /* JSON; empty: none */
    bool allow_unregistered; /* accept an orchestration that is not registered */
} pawl_schedule;

#define PAWL_SCHEDULE(...) PAWL_LEND(pawl_schedule, __VA_ARGS__)

/*
 * The next occurrences after `after_ms`, at most `n`, in order; *retn says how many there are:
 * fewer when the schedule ends before.  Pure but for reading the zone's file: nothing is stored and
 * no clock is read.  Neither a name nor what to start is needed.
 *
 *   PAWL_INVALID    a member is wrong; one line says which and what to do
 *   PAWL_NOT_FOUND  the zone is unknown here
 *   PAWL_LIMIT      a cron line never fires (no occurrence in 28 years)
 */
PAWL_API pawl_status pawl_schedule_next(const pawl_schedule *schedule, int64_t after_ms,
                                        int64_t *ret, size_t n, size_t *retn,
                                        pawl_error *reterr) PAWL_MUST_USE;

#define PAWL_LOCAL_TIME_BYTES 32
/* An instant as people in a zone write it: "2026-10-25T02:30:00+02:00"; NULL or "UTC":
 * "2026-10-25T00:30:00Z".  Milliseconds only when there are some.  PAWL_NOT_FOUND as above. */
PAWL_API pawl_status pawl_local_time(const char *zone, int64_t at_ms,
                                     char ret[PAWL_LOCAL_TIME_BYTES],
                                     pawl_error *reterr) PAWL_MUST_USE;

/*
 * A schedule as JSON: an object with the names of the members above (cron is a text or a
 * list of texts, at_ms a list of numbers), without `name`.  Members that have their default are left out.  Both calls use
 * `mem` for what they return.  Reading refuses unknown members and wrong types; whether the times
 * make sense is said by pawl_schedule_next() and when the schedule is stored.
 */
PAWL_SIZED pawl_status pawl_schedule_from_json(pawl_str json, pawl_mem *mem, pawl_schedule *ret,
                                               pawl_error *reterr) PAWL_MUST_USE;
PAWL_API pawl_status pawl_schedule_to_json(const pawl_schedule *schedule, pawl_mem *mem,
                                           pawl_str *ret, pawl_error *reterr) PAWL_MUST_USE;

/* The calls marked PAWL_SIZED (pawl/types.h): `size` is sizeof(pawl_schedule) of the caller. */
PAWL_API pawl_status pawl_schedule_from_json_sized(pawl_str json, pawl_mem *mem, pawl_schedule *ret,
                                                   pawl_error *reterr, size_t size) PAWL_MUST_USE;

/* ---- Stored schedules ------------------------------------------------------------------------
 *
 * On stores with atomic rounds and delayed visibility (SQLite, PostgreSQL, memory); elsewhere
 * PAWL_UNSUPPORTED.  As the calls of pawl/client.h: PAWL_OK means durable.  All of them are
 * pawl_client_call() with the operations PAWL_OP_SCHEDULE_…, which have the callback form, too.
 *
 * An occurrence starts the instance NAME@2026-11-17T06:00:00Z, once, also after crashes.
 */
struct pawl_client;

/* Store a schedule, or change it: what is due by the old spec is begun by it, and the new one
 * counts from now on.  `if_revision`: PAWL_CONFLICT when its revision is another one; 0: whatever is
 * there; PAWL_IF_NEW: PAWL_EXISTS when it exists. */
PAWL_API pawl_status pawl_schedule_put(struct pawl_client *c, const pawl_schedule *schedule,
                                       uint64_t if_revision, pawl_error *reterr) PAWL_MUST_USE;
/* Its runs stay. */
PAWL_API pawl_status pawl_schedule_remove(struct pawl_client *c, const char *name,
                                          pawl_error *reterr) PAWL_MUST_USE;
/* `reason` may be NULL. */
PAWL_API pawl_status pawl_schedule_pause(struct pawl_client *c, const char *name,
                                         const char *reason, pawl_error *reterr) PAWL_MUST_USE;
/* What passed meanwhile is treated as `missed` says. */
PAWL_API pawl_status pawl_schedule_resume(struct pawl_client *c, const char *name,
                                          pawl_error *reterr) PAWL_MUST_USE;
/* Start NAME@manual-KEY now, beside whatever runs; the same key twice starts once.  NULL: a key of
 * its own. */
PAWL_API pawl_status pawl_schedule_trigger(struct pawl_client *c, const char *name, const char *key,
                                           pawl_error *reterr) PAWL_MUST_USE;
/* Begin the occurrences from `from_ms` to `to_ms` (both of the past, at most 10,000): one run after
 * the other, or with `allow` all at once.  Those whose instance exists are left out and counted.
 * `when` says at which times; NULL: the schedule as it is now.  Only its times are used. */
PAWL_API pawl_status pawl_schedule_backfill(struct pawl_client *c, const char *name,
                                            int64_t from_ms, int64_t to_ms, bool allow,
                                            const pawl_schedule *when,
                                            pawl_error *reterr) PAWL_MUST_USE;
/*
 * A schedule and how far it is, as JSON; PAWL_NOT_FOUND.  Members that are 0 or empty are left out:
 *
 *   name, revision, created_ms, updated_ms, spec (as above)
 *   next_ms          the occurrence that is waited for
 *   last_ms          no occurrence up to here is due any more
 *   runs, missed, skipped, existed, triggered     counts
 *   open             the run that must end before another begins
 *   waiting          occurrences that wait for that, as a list
 *   last_run         {instance, state, ended_ms} of the run that ended last
 *   paused, reason; finding: why it cannot go on
 *   backfill         {on, from_ms, to_ms, cursor_ms, allow, spec, started, existed, open}
 */
PAWL_API pawl_status pawl_schedule_get(struct pawl_client *c, const char *name, pawl_mem *mem,
                                       pawl_str *ret, pawl_error *reterr) PAWL_MUST_USE;
/* A page of them, by name, as a JSON array: names with the prefix (NULL: all), after `after` (NULL:
 * from the first), at most `limit` (0: 100; at most 1,000).  A shorter page is the last. */
PAWL_API pawl_status pawl_schedule_list(struct pawl_client *c, const char *prefix,
                                        const char *after, uint32_t limit, pawl_mem *mem,
                                        pawl_str *ret, pawl_error *reterr) PAWL_MUST_USE;

#ifndef PAWL_PLAIN

static inline pawl_status pawl_schedule_from_json(pawl_str json, pawl_mem *mem, pawl_schedule *ret,
                                                  pawl_error *reterr)
{
    return pawl_schedule_from_json_sized(json, mem, ret, reterr, sizeof(*ret));
}

#endif

#ifdef __cplusplus
}
#endif
#endif
