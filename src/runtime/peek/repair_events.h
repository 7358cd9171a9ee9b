/* SPDX-License-Identifier: MIT */
/*
 * runtime/peek/repair_events.h -- which rows the events of one execution require, and which are
 * missing. [engine]
 */
#ifndef PAWL_RUNTIME_REPAIR_EVENTS_H
#define PAWL_RUNTIME_REPAIR_EVENTS_H

#include "runtime/core/runtime.h"

/* An instance that is being repaired. */
struct repair {
    pawl_runtime *rt;
    struct stage *s;
    uint64_t whole_id; /* the rounds of the events below it were applied to the end */
    pawl_event_list events;
    struct map open; /* ref -> its schedule event: not completed, not withdrawn */
    bool suspended;
    bool trouble;     /* the store did not answer */
    bool damaged;     /* a stored row of this instance cannot be read */
    pawl_error error; /* why */
};

/* Did the read succeed?  Otherwise note trouble or damage. */
bool repair_was_read(struct repair *m, pawl_status rc, const pawl_error *err);
/* Stage what is missing for this execution.  False: a read failed, or a row is damaged. */
bool repair_execution(struct repair *m, uint64_t number);

#endif
