/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory_queue.c -- the queue part of rounds: check in full, then apply.
 *
 * memory_queue_acceptable() is clause Q3 as a list; applying cannot fail.  What
 * a round inserts counts for what it changes and drops after that.
 */
#include "store/memory/memory_queue.h"

#include "base/attr.h"
#include "store/memory/copy.h"

#include <stdlib.h>
#include <string.h>

static const struct row_shape shape_queue = {
    sizeof(pawl_queue_row),
    3,
    {offsetof(pawl_queue_row, name), offsetof(pawl_queue_row, config),
      offsetof(pawl_queue_row, totals)}
};
static const struct row_shape shape_entry = {
    sizeof(pawl_queue_entry),
    3,
    {offsetof(pawl_queue_entry, data), offsetof(pawl_queue_entry, attrs),
      offsetof(pawl_queue_entry, note)}
};
static const struct row_shape shape_lock = {
    sizeof(pawl_queue_lock), 1, {offsetof(pawl_queue_lock, id)}};
static const struct row_shape shape_past = {
    sizeof(pawl_queue_past), 1, {offsetof(pawl_queue_past, id)}};
static const struct row_shape shape_key = {
    sizeof(pawl_queue_key), 1, {offsetof(pawl_queue_key, key)}};

static struct memory_queue *queue_of(const struct memory_queues *q, uint64_t qid)
{
    struct order_node *n = order_find(&q->by_qid, 0, qid);
    return n ? CONTAINER_OF(n, struct memory_queue, by_qid) : NULL;
}

static struct memory_entry *entry_of(const struct memory_queues *q, uint64_t id)
{
    struct order_node *n = order_find(&q->by_id, 0, id);
    return n ? CONTAINER_OF(n, struct memory_entry, by_id) : NULL;
}

static struct memory_lock *lock_of(const struct memory_queues *q, const pawl_queue_lock *l)
{
    struct memory_queue *queue = queue_of(q, l->qid);
    struct order_node *n = queue ? order_find(&queue->locks, 0, l->number) : NULL;
    return n ? CONTAINER_OF(n, struct memory_lock, by_number) : NULL;
}

/* ---- Checking ------------------------------------------------------------------ */

_Static_assert(offsetof(pawl_queue_entry, id) == 0 && offsetof(pawl_queue_lock, number) == 0,
               "what memory_distinct() reads lies first");

static bool new_queues_fit(const struct memory_queues *q, const pawl_queue_round *r)
{
    for (size_t i = 0; i < r->new_queue_count; i++) {
        const pawl_queue_row *row = &r->new_queues[i];
        if (queue_of(q, row->qid) || map_gets(&q->by_name, row->name))
            return false;
        for (size_t j = 0; j < i; j++)
            if (r->new_queues[j].qid == row->qid || pawl_str_eq(r->new_queues[j].name, row->name))
                return false;
    }
    return true;
}

static bool queue_known(const struct memory_queues *q, const pawl_queue_round *r, uint64_t qid)
{
    for (size_t i = 0; i < r->new_queue_count; i++)
        if (r->new_queues[i].qid == qid)
            return true;
    return queue_of(q, qid) != NULL;
}

/* Each is there, and no other part of the round adds to it. */
static bool drops_fit(const struct memory_queues *q, const pawl_queue_round *r)
{
    for (size_t i = 0; i < r->drop_queue_count; i++)
        if (!queue_known(q, r, r->drop_queues[i]))
            return false;
    return memory_distinct(r->drop_queues, sizeof(*r->drop_queues), r->drop_queue_count);
}

static bool entry_known(const struct memory_queues *q, const pawl_queue_round *r, uint64_t id)
{
    if (entry_of(q, id))
        return true;
    for (size_t i = 0; i < r->entry_count; i++)
        if (r->entries[i].id == id)
            return true;
    return false;
}

static bool entries_fit(const struct memory_queues *q, const pawl_queue_round *r)
{
    for (size_t i = 0; i < r->entry_count; i++) {
        if (entry_of(q, r->entries[i].id) || !queue_known(q, r, r->entries[i].qid))
            return false;
    }
    for (size_t i = 0; i < r->update_count; i++)
        if (!entry_known(q, r, r->updates[i].id) || !queue_known(q, r, r->updates[i].qid))
            return false;
    for (size_t i = 0; i < r->drop_entry_count; i++)
        if (!entry_known(q, r, r->drop_entries[i]))
            return false;
    return memory_distinct(r->entries, sizeof(*r->entries), r->entry_count) &&
           memory_distinct(r->drop_entries, sizeof(*r->drop_entries), r->drop_entry_count);
}

static bool lock_known(const struct memory_queues *q, const pawl_queue_round *r,
                       const pawl_queue_lock *l)
{
    if (lock_of(q, l))
        return true;
    for (size_t i = 0; i < r->new_lock_count; i++)
        if (r->new_locks[i].number == l->number && r->new_locks[i].qid == l->qid)
            return true;
    return false;
}

static bool locks_fit(const struct memory_queues *q, const pawl_queue_round *r)
{
    for (size_t i = 0; i < r->new_lock_count; i++) {
        if (lock_of(q, &r->new_locks[i]) || !queue_known(q, r, r->new_locks[i].qid))
            return false;
    }
    for (size_t i = 0; i < r->lock_count; i++)
        if (!lock_known(q, r, &r->locks[i]))
            return false;
    for (size_t i = 0; i < r->drop_lock_count; i++)
        if (!lock_known(q, r, &r->drop_locks[i]))
            return false;
    return memory_distinct(r->new_locks, sizeof(*r->new_locks), r->new_lock_count) &&
           memory_distinct(r->drop_locks, sizeof(*r->drop_locks), r->drop_lock_count);
}

bool memory_queue_acceptable(const struct memory_queues *q, const pawl_queue_round *r)
{
    if (!r)
        return true;
    if (!new_queues_fit(q, r))
        return false;
    for (size_t i = 0; i < r->queue_count; i++)
        if (!queue_known(q, r, r->queues[i].qid))
            return false;
    for (size_t i = 0; i < r->past_count; i++)
        if (!queue_known(q, r, r->pasts[i].qid))
            return false;
    for (size_t i = 0; i < r->key_count; i++)
        if (!queue_known(q, r, r->keys[i].qid))
            return false;
    return entries_fit(q, r) && locks_fit(q, r) && drops_fit(q, r);
}

/* ---- Applying ------------------------------------------------------------------- */

static void place_queue(struct memory_queues *q, struct memory_queue *queue)
{
    order_remove(&queue->due);
    if (queue->row.due_ms > 0)
        order_add(&q->due, &queue->due, queue->row.due_ms, queue->row.qid);
}

static void insert_queue(struct memory_queues *q, const pawl_queue_row *row)
{
    struct memory_queue *queue = copy_alloc(sizeof(*queue));
    copy_keep(&shape_queue, &queue->row, row);
    map_init(&queue->past_ids);
    map_init(&queue->key_texts);
    order_add(&q->by_qid, &queue->by_qid, 0, row->qid);
    need_memory(map_puts(&q->by_name, queue->row.name, queue));
    place_queue(q, queue);
}

static void change_queue(struct memory_queues *q, const pawl_queue_row *row)
{
    struct memory_queue *queue = queue_of(q, row->qid);
    assert_that(queue); /* the commit was checked before */
    pawl_queue_row old = queue->row;
    queue->row = *row;
    queue->row.name = old.name;
    queue->row.shard = old.shard;
    queue->row.created_ms = old.created_ms;
    queue->row.config = old.config;
    queue->row.totals = old.totals;
    copy_set(&queue->row.config, row->config);
    copy_set(&queue->row.totals, row->totals);
    place_queue(q, queue);
}

/* Put an entry where its state says. */
static void place_entry(struct memory_entry *e)
{
    order_remove(&e->ready);
    order_remove(&e->delayed);
    order_remove(&e->expiring);
    if (e->row.state == 0)
        order_add(&e->queue->ready, &e->ready, e->row.priority, e->row.place);
    else if (e->row.state == 1)
        order_add(&e->queue->delayed, &e->delayed, e->row.visible_ms, e->row.id);
    if (e->row.state != 2 && e->row.expires_ms > 0)
        order_add(&e->queue->expiring, &e->expiring, e->row.expires_ms, e->row.id);
}

static void insert_entry(struct memory_queues *q, const pawl_queue_entry *row)
{
    struct memory_entry *e = copy_alloc(sizeof(*e));
    copy_keep(&shape_entry, &e->row, row);
    e->queue = queue_of(q, row->qid);
    assert_that(e->queue);
    order_add(&q->by_id, &e->by_id, 0, row->id);
    order_add(&e->queue->of_queue, &e->of_queue, 0, row->id);
    place_entry(e);
}

static void update_entry(struct memory_queues *q, const pawl_entry_update *u)
{
    struct memory_entry *e = entry_of(q, u->id);
    assert_that(e);
    order_remove(&e->ready);
    order_remove(&e->delayed);
    order_remove(&e->expiring);
    if (u->qid != e->row.qid) {
        order_remove(&e->of_queue);
        e->row.qid = u->qid;
        e->queue = queue_of(q, u->qid);
        order_add(&e->queue->of_queue, &e->of_queue, 0, e->row.id);
    }
    e->row.state = u->state;
    e->row.place = u->place;
    e->row.visible_ms = u->visible_ms;
    e->row.expires_ms = u->expires_ms;
    e->row.deliveries = u->deliveries;
    if (u->has_note)
        copy_set(&e->row.note, u->note);
    place_entry(e);
}

static void drop_entry(struct memory_entry *e)
{
    order_remove(&e->by_id);
    order_remove(&e->of_queue);
    order_remove(&e->ready);
    order_remove(&e->delayed);
    order_remove(&e->expiring);
    copy_drop(&shape_entry, &e->row);
    free(e);
}

static const uint64_t *keep_ids(const uint64_t *ids, size_t count)
{
    uint64_t *copy = copy_alloc((count + 1) * sizeof(*copy));
    if (count)
        memcpy(copy, ids, count * sizeof(*copy));
    return copy;
}

static void insert_lock(struct memory_queues *q, const pawl_queue_lock *row)
{
    struct memory_lock *l = copy_alloc(sizeof(*l));
    copy_keep(&shape_lock, &l->row, row);
    l->row.entries = keep_ids(row->entries, row->entry_count);
    order_add(&queue_of(q, row->qid)->locks, &l->by_number, 0, row->number);
}

static void change_lock(struct memory_queues *q, const pawl_queue_lock *row)
{
    struct memory_lock *l = lock_of(q, row);
    free((void *)(uintptr_t)l->row.entries);
    l->row.until_ms = row->until_ms;
    l->row.entries = keep_ids(row->entries, row->entry_count);
    l->row.entry_count = row->entry_count;
}

static void drop_lock(struct memory_lock *l)
{
    order_remove(&l->by_number);
    free((void *)(uintptr_t)l->row.entries);
    copy_drop(&shape_lock, &l->row);
    free(l);
}

static void drop_past(struct memory_queue *queue, struct memory_past *p)
{
    order_remove(&p->by_number);
    (void)map_removes(&queue->past_ids, p->row.id);
    copy_drop(&shape_past, &p->row);
    free(p);
}

static void insert_past(struct memory_queues *q, const pawl_queue_past *row)
{
    struct memory_queue *queue = queue_of(q, row->qid);
    struct memory_past *p = map_gets(&queue->past_ids, row->id);
    if (p)
        drop_past(queue, p);
    p = copy_alloc(sizeof(*p));
    copy_keep(&shape_past, &p->row, row);
    order_add(&queue->pasts, &p->by_number, 0, row->number);
    need_memory(map_puts(&queue->past_ids, p->row.id, p));
}

static void drop_key(struct memory_queue *queue, struct memory_key *k)
{
    order_remove(&k->by_expiry);
    (void)map_removes(&queue->key_texts, k->row.key);
    copy_drop(&shape_key, &k->row);
    free(k);
}

static void insert_key(struct memory_queues *q, const pawl_queue_key *row)
{
    struct memory_queue *queue = queue_of(q, row->qid);
    struct memory_key *k = map_gets(&queue->key_texts, row->key);
    if (k)
        drop_key(queue, k);
    k = copy_alloc(sizeof(*k));
    copy_keep(&shape_key, &k->row, row);
    order_add(&queue->keys, &k->by_expiry, row->expires_ms, row->entry);
    need_memory(map_puts(&queue->key_texts, k->row.key, k));
}

static void forget(struct memory_queues *q, const pawl_queue_forget *f)
{
    struct memory_queue *queue = queue_of(q, f->qid);
    if (!queue)
        return;
    for (struct order_node *n = order_first(&queue->pasts), *next; n; n = next) {
        next = order_next(n);
        struct memory_past *p = CONTAINER_OF(n, struct memory_past, by_number);
        if (p->row.at_ms < f->before_ms)
            drop_past(queue, p);
    }
    while (queue->pasts.count > f->keep)
        drop_past(queue, CONTAINER_OF(order_first(&queue->pasts), struct memory_past, by_number));
    for (struct order_node *n; (n = order_first(&queue->keys)) && n->key <= f->now_ms;)
        drop_key(queue, CONTAINER_OF(n, struct memory_key, by_expiry));
}

/* It is not found any more; purge has its rows. */
static void bury_queue(struct memory_queues *q, struct memory_queue *queue)
{
    (void)map_removes(&q->by_name, queue->row.name);
    order_remove(&queue->by_qid);
    order_remove(&queue->due);
    struct memory_queue **last = vec_push(&q->removed);
    need_memory(last != NULL);
    *last = queue;
}

void memory_queue_apply(struct memory_queues *q, const pawl_queue_round *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->new_queue_count; i++)
        insert_queue(q, &r->new_queues[i]);
    for (size_t i = 0; i < r->queue_count; i++)
        change_queue(q, &r->queues[i]);
    for (size_t i = 0; i < r->entry_count; i++)
        insert_entry(q, &r->entries[i]);
    for (size_t i = 0; i < r->update_count; i++)
        update_entry(q, &r->updates[i]);
    for (size_t i = 0; i < r->drop_entry_count; i++)
        drop_entry(entry_of(q, r->drop_entries[i]));
    for (size_t i = 0; i < r->new_lock_count; i++)
        insert_lock(q, &r->new_locks[i]);
    for (size_t i = 0; i < r->lock_count; i++)
        change_lock(q, &r->locks[i]);
    for (size_t i = 0; i < r->drop_lock_count; i++)
        drop_lock(lock_of(q, &r->drop_locks[i]));
    for (size_t i = 0; i < r->past_count; i++)
        insert_past(q, &r->pasts[i]);
    for (size_t i = 0; i < r->key_count; i++)
        insert_key(q, &r->keys[i]);
    for (size_t i = 0; i < r->forget_count; i++)
        forget(q, &r->forgets[i]);
    for (size_t i = 0; i < r->drop_queue_count; i++)
        bury_queue(q, queue_of(q, r->drop_queues[i]));
}

/* ---- The whole -------------------------------------------------------------------- */

void memory_queues_init(struct memory_queues *q)
{
    *q = (struct memory_queues){0};
    map_init(&q->by_name);
}

/* One row of a queue; false when it has none left. */
static bool drop_row(struct memory_queue *queue)
{
    struct order_node *n;
    if ((n = order_first(&queue->of_queue)))
        drop_entry(CONTAINER_OF(n, struct memory_entry, of_queue));
    else if ((n = order_first(&queue->locks)))
        drop_lock(CONTAINER_OF(n, struct memory_lock, by_number));
    else if ((n = order_first(&queue->pasts)))
        drop_past(queue, CONTAINER_OF(n, struct memory_past, by_number));
    else if ((n = order_first(&queue->keys)))
        drop_key(queue, CONTAINER_OF(n, struct memory_key, by_expiry));
    return n != NULL;
}

static void drop_queue(struct memory_queue *queue)
{
    while (drop_row(queue))
        ;
    map_deinit(&queue->past_ids);
    map_deinit(&queue->key_texts);
    order_remove(&queue->by_qid);
    order_remove(&queue->due);
    copy_drop(&shape_queue, &queue->row);
    free(queue);
}

/* The last dropped queue of these shards, or the count of all when there is none. */
static size_t last_removed(const struct memory_queues *q, uint64_t shards)
{
    for (size_t i = q->removed.count; i > 0; i--)
        if (shards >> q->removed.items[i - 1]->row.shard & 1)
            return i - 1;
    return q->removed.count;
}

uint32_t memory_queue_purge(struct memory_queues *q, uint64_t shards, uint32_t limit)
{
    uint32_t done = 0;
    for (size_t i; done < limit && (i = last_removed(q, shards)) < q->removed.count; done++) {
        if (drop_row(q->removed.items[i]))
            continue;
        drop_queue(q->removed.items[i]);
        q->removed.items[i] = q->removed.items[--q->removed.count];
    }
    return done;
}

bool memory_queue_left(const struct memory_queues *q, uint64_t shards)
{
    return last_removed(q, shards) < q->removed.count;
}

void memory_queues_deinit(struct memory_queues *q)
{
    struct order_node *n;
    (void)memory_queue_purge(q, PAWL_SHARDS_ALL, UINT32_MAX);
    vec_deinit(&q->removed);
    while ((n = order_first(&q->by_qid)))
        drop_queue(CONTAINER_OF(n, struct memory_queue, by_qid));
    map_deinit(&q->by_name);
}

int64_t memory_queue_due(const struct memory_queues *q, uint64_t shards, int64_t after_ms)
{
    if (after_ms == INT64_MAX)
        return INT64_MAX;
    struct order_node *n = order_from(&q->due, after_ms + 1, 0);
    while (n && !(shards >> CONTAINER_OF(n, struct memory_queue, due)->row.shard & 1))
        n = order_next(n);
    return n ? n->key : INT64_MAX;
}

void memory_queue_check(const struct memory_queues *q)
{
    assert_that(q->by_qid.count == q->by_name.count);
    for (struct order_node *n = order_first(&q->by_id); n; n = order_next(n)) {
        const struct memory_entry *e = CONTAINER_OF(n, struct memory_entry, by_id);
        assert_that(e->queue->row.qid == e->row.qid && e->of_queue.in == &e->queue->of_queue);
        assert_that((e->ready.in != NULL) == (e->row.state == 0));
        assert_that((e->delayed.in != NULL) == (e->row.state == 1));
        assert_that((e->expiring.in != NULL) == (e->row.state != 2 && e->row.expires_ms > 0));
    }
}
