/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/group.h -- one commit: all stages, one sync, then the consequences.
 * [engine]
 */
#ifndef PAWL_RUNTIME_GROUP_H
#define PAWL_RUNTIME_GROUP_H

#include "runtime/core/runtime.h"

/* Commit what is staged and act on it.  Returns rounds committed; 0: nothing to
 * do or not committed; -1: the runtime is dead (rt->dead says why). */
int group_commit(pawl_runtime *rt);
/* FENCED or UNKNOWN: nothing may be written any more.  The process ends (stepping: rt->dead). */
void group_stop_dead(pawl_runtime *rt, pawl_status rc, const char *text);
/* The store is not where it was opened: from now on everything is refused. */
void group_store_gone(pawl_runtime *rt, const char *text);
/* Damage it met, a log that grows: told in the log, once a second at most. */
void group_look_at_store(pawl_runtime *rt);
/* When that look has something to tell; mono, INT64_MAX: nothing. */
int64_t group_next_look(pawl_runtime *rt);
/* Trouble with the store is over. */
void group_store_is_well(pawl_runtime *rt);

/* ---- told.c: who hears of a commit -------------------------------------------- */

/* Collect an instance changed by this commit. */
void told_change(pawl_runtime *rt, const struct stage *s);
/* What a row says of its instance; strings are borrowed (query.c). */
void info_of_row(pawl_info *info, const pawl_row *row);
void told_queue(pawl_runtime *rt, pawl_str name);
/* Call the feeds and wake waiting clients. */
void told_all(pawl_runtime *rt);
/* No more requests; clients that wait give up. */
void told_stop(pawl_runtime *rt);
/* After that: until the last of them has left; the engine thread has ended. */
void told_drain(pawl_runtime *rt);

struct timespec;
/* A client waits for changes of an instance: enter, look, wait, look …, leave.
 * Any thread.  told_wait is false when the time (NULL: none) or the runtime is over. */
void told_enter(pawl_runtime *rt, struct wait_node *w, pawl_str instance);
bool told_wait(pawl_runtime *rt, struct wait_node *w, const struct timespec *until);
void told_leave(pawl_runtime *rt, struct wait_node *w);

#endif
