/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/health.h -- how the store is, and what follows from it.
 *
 * Reads and commits that fail say so here: the engine backs off, health turns bad, and in the worst
 * case everything is refused.  Nobody else decides when to try again after trouble of the store.
 */
#ifndef PAWL_RUNTIME_HEALTH_H
#define PAWL_RUNTIME_HEALTH_H

#include "runtime/core/runtime.h"

/* The store could not be read: say so once, wait a little before the next pass. */
void health_unread(pawl_runtime *rt, const pawl_error *err);
/* A commit failed and will be tried again, later and later. */
void health_failed(pawl_runtime *rt, pawl_status rc, const pawl_error *err);
/* FENCED or UNKNOWN: nothing may be written any more.  The process ends (stepping: rt->health.dead). */
void health_stop_dead(pawl_runtime *rt, pawl_status rc, const char *text);
/* The store is not where it was opened: from now on everything is refused. */
void health_gone(pawl_runtime *rt, const char *text);
/* Damage it met, a log that grows: told in the log, once a second at most. */
void health_look(pawl_runtime *rt);
/* When that look has something to tell; mono, INT64_MAX: nothing. */
int64_t health_next_look(pawl_runtime *rt);
/* Trouble with the store is over. */
void health_well(pawl_runtime *rt);
/* While the disk is full only what frees or finishes is taken on, and health says so. */
bool health_no_room(pawl_runtime *rt);
/* What those who still wait are told: SHUTDOWN, or UNKNOWN when the last commit may have
 * happened. */
pawl_status health_ending(const pawl_runtime *rt, const char **rettext);

#endif
