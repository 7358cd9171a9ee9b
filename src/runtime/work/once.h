/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/once.h -- calls that are made at most once. [engine]
 *
 * Before such an attempt begins, its row is marked, durably (ONCE_MARK in lock_token).  A row that is
 * found with the mark, or with the token of a lease that is over, was begun by a process or worker
 * that is gone.  How far it came is not known, so the call is lost.  Only as many rows are marked as
 * there are threads: a death does not lose what was only queued.
 *
 *   waiting ─▶ marked by a commit ─▶ queued for a thread ─▶ runs      [once_take, once_committed]
 */
#ifndef PAWL_RUNTIME_ONCE_H
#define PAWL_RUNTIME_ONCE_H

#include "runtime/core/runtime.h"

#define ONCE_MARK "once"

/* A job of such a call: begin it, or let it wait for a place. */
void once_take(pawl_runtime *rt, struct job *job);
/* Places may be free: begin what waits. */
void once_look(pawl_runtime *rt);
/* The item of a job that is to be marked (JOB_BEGINS) or was marked for nothing (JOB_UNBEGUN). */
void once_item(pawl_runtime *rt, struct job *job);
/* The stage of such a job, or of any other, is committed; takes the job (NULL is fine). */
void once_committed(pawl_runtime *rt, struct job *job);
/* Closing, no thread takes jobs any more: what was marked and not begun is given back. */
void once_give_back(pawl_runtime *rt);
void once_free(pawl_runtime *rt);
/* Was it begun by a process or worker that is gone?  Then the call is decided: lost. */
bool once_is_lost(const struct call_policy *p, const pawl_work *w);
void once_lost(pawl_runtime *rt, const pawl_work *w);

/* Does a job wait for a place? */
static inline bool once_waits(const pawl_runtime *rt)
{
    return rt->once.waiting != 0;
}

#endif
