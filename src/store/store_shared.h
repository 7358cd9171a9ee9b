/* SPDX-License-Identifier: MIT */
/*
 * store/store_shared.h -- calling a store that several lanes share: as store.h, for clauses E.
 *
 * Only where store_is_shared().  Called by the runtime and by trials.
 */
#ifndef PAWL_STORE_STORE_SHARED_H
#define PAWL_STORE_STORE_SHARED_H

#include "store/store.h"

static inline bool store_is_shared(const pawl_store *s)
{
    return STORE_HAS(s, shared);
}

/* Has the lane fewer ids left than it should begin a pass with? */
static inline bool store_wants_ids(const pawl_fence *fence)
{
    return fence->end_id && fence->end_id - fence->next_id < PAWL_ID_BLOCK / 2;
}

pawl_store *store_another(pawl_store *s, pawl_error *reterr); /* NULL: not now */
PAWL_MUST_USE pawl_status store_join(pawl_store *s, uint64_t node, int64_t now_ms, pawl_fence *ret,
                                     pawl_error *reterr);
PAWL_MUST_USE pawl_status store_claim(pawl_store *s, pawl_fence *fence, uint64_t wanted,
                                      pawl_error *reterr);
PAWL_MUST_USE pawl_status store_adopt(pawl_store *s, pawl_fence *fence, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_new_ids(pawl_store *s, pawl_fence *fence, pawl_error *reterr);
void store_hint(pawl_store *s, uint64_t shards);
PAWL_MUST_USE pawl_status store_give(pawl_store *s, pawl_fence *fence, uint64_t shards,
                                     uint64_t heir, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_leave(pawl_store *s, pawl_fence *fence, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_bury(pawl_store *s, uint64_t epoch, int64_t now_ms,
                                     pawl_error *reterr);
PAWL_MUST_USE pawl_status store_view(pawl_store *s, pawl_mem *mem, pawl_lane_view *ret,
                                     pawl_error *reterr);

/* Has the shared store nodes?  The calls below only then. */
static inline bool store_has_nodes(const pawl_store *s)
{
    return store_is_shared(s) &&
           s->ops->shared->size >=
               offsetof(pawl_shared_ops, nodes) + sizeof(s->ops->shared->nodes) &&
           s->ops->shared->nodes;
}

PAWL_MUST_USE pawl_status store_node_join(pawl_store *s, pawl_str name, pawl_str about,
                                          int64_t lease_ms, bool again, int64_t now_ms,
                                          uint64_t *retid, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_node_beat(pawl_store *s, uint64_t id, pawl_str about,
                                          int64_t lease_ms, int64_t now_ms, pawl_beat *ret,
                                          pawl_error *reterr);
PAWL_MUST_USE pawl_status store_node_leave(pawl_store *s, uint64_t id, int64_t now_ms,
                                           pawl_error *reterr);
PAWL_MUST_USE pawl_status store_node_ask(pawl_store *s, uint64_t id, uint32_t asked,
                                         pawl_error *reterr);
PAWL_MUST_USE pawl_status store_bury_over(pawl_store *s, int64_t now_ms, uint32_t *retcount,
                                          pawl_error *reterr);
PAWL_MUST_USE pawl_status store_nodes(pawl_store *s, pawl_mem *mem, pawl_node_list *ret,
                                      pawl_error *reterr);

#endif
