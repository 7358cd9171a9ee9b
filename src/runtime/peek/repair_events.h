/* SPDX-License-Identifier: MIT */
/*
 * runtime/peek/repair_events.h -- what the events of one execution mean, and what of it is missing. [engine]
 */
#ifndef PAWL_RUNTIME_REPAIR_EVENTS_H
#define PAWL_RUNTIME_REPAIR_EVENTS_H

#include "runtime/core/runtime.h"

/* An instance that is being repaired. */
struct repair {
    pawl_runtime *rt;
    struct stage *s;
    uint64_t whole_id; /* rounds of events below it were applied to the end */
    pawl_event_list events;
    struct map open; /* ref -> its schedule event: not completed, not withdrawn */
    bool suspended;
    bool trouble;     /* the store did not answer */
    bool damaged;     /* what is stored of this instance cannot be read … */
    pawl_error error; /* … and why */
};

/* What was read is there; else it is noted why not. */
bool repair_was_read(struct repair *m, pawl_status rc, const pawl_error *err);
/* Stage what is missing for this execution.  False: trouble, to be tried again, or damage. */
bool repair_execution(struct repair *m, uint64_t number);

#endif
