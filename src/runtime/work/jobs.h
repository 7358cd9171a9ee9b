/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/jobs.h -- the attempts in memory: made, found, watched, forgotten. [engine]
 *
 * What is to become of an attempt is decided in job.c, attempt.c and once.c.
 */
#ifndef PAWL_RUNTIME_JOBS_H
#define PAWL_RUNTIME_JOBS_H

#include "runtime/core/runtime.h"

/* When the row is to be looked at for a time-out; 0: never. */
int64_t job_deadline(const struct call_policy *p, int64_t scheduled_ms, bool started);
void job_free(struct job *job);
/* It is no longer in memory: neither watched nor found under its row. */
void job_forget(pawl_runtime *rt, struct job *job);
/* The commit that decided it failed, and it will be decided again: until then it is found under its
 * row, so that it is given up when the row goes.  Without memory it is not found. */
void job_undecided(pawl_runtime *rt, struct job *job);
/* It waits for something and needs no worker: others are fetched in its place. */
void job_only_waits(pawl_runtime *rt, struct job *job);
/* In the table, and no worker has it: it waits for its turn; NULL when out of memory. */
struct job *job_keep(pawl_runtime *rt, const pawl_work *w);
/* Its turn has come. */
void job_begins(pawl_runtime *rt, struct job *job);
/* Mono time of the next limit, or of details to write; INT64_MAX: none. */
int64_t job_next_limit(pawl_runtime *rt);
/* Watch its limits from now on. */
void job_watch(pawl_runtime *rt, struct job *job);
/* Of this row, not yet in the table; NULL when out of memory, or when what an earlier attempt left
 * cannot be read now. */
struct job *job_create(pawl_runtime *rt, const pawl_work *w);
/* The same without what an earlier attempt left: it is not run. */
struct job *job_copy(pawl_runtime *rt, const pawl_work *w);
/* The limits of the attempt, of its silence, and of the whole call; mono clock. */
int64_t job_limit(const struct job *job, int64_t beat_ms, int64_t began_ms);

/* Closing: no limits are watched any more; while the jobs live. */
void jobs_unwatch(pawl_runtime *rt);
void jobs_open(pawl_runtime *rt);
void jobs_close(pawl_runtime *rt);

/* Called for a job that is withdrawn. */
static inline void jobs_tell_withdrawn(pawl_runtime *rt, void (*fn)(pawl_runtime *, const void *))
{
    rt->jobs.withdrawn = fn;
}

/* Called when a job that came by its turn is freed. */
static inline void jobs_tell_over(pawl_runtime *rt, void (*fn)(pawl_runtime *, struct job *))
{
    rt->jobs.over = fn;
}

/* It ran when the last process died: store its completion first. */
static inline void jobs_suspect(pawl_runtime *rt, uint64_t work_id)
{
    need_memory(idset_add(&rt->blame.suspects, work_id));
}

/* The attempt of that row in memory; NULL: none. */
static inline struct job *job_find(const pawl_runtime *rt, uint64_t work_id)
{
    return map_get(&rt->jobs.by_id, work_id);
}

/* The next attempt in memory, in any order; the cursor begins at 0.  NULL: that was all. */
static inline struct job *jobs_next(const pawl_runtime *rt, size_t *cursor)
{
    return map_next(&rt->jobs.by_id, cursor);
}

/* Attempts in memory that are not yet done, and do not only wait. */
static inline size_t jobs_backlog(const pawl_runtime *rt)
{
    return rt->jobs.backlog;
}

/* Free work lies in the store: new rows queue behind it. */
static inline void jobs_lie(pawl_runtime *rt)
{
    rt->jobs.store_backlog = true;
}

/* Is there room for work that lies in the store? */
static inline bool jobs_may_fetch(const pawl_runtime *rt)
{
    return rt->jobs.store_backlog && rt->jobs.backlog == 0;
}

/* The group is committed, or not: what it admitted is in memory, or is not. */
static inline void jobs_committed(pawl_runtime *rt)
{
    rt->jobs.admitted_in_group = 0;
}

/* How the attempts of open calls went (tries.h). */
static inline struct tries *jobs_tries(pawl_runtime *rt)
{
    return &rt->jobs.tries;
}

/* Where attempts got to (details.h). */
static inline struct details *jobs_details(pawl_runtime *rt)
{
    return &rt->jobs.details;
}

/* Did it run when the last process died? */
static inline bool job_is_suspect(const pawl_runtime *rt, uint64_t work_id)
{
    return idset_has(&rt->blame.suspects, work_id);
}

#endif
