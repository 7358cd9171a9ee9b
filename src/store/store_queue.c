/* SPDX-License-Identifier: MIT */
/* store/store_queue.c -- see the header. */
#include "store/store_queue.h"

#include "base/attr.h"
#include "base/limits.h"
#include "base/str.h"
#include "store/store.h"

enum { READY, DELAYED, LOCKED }; /* pawl_queue_entry.state */

pawl_status store_find_queue(pawl_store *s, pawl_str name, pawl_mem *mem, pawl_queue_row *ret,
                             pawl_error *reterr)
{
    pawl_status status = s->ops->queues->find_queue(s, name, mem, ret, reterr);
    if (status == PAWL_OK && (!ret->qid || !pawl_str_eq(ret->name, name)))
        return store_unbelievable("another queue", reterr);
    return status;
}

pawl_status store_list_queues(pawl_store *s, pawl_str prefix, pawl_str after, uint32_t limit,
                              pawl_mem *mem, pawl_queue_row_list *ret, pawl_error *reterr)
{
    assert_that(limit > 0);
    pawl_status status = s->ops->queues->list_queues(s, prefix, after, limit, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(ret->count <= limit);
    for (size_t i = 0; i < ret->count; i++) {
        pawl_str before = i ? ret->items[i - 1].name : after;
        if (before.len && str_compare(before, ret->items[i].name) >= 0)
            return store_unbelievable("queues out of order", reterr);
    }
    return status;
}

pawl_status store_due_queues(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                             pawl_queue_row_list *ret, pawl_error *reterr)
{
    assert_that(limit > 0);
    pawl_status status = s->ops->queues->due_queues(s, now_ms, limit, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(ret->count <= limit);
    for (size_t i = 0; i < ret->count; i++) {
        const pawl_queue_row *row = &ret->items[i];
        if (row->due_ms <= 0 || row->due_ms > now_ms || (i && row[-1].due_ms > row->due_ms))
            return store_unbelievable("queues that are not due, or out of order", reterr);
    }
    return status;
}

static bool is_wanted(const pawl_entry_query *q, const pawl_queue_entry *e)
{
    if (e->qid != q->qid)
        return false;
    switch (q->order) {
    case PAWL_ENTRIES_READY:
        return e->state == READY;
    case PAWL_ENTRIES_DELAYED:
        return e->state == DELAYED;
    case PAWL_ENTRIES_EXPIRING:
        return e->state != LOCKED && e->expires_ms > 0;
    case PAWL_ENTRIES_LOCKED:
        return e->state == LOCKED;
    case PAWL_ENTRIES_BY_ID:
        break;
    }
    return !q->state || e->state == q->state - 1;
}

/* By id only among those that are alike; the order of locks cannot be seen. */
static bool is_behind(const pawl_entry_query *q, const pawl_queue_entry *a,
                      const pawl_queue_entry *b)
{
    switch (q->order) {
    case PAWL_ENTRIES_READY:
        return a->priority != b->priority ? a->priority < b->priority : a->place < b->place;
    case PAWL_ENTRIES_DELAYED:
        return a->visible_ms != b->visible_ms ? a->visible_ms < b->visible_ms : a->id < b->id;
    case PAWL_ENTRIES_EXPIRING:
        return a->expires_ms != b->expires_ms ? a->expires_ms < b->expires_ms : a->id < b->id;
    case PAWL_ENTRIES_BY_ID:
        return a->id < b->id;
    case PAWL_ENTRIES_LOCKED:
        break;
    }
    return a->id != b->id;
}

pawl_status store_query_entries(pawl_store *s, const pawl_entry_query *query, pawl_mem *mem,
                                pawl_entry_list *ret, pawl_error *reterr)
{
    assert_that(query->limit > 0);
    pawl_status status = s->ops->queues->query_entries(s, query, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(ret->count <= query->limit);
    for (size_t i = 0; i < ret->count; i++) {
        const pawl_queue_entry *e = &ret->items[i];
        if (!is_wanted(query, e) || (i && !is_behind(query, e - 1, e)))
            return store_unbelievable("items that were not asked for, or out of order", reterr);
    }
    return status;
}

pawl_status store_read_entries(pawl_store *s, const uint64_t *ids, size_t count, bool heads,
                               pawl_mem *mem, pawl_entry_list *ret, pawl_error *reterr)
{
    pawl_status status = s->ops->queues->read_entries(s, ids, count, heads, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    size_t found = 0;
    for (size_t i = 0; i < count && found < ret->count; i++)
        found += ret->items[found].id == ids[i];
    return found == ret->count ? PAWL_OK
                               : store_unbelievable("items that were not asked for", reterr);
}

pawl_status store_read_locks(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                             pawl_lock_list *ret, pawl_error *reterr)
{
    pawl_status status = s->ops->queues->read_locks(s, qid, limit, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(!limit || ret->count <= limit);
    for (size_t i = 0; i < ret->count; i++) {
        const pawl_queue_lock *l = &ret->items[i];
        if (l->qid != qid || (i && l[-1].number >= l->number))
            return store_unbelievable("locks of another queue, or out of order", reterr);
    }
    return status;
}

pawl_status store_levels(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                         pawl_level_list *ret, pawl_error *reterr)
{
    assert_that(limit > 0);
    pawl_status status = s->ops->queues->levels(s, qid, limit, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(ret->count <= limit);
    for (size_t i = 1; i < ret->count; i++) {
        if (ret->items[i - 1].priority >= ret->items[i].priority)
            return store_unbelievable("priorities out of order", reterr);
    }
    return status;
}

pawl_status store_find_keys(pawl_store *s, uint64_t qid, const pawl_str *keys, size_t count,
                            pawl_queue_key *ret, pawl_error *reterr)
{
    const pawl_queue_ops *ops = s->ops->queues;
    if (count)
        memset(ret, 0, count * sizeof(*ret));
    if (ops->size >= offsetof(pawl_queue_ops, find_keys) + sizeof(ops->find_keys) && ops->find_keys)
        return ops->find_keys(s, qid, keys, count, ret, reterr);
    pawl_status status = PAWL_OK;
    for (size_t i = 0; i < count && (status == PAWL_OK || status == PAWL_EMPTY); i++)
        status = ops->find_key(s, qid, keys[i], &ret[i], reterr);
    return status == PAWL_EMPTY ? PAWL_OK : status;
}
