/* SPDX-License-Identifier: MIT */
/* runtime/request/remove.h -- take instances out of the store, trees at a time. [engine] */
#ifndef PAWL_RUNTIME_REMOVE_H
#define PAWL_RUNTIME_REMOVE_H

#include "runtime/core/verdict.h"

enum verdict_kind remove_handle(pawl_runtime *rt, struct letter *call);
void prune_handle(pawl_runtime *rt, struct letter *call);
/* Stage the removal of the finished trees on one page of instances: those below *cursor (0: from
 * the newest).  Stops when `limit` instances are staged; the last tree may exceed it.  Sets *cursor
 * to where the next call goes on, 0 at the end, and *retfound when there was a finished root. */
pawl_status prune_page(pawl_runtime *rt, int64_t before_ms, uint32_t limit, uint64_t *cursor,
                       pawl_reply *reply, bool *retfound, pawl_error *err);
/* Delete a few rows of removed instances; called when there is nothing else to do. */
void remove_purge(pawl_runtime *rt);
/* Stage the removal of one instance.  False: a read failed, or it is busy in this group. */
bool remove_one(pawl_runtime *rt, const pawl_row *row, bool tell_parent);
void remove_answer(pawl_runtime *rt, struct letter *call, const pawl_reply *reply);

#endif
