/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/limit_view.h -- limits for people: how much is in use, who waits, whose turn is when.
 *
 * Any thread; it looks under the lock of the handout.  Work that waits is counted as far as its trays
 * were read from the store, so the true number may be larger.  Called by api/limit_client.c and api/query.c.
 */
#ifndef PAWL_RUNTIME_LIMIT_VIEW_H
#define PAWL_RUNTIME_LIMIT_VIEW_H

#include "runtime/core/runtime.h"

/* Members in_use, waiting, throttled and, if asked for, keys; none when this process does not own the store. */
void limit_write_use(pawl_runtime *rt, pawl_str name, bool keys, pawl_json *w, pawl_mem *mem);
/* A row that is not running waits for this limit, if for any. */
void limit_tell(pawl_runtime *rt, const pawl_work *row, pawl_mem *mem, pawl_waiting *ret);

#endif
