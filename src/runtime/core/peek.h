/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/peek.h -- what a weak store needs, as the rest of the runtime sees it. [engine]
 *
 * A store may lack atomic rounds or delayed visibility (pawl/provider.h, K1 to K5).  src/runtime/peek
 * makes up for both.  No other file asks what a store lacks: it makes these calls at the moments
 * they name, and for a store that has both (`ops` is NULL) they do nothing.
 */
#ifndef PAWL_RUNTIME_PEEK_H
#define PAWL_RUNTIME_PEEK_H

#include "runtime/core/runtime.h"

struct peek_ops {
    pawl_status (*recover)(pawl_runtime *rt, pawl_error *reterr);
    bool (*repair)(pawl_runtime *rt, bool *retunread);
    void (*committed)(pawl_runtime *rt, const struct stage *s);
    void (*failed)(pawl_runtime *rt, const struct stage *s);
    bool (*timer)(pawl_runtime *rt, struct stage *s, const struct step *step);
    void (*adopted)(pawl_runtime *rt, struct stage *s, pawl_message *mail, uint64_t was);
    pawl_status (*find_taken)(pawl_runtime *rt, struct resident *r, const struct letter *l);
    void (*child_again)(pawl_runtime *rt, struct stage *s, const pawl_row *row);
};

/* The store is open: `ops` for a weak one, NULL for any other. */
static inline void peek_use(pawl_runtime *rt, const struct peek_ops *ops)
{
    rt->peek.ops = ops;
}

/* The store was taken over: every instance may have a half-done round. */
static inline pawl_status peek_recover(pawl_runtime *rt, pawl_error *reterr)
{
    return rt->peek.ops ? rt->peek.ops->recover(rt, reterr) : PAWL_OK;
}

/* Are there instances with a half-done round? */
static inline bool peek_waits(const pawl_runtime *rt)
{
    return rt->peek.repair.count != 0;
}

/* Stage what completes their rounds.  True: this pass does that, and nothing else.  *retunread: some
 * could not be read, and are tried again. */
static inline bool peek_repair(pawl_runtime *rt, bool *retunread)
{
    return peek_waits(rt) && rt->peek.ops->repair(rt, retunread);
}

static inline void peek_committed(pawl_runtime *rt, const struct stage *s)
{
    if (rt->peek.ops)
        rt->peek.ops->committed(rt, s);
}

/* The commit failed, and half of this stage may have happened. */
static inline void peek_failed(pawl_runtime *rt, const struct stage *s)
{
    if (rt->peek.ops)
        rt->peek.ops->failed(rt, s);
}

/* A step creates a timer.  True: it needs no row. */
static inline bool peek_timer(pawl_runtime *rt, struct stage *s, const struct step *step)
{
    return rt->peek.ops && rt->peek.ops->timer(rt, s, step);
}

/* `mail` takes the place of the row `was`, which was kept for a name. */
static inline void peek_adopted(pawl_runtime *rt, struct stage *s, pawl_message *mail, uint64_t was)
{
    if (rt->peek.ops)
        rt->peek.ops->adopted(rt, s, mail, was);
}

/* OK when this raise is recorded, or in the mailbox, already; EMPTY when not; else the store did not
 * answer. */
static inline pawl_status peek_find_taken(pawl_runtime *rt, struct resident *r,
                                          const struct letter *l)
{
    return rt->peek.ops ? rt->peek.ops->find_taken(rt, r, l) : PAWL_EMPTY;
}

/* A parent starts its own child once more. */
static inline void peek_child_again(pawl_runtime *rt, struct stage *s, const pawl_row *row)
{
    if (rt->peek.ops)
        rt->peek.ops->child_again(rt, s, row);
}

#endif
