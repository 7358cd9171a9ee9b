/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory_remove.c -- purge and prune_executions.
 *
 * Removal is two steps as in every store: first the rows become invisible
 * (a REMOVE round, or prune_executions), then purge frees them a few at a time.
 * `dead` holds executions whose events wait for it, `removed` instances whose
 * messages, work and keys do.
 */
#include "store/memory/memory.h"

#include "base/attr.h"
#include "base/limits.h"
#include "store/memory/copy.h"

#include <stdlib.h>

/* Each deletes up to `limit` rows and tells how many. */

/* The last of these shards, or `count` when there is none.  What is deleted gives its place to the
 * last of all. */
static size_t last_dead(const struct memory *m, uint64_t shards)
{
    for (size_t i = m->dead.count; i > 0; i--)
        if (memory_is_of(shards, m->dead.items[i - 1]->closed.shard))
            return i - 1;
    return m->dead.count;
}

static size_t last_removed(const struct memory *m, uint64_t shards)
{
    for (size_t i = m->removed.count; i > 0; i--)
        if (memory_is_of(shards, m->removed.items[i - 1]->row.shard))
            return i - 1;
    return m->removed.count;
}

static uint32_t purge_dead(struct memory *m, uint64_t shards, uint32_t limit)
{
    uint32_t done = 0;
    for (size_t i; done < limit && (i = last_dead(m, shards)) < m->dead.count;) {
        struct memory_execution *x = m->dead.items[i];
        if (x->events.count > 0) {
            memory_delete_event(x->events.items[--x->events.count]);
            done++;
        } else {
            memory_delete_execution(x);
            m->dead.items[i] = m->dead.items[--m->dead.count];
        }
    }
    return done;
}

/* One row of a removed instance; false when it has none left. */
static bool purge_one(struct memory *m, const struct memory_instance *i)
{
    int64_t owner = (int64_t)i->row.uid;
    struct order_node *n = order_from(&m->messages_by_owner, owner, 0);
    if (n && n->key == owner) {
        memory_delete_message(CONTAINER_OF(n, struct memory_message, by_owner));
        return true;
    }
    n = order_from(&m->work_by_owner, owner, 0);
    if (n && n->key == owner) {
        memory_delete_work(CONTAINER_OF(n, struct memory_work, by_owner));
        return true;
    }
    return false;
}

static uint32_t purge_removed(struct memory *m, uint64_t shards, uint32_t limit)
{
    uint32_t done = 0;
    for (size_t i; done < limit && (i = last_removed(m, shards)) < m->removed.count; done++) {
        struct memory_instance *gone = m->removed.items[i];
        if (!purge_one(m, gone)) {
            memory_delete_instance(gone);
            m->removed.items[i] = m->removed.items[--m->removed.count];
        }
    }
    return done;
}

pawl_status memory_purge(pawl_store *s, pawl_fence *fence, uint32_t limit, bool *retleft,
                         pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_lane *lane;
    pawl_status status = memory_check_fence(s, fence, &lane, reterr);
    if (status == PAWL_OK) {
        uint64_t shards = lane->fence.shards;
        uint32_t done = purge_dead(m, shards, limit);
        done += purge_removed(m, shards, limit - done);
        (void)memory_queue_purge(&m->queues, shards, limit - done);
        *retleft = last_dead(m, shards) < m->dead.count ||
                   last_removed(m, shards) < m->removed.count ||
                   memory_queue_left(&m->queues, shards);
        lane->fence.mail = 0;
        memory_move_fence(m, lane, fence);
    }
    memory_unlock(m);
    return status;
}

static uint64_t prune(struct memory *m, struct memory_instance *i, uint64_t before)
{
    size_t pruned = 0, count = i->executions.count;
    while (pruned < count && i->executions.items[pruned]->closed.execution < before &&
           i->executions.items[pruned]->closed.execution != i->row.execution) {
        struct memory_execution **dead = vec_push(&m->dead);
        need_memory(dead != NULL);
        *dead = i->executions.items[pruned++];
    }
    for (size_t n = pruned; n < count; n++)
        i->executions.items[n - pruned] = i->executions.items[n];
    i->executions.count -= pruned;
    return pruned;
}

pawl_status memory_prune_executions(pawl_store *s, pawl_fence *fence, uint64_t uid,
                                    uint64_t before_execution, uint64_t *retcount,
                                    pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_lane *lane;
    pawl_status status = memory_check_fence(s, fence, &lane, reterr);
    struct memory_instance *i = memory_instance(m, uid);
    if (status == PAWL_OK && !(i && memory_is_of(lane->fence.shards, i->row.shard))) {
        error_set(reterr, PAWL_NOT_FOUND, "there is no instance with uid %llu",
                  (unsigned long long)uid);
        status = PAWL_NOT_FOUND;
    }
    if (status == PAWL_OK) {
        *retcount = prune(m, i, before_execution);
        lane->fence.mail = 0;
        memory_move_fence(m, lane, fence);
    }
    memory_unlock(m);
    return status;
}
