/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory_lanes.c -- who owns what: lanes, shards, the fence, blocks of ids.
 *
 * A lane that lives is in `lanes`; one that is over is not.  `owned` says whose a shard is;
 * `fence.shards` what the lane has adopted of that.  Only adopted rows are taken, so a shard that
 * leaves a lane frees what the lane had taken of it.
 *
 * Ids: each lane has one block.  The lane that drew the last block of all has ids above every
 * other's, so its block can grow in place: a lane that is alone counts without a gap.
 *
 * Invariants (memory_lanes_check): lanes are sorted by epoch; no two own a shard; what is adopted
 * is owned; ids below next_id of a lane are below end_id, and end_id below ids_end.
 */
#include "base/attr.h"
#include "base/limits.h"
#include "store/memory/copy.h"
#include "store/memory/memory.h"

#include <stdlib.h>

/* ---- Lanes ---------------------------------------------------------------- */

static struct memory_lane *lane_of(const struct memory *m, uint64_t epoch)
{
    for (size_t i = 0; i < m->lanes.count; i++)
        if (m->lanes.items[i]->fence.epoch == epoch)
            return m->lanes.items[i];
    return NULL;
}

uint64_t memory_shards(pawl_store *s)
{
    const struct memory_handle *h = (const struct memory_handle *)s;
    const struct memory_lane *lane = lane_of(h->tables, h->epoch);
    return lane ? lane->fence.shards : 0;
}

pawl_status memory_check_fence(pawl_store *s, const pawl_fence *fence, struct memory_lane **retlane,
                               pawl_error *reterr)
{
    const struct memory_handle *h = (const struct memory_handle *)s;
    const struct memory *m = h->tables;
    *retlane = fence->epoch == h->epoch ? lane_of(m, fence->epoch) : NULL;
    if (*retlane)
        return PAWL_OK;
    error_set(reterr, PAWL_FENCED, "epoch %llu is over: the newest epoch of this store is %llu",
              (unsigned long long)fence->epoch, (unsigned long long)m->last_epoch);
    return PAWL_FENCED;
}

void memory_move_fence(struct memory *m, struct memory_lane *lane, pawl_fence *fence)
{
    lane->fence.group_no++;
    if (lane->fence.next_id < fence->next_id)
        lane->fence.next_id = fence->next_id;
    if (m->last_group < lane->fence.group_no)
        m->last_group = lane->fence.group_no;
    *fence = lane->fence;
}

static struct memory_lane *add_lane(struct memory *m, pawl_store *s, uint64_t node)
{
    struct memory_lane **slot = vec_push(&m->lanes);
    need_memory(slot != NULL);
    *slot = copy_alloc(sizeof(**slot));
    (*slot)->fence.epoch = ++m->last_epoch;
    (*slot)->node = node;
    ((struct memory_handle *)s)->epoch = m->last_epoch;
    m->moves++;
    return *slot;
}

static void free_messages(struct memory *m, uint64_t shards)
{
    for (struct order_node *n = order_first(&m->messages_by_id); n; n = order_next(n)) {
        struct memory_message *msg = CONTAINER_OF(n, struct memory_message, by_id);
        if (!msg->taken || !memory_is_of(shards, msg->message.shard))
            continue;
        msg->taken = false;
        memory_place_message(m, msg);
    }
}

static void free_work(struct memory *m, uint64_t shards)
{
    for (struct order_node *n = order_first(&m->work_by_id); n; n = order_next(n)) {
        struct memory_work *w = CONTAINER_OF(n, struct memory_work, by_id);
        if (!w->taken || !memory_is_of(shards, w->work.shard))
            continue;
        w->taken = false;
        memory_place_work(m, w);
    }
}

/* They leave the lane, and what it had taken of them is free. */
static void release(struct memory *m, struct memory_lane *lane, uint64_t shards)
{
    lane->owned &= ~shards;
    lane->fence.shards &= ~shards;
    free_messages(m, shards);
    free_work(m, shards);
    m->moves++;
}

static void end_lane(struct memory *m, struct memory_lane *lane)
{
    size_t i = 0;
    release(m, lane, lane->owned);
    while (m->lanes.items[i] != lane)
        i++;
    for (m->lanes.count--; i < m->lanes.count; i++)
        m->lanes.items[i] = m->lanes.items[i + 1];
    free(lane);
}

static uint64_t free_shards(const struct memory *m)
{
    uint64_t owned = 0;
    for (size_t i = 0; i < m->lanes.count; i++)
        owned |= m->lanes.items[i]->owned;
    return ~owned;
}

/* ---- Ids ------------------------------------------------------------------ */

/* The block of the lane is the last one, with at least half of a block left (E4). */
static void draw_ids(struct memory *m, pawl_fence *fence)
{
    if (!fence->end_id || fence->end_id != m->ids_end) {
        fence->next_id = m->ids_end;
        m->ids_end += PAWL_ID_BLOCK;
    } else if (m->ids_end - fence->next_id < PAWL_ID_BLOCK / 2) {
        m->ids_end += PAWL_ID_BLOCK;
    }
    fence->end_id = m->ids_end;
}

/* ---- take ------------------------------------------------------------------ */

pawl_status memory_take(pawl_store *s, int64_t now_ms, pawl_fence *ret, pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    pawl_fence ids = {0};
    if (memory_node_leased(m, now_ms)) {
        memory_unlock(m);
        error_set(reterr, PAWL_UNAVAILABLE,
                  "nodes share this store; join them, or wait until "
                  "they have left");
        return PAWL_UNAVAILABLE;
    }
    while (m->lanes.count) {
        struct memory_lane *last = m->lanes.items[m->lanes.count - 1];
        if (last->fence.end_id == m->ids_end)
            ids = last->fence;
        end_lane(m, last);
    }
    struct memory_lane *lane = add_lane(m, s, 0);
    draw_ids(m, &ids);
    lane->owned = lane->fence.shards = PAWL_SHARDS_ALL;
    lane->fence.group_no = m->last_group;
    lane->fence.next_id = ids.next_id;
    lane->fence.end_id = ids.end_id;
    *ret = lane->fence;
    memory_unlock(m);
    return PAWL_OK;
}

/* ---- The operations of lanes side by side ------------------------------------ */

static pawl_status memory_join(pawl_store *s, uint64_t node, int64_t now_ms UNUSED, pawl_fence *ret,
                               pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_lane *former = lane_of(m, ((struct memory_handle *)s)->epoch);
    if (node && !memory_node_lives(m, node)) {
        memory_unlock(m);
        error_set(reterr, PAWL_FENCED, "node %llu does not live", (unsigned long long)node);
        return PAWL_FENCED;
    }
    if (former)
        end_lane(m, former);
    struct memory_lane *lane = add_lane(m, s, node);
    draw_ids(m, &lane->fence);
    *ret = lane->fence;
    memory_unlock(m);
    return PAWL_OK;
}

static pawl_status memory_claim(pawl_store *s, pawl_fence *fence, uint64_t wanted,
                                pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_lane *lane;
    pawl_status status = memory_check_fence(s, fence, &lane, reterr);
    if (status == PAWL_OK) {
        lane->owned |= wanted & free_shards(m);
        lane->fence.mail = 0;
        memory_move_fence(m, lane, fence);
        m->moves++;
    }
    memory_unlock(m);
    return status;
}

static pawl_status memory_adopt(pawl_store *s, pawl_fence *fence, pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_lane *lane;
    pawl_status status = memory_check_fence(s, fence, &lane, reterr);
    if (status == PAWL_OK) {
        if (lane->owned != lane->fence.shards)
            draw_ids(m, fence);
        lane->fence.next_id = fence->next_id;
        lane->fence.end_id = fence->end_id;
        fence->shards = lane->fence.shards = lane->owned;
    }
    memory_unlock(m);
    return status;
}

static pawl_status memory_new_ids(pawl_store *s, pawl_fence *fence, pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_lane *lane;
    pawl_status status = memory_check_fence(s, fence, &lane, reterr);
    if (status == PAWL_OK) {
        draw_ids(m, fence);
        lane->fence.next_id = fence->next_id;
        lane->fence.end_id = fence->end_id;
    }
    memory_unlock(m);
    return status;
}

static pawl_status memory_give(pawl_store *s, pawl_fence *fence, uint64_t shards, uint64_t heir,
                               pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_lane *lane, *to = lane_of(m, heir);
    pawl_status status = memory_check_fence(s, fence, &lane, reterr);
    if (status == PAWL_OK && heir && !to) {
        error_set(reterr, PAWL_CONFLICT, "there is no lane %llu", (unsigned long long)heir);
        status = PAWL_CONFLICT;
    }
    if (status == PAWL_OK) {
        release(m, lane, shards);
        if (to)
            to->owned |= shards;
        lane->fence.mail = 0;
        memory_move_fence(m, lane, fence);
    }
    memory_unlock(m);
    return status;
}

static pawl_status memory_leave(pawl_store *s, pawl_fence *fence, pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_lane *lane;
    pawl_status status = memory_check_fence(s, fence, &lane, reterr);
    if (status == PAWL_OK) {
        lane->fence.mail = 0;
        lane->fence.shards = 0;
        memory_move_fence(m, lane, fence);
        end_lane(m, lane);
    }
    memory_unlock(m);
    return status;
}

/* The lane that has the fewest shards; of several the oldest; NULL: there is none. */
static struct memory_lane *heir_of(const struct memory *m)
{
    struct memory_lane *heir = NULL;
    for (size_t i = 0; i < m->lanes.count; i++)
        if (!heir ||
            __builtin_popcountll(m->lanes.items[i]->owned) < __builtin_popcountll(heir->owned))
            heir = m->lanes.items[i];
    return heir;
}

void memory_end_lanes(struct memory *m, bool (*is_of)(const struct memory_lane *lane, void *user),
                      void *user)
{
    uint64_t left = 0;
    for (size_t i = m->lanes.count; i > 0; i--) {
        struct memory_lane *lane = m->lanes.items[i - 1];
        if (!is_of(lane, user))
            continue;
        left |= lane->owned;
        end_lane(m, lane);
    }
    for (uint32_t shard = 0; m->lanes.count && shard < PAWL_SHARDS; shard++)
        if (memory_is_of(left, shard))
            heir_of(m)->owned |= 1ull << shard;
}

static bool has_epoch(const struct memory_lane *lane, void *user)
{
    return lane->fence.epoch == *(const uint64_t *)user;
}

static pawl_status memory_bury(pawl_store *s, uint64_t epoch, int64_t now_ms UNUSED,
                               pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    bool was = lane_of(m, epoch) != NULL;
    memory_end_lanes(m, has_epoch, &epoch);
    memory_unlock(m);
    if (was)
        return PAWL_OK;
    error_set(reterr, PAWL_NOT_FOUND, "there is no lane %llu", (unsigned long long)epoch);
    return PAWL_NOT_FOUND;
}

static pawl_status memory_view(pawl_store *s, pawl_mem *mem, pawl_lane_view *ret,
                               pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    pawl_lane *lanes = pawl_mem_alloc(mem, (m->lanes.count + 1) * sizeof(*lanes));
    for (size_t i = 0; i < m->lanes.count; i++) {
        const struct memory_lane *lane = m->lanes.items[i];
        lanes[i] = (pawl_lane){lane->fence.epoch, lane->node, lane->owned};
    }
    pawl_lane_view view = {
        .lanes = lanes, .lane_count = m->lanes.count, .free = free_shards(m), .moves = m->moves};
    memory_unlock(m);
    pawl_fill(ret, &view, sizeof(view));
    return PAWL_OK;
}

/* Every fetch looks at the rows themselves. */
static void memory_hint(pawl_store *s UNUSED, uint64_t shards UNUSED) {}

const pawl_shared_ops memory_shared_ops = {
    .size = sizeof(pawl_shared_ops),
    .another = memory_another,
    .join = memory_join,
    .claim = memory_claim,
    .adopt = memory_adopt,
    .new_ids = memory_new_ids,
    .hint = memory_hint,
    .give = memory_give,
    .leave = memory_leave,
    .bury = memory_bury,
    .view = memory_view,
    .node_join = memory_node_join,
    .node_beat = memory_node_beat,
    .node_leave = memory_node_leave,
    .node_ask = memory_node_ask,
    .bury_over = memory_bury_over,
    .nodes = memory_nodes,
};

/* ---- For the other files ------------------------------------------------------- */

void memory_set_fence(pawl_store *s, const pawl_fence *fence)
{
    struct memory *m = memory_lock(s);
    assert_that(m->handles == 1);
    if (!m->lanes.count)
        (void)add_lane(m, s, 0);
    struct memory_lane *lane = m->lanes.items[0];
    lane->fence = *fence;
    lane->owned = lane->fence.shards = PAWL_SHARDS_ALL;
    ((struct memory_handle *)s)->epoch = m->last_epoch = fence->epoch;
    memory_unlock(m);
}

pawl_fence memory_fence(pawl_store *s)
{
    struct memory *m = memory_lock(s);
    assert_that(m->lanes.count == 1);
    pawl_fence fence = m->lanes.items[0]->fence;
    memory_unlock(m);
    return fence;
}

void memory_lanes_deinit(struct memory *m)
{
    for (size_t i = 0; i < m->lanes.count; i++)
        free(m->lanes.items[i]);
    vec_deinit(&m->lanes);
}

void memory_lanes_check(const struct memory *m)
{
    uint64_t owned = 0;
    for (size_t i = 0; i < m->lanes.count; i++) {
        const struct memory_lane *lane = m->lanes.items[i];
        assert_that(i == 0 || m->lanes.items[i - 1]->fence.epoch < lane->fence.epoch);
        assert_that(!(lane->owned & owned) && !(lane->fence.shards & ~lane->owned));
        assert_that(!lane->fence.end_id || (lane->fence.next_id <= lane->fence.end_id &&
                                            lane->fence.end_id <= m->ids_end));
        owned |= lane->owned;
    }
}
