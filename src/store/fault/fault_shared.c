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

static pawl_status fault_node_join(pawl_store *s, pawl_str name, pawl_str about, int64_t lease_ms,
                                   bool again, int64_t now_ms, uint64_t *retid, pawl_error *reterr)
{
    FAULTY_AT(ops->shared, node_join, node_join, name, about, lease_ms, again, now_ms, retid,
              reterr);
}

static pawl_status fault_node_beat(pawl_store *s, uint64_t id, pawl_str about, int64_t lease_ms,
                                   int64_t now_ms, pawl_beat *ret, pawl_error *reterr)
{
    FAULTY_AT(ops->shared, node_beat, node_beat, id, about, lease_ms, now_ms, ret, reterr);
}

static pawl_status fault_node_leave(pawl_store *s, uint64_t id, int64_t now_ms, pawl_error *reterr)
{
    FAULTY_AT(ops->shared, node_leave, node_leave, id, now_ms, reterr);
}

static pawl_status fault_node_ask(pawl_store *s, uint64_t id, uint32_t asked, pawl_error *reterr)
{
    FAULTY_AT(ops->shared, node_ask, node_ask, id, asked, reterr);
}

static pawl_status fault_bury_over(pawl_store *s, int64_t now_ms, uint32_t *retcount,
                                   pawl_error *reterr)
{
    FAULTY_AT(ops->shared, bury_over, bury_over, now_ms, retcount, reterr);
}

static pawl_status fault_nodes(pawl_store *s, pawl_mem *mem, pawl_node_list *ret,
                               pawl_error *reterr)
{
    FAULTY_AT(ops->shared, nodes, nodes, mem, ret, reterr);
}

/* clang-format off */
#define LANE_OPS                                                                        \
    .size = sizeof(pawl_shared_ops),                                                    \
    .another = fault_another,                                                           \
    .join = fault_join,                                                                 \
    .claim = fault_claim,                                                               \
    .adopt = fault_adopt,                                                               \
    .new_ids = fault_new_ids,                                                           \
    .hint = fault_hint,                                                                 \
    .give = fault_give,                                                                 \
    .leave = fault_leave,                                                               \
    .bury = fault_bury,                                                                 \
    .view = fault_view
/* clang-format on */

const pawl_shared_ops fault_lane_ops = {LANE_OPS};
const pawl_shared_ops fault_shared_ops = {
    LANE_OPS,
    .node_join = fault_node_join,
    .node_beat = fault_node_beat,
    .node_leave = fault_node_leave,
    .node_ask = fault_node_ask,
    .bury_over = fault_bury_over,
    .nodes = fault_nodes,
};
