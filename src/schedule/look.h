/* SPDX-License-Identifier: MIT */
/*
 * schedule/look.h -- what is to happen now: overlap, missed occurrences, backfill.
 *
 * A look compares the state of a schedule with the clock and changes it.  It appends what is to be
 * done to a list of acts, which the runtime carries out in the round that writes the state.  A look
 * that finds nothing changes nothing, so an extra look only costs time.
 *
 * Pure: the clock, the plan and the answer to "does this id exist" are the caller's.
 */
#ifndef PAWL_SCHEDULE_LOOK_H
#define PAWL_SCHEDULE_LOOK_H

#include "schedule/plan.h"
#include "schedule/schedule_state.h"

#define LOOK_STARTS_MAX 100     /* runs begun by one look; the rest follows at once */
#define LOOK_ALL_MAX    1000    /* with `missed: all`: older ones are missed */
#define LOOK_COUNT_MAX  1000000 /* missed occurrences are counted up to here at a time */
#define LOOK_SKIP_MS    60000   /* with `missed: skip`: older ones are missed */

enum look_act_kind {
    LOOK_DO_START, /* an instance `id` for the occurrence at_ms */
    LOOK_DO_PUSH,  /* an item for it */
    LOOK_DO_CANCEL,
    LOOK_DO_TERMINATE, /* the instance `id` */
};

struct look_act {
    enum look_act_kind kind;
    int64_t at_ms;
    pawl_str id;
};

struct look {
    struct schedule_state *state;
    const pawl_schedule *spec;
    const struct plan *plan;
    pawl_str name;
    int64_t now_ms;
    pawl_mem *mem;
    LIST(struct look_act) acts;
    bool again; /* there is more to do at once */
};

/* Occurrences that are due; sets next_ms. */
void look_due(struct look *l);
/* The spec is about to change: occurrences that the old one left undone up to now are missed. */
void look_leave(struct look *l);
/* A run ended.  `how` is the name of its state, "removed", or "exists" when an ended instance had
 * taken its id. */
void look_ended(struct look *l, pawl_str id, pawl_str how);
/* Begin the next occurrences of the backfill, by its own plan.  `exists` says whether an instance
 * has that id: PAWL_OK, it has; PAWL_EMPTY, it has not; any other status ends the look. */
pawl_status look_backfill(struct look *l, const struct plan *plan,
                          pawl_status (*exists)(void *user, pawl_str id), void *user);

/* NAME@2026-11-17T06:00:00Z */
pawl_str look_run_id(pawl_mem *mem, pawl_str name, int64_t at_ms);
/* Has this id the form of a run, and of which schedule?  NAME@…Z and NAME@manual-KEY. */
bool look_is_run(pawl_str id, pawl_str *retname);

#endif
