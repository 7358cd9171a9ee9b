/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/resident.h -- the router: instances in memory. [engine]
 *
 * A resident is a cache of the store: its row as committed and, when it can run
 * here, its execution (fiber, tasks, arena).  Dropping it loses nothing; the
 * next letter loads the row and replays the history.  The memory budget evicts
 * the one used longest ago (dehydration); what is staged in the group being
 * built is never evicted by the budget.
 *
 * Invariants (resident_check): every resident is in both maps and in the list
 * once; rt->resident_bytes is the sum of their bytes.
 */
#ifndef PAWL_RUNTIME_RESIDENT_H
#define PAWL_RUNTIME_RESIDENT_H

#include "runtime/core/runtime.h"

struct resident *resident_by_uid(pawl_runtime *rt, uint64_t uid);
struct resident *resident_by_id(pawl_runtime *rt, pawl_str id);
/* Take in a row (copied).  NULL when out of memory. */
struct resident *resident_add(pawl_runtime *rt, const pawl_row *row);
/* Replace the row after a commit (copied). */
void resident_set_row(struct resident *r, const pawl_row *row);
/* The row as this group sees it: staged if staged, else committed. */
pawl_row *resident_row(struct resident *r);
void resident_touch(pawl_runtime *rt, struct resident *r);
/* Count its memory again after a turn. */
void resident_weigh(pawl_runtime *rt, struct resident *r);
/* Forget it.  Its stage, if any, must be gone. */
void resident_evict(pawl_runtime *rt, struct resident *r);
/* Evict the oldest until the budget holds; `all`: everything not staged, except `keep`. */
void resident_trim(pawl_runtime *rt, bool all, const struct resident *keep);
void resident_check(pawl_runtime *rt);

/* ---- load.c -------------------------------------------------------------- */

enum load_result {
    LOAD_OK,
    LOAD_NONE,    /* no such instance */
    LOAD_TROUBLE, /* the store did not answer: try again later */
    LOAD_DAMAGED, /* its row cannot be read, now or later: nobody else waits for it */
};

/* The resident for (uid, or id when uid is 0), loading its row if needed. */
enum load_result load_row(pawl_runtime *rt, uint64_t uid, pawl_str id, struct resident **ret);

enum ready_result {
    READY_OK,       /* r->x can take messages */
    READY_CODELESS, /* no code for its version here */
    READY_BLOCKED,  /* code and history disagree: `finding` is filled in */
    READY_TROUBLE,  /* memory or store: try again later */
};

/* Give it an execution: find the code, replay the history, fill the mailbox. */
enum ready_result load_execution(pawl_runtime *rt, struct resident *r,
                                 struct engine_finding *finding);
/* A tables-only execution of its history, for ending it without its code.
 * NULL: trouble.  The caller destroys it. */
execution *load_tables(pawl_runtime *rt, const pawl_row *row);
/* Fill the mailbox of r->x from the store; false: trouble.  Damaged: not filled. */
bool load_mailbox(pawl_runtime *rt, struct resident *r, bool *retdamaged);
/* The spec of an execution of this row with this code (NULL: tables only). */
struct execution_spec load_spec(pawl_runtime *rt, const pawl_row *row,
                                const struct code_entry *code, void *log_user);

#endif
