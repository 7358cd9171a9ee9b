/* SPDX-License-Identifier: MIT */
/* runtime/instance/load.h -- bring an instance into memory. [engine] */
#ifndef PAWL_RUNTIME_LOAD_H
#define PAWL_RUNTIME_LOAD_H

#include "runtime/core/verdict.h"

enum load_result {
    LOAD_OK,
    LOAD_NONE,    /* no such instance */
    LOAD_TROUBLE, /* the store did not answer: try again later */
    LOAD_DAMAGED, /* its row can never be read: skip it */
};

/* The resident for (uid, or id when uid is 0), loading its row if needed. */
enum load_result load_row(pawl_runtime *rt, uint64_t uid, pawl_str id, struct resident **ret);

/* The same for a letter, from what was read ahead if it can be. */
enum load_result load_for(pawl_runtime *rt, const struct letter *l, struct resident **ret);

/* The resident that a client's call names.  NULL: *ret is the verdict on the call; it is refused
 * (DONE), or its instance has a stage in this group (FIRST). */
struct resident *load_for_call(pawl_runtime *rt, struct letter *call, enum verdict_kind *ret);

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
