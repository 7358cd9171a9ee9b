/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/pending.c -- rows that wait for the end of their group.
 *
 * New instances, events and untried work are collected while the rounds of a group are
 * applied, and written together, one statement per table (bulk.c).  No statement may look
 * for such a row before: pending_before() writes them when the next statement could need
 * one.  All ids come from one counter, so one comparison tells.
 *
 * Invariants: nothing is pending before a group begins and after it was written or rolled
 * back; the rows that are pointed to live as long as the rounds.  Called by round.c,
 * round_work.c and commit.c inside a transaction.
 */
#include "store/sqlite/sqlite.h"

static void note_lowest(struct pending *p, uint64_t id)
{
    assert_that(id != 0); /* 0 says that nothing waits */
    if (p->lowest == 0 || id < p->lowest)
        p->lowest = id;
}

int pending_add_row(struct sqlite_store *s, uint64_t uid, const pawl_row *row)
{
    struct pending_row *p = vec_push(&s->pending.rows);

    if (!p)
        return SQLITE_NOMEM;
    *p = (struct pending_row){.uid = uid, .row = row};
    note_lowest(&s->pending, uid);
    return SQLITE_OK;
}

int pending_add_event(struct sqlite_store *s, uint64_t uid, const pawl_event *e, uint64_t prev)
{
    struct pending_event *p = vec_push(&s->pending.events);

    if (!p)
        return SQLITE_NOMEM;
    *p = (struct pending_event){.event = e, .uid = uid, .prev = prev};
    note_lowest(&s->pending, e->rid);
    return SQLITE_OK;
}

int pending_add_work(struct sqlite_store *s, const pawl_work *w)
{
    bool local = w->lock_epoch == s->fence.epoch;
    struct pending_work *p = local ? vec_push(&s->pending.local) : vec_push(&s->pending.fresh);

    if (!p)
        return SQLITE_NOMEM;
    *p = (struct pending_work){.id = w->id, .lock_epoch = w->lock_epoch, .name = w->name};
    note_lowest(&s->pending, w->id);
    return SQLITE_OK;
}

void pending_forget(struct sqlite_store *s)
{
    vec_reset(&s->pending.rows);
    vec_reset(&s->pending.events);
    vec_reset(&s->pending.local);
    vec_reset(&s->pending.fresh);
    s->pending.lowest = 0;
}

int pending_write(struct sqlite_store *s)
{
    struct pending *p = &s->pending;
    struct conn *c = &s->writer;
    int rc = bulk_run(c, BULK_ROW, p->rows.items, p->rows.count);

    if (rc == SQLITE_OK)
        rc = bulk_run(c, BULK_HEAD, p->rows.items, p->rows.count);
    if (rc == SQLITE_OK)
        rc = bulk_run(c, BULK_EVENT, p->events.items, p->events.count);
    if (rc == SQLITE_OK)
        rc = bulk_run(c, BULK_LOCAL, p->local.items, p->local.count);
    if (rc == SQLITE_OK)
        rc = bulk_run(c, BULK_FRESH, p->fresh.items, p->fresh.count);
    pending_forget(s);
    return rc;
}

int pending_before(struct sqlite_store *s, uint64_t id)
{
    return s->pending.lowest && id >= s->pending.lowest ? pending_write(s) : SQLITE_OK;
}

void pending_deinit(struct sqlite_store *s)
{
    vec_deinit(&s->pending.rows);
    vec_deinit(&s->pending.events);
    vec_deinit(&s->pending.local);
    vec_deinit(&s->pending.fresh);
}
