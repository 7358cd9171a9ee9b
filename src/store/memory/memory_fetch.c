/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory_fetch.c -- peek-lock fetches, abandon, and the next due time.
 *
 * A fetched row leaves the index of free rows and stays in the tables.  Work
 * waits in `later` by the time it can run, and moves to `ready` (by id, which is
 * the order of W1) when a fetch sees that time come; so delayed work costs
 * nothing.  `ready` is checked again row by row: clocks step back.
 */
#include "store/memory/memory.h"

#include "base/attr.h"
#include "store/memory/copy.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

pawl_status memory_fetch_messages(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                  pawl_message_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    uint64_t shards = memory_shards(s);
    pawl_message *items =
        pawl_mem_alloc(mem, least(limit, m->messages_ready.count) * sizeof(*items));
    size_t count = 0;
    struct order_node *n = order_first(&m->messages_ready), *next;
    for (; n && count < limit && n->key <= now_ms; n = next) {
        struct memory_message *msg = CONTAINER_OF(n, struct memory_message, ready);
        next = order_next(n);
        if (!memory_is_of(shards, msg->message.shard))
            continue;
        if (msg->damaged) {
            memory_quarantine(m, msg, pawl_s("undecodable"));
            continue;
        }
        msg->taken = true;
        memory_place_message(m, msg);
        copy_give(&shape_message, &items[count++], &msg->message, mem);
    }
    *ret = (pawl_message_list){.items = items, .count = count};
    memory_unlock(m);
    return PAWL_OK;
}

static void move_due_work(struct memory *m, int64_t now_ms)
{
    struct order_node *n;
    while ((n = order_first(&m->work_later)) && n->key <= now_ms) {
        uint64_t id = n->tie;
        order_remove(n);
        order_add(&m->work_ready, n, 0, id);
    }
}

static bool is_free(const pawl_work *row, int64_t now_ms)
{
    bool leased = row->lock_token.len > 0 && row->lock_until_ms > now_ms;
    return row->visible_ms <= now_ms && !leased;
}

static bool is_among(pawl_str name, const pawl_str *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pawl_str_eq(name, names[i]))
            return true;
    }
    return count == 0;
}

pawl_status memory_fetch_work(pawl_store *s, int64_t now_ms, const pawl_str *names,
                              size_t name_count, uint32_t limit, pawl_mem *mem, pawl_work_list *ret,
                              pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    uint64_t shards = memory_shards(s);
    move_due_work(m, now_ms);
    pawl_work *items = pawl_mem_alloc(mem, least(limit, m->work_ready.count) * sizeof(*items));
    size_t count = 0;
    struct order_node *n = order_first(&m->work_ready), *next;
    for (; n && count < limit; n = next) {
        struct memory_work *w = CONTAINER_OF(n, struct memory_work, free);
        next = order_next(n);
        if (!memory_is_of(shards, w->work.shard) || !is_free(&w->work, now_ms) ||
            !is_among(w->work.name, names, name_count))
            continue;
        w->taken = true;
        memory_place_work(m, w);
        copy_give(&shape_work, &items[count++], &w->work, mem);
    }
    *ret = (pawl_work_list){.items = items, .count = count};
    memory_unlock(m);
    return PAWL_OK;
}

pawl_status memory_fetch_deadlines(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                   pawl_work_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    uint64_t shards = memory_shards(s);
    pawl_work *items =
        pawl_mem_alloc(mem, least(limit, m->work_by_deadline.count) * sizeof(*items));
    size_t count = 0;
    struct order_node *n = order_first(&m->work_by_deadline);
    for (; n && n->key <= now_ms && count < limit; n = order_next(n)) {
        struct memory_work *w = CONTAINER_OF(n, struct memory_work, by_deadline);
        if (memory_is_of(shards, w->work.shard))
            copy_give(&shape_work, &items[count++], &w->work, mem);
    }
    *ret = (pawl_work_list){.items = items, .count = count};
    memory_unlock(m);
    return PAWL_OK;
}

void memory_abandon_messages(pawl_store *s, const uint64_t *ids, size_t count)
{
    struct memory *m = memory_lock(s);
    for (size_t i = 0; i < count; i++) {
        struct memory_message *msg = memory_message(m, ids[i]);
        if (!msg || !memory_is_of(memory_shards(s), msg->message.shard))
            continue;
        msg->taken = false;
        memory_place_message(m, msg);
    }
    memory_unlock(m);
}

void memory_abandon_work(pawl_store *s, const uint64_t *ids, size_t count)
{
    struct memory *m = memory_lock(s);
    for (size_t i = 0; i < count; i++) {
        struct memory_work *w = memory_work(m, ids[i]);
        if (!w || !memory_is_of(memory_shards(s), w->work.shard))
            continue;
        w->taken = false;
        memory_place_work(m, w);
    }
    memory_unlock(m);
}

static uint32_t message_shard(struct order_node *n)
{
    return CONTAINER_OF(n, struct memory_message, ready)->message.shard;
}

static uint32_t visible_shard(struct order_node *n)
{
    return CONTAINER_OF(n, struct memory_work, by_visible)->work.shard;
}

static uint32_t deadline_shard(struct order_node *n)
{
    return CONTAINER_OF(n, struct memory_work, by_deadline)->work.shard;
}

pawl_status memory_next_due(pawl_store *s, int64_t after_ms, int64_t *ret,
                            pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    uint64_t shards = memory_shards(s);
    const struct {
        const struct order *order;
        uint32_t (*shard)(struct order_node *n);
    } times[] = {
        {&m->messages_ready,   message_shard },
        {&m->work_by_visible,  visible_shard },
        {&m->work_by_deadline, deadline_shard}
    };
    *ret = memory_queue_due(&m->queues, shards, after_ms);
    for (size_t i = 0; i < COUNT_OF(times) && after_ms < INT64_MAX; i++) {
        struct order_node *n = order_from(times[i].order, after_ms + 1, 0);
        while (n && !memory_is_of(shards, times[i].shard(n)))
            n = order_next(n);
        if (n && n->key < *ret)
            *ret = n->key;
    }
    memory_unlock(m);
    return PAWL_OK;
}
