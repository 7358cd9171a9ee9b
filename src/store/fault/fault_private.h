/* SPDX-License-Identifier: MIT */
/*
 * store/fault/fault_private.h -- what the files of the failing store share.
 *
 * Every operation has the same body: ask, count, perhaps call, perhaps lie.  FAULTY() writes it
 * once; only those that move the caller's fence differ (fault.c, fault_shared.c).
 */
#ifndef PAWL_STORE_FAULT_FAULT_PRIVATE_H
#define PAWL_STORE_FAULT_FAULT_PRIVATE_H

#include "store/fault/fault.h"
#include "store/store.h"

#include <stdatomic.h>

struct fault_store {
    pawl_store base;
    pawl_store_ops ops; /* what the inner store has */
    pawl_store *inner;  /* owned */
    fault_decide_fn *decide;
    void *user;
    void (*done)(void *user); /* NULL: not called */
    atomic_uint_fast64_t calls[FAULT_OP_COUNT];
};

static inline struct fault_store *faulty_self(pawl_store *s)
{
    return (struct fault_store *)s;
}

struct fault faulty_ask(pawl_store *s, enum fault_op op);
pawl_status faulty_report(pawl_store *s, struct fault fault, enum fault_op op, pawl_status status,
                          pawl_error *reterr);
/* Our engine's thread is the inner store's too; returns what to set back. */
const pawl_store *faulty_inner_engine(pawl_store *s);

/* The call as the inner store's table `at` has it, under the name of `op`. */
#define FAULTY_AT(at, op, call, ...)                                                               \
    struct fault fault = faulty_ask(s, FAULT_OP_##op);                                             \
    pawl_status status = PAWL_OK;                                                                  \
    if (fault.kind != FAULT_BEFORE) {                                                              \
        const pawl_store *engine = faulty_inner_engine(s);                                         \
        status = faulty_self(s)->inner->at->call(faulty_self(s)->inner, __VA_ARGS__);              \
        (void)store_engine_set(engine);                                                            \
    }                                                                                              \
    return faulty_report(s, fault, FAULT_OP_##op, status, reterr)

#define FAULTY(op, ...) FAULTY_AT(ops, op, op, __VA_ARGS__)

/* The same for a call that moves the caller's fence: it stays where the reply did not come. */
#define FAULTY_FENCE(at, op, call, ...)                                                            \
    struct fault fault = faulty_ask(s, FAULT_OP_##op);                                             \
    pawl_status status = PAWL_OK;                                                                  \
    pawl_fence moved = *fence;                                                                     \
    if (fault.kind != FAULT_BEFORE)                                                                \
        status = faulty_self(s)->inner->at->call(faulty_self(s)->inner, &moved, __VA_ARGS__);      \
    if (fault.kind == FAULT_NONE)                                                                  \
        *fence = moved;                                                                            \
    return faulty_report(s, fault, FAULT_OP_##op, status, reterr)

extern const pawl_shared_ops fault_shared_ops, fault_lane_ops; /* with nodes, without */

#endif
