/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_queue_round.c -- the queue parts of rounds: one statement per kind of change,
 * for all rounds of a group.
 *
 * The columns of a statement are collected in the store's scratch arrays and sent before the next
 * one begins.  Statements that must find all their rows count them on the server, and the keys of
 * the tables refuse rows that exist (Q3), so nothing is read back.
 *
 * A new lock on one entry may have the entry's id as its number (pawl_queue_lock).  Then the entry's
 * row is not written: readers see the entry as locked while the lock exists (SQL_ENTRY_TAKEN).
 *
 * Called by pg_commit.c with an open pipeline, after the rest of the group.
 */
#include "base/attr.h"
#include "pawl/queue.h"
#include "store/postgres/postgres.h"

/* ---- Rows of one statement ------------------------------------------------------------------ */

/* A statement while its rows are collected. */
struct queue_rows {
    struct pg_store *s;
    int width, next; /* columns; the one to be written */
    int64_t rows;
    int64_t flat; /* entries of locks so far, in the last column */
    bool ok;
};

/* `types`: 8, 4, 2 bytes of a number, o a bool, t text, b bytes; one per column. */
static void begin(struct queue_rows *w, const char *types)
{
    w->width = w->next = 0;
    w->rows = w->flat = 0;
    for (; types[w->width]; w->width++) {
        struct pg_array *a = &w->s->scratch[w->width];
        assert_that(w->width < PG_SCRATCH);
        array_reset(a);
        switch (types[w->width]) {
        case '4':
            a->type = PG_INT4;
            break;
        case '2':
            a->type = PG_INT2;
            break;
        case 'o':
            a->type = PG_BOOL;
            break;
        case 't':
            a->type = PG_TEXT;
            break;
        case 'b':
            a->type = PG_BYTEA;
            break;
        default:
            a->type = PG_INT8;
        }
    }
}

static struct pg_array *next_column(struct queue_rows *w)
{
    assert_that(w->next < w->width);
    return &w->s->scratch[w->next++];
}

static void put_i64(struct queue_rows *w, int64_t n)
{
    array_i64(next_column(w), n);
}

static void put_id(struct queue_rows *w, uint64_t id)
{
    array_id(next_column(w), id);
}

static void put_str(struct queue_rows *w, pawl_str s)
{
    array_str(next_column(w), s);
}

static void end_row(struct queue_rows *w)
{
    w->next = 0;
    w->rows++;
}

/* The columns, then `n` when it is not negative.  No rows: nothing is sent. */
static void send_rows(struct queue_rows *w, int statement, int64_t n)
{
    struct pg_params *p = &w->s->params;

    if (!w->rows || !w->ok)
        return;
    params_reset(p);
    for (int i = 0; i < w->width; i++)
        params_array(p, &w->s->scratch[i]);
    if (n >= 0)
        params_i64(p, n);
    w->ok = link_send(&w->s->writer, statement, p);
}

static void send_counted(struct queue_rows *w, int statement)
{
    send_rows(w, statement, w->rows);
}

/* For updates: is this the first row with the id in this statement? */
static bool is_first(struct queue_rows *w, uint64_t id)
{
    if (idset_has(&w->s->queue_seen, id))
        return false;
    if (!idset_add(&w->s->queue_seen, id))
        w->ok = false;
    return true;
}

static void begin_updates(struct queue_rows *w, const char *types)
{
    begin(w, types);
    idset_reset(&w->s->queue_seen);
}

/* The update of a row with this id follows.  A second update of one row needs its own statement,
 * because the order counts. */
static void next_update(struct queue_rows *w, uint64_t id, int statement, const char *types)
{
    if (is_first(w, id))
        return;
    send_counted(w, statement);
    begin_updates(w, types);
    (void)is_first(w, id);
}

/* For the queue part of every round that has one. */
#define EACH_PART(rounds, count, q)                                                                \
    for (size_t part = 0; part < (count); part++)                                                  \
        if (((q) = (rounds)[part].queue))

/* Collect a row for each of the `n` members of `list`, of every queue part. */
#define COLLECT(w, rounds, count, types, list, n, put)                                             \
    do {                                                                                           \
        const pawl_queue_round *q_;                                                                \
        begin(w, types);                                                                           \
        EACH_PART(rounds, count, q_)                                                               \
        for (size_t i_ = 0; i_ < q_->n; i_++) {                                                    \
            put(w, &q_->list[i_]);                                                                 \
            end_row(w);                                                                            \
        }                                                                                          \
    } while (0)

static void put_one_id(struct queue_rows *w, const uint64_t *id)
{
    put_id(w, *id);
}

/* ---- Queues ------------------------------------------------------------------------------------ */

static void put_counts(struct queue_rows *w, const pawl_queue_row *r)
{
    put_i64(w, r->due_ms);
    put_id(w, r->ready);
    put_id(w, r->delayed);
    put_id(w, r->locked);
    put_id(w, r->locks);
    put_id(w, r->bytes);
    put_i64(w, r->paused);
    put_str(w, r->config);
    put_str(w, r->totals);
}

static void put_new_queue(struct queue_rows *w, const pawl_queue_row *r)
{
    put_id(w, r->qid);
    put_i64(w, r->created_ms);
    put_str(w, r->name);
    put_counts(w, r);
    put_i64(w, r->shard);
}

#define QUEUE_TYPES "8888888obb"

static void send_queues(struct queue_rows *w, const pawl_round *rounds, size_t count)
{
    const pawl_queue_round *q;

    begin_updates(w, QUEUE_TYPES);
    EACH_PART(rounds, count, q)
    {
        for (size_t i = 0; i < q->queue_count; i++) {
            next_update(w, q->queues[i].qid, ST_PG_QUEUE_UPDATE, QUEUE_TYPES);
            put_id(w, q->queues[i].qid);
            put_counts(w, &q->queues[i]);
            end_row(w);
        }
    }
    send_counted(w, ST_PG_QUEUE_UPDATE);
}

/* ---- Entries ------------------------------------------------------------------------------------- */

static void put_new_entry(struct queue_rows *w, const pawl_queue_entry *e)
{
    put_id(w, e->id);
    put_i64(w, e->priority);
    put_i64(w, e->enqueued_ms);
    put_id(w, e->bytes);
    put_str(w, e->data);
    put_str(w, e->attrs);
    put_id(w, e->qid);
    put_id(w, e->place);
    put_i64(w, e->visible_ms);
    put_i64(w, e->expires_ms);
    put_i64(w, e->deliveries);
    put_i64(w, e->state);
    put_str(w, e->note);
}

static bool is_lone(const pawl_queue_lock *l)
{
    return l->entry_count == 1 && l->entries[0] == l->number;
}

/* Note the entries of this part that are only put under their own new lock. */
static void note_lone(struct queue_rows *w, const pawl_queue_round *q)
{
    idset_reset(&w->s->queue_lone);
    for (size_t i = 0; i < q->new_lock_count && q->update_count; i++)
        if (is_lone(&q->new_locks[i]) && !idset_add(&w->s->queue_lone, q->new_locks[i].number))
            w->ok = false;
}

static void put_update(struct queue_rows *w, const pawl_entry_update *u)
{
    put_id(w, u->id);
    put_id(w, u->qid);
    put_id(w, u->place);
    put_i64(w, u->visible_ms);
    put_i64(w, u->expires_ms);
    put_i64(w, u->deliveries);
    put_i64(w, u->state);
    if (u->has_note)
        put_str(w, u->note);
    else
        array_null(next_column(w));
    end_row(w);
}

#define UPDATE_TYPES "8888882b"

static void send_updates(struct queue_rows *w, const pawl_round *rounds, size_t count)
{
    const pawl_queue_round *q;

    begin_updates(w, UPDATE_TYPES);
    EACH_PART(rounds, count, q)
    {
        note_lone(w, q);
        for (size_t i = 0; i < q->update_count; i++) {
            const pawl_entry_update *u = &q->updates[i];
            if (u->state == PAWL_QUEUE_LOCKED && idset_has(&w->s->queue_lone, u->id))
                continue;
            next_update(w, u->id, ST_PG_ENTRY_UPDATE, UPDATE_TYPES);
            put_update(w, u);
        }
    }
    send_counted(w, ST_PG_ENTRY_UPDATE);
}

/* ---- Locks ------------------------------------------------------------------------------------------ */

/* The places of a lock's entries in the last column, which has those of all locks. */
static void put_entries(struct queue_rows *w, const pawl_queue_lock *l)
{
    struct pg_array *all = &w->s->scratch[w->width - 1];

    put_i64(w, w->flat + 1);
    put_i64(w, w->flat + (int64_t)l->entry_count);
    for (size_t i = 0; i < l->entry_count; i++)
        array_id(all, l->entries[i]);
    w->flat += (int64_t)l->entry_count;
}

static void put_new_lock(struct queue_rows *w, const pawl_queue_lock *l)
{
    put_id(w, l->qid);
    put_id(w, l->number);
    put_i64(w, l->created_ms);
    put_i64(w, l->until_ms);
    put_str(w, l->id);
    put_entries(w, l);
}

#define LOCK_TYPES "888448"

static void send_locks(struct queue_rows *w, const pawl_round *rounds, size_t count)
{
    const pawl_queue_round *q;

    begin_updates(w, LOCK_TYPES);
    EACH_PART(rounds, count, q)
    {
        for (size_t i = 0; i < q->lock_count; i++) {
            const pawl_queue_lock *l = &q->locks[i];
            next_update(w, l->number, ST_PG_LOCK_UPDATE, LOCK_TYPES);
            put_id(w, l->qid);
            put_id(w, l->number);
            put_i64(w, l->until_ms);
            put_entries(w, l);
            end_row(w);
        }
    }
    send_counted(w, ST_PG_LOCK_UPDATE);
}

static void put_dropped_lock(struct queue_rows *w, const pawl_queue_lock *l)
{
    put_id(w, l->qid);
    put_id(w, l->number);
}

/* ---- Past locks, keys ---------------------------------------------------------------------------------- */

static void put_past(struct queue_rows *w, const pawl_queue_past *p)
{
    put_id(w, p->qid);
    put_str(w, p->id);
    put_id(w, p->number);
    put_i64(w, p->at_ms);
}

static void put_key(struct queue_rows *w, const pawl_queue_key *k)
{
    put_id(w, k->qid);
    put_str(w, k->key);
    put_id(w, k->entry);
    put_i64(w, k->expires_ms);
}

static void put_forgotten_pasts(struct queue_rows *w, const pawl_queue_forget *f)
{
    put_id(w, f->qid);
    put_i64(w, f->before_ms);
    put_i64(w, f->keep);
}

static void put_forgotten_keys(struct queue_rows *w, const pawl_queue_forget *f)
{
    put_id(w, f->qid);
    put_i64(w, f->now_ms);
}

/* ---- All of them --------------------------------------------------------------------------------------- */

static void send_all(struct queue_rows *w, const pawl_round *rounds, size_t n)
{
    COLLECT(w, rounds, n, "88t888888obb2", new_queues, new_queue_count, put_new_queue);
    send_rows(w, ST_PG_QUEUE_INSERT, -1);
    send_queues(w, rounds, n);
    COLLECT(w, rounds, n, "8888bb888882b", entries, entry_count, put_new_entry);
    send_rows(w, ST_PG_ENTRY_INSERT, -1);
    send_updates(w, rounds, n);
    COLLECT(w, rounds, n, "8", drop_entries, drop_entry_count, put_one_id);
    send_counted(w, ST_PG_ENTRY_DROP);
    COLLECT(w, rounds, n, "8888t448", new_locks, new_lock_count, put_new_lock);
    send_rows(w, ST_PG_LOCK_INSERT, -1);
    send_locks(w, rounds, n);
    COLLECT(w, rounds, n, "88", drop_locks, drop_lock_count, put_dropped_lock);
    send_counted(w, ST_PG_LOCK_DROP);
    COLLECT(w, rounds, n, "8b88", pasts, past_count, put_past);
    send_rows(w, ST_PG_PAST_INSERT, -1);
    COLLECT(w, rounds, n, "8b88", keys, key_count, put_key);
    send_rows(w, ST_PG_QUEUE_KEY_INSERT, -1);
    COLLECT(w, rounds, n, "888", forgets, forget_count, put_forgotten_pasts);
    send_rows(w, ST_PG_PAST_FORGET, -1);
    COLLECT(w, rounds, n, "88", forgets, forget_count, put_forgotten_keys);
    send_rows(w, ST_PG_QUEUE_KEY_FORGET, -1);
    COLLECT(w, rounds, n, "8", drop_queues, drop_queue_count, put_one_id);
    send_counted(w, ST_PG_QUEUE_DROP);
}

bool pg_send_queues(struct pg_store *s, const pawl_round *rounds, size_t count)
{
    struct queue_rows w = {.s = s, .ok = true};
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any |= rounds[i].queue != NULL;
    if (!any)
        return true;
    send_all(&w, rounds, count);
    return w.ok;
}
