/* SPDX-License-Identifier: MIT */
/*
 * schedule/schedule_json.h -- a schedule as JSON, for the store and for HTTP.
 *
 * One table says which members there are (schedule_json.c).  The names are stored and public:
 * append, never rename.
 */
#ifndef PAWL_SCHEDULE_SCHEDULE_JSON_H
#define PAWL_SCHEDULE_SCHEDULE_JSON_H

#include "pawl/json.h"
#include "pawl/schedule.h"

/* An object; unknown, doubled and mistyped members are refused.  What is returned lives in `mem`. */
pawl_status schedule_read_json(pawl_schedule *ret, pawl_str json, pawl_mem *mem,
                               pawl_error *reterr);
/* The object, without members that have their default. */
void schedule_write_json(pawl_json *w, const pawl_schedule *s);

#endif
