/* SPDX-License-Identifier: MIT */
/*
 * base/result.h -- what a recorded completion says about its task.
 *
 * Kind and attempts are in the attrs of the event, as far as they are not what
 * the event's kind says by itself (pawl/event.h).  Called by the engine, which
 * gives them to code, and by the view, which shows them: so that both agree.
 */
#ifndef PAWL_BASE_RESULT_H
#define PAWL_BASE_RESULT_H

#include "pawl/event.h"

struct result_of {
    pawl_result_kind kind;
    uint32_t attempts; /* of an activity; 0: no activity, or it never ran */
};

/* Of a completion; histories written before kinds were recorded say "failed". */
/* How the attrs begin that have nothing but the time at which the only attempt began. */
#define RESULT_STARTED "{\"started_ms\":"

struct result_of result_of_event(int event_kind, pawl_str attrs);

#endif
