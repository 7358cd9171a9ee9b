/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/round_work.c -- the work rows of a round.
 *
 * Work that was never tried is a number in work_local or work_fresh: its
 * ActivityScheduled event says the rest (round_is_untried).  It moves to `work` when it
 * gets something of its own: an attempt, a time, a lease.  An id is in exactly one
 * of the three tables.  Called by round.c inside a transaction.
 */
#include "store/round_rules.h"
#include "store/sqlite/round.h"

_Static_assert(ST_WORK_DELETE_RUN == ST_WORK_DELETE + 1 &&
                   ST_LOCAL_DELETE_RUN == ST_LOCAL_DELETE + 1 &&
                   ST_FRESH_DELETE_RUN == ST_FRESH_DELETE + 1,
               "delete_from() counts on it");

/* Delete ids first..last from one of the three tables; how many in *retgone. */
static int delete_from(struct apply *a, int which, uint64_t first, uint64_t last, uint64_t *retgone)
{
    bool run_of = first != last;
    /* Each _RUN statement comes right behind the one for a single id. */
    sqlite3_stmt *stmt = conn_statement(a->c, run_of ? which + 1 : which);

    if (!stmt)
        return apply_broken(a);
    bind_id(stmt, 1, first);
    if (run_of)
        bind_id(stmt, 2, last);
    int rc = sqlite3_step(stmt);
    (void)sqlite3_reset(stmt);
    if (rc != SQLITE_DONE)
        return rc;
    uint64_t gone = (uint64_t)sqlite3_changes(a->c->db);
    a->wrote |= gone != 0;
    *retgone += gone;
    return SQLITE_OK;
}

/* Most work is local; fetched work is not. */
static int delete_work(struct apply *a, uint64_t first, uint64_t last, uint64_t *retgone)
{
    static const int kept[] = {ST_LOCAL_DELETE, ST_FRESH_DELETE, ST_WORK_DELETE};
    static const int fetched[] = {ST_FRESH_DELETE, ST_WORK_DELETE, ST_LOCAL_DELETE};
    assert_that(first <= last);
    bool was_fetched = a->s->names.taken.count && idset_has(&a->s->names.taken, first);
    int rc = apply_before(a, last);

    *retgone = 0;
    for (int i = 0; i < 3 && rc == SQLITE_OK && *retgone <= last - first; i++)
        rc = delete_from(a, was_fetched ? fetched[i] : kept[i], first, last, retgone);
    return rc;
}

int delete_needed(struct apply *a)
{
    const pawl_round *r = a->r;
    int rc = SQLITE_OK;

    for (size_t i = 0, end; i < r->need_work_count && rc == SQLITE_OK; i = end) {
        uint64_t gone;
        end = ids_run_end(r->need_work, i, r->need_work_count);
        rc = delete_work(a, r->need_work[i], r->need_work[end - 1], &gone);
        if (rc == SQLITE_OK && gone != end - i)
            rc = ROUND_REFUSED;
    }
    return rc;
}

/* ROUND_REFUSED when one of the other tables has the id.  Only for work without an event in this
 * round: an event with a new rid has new work. */
static int check_no_untried(struct apply *a, uint64_t id)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_UNTRIED_CHECK);
    int rc = stmt ? apply_before(a, id) : apply_broken(a);

    if (rc != SQLITE_OK)
        return rc;
    bind_id(stmt, 1, id);
    rc = sqlite3_step(stmt);
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc == SQLITE_ROW ? ROUND_REFUSED : rc;
}

static enum place place_of(const struct apply *a, uint64_t lock_epoch, int64_t free_ms)
{
    if (lock_epoch == a->s->fence.epoch)
        return PLACE_HELD;
    return free_ms > 0 ? PLACE_DELAYED : PLACE_READY;
}

/* Work and events both come in the order of their ids. */
static int insert_work(struct apply *a)
{
    const pawl_round *r = a->r;
    size_t at = 0;
    int rc = SQLITE_OK;

    for (size_t i = 0; i < r->work_count && rc == SQLITE_OK; i++) {
        const pawl_work *w = &r->work[i];
        while (at < r->event_count && r->events[at].rid < w->id)
            at++;
        bool has_event = at < r->event_count && r->events[at].rid == w->id;
        if (has_event && round_is_untried(r, w, &r->events[at])) {
            rc = pending_add_work(a->s, w);
            continue;
        }
        sqlite3_stmt *stmt = conn_statement(a->c, ST_WORK_INSERT);
        if (!stmt)
            return apply_broken(a);
        if (!has_event)
            rc = check_no_untried(a, w->id);
        int64_t free_ms = work_free_ms(w->visible_ms, w->lock_token, w->lock_until_ms);
        bind_work(stmt, w, place_of(a, w->lock_epoch, free_ms));
        if (rc == SQLITE_OK)
            rc = apply_run(a, stmt);
    }
    return rc;
}

static int update_one(struct apply *a, sqlite3_stmt *stmt, const pawl_work_update *u)
{
    int64_t free_ms = work_free_ms(u->visible_ms, u->lock_token, u->lock_until_ms);

    bind_work_update(stmt, u, place_of(a, u->lock_epoch, free_ms));
    return apply_run(a, stmt);
}

/* Move untried work to `work`, because it gets a column that its event does not have.  *retmoved
 * tells whether there was any. */
static int move_to_work(struct apply *a, uint64_t id, bool *retmoved)
{
    static const int ways[][2] = {
        {ST_LOCAL_MOVE, ST_LOCAL_DELETE},
        {ST_FRESH_MOVE, ST_FRESH_DELETE},
    };
    int rc = SQLITE_OK;

    *retmoved = false;
    for (int i = 0; i < 2 && rc == SQLITE_OK && !*retmoved; i++) {
        rc = apply_ids(a, ways[i][0], &id, 1);
        *retmoved = rc == SQLITE_OK && sqlite3_changes(a->c->db) != 0;
        if (*retmoved)
            rc = apply_ids(a, ways[i][1], &id, 1);
    }
    return rc;
}

static int update_work(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_WORK_UPDATE);
    int rc = stmt ? SQLITE_OK : apply_broken(a);

    for (size_t i = 0; i < a->r->work_update_count && rc == SQLITE_OK; i++) {
        const pawl_work_update *u = &a->r->work_updates[i];
        bool moved = false;
        rc = apply_before(a, u->id);
        if (rc == SQLITE_OK)
            rc = update_one(a, stmt, u);
        if (rc == SQLITE_OK && sqlite3_changes(a->c->db) == 0)
            rc = move_to_work(a, u->id, &moved);
        if (rc == SQLITE_OK && moved)
            rc = update_one(a, stmt, u);
    }
    return rc;
}

int change_work(struct apply *a)
{
    const pawl_round *r = a->r;
    int rc = r->work_count ? insert_work(a) : SQLITE_OK;

    if (rc == SQLITE_OK && r->work_update_count)
        rc = update_work(a);
    for (size_t i = 0, end; i < r->drop_work_count && rc == SQLITE_OK; i = end) {
        uint64_t gone;
        end = ids_run_end(r->drop_work, i, r->drop_work_count);
        rc = delete_work(a, r->drop_work[i], r->drop_work[end - 1], &gone);
    }
    return rc;
}
