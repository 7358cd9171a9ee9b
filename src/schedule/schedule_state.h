/* SPDX-License-Identifier: MIT */
/*
 * schedule/schedule_state.h -- what is stored of a schedule: its spec, and how far it is.
 *
 * It is the data of a named object (pawl/provider.h), as JSON.  The runtime reads it when an
 * occurrence may be due, lets look.h change it, and writes it in the round that starts the run.
 *
 * Invariants: last_ms only grows, and every occurrence up to it was started, pushed, put into
 * `waiting`, or counted in `missed` or `skipped`.  `open` is the run that must end before another
 * may begin; with the overlap `allow`, and for queues, it is empty.
 */
#ifndef PAWL_SCHEDULE_SCHEDULE_STATE_H
#define PAWL_SCHEDULE_SCHEDULE_STATE_H

#include "base/arena.h"
#include "base/vec.h"
#include "pawl/schedule.h"

/* Past occurrences that are still to be started: those after cursor_ms, up to to_ms. */
struct schedule_backfill {
    bool on;
    int64_t from_ms, to_ms, cursor_ms;
    bool allow;    /* all at once; otherwise one run after the other */
    pawl_str spec; /* JSON: other times than those of the schedule; empty: the same */
    uint64_t started, existed;
    pawl_str open; /* the run that must end first */
};

struct schedule_state {
    pawl_str spec; /* JSON, as in pawl/schedule.h, without `paused` */
    uint64_t revision;
    int64_t created_ms;
    int64_t last_ms; /* occurrences up to here are done with */
    int64_t next_ms; /* the next occurrence; 0: none */
    uint64_t row;    /* id of the message that is visible then; 0: none */
    uint64_t runs, missed, skipped, existed, triggered;
    pawl_str open;
    bool stopping; /* `open` was asked to end */
    LIST(int64_t) waiting;
    bool paused;
    pawl_str reason;  /* why it is paused */
    pawl_str finding; /* why it cannot go on */
    struct {
        pawl_str instance, state;
        int64_t ended_ms;
    } ended; /* the run that ended last */
    struct schedule_backfill backfill;
};

/* What it returns points into `json` and `mem`.  False: it is no state of ours. */
bool state_read(struct schedule_state *ret, pawl_str json, pawl_mem *mem);
pawl_str state_write(const struct schedule_state *s, pawl_mem *mem);
/* The same for people: with its name and version, without what only the runtime needs. */
pawl_str state_show(const struct schedule_state *s, pawl_str name, uint64_t version,
                    int64_t updated_ms, pawl_mem *mem);

#endif
