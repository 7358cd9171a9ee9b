/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_queue_due.c -- when queues are due, and which queue parts of a group are
 * independent of each other.
 *
 * The row of a queue is written by nearly every commit that touches the queue, and its due time
 * changes with it.  An index on it would make each of these updates a full one (G4), so the engine
 * keeps the due times of all its queues in memory.  They are read when first needed after a take, and
 * follow the committed rounds.  When nothing is due, no statement is sent.
 *
 * Invariant (queue_times_check): every time in the heap has its queue in the map.  Engine thread
 * only.
 */
#include "base/attr.h"
#include "store/postgres/pg_rows.h"
#include "store/postgres/postgres.h"
#include "store/store.h"

#define TIMES_AT_ONCE 4096

struct queue_time {
    struct heap_node node; /* by due time and qid */
};

/* ---- Independence ------------------------------------------------------------------------------ */

/* Claim an id for one part of the group.  False: another part has it, or memory ran out. */
static bool claim(struct map *ids, uint64_t id, size_t part)
{
    const void *owner = map_get(ids, id), *us = (const void *)(part + 1);

    return owner == us || (!owner && map_put(ids, id, (void *)(part + 1)));
}

/* X(list, count, id) of every row that a queue part names or makes.  Locks and entries have ids
 * of one counter, and so do queues. */
#define CLAIMED(X)                                                                                 \
    X(new_queue_count, q->new_queues[i].qid)                                                       \
    X(queue_count, q->queues[i].qid)                                                               \
    X(entry_count, q->entries[i].id)                                                               \
    X(update_count, q->updates[i].id)                                                              \
    X(drop_entry_count, q->drop_entries[i])                                                        \
    X(new_lock_count, q->new_locks[i].number)                                                      \
    X(lock_count, q->locks[i].number)                                                              \
    X(drop_lock_count, q->drop_locks[i].number)                                                    \
    X(past_count, q->pasts[i].qid)                                                                 \
    X(key_count, q->keys[i].qid)                                                                   \
    X(forget_count, q->forgets[i].qid)                                                             \
    X(drop_queue_count, q->drop_queues[i])

static bool claim_all(struct map *ids, const pawl_queue_round *q, size_t part)
{
    bool good = true;

#define CLAIM(count, id)                                                                           \
    for (size_t i = 0; i < q->count && good; i++)                                                  \
        good = claim(ids, id, part);
    CLAIMED(CLAIM)
#undef CLAIM
    return good;
}

bool pg_queues_are_independent(const pawl_round *rounds, size_t count)
{
    size_t parts = 0;
    bool good = true, makes = false, drops = false;
    struct map ids;

    for (size_t i = 0; i < count; i++) {
        const pawl_queue_round *q = rounds[i].queue;
        parts += q != NULL;
        makes |= q && q->new_queue_count;
        drops |= q && q->drop_queue_count;
    }
    if (parts < 2)
        return true;
    if (makes && drops) /* a queue may be made with the name of one that is dropped */
        return false;
    map_init(&ids);
    for (size_t i = 0; i < count && good; i++)
        good = !rounds[i].queue || claim_all(&ids, rounds[i].queue, i);
    map_deinit(&ids);
    return good;
}

/* ---- Due times ------------------------------------------------------------------------------------ */

void queue_times_init(struct queue_times *t)
{
    *t = (struct queue_times){0};
    map_init(&t->by_qid);
    heap_init(&t->due);
}

void queue_times_reset(struct queue_times *t)
{
    size_t cursor = 0;
    struct queue_time *q;

    while ((q = map_next(&t->by_qid, &cursor))) {
        heap_remove(&t->due, &q->node);
        free(q);
    }
    map_reset(&t->by_qid);
    t->known = false;
}

void queue_times_deinit(struct queue_times *t)
{
    queue_times_reset(t);
    map_deinit(&t->by_qid);
    heap_deinit(&t->due);
}

void queue_times_check(const struct queue_times *t)
{
    heap_check(&t->due);
    assert_that(t->due.count == t->by_qid.count);
    for (size_t i = 0; i < t->due.count; i++)
        assert_that(t->due.nodes[i]->key > 0 && map_get(&t->by_qid, t->due.nodes[i]->tie));
}

static void forget_time(struct queue_times *t, uint64_t qid)
{
    struct queue_time *q = t->by_qid.count ? map_remove(&t->by_qid, qid) : NULL;

    if (!q)
        return;
    heap_remove(&t->due, &q->node);
    free(q);
}

/* False: out of memory. */
static bool set_time(struct queue_times *t, uint64_t qid, int64_t due_ms)
{
    struct queue_time *q = map_get(&t->by_qid, qid);

    if (q && q->node.key == due_ms)
        return true;
    forget_time(t, qid);
    if (due_ms <= 0)
        return true;
    q = calloc(1, sizeof *q);
    if (!q)
        return false;
    q->node.key = due_ms;
    q->node.tie = qid;
    if (!map_put(&t->by_qid, qid, q)) {
        free(q);
        return false;
    }
    if (heap_push(&t->due, &q->node))
        return true;
    forget_time(t, qid);
    return false;
}

/* A round that was committed.  Without memory for it everything is read again. */
void pg_queues_remember(struct pg_store *s, const pawl_queue_round *q)
{
    struct queue_times *t = &s->queue_times;
    bool good = t->known;

    for (size_t i = 0; i < q->new_queue_count && good; i++)
        good = set_time(t, q->new_queues[i].qid, q->new_queues[i].due_ms);
    for (size_t i = 0; i < q->queue_count && good; i++)
        good = set_time(t, q->queues[i].qid, q->queues[i].due_ms);
    for (size_t i = 0; i < q->drop_queue_count && good; i++)
        forget_time(t, q->drop_queues[i]);
    if (!good)
        queue_times_reset(t);
}

/* Read the page of queues after *after, and move it on; it is 0 after the last page. */
static pawl_status learn_page(struct pg_store *s, uint64_t *after, pawl_error *reterr)
{
    pawl_status status;
    struct pg_params *p = &s->params;
    bool good = true;

    params_reset(p);
    params_id(p, *after);
    params_i64(p, TIMES_AT_ONCE);
    params_id(p, s->fence.shards);
    PGresult *r = link_run(&s->writer, ST_PG_QUEUE_TIMES, p, READ_A_QUEUE, &status, reterr);
    if (!r)
        return status;
    int rows = pq.ntuples(r);
    for (int i = 0; i < rows && good; i++)
        good = set_time(&s->queue_times, value_id(r, i, 0), value_i64(r, i, 1));
    *after = rows < TIMES_AT_ONCE ? 0 : value_id(r, rows - 1, 0);
    pq.clear(r);
    if (good)
        return PAWL_OK;
    error_set(reterr, PAWL_NO_MEMORY, "out of memory");
    return PAWL_NO_MEMORY;
}

pawl_status pg_queues_learn(struct pg_store *s, pawl_error *reterr)
{
    pawl_status status = PAWL_OK;
    uint64_t after = 0;

    if (s->queue_times.known)
        return PAWL_OK;
    queue_times_reset(&s->queue_times);
    do {
        status = learn_page(s, &after, reterr);
    } while (status == PAWL_OK && after);
    s->queue_times.known = status == PAWL_OK;
    return status;
}

/* The smallest time after `after_ms`: near the top, unless many are due. */
static void find_after(const struct heap *h, size_t at, int64_t after_ms, int64_t *best)
{
    if (at >= h->count || h->nodes[at]->key >= *best)
        return;
    if (h->nodes[at]->key > after_ms) {
        *best = h->nodes[at]->key;
        return;
    }
    find_after(h, 2 * at + 1, after_ms, best);
    find_after(h, 2 * at + 2, after_ms, best);
}

int64_t pg_queues_next(const struct pg_store *s, int64_t after_ms)
{
    int64_t best = INT64_MAX;

    find_after(&s->queue_times.due, 0, after_ms, &best);
    return best;
}

/* The first queues that are due, by time and qid. */
static size_t choose_due(struct queue_times *t, int64_t now_ms, uint32_t limit, uint64_t *qids)
{
    struct heap_node *top;
    size_t count = 0;

    while (count < limit && (top = heap_top(&t->due)) && top->key <= now_ms) {
        qids[count++] = top->tie;
        (void)heap_pop(&t->due);
    }
    for (size_t i = 0; i < count; i++) {
        struct queue_time *q = map_get(&t->by_qid, qids[i]);
        need_memory(heap_push(&t->due, &q->node)); /* it just was in there */
    }
    return count;
}

static pawl_status read_due(struct pg_store *s, const uint64_t *qids, size_t count, pawl_mem *mem,
                            pawl_queue_row_list *ret, pawl_error *reterr)
{
    pawl_status status;
    struct pg_params *p = &s->params;

    params_reset(p);
    params_ids(p, qids, count);
    params_i64(p, (int64_t)count);
    PGresult *r = link_run(&s->writer, ST_PG_QUEUES_BY_QID, p, READ_A_QUEUE, &status, reterr);
    if (!r)
        return status;
    size_t found = (size_t)pq.ntuples(r);
    pawl_queue_row *rows = arena_array(mem, pawl_queue_row, found + 1);
    for (size_t i = 0; i < found; i++)
        pg_decode_queue(r, (int)i, mem, &rows[i]);
    pq.clear(r);
    *ret = (pawl_queue_row_list){rows, found};
    return PAWL_OK;
}

pawl_status pg_due_queues(pawl_store *base, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                          pawl_queue_row_list *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    struct queue_times *t = &s->queue_times;

    pawl_status status = pg_attach(s, reterr);
    if (status == PAWL_OK)
        status = pg_queues_learn(s, reterr);
    if (status != PAWL_OK)
        return status;
    *ret = (pawl_queue_row_list){0};
    size_t most = t->due.count < limit ? t->due.count : limit;
    uint64_t *qids = arena_array(mem, uint64_t, most + 1);
    size_t count = choose_due(t, now_ms, (uint32_t)most, qids);
    return count ? read_due(s, qids, count, mem, ret, reterr) : PAWL_OK;
}
