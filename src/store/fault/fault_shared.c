/* SPDX-License-Identifier: MIT */
/* store/fault/fault_shared.c -- the operations of lanes, which fail when told to. */
#include "base/attr.h"
#include "store/fault/fault_private.h"

/* Another handle fails by the same decisions, and counts its calls by itself. */
static pawl_store *fault_another(pawl_store *s, pawl_error *reterr)
{
    struct fault_store *f = faulty_self(s);
    pawl_store *inner = f->inner->ops->shared->another(f->inner, reterr);
    pawl_store *another = inner ? fault_store(inner, f->decide, f->user) : NULL;
    if (another)
        fault_store_on_done(another, f->done);
    return another;
}

static pawl_status fault_join(pawl_store *s, uint64_t node, int64_t now_ms, pawl_fence *ret,
                              pawl_error *reterr)
{
    FAULTY_AT(ops->shared, join, join, node, now_ms, ret, reterr);
}

static pawl_status fault_claim(pawl_store *s, pawl_fence *fence, uint64_t wanted,
                               pawl_error *reterr)
{
    FAULTY_FENCE(ops->shared, claim, claim, wanted, reterr);
}

static pawl_status fault_adopt(pawl_store *s, pawl_fence *fence, pawl_error *reterr)
{
    FAULTY_FENCE(ops->shared, adopt, adopt, reterr);
}

static pawl_status fault_new_ids(pawl_store *s, pawl_fence *fence, pawl_error *reterr)
{
    FAULTY_FENCE(ops->shared, new_ids, new_ids, reterr);
}

static void fault_hint(pawl_store *s, uint64_t shards)
{
    faulty_self(s)->inner->ops->shared->hint(faulty_self(s)->inner, shards);
}

static pawl_status fault_give(pawl_store *s, pawl_fence *fence, uint64_t shards, uint64_t heir,
                              pawl_error *reterr)
{
    FAULTY_FENCE(ops->shared, give, give, shards, heir, reterr);
}

static pawl_status fault_leave(pawl_store *s, pawl_fence *fence, pawl_error *reterr)
{
    FAULTY_FENCE(ops->shared, leave, leave, reterr);
}

static pawl_status fault_bury(pawl_store *s, uint64_t epoch, int64_t now_ms, pawl_error *reterr)
{
    FAULTY_AT(ops->shared, bury, bury, epoch, now_ms, reterr);
}

static pawl_status fault_view(pawl_store *s, pawl_mem *mem, pawl_lane_view *ret, pawl_error *reterr)
{
    FAULTY_AT(ops->shared, view, view, mem, ret, reterr);
}

const pawl_shared_ops fault_shared_ops = {
    .size = sizeof(pawl_shared_ops),
    .another = fault_another,
    .join = fault_join,
    .claim = fault_claim,
    .adopt = fault_adopt,
    .new_ids = fault_new_ids,
    .hint = fault_hint,
    .give = fault_give,
    .leave = fault_leave,
    .bury = fault_bury,
    .view = fault_view,
};
