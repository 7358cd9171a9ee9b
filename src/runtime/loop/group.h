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

#endif
