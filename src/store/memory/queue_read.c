/* SPDX-License-Identifier: MIT */
/*
 * store/memory/queue_read.c -- what pawl/queue_store.h asks, from the memory store.
 *
 * Every answer is a copy, made under the store's mutex.  Called from any thread.
 */
#include "base/arena.h"
#include "base/attr.h"
#include "base/limits.h"
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

static int compare(pawl_str a, pawl_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int by_bytes = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return by_bytes ? by_bytes : (a.len > b.len) - (a.len < b.len);
}

static bool begins(pawl_str text, pawl_str prefix)
{
    return text.len >= prefix.len &&
           (prefix.len == 0 || memcmp(text.ptr, prefix.ptr, prefix.len) == 0);
}

/* The smallest name above `after` with the prefix; plain, as an oracle may be. */
static const struct memory_queue *next_name(const struct memory *m, pawl_str prefix, pawl_str after)
{
    const struct memory_queue *best = NULL;
    for (struct order_node *n = order_first(&m->queues.by_qid); n; n = order_next(n)) {
        const struct memory_queue *q = CONTAINER_OF(n, struct memory_queue, by_qid);
        if (begins(q->row.name, prefix) && compare(q->row.name, after) > 0 &&
            (!best || compare(q->row.name, best->row.name) < 0))
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
    size_t room = limit < m->queues.due.count ? limit : m->queues.due.count;
    pawl_queue_row *rows = arena_array(mem, pawl_queue_row, room + 1);
    size_t count = 0;
    for (struct order_node *n = order_first(&m->queues.due); n && n->key <= now_ms && count < room;
         n = order_next(n))
        give_row(&rows[count++], &CONTAINER_OF(n, struct memory_queue, due)->row, mem);
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
        return order_first(&q->delayed);
    case PAWL_ENTRIES_EXPIRING:
        return order_first(&q->expiring);
    case PAWL_ENTRIES_BY_ID:
        return order_from(&q->of_queue, 0, query->after + 1);
    }
    return NULL;
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
        break;
    }
    return CONTAINER_OF(n, struct memory_entry, of_queue);
}

static bool chosen(const pawl_entry_query *query, const pawl_queue_entry *e)
{
    if (query->order != PAWL_ENTRIES_BY_ID)
        return true;
    return (!query->state || e->state == query->state - 1) &&
           (!query->has_priority || e->priority == query->priority);
}

static pawl_status query_entries(pawl_store *s, const pawl_entry_query *query, pawl_mem *mem,
                                 pawl_entry_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    const struct memory_queue *q = queue_of(m, query->qid);
    pawl_queue_entry *rows = arena_array(mem, pawl_queue_entry, query->limit);
    size_t count = 0, bytes = 0, seen = 0;
    uint64_t last = 0;
    struct order_node *n = q ? first_of(q, query) : NULL;
    for (; n && count < query->limit && seen < EXAMINE_MAX; n = order_next(n)) {
        const struct memory_entry *e = entry_at(n, query->order);
        if (query->bytes_max && count && bytes >= query->bytes_max)
            break;
        seen++;
        last = e->row.id;
        if (!chosen(query, &e->row))
            continue;
        give_entry(&rows[count++], &e->row, query->heads, mem);
        bytes += query->heads ? 0 : e->row.data.len + e->row.attrs.len;
    }
    memory_unlock(m);
    *ret = (pawl_entry_list){.items = rows, .count = count, .more = n != NULL, .last_id = last};
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
