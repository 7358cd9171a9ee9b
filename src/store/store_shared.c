/* SPDX-License-Identifier: MIT */
/* store/store_shared.c -- see the header. */
#include "store/store_shared.h"

#include "base/attr.h"

pawl_store *store_another(pawl_store *s, pawl_error *reterr)
{
    pawl_store *another = s->ops->shared->another(s, reterr);
    assert_that(another != s);
    return another;
}

pawl_status store_join(pawl_store *s, uint64_t node, int64_t now_ms, pawl_fence *ret,
                       pawl_error *reterr)
{
    pawl_status status = s->ops->shared->join(s, node, now_ms, ret, reterr);
    if (status == PAWL_OK)
        assert_that(ret->epoch > 0 && ret->next_id > 0 && ret->next_id < ret->end_id &&
                    ret->shards == 0 && ret->group_no == 0);
    return status;
}

/* A commit of the lane: OK moves the fence by one, anything else leaves it (C5). */
static void check_moved(const pawl_fence *before, const pawl_fence *after, pawl_status status)
{
    assert_that(after->epoch == before->epoch && after->next_id == before->next_id);
    assert_that(after->end_id == before->end_id);
    assert_that(after->group_no == before->group_no + (status == PAWL_OK));
    assert_that(status == PAWL_OK || after->shards == before->shards);
}

pawl_status store_claim(pawl_store *s, pawl_fence *fence, uint64_t wanted, pawl_error *reterr)
{
    pawl_fence before = *fence;
    pawl_status status = s->ops->shared->claim(s, fence, wanted, reterr);
    check_moved(&before, fence, status);
    assert_that(fence->shards == before.shards); /* until it is adopted */
    return status;
}

/* E4: ids grow, and there are enough. */
static void check_ids(const pawl_fence *before, const pawl_fence *after, pawl_status status)
{
    assert_that(after->epoch == before->epoch && after->group_no == before->group_no);
    if (status == PAWL_OK)
        assert_that(after->next_id >= before->next_id && after->next_id <= after->end_id);
    else
        assert_that(after->next_id == before->next_id && after->end_id == before->end_id &&
                    after->shards == before->shards);
}

pawl_status store_adopt(pawl_store *s, pawl_fence *fence, pawl_error *reterr)
{
    pawl_fence before = *fence;
    pawl_status status = s->ops->shared->adopt(s, fence, reterr);
    check_ids(&before, fence, status);
    assert_that(!(before.shards & ~fence->shards)); /* they leave by give alone */
    return status;
}

pawl_status store_new_ids(pawl_store *s, pawl_fence *fence, pawl_error *reterr)
{
    pawl_fence before = *fence;
    pawl_status status = s->ops->shared->new_ids(s, fence, reterr);
    check_ids(&before, fence, status);
    assert_that(fence->shards == before.shards);
    assert_that(status != PAWL_OK || !store_wants_ids(fence));
    return status;
}

void store_hint(pawl_store *s, uint64_t shards)
{
    s->ops->shared->hint(s, shards);
}

pawl_status store_give(pawl_store *s, pawl_fence *fence, uint64_t shards, uint64_t heir,
                       pawl_error *reterr)
{
    assert_that(!(shards & ~fence->shards) && heir != fence->epoch);
    pawl_fence before = *fence;
    pawl_status status = s->ops->shared->give(s, fence, shards, heir, reterr);
    check_moved(&before, fence, status);
    assert_that(status != PAWL_OK || fence->shards == (before.shards & ~shards));
    return status;
}

pawl_status store_leave(pawl_store *s, pawl_fence *fence, pawl_error *reterr)
{
    pawl_fence before = *fence;
    pawl_status status = s->ops->shared->leave(s, fence, reterr);
    check_moved(&before, fence, status);
    assert_that(status != PAWL_OK || fence->shards == 0);
    return status;
}

pawl_status store_bury(pawl_store *s, uint64_t epoch, int64_t now_ms, pawl_error *reterr)
{
    assert_that(epoch > 0);
    return s->ops->shared->bury(s, epoch, now_ms, reterr);
}

pawl_status store_view(pawl_store *s, pawl_mem *mem, pawl_lane_view *ret, pawl_error *reterr)
{
    *ret = (pawl_lane_view){.size = sizeof(*ret)};
    pawl_status status = s->ops->shared->view(s, mem, ret, reterr);
    uint64_t seen = ret->free;
    for (size_t i = 0; status == PAWL_OK && i < ret->lane_count; i++) {
        const pawl_lane *lane = &ret->lanes[i];
        if ((seen & lane->shards) || (i && lane[-1].epoch >= lane->epoch))
            return store_unbelievable("a shard with two lanes, or lanes out of order", reterr);
        seen |= lane->shards;
    }
    if (status == PAWL_OK && seen != PAWL_SHARDS_ALL)
        return store_unbelievable("a shard that is nowhere", reterr);
    return status;
}

/* ---- Nodes ------------------------------------------------------------------------ */

pawl_status store_node_join(pawl_store *s, pawl_str name, pawl_str about, int64_t lease_ms,
                            bool again, int64_t now_ms, uint64_t *retid, pawl_error *reterr)
{
    assert_that(name.len > 0 && name.len <= PAWL_NODE_NAME_MAX);
    assert_that(about.len <= PAWL_NODE_ABOUT_MAX && lease_ms > 0);
    pawl_status status =
        s->ops->shared->node_join(s, name, about, lease_ms, again, now_ms, retid, reterr);
    assert_that(status != PAWL_OK || *retid > 0);
    return status;
}

pawl_status store_node_beat(pawl_store *s, uint64_t id, pawl_str about, int64_t lease_ms,
                            int64_t now_ms, pawl_beat *ret, pawl_error *reterr)
{
    assert_that(id > 0 && about.len <= PAWL_NODE_ABOUT_MAX && lease_ms > 0);
    *ret = (pawl_beat){.size = sizeof(*ret)};
    pawl_status status = s->ops->shared->node_beat(s, id, about, lease_ms, now_ms, ret, reterr);
    if (status == PAWL_OK && ret->lease_until_ms <= ret->now_ms)
        return store_unbelievable("a lease that is over when it begins", reterr);
    return status;
}

pawl_status store_node_leave(pawl_store *s, uint64_t id, int64_t now_ms, pawl_error *reterr)
{
    return s->ops->shared->node_leave(s, id, now_ms, reterr);
}

pawl_status store_node_ask(pawl_store *s, uint64_t id, uint32_t asked, pawl_error *reterr)
{
    return s->ops->shared->node_ask(s, id, asked, reterr);
}

pawl_status store_bury_over(pawl_store *s, int64_t now_ms, uint32_t *retcount, pawl_error *reterr)
{
    return s->ops->shared->bury_over(s, now_ms, retcount, reterr);
}

pawl_status store_nodes(pawl_store *s, pawl_mem *mem, pawl_node_list *ret, pawl_error *reterr)
{
    pawl_status status = s->ops->shared->nodes(s, mem, ret, reterr);
    for (size_t i = 0; status == PAWL_OK && i < ret->count; i++)
        if (!ret->items[i].name.len || (i && ret->items[i - 1].id >= ret->items[i].id))
            return store_unbelievable("nodes out of order", reterr);
    return status;
}
