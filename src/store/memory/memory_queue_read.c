/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory_queue_read.c -- what pawl/queue_store.h asks, from the memory store.
 *
 * Every answer is a copy, made under the store's mutex.  Called from any thread.
 */
#include "base/arena.h"
#include "base/attr.h"
#include "base/limits.h"
#include "base/str.h"
#include "pawl/queue.h"
#include "store/memory/memory.h"

#include <string.h>

#define EXAMINE_MAX 10000

static void give_row(pawl_queue_row *to, const pawl_queue_row *from, pawl_mem *mem)
{
    *to = *from;
    to->name = pawl_mem_dup(mem, from->name);
    to->config = pawl_mem_dup(mem, from->config);
    to->totals = pawl_mem_dup(mem, from->totals);
}

static void give_entry(pawl_queue_entry *to, const pawl_queue_entry *from, bool head, pawl_mem *mem)
{
    const pawl_str none = {0};
    *to = *from;
    to->data = head ? none : pawl_mem_dup(mem, from->data);
    to->attrs = head ? none : pawl_mem_dup(mem, from->attrs);
    to->note = pawl_mem_dup(mem, from->note);
}

static struct memory_queue *queue_of(const struct memory *m, uint64_t qid)
{
    struct order_node *n = order_find(&m->queues.by_qid, 0, qid);
    return n ? CONTAINER_OF(n, struct memory_queue, by_qid) : NULL;
}

static pawl_status find_queue(pawl_store *s, pawl_str name, pawl_mem *mem, pawl_queue_row *ret,
                              pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    const struct memory_queue *q = map_gets(&m->queues.by_name, name);
    if (q)
        give_row(ret, &q->row, mem);
    memory_unlock(m);
    if (q)
        return PAWL_OK;
    error_set(reterr, PAWL_NOT_FOUND, "there is no queue '%.*s'", PAWL_FMT(name));
    return PAWL_NOT_FOUND;
}

/* The smallest name above `after` with the prefix; plain, as an oracle may be. */
static const struct memory_queue *next_name(const struct memory *m, pawl_str prefix, pawl_str after)
{
    const struct memory_queue *best = NULL;
    for (struct order_node *n = order_first(&m->queues.by_qid); n; n = order_next(n)) {
        const struct memory_queue *q = CONTAINER_OF(n, struct memory_queue, by_qid);
        if (str_begins(q->row.name, prefix) && str_compare(q->row.name, after) > 0 &&
            (!best || str_compare(q->row.name, best->row.name) < 0))
            best = q;
    }
    return best;
}

static pawl_status list_queues(pawl_store *s, pawl_str prefix, pawl_str after, uint32_t limit,
                               pawl_mem *mem, pawl_queue_row_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    size_t room = limit < m->queues.by_qid.count ? limit : m->queues.by_qid.count;
    pawl_queue_row *rows = arena_array(mem, pawl_queue_row, room + 1);
    size_t count = 0;
    for (const struct memory_queue *q; count < room && (q = next_name(m, prefix, after));) {
        give_row(&rows[count], &q->row, mem);
        after = rows[count++].name;
    }
    memory_unlock(m);
    *ret = (pawl_queue_row_list){rows, count};
    return PAWL_OK;
}

static pawl_status due_queues(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                              pawl_queue_row_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    uint64_t shards = memory_shards(s);
    size_t room = limit < m->queues.due.count ? limit : m->queues.due.count;
    pawl_queue_row *rows = arena_array(mem, pawl_queue_row, room + 1);
    size_t count = 0;
    for (struct order_node *n = order_first(&m->queues.due); n && n->key <= now_ms && count < room;
         n = order_next(n)) {
        const pawl_queue_row *row = &CONTAINER_OF(n, struct memory_queue, due)->row;
        if (memory_is_of(shards, row->shard))
            give_row(&rows[count++], row, mem);
    }
    memory_unlock(m);
    *ret = (pawl_queue_row_list){rows, count};
    return PAWL_OK;
}

static struct order_node *first_of(const struct memory_queue *q, const pawl_entry_query *query)
{
    switch (query->order) {
    case PAWL_ENTRIES_READY:
        return order_from(&q->ready, query->priority, query->place);
    case PAWL_ENTRIES_DELAYED:
        return order_from(&q->delayed, query->after_key, query->after + 1);
    case PAWL_ENTRIES_EXPIRING:
        return order_first(&q->expiring);
    case PAWL_ENTRIES_BY_ID:
        return order_from(&q->of_queue, 0, query->after + 1);
    case PAWL_ENTRIES_LOCKED:
        break;
    }
    return order_from(&q->locks, 0, (uint64_t)query->after_key);
}

static const struct memory_entry *entry_at(struct order_node *n, pawl_entry_order order)
{
    switch (order) {
    case PAWL_ENTRIES_READY:
        return CONTAINER_OF(n, struct memory_entry, ready);
    case PAWL_ENTRIES_DELAYED:
        return CONTAINER_OF(n, struct memory_entry, delayed);
    case PAWL_ENTRIES_EXPIRING:
        return CONTAINER_OF(n, struct memory_entry, expiring);
    case PAWL_ENTRIES_BY_ID:
    case PAWL_ENTRIES_LOCKED:
        break;
    }
    return CONTAINER_OF(n, struct memory_entry, of_queue);
}

static bool chosen(const pawl_entry_query *query, const pawl_queue_entry *e)
{
    if (query->has_priority && e->priority != query->priority)
        return false;
    if (query->order == PAWL_ENTRIES_LOCKED)
        return e->qid == query->qid && e->state == PAWL_QUEUE_LOCKED;
    return query->order != PAWL_ENTRIES_BY_ID || !query->state || e->state == query->state - 1;
}

/* What a query has gathered so far. */
struct entry_page {
    const pawl_entry_query *query;
    pawl_mem *mem;
    pawl_queue_entry *rows;
    size_t count, bytes, seen;
    pawl_entry_list list;
};

/* False: there is no room for it, and it is left for the next page. */
static bool gather(struct entry_page *g, const pawl_queue_entry *e, int64_t key, uint64_t id)
{
    const pawl_entry_query *q = g->query;
    if (g->count == q->limit || g->seen == EXAMINE_MAX ||
        (q->bytes_max && g->count && g->bytes >= q->bytes_max)) {
        g->list.more = true;
        return false;
    }
    g->seen++;
    g->list.last_key = key;
    g->list.last_id = id;
    if (!chosen(q, e))
        return true;
    give_entry(&g->rows[g->count++], e, q->heads, g->mem);
    g->bytes += q->heads ? 0 : e->data.len + e->attrs.len;
    return true;
}

/* The entry of a lock with the smallest id above `after`; plain, as an oracle may be. */
static const struct memory_entry *next_held(const struct memory *m, const pawl_queue_lock *l,
                                            uint64_t after)
{
    struct order_node *best = NULL;
    for (size_t i = 0; i < l->entry_count; i++) {
        struct order_node *n = order_find(&m->queues.by_id, 0, l->entries[i]);
        if (n && n->tie > after && (!best || n->tie < best->tie))
            best = n;
    }
    return best ? CONTAINER_OF(best, struct memory_entry, by_id) : NULL;
}

/* False: the page is full. */
static bool gather_lock(struct entry_page *g, const struct memory *m, const pawl_queue_lock *l)
{
    const int64_t number = (int64_t)l->number;
    uint64_t after = number == g->query->after_key ? g->query->after : 0;
    for (const struct memory_entry *e; (e = next_held(m, l, after)); after = e->row.id)
        if (!gather(g, &e->row, number, e->row.id))
            return false;
    return true;
}

/* Rows of one order; false: there is nothing to look at behind this one. */
static bool gather_node(struct entry_page *g, struct order_node *n)
{
    const pawl_entry_query *q = g->query;
    if (q->order == PAWL_ENTRIES_READY && q->has_priority && n->key != q->priority)
        return false;
    return gather(g, &entry_at(n, q->order)->row, n->key, n->tie);
}

static pawl_status query_entries(pawl_store *s, const pawl_entry_query *query, pawl_mem *mem,
                                 pawl_entry_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    const struct memory_queue *q = queue_of(m, query->qid);
    struct entry_page g = {.query = query, .mem = mem};
    g.rows = arena_array(mem, pawl_queue_entry, query->limit);
    struct order_node *n = q ? first_of(q, query) : NULL;
    bool on = true;
    for (; n && on; n = order_next(n))
        on = query->order == PAWL_ENTRIES_LOCKED
                 ? gather_lock(&g, m, &CONTAINER_OF(n, struct memory_lock, by_number)->row)
                 : gather_node(&g, n);
    memory_unlock(m);
    g.list.items = g.rows;
    g.list.count = g.count;
    *ret = g.list;
    return PAWL_OK;
}

static pawl_status read_entries(pawl_store *s, const uint64_t *ids, size_t count, bool heads,
                                pawl_mem *mem, pawl_entry_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    pawl_queue_entry *rows = arena_array(mem, pawl_queue_entry, count + 1);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct order_node *n = order_find(&m->queues.by_id, 0, ids[i]);
        if (n)
            give_entry(&rows[found++], &CONTAINER_OF(n, struct memory_entry, by_id)->row, heads,
                       mem);
    }
    memory_unlock(m);
    *ret = (pawl_entry_list){.items = rows, .count = found};
    return PAWL_OK;
}

static void give_lock(pawl_queue_lock *to, const pawl_queue_lock *from, pawl_mem *mem)
{
    uint64_t *ids = arena_array(mem, uint64_t, from->entry_count + 1);
    memcpy(ids, from->entries, from->entry_count * sizeof(*ids));
    *to = *from;
    to->id = pawl_mem_dup(mem, from->id);
    to->entries = ids;
}

static pawl_status read_locks(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                              pawl_lock_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    const struct memory_queue *q = queue_of(m, qid);
    size_t room = q ? q->locks.count : 0;
    if (limit && limit < room)
        room = limit;
    pawl_queue_lock *rows = arena_array(mem, pawl_queue_lock, room + 1);
    size_t count = 0;
    for (struct order_node *n = q ? order_first(&q->locks) : NULL; n && count < room;
         n = order_next(n))
        give_lock(&rows[count++], &CONTAINER_OF(n, struct memory_lock, by_number)->row, mem);
    memory_unlock(m);
    *ret = (pawl_lock_list){rows, count};
    return PAWL_OK;
}

static pawl_status has_past(pawl_store *s, uint64_t qid, pawl_str id, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    const struct memory_queue *q = queue_of(m, qid);
    bool found = q && map_gets(&q->past_ids, id);
    memory_unlock(m);
    return found ? PAWL_OK : PAWL_EMPTY;
}

static pawl_status find_key(pawl_store *s, uint64_t qid, pawl_str key, pawl_queue_key *ret,
                            pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    const struct memory_queue *q = queue_of(m, qid);
    const struct memory_key *k = q ? map_gets(&q->key_texts, key) : NULL;
    if (k)
        *ret = (pawl_queue_key){qid, key, k->row.entry, k->row.expires_ms};
    memory_unlock(m);
    return k ? PAWL_OK : PAWL_EMPTY;
}

static pawl_status levels(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                          pawl_level_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    const struct memory_queue *q = queue_of(m, qid);
    pawl_level *rows = arena_array(mem, pawl_level, limit + 1);
    size_t count = 0;
    for (struct order_node *n = q ? order_first(&q->ready) : NULL; n; n = order_next(n)) {
        if (!count || rows[count - 1].priority != n->key) {
            if (count == limit)
                break;
            rows[count++].priority = n->key;
        }
        rows[count - 1].count++;
    }
    memory_unlock(m);
    *ret = (pawl_level_list){rows, count};
    return PAWL_OK;
}

const pawl_queue_ops memory_queue_ops = {
    .size = sizeof(pawl_queue_ops),
    .find_queue = find_queue,
    .list_queues = list_queues,
    .due_queues = due_queues,
    .query_entries = query_entries,
    .read_entries = read_entries,
    .read_locks = read_locks,
    .has_past = has_past,
    .find_key = find_key,
    .levels = levels,
};
