/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/round.c -- one round, statement by statement.
 *
 * The order puts everything that usually refuses a round first: the shape of
 * its events (no SQL), then the compare-and-set on the instance's head.  A round
 * refused there has written nothing and costs nothing to refuse.  One refused
 * later (a missing work row, an id that exists) has; commit.c then rolls the
 * group back and runs it again with a savepoint around each round.
 *
 * The plain step of an orchestration runs two statements: update head, delete work.
 * Its events and its next work wait for the end of the group (pending.c), a new
 * instance too.
 */
#include "store/sqlite/round.h"
#include "store/round_rules.h"

static int change_instance(struct apply *a);
static int append_events(struct apply *a);
static int change_messages(struct apply *a);
static int remember_keys(struct apply *a);

int round_apply(struct sqlite_store *s, pawl_round *round, bool *retwrote)
{
    assert_that(!sqlite3_get_autocommit(s->writer.db)); /* or half a round could be committed */
    struct apply a = {.s = s, .c = &s->writer, .r = round};
    int rc = round_is_sound(round) ? SQLITE_OK : ROUND_REFUSED;

    if (rc == SQLITE_OK && round->uid != 0 && (rc = change_instance(&a)) == ROUND_REFUSED)
        round->why = round->change == PAWL_ROW_INSERT ? PAWL_WHY_UNKNOWN : PAWL_WHY_MOVED;
    if (rc == SQLITE_OK && round->need_work_count && (rc = delete_needed(&a)) == ROUND_REFUSED)
        round->why = PAWL_WHY_WORK_GONE;
    if (rc == SQLITE_OK && round->event_count)
        rc = append_events(&a);
    if (rc == SQLITE_OK)
        rc = change_messages(&a);
    if (rc == SQLITE_OK)
        rc = change_work(&a);
    if (rc == SQLITE_OK && round->key_count && round->uid != 0)
        rc = remember_keys(&a);
    if (rc == SQLITE_OK && round->queue)
        rc = queue_round_apply(a.c, round->queue, &a.wrote);
    if (rc == SQLITE_OK && round->extra && (rc = change_objects(&a)) == SQLITE_OK)
        rc = change_attributes(&a);
    *retwrote = a.wrote;
    bool refused = rc == ROUND_REFUSED || (rc & 0xff) == SQLITE_CONSTRAINT;
    round->result = refused ? PAWL_CONFLICT : PAWL_OK;
    return refused ? SQLITE_OK : rc;
}

/* Run a write; what it did decides how a refusal is undone. */
int apply_run(struct apply *a, sqlite3_stmt *stmt)
{
    int rc = sqlite3_step(stmt);

    (void)sqlite3_reset(stmt);
    if (rc != SQLITE_DONE)
        return rc;
    a->wrote = true;
    return SQLITE_OK;
}

/* As apply_run(), ROUND_REFUSED when no row matched. */
static int run_one(struct apply *a, sqlite3_stmt *stmt)
{
    int rc = sqlite3_step(stmt);

    (void)sqlite3_reset(stmt);
    if (rc != SQLITE_DONE)
        return rc;
    if (sqlite3_changes(a->c->db) == 0)
        return ROUND_REFUSED;
    a->wrote = true;
    return SQLITE_OK;
}

int apply_broken(struct apply *a)
{
    return sqlite3_extended_errcode(a->c->db);
}

int apply_before(struct apply *a, uint64_t id)
{
    int rc = pending_before(a->s, id);

    a->wrote |= rc != SQLITE_OK;
    return rc;
}

int apply_ids(struct apply *a, int which, const uint64_t *ids, size_t count)
{
    if (count == 0)
        return SQLITE_OK;
    sqlite3_stmt *stmt = conn_statement(a->c, which);
    if (!stmt)
        return apply_broken(a);
    int rc = SQLITE_OK;
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        bind_id(stmt, 1, ids[i]);
        rc = apply_run(a, stmt);
    }
    return rc;
}

/* ---- The instance row ------------------------------------------------------ */

/* Check that the head is what the round expects. */
static int check_head(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_HEAD_CHECK);

    if (!stmt)
        return apply_broken(a);
    bind_id(stmt, 1, a->r->uid);
    bind_id(stmt, 2, a->r->execution);
    bind_id(stmt, 3, a->r->base_seq);
    int rc = sqlite3_step(stmt);
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? ROUND_REFUSED : rc;
}

/* The compare-and-set every round of an instance goes through. */
static int update_head(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_HEAD_UPDATE);

    if (!stmt)
        return apply_broken(a);
    bind_head(stmt, a->r->uid, a->r->row, a->r->execution, a->r->base_seq);
    return run_one(a, stmt);
}

static int update_row(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_ROW_UPDATE);

    if (!stmt)
        return apply_broken(a);
    bind_row(stmt, a->r->uid, a->r->row);
    return run_one(a, stmt);
}

static int insert_row(struct apply *a)
{
    if (a->r->base_seq != 0)
        return ROUND_REFUSED;
    a->wrote = true; /* it will be, at the end of the group */
    return pending_add_row(a->s, a->r->uid, a->r->row);
}

/* Remove the instance; a tomb remembers where the rest of its rows are. */
static int remove_row(struct apply *a)
{
    sqlite3_stmt *tomb = conn_statement(a->c, ST_HEAD_TOMB);

    if (!tomb)
        return apply_broken(a);
    bind_id(tomb, 1, a->r->uid);
    bind_id(tomb, 2, a->r->execution);
    bind_id(tomb, 3, a->r->base_seq);
    int rc = run_one(a, tomb);
    if (rc == SQLITE_OK)
        rc = apply_ids(a, ST_ROW_REMOVE, &a->r->uid, 1);
    if (rc == SQLITE_OK)
        rc = apply_ids(a, ST_HEAD_REMOVE, &a->r->uid, 1);
    return rc;
}

/* Keep what find_execution needs of the execution that ends here (R2). */
static int close_execution(struct apply *a)
{
    const pawl_round *r = a->r;
    bool fresh = r->change == PAWL_ROW_INSERT;
    sqlite3_stmt *stmt = conn_statement(a->c, fresh ? ST_EXECUTION_INSERT : ST_EXECUTION_CLOSE);

    if (!stmt)
        return apply_broken(a);
    const pawl_event *last = round_last_of_closed(r);
    assert_that(!last || last->seq > r->base_seq);
    uint64_t last_seq = last ? last->seq : r->base_seq, last_rid = last ? last->rid : r->base_rid;
    uint64_t first_rid = last && r->base_seq == 0 ? r->events[0].rid : 0;
    if (fresh) {
        bind_execution(stmt, r->uid, r->execution, last_seq, last_rid, first_rid, r->row);
        return apply_run(a, stmt);
    }
    bind_id(stmt, 1, r->uid);
    bind_id(stmt, 2, r->execution);
    bind_id(stmt, 3, r->base_seq);
    bind_text(stmt, 4, r->row->version);
    bind_id(stmt, 5, last_seq);
    bind_id(stmt, 6, last_rid);
    bind_id(stmt, 7, first_rid);
    (void)sqlite3_bind_int64(stmt, 8, r->row->updated_ms);
    return run_one(a, stmt);
}

static int change_instance(struct apply *a)
{
    const pawl_round *r = a->r;
    int rc = r->change == PAWL_ROW_INSERT ? SQLITE_OK : apply_before(a, r->uid);

    if (rc != SQLITE_OK)
        return rc;
    if (r->change == PAWL_ROW_NONE)
        return check_head(a);
    if (r->change == PAWL_ROW_REMOVE)
        return remove_row(a);
    if (r->change == PAWL_ROW_LAST)
        return update_head(a);
    assert_that(r->row);
    bool closes = round_closes(r);
    if (r->change == PAWL_ROW_INSERT) {
        rc = insert_row(a);
        return rc == SQLITE_OK && closes ? close_execution(a) : rc;
    }
    if (closes)
        rc = close_execution(a);
    if (rc == SQLITE_OK)
        rc = update_head(a);
    return rc == SQLITE_OK ? update_row(a) : rc;
}

/* ---- Events ---------------------------------------------------------------- */

static int insert_mark(struct apply *a, const pawl_event *e)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_MARK_INSERT);

    if (!stmt)
        return apply_broken(a);
    bind_id(stmt, 1, a->r->uid);
    bind_id(stmt, 2, e->execution);
    bind_id(stmt, 3, e->seq);
    bind_id(stmt, 4, e->rid);
    return apply_run(a, stmt);
}

static int append_events(struct apply *a)
{
    uint64_t prev = a->r->base_rid;

    a->wrote = true; /* it will be, at the end of the group */
    for (size_t i = 0; i < a->r->event_count; i++) {
        const pawl_event *e = &a->r->events[i];
        int rc = pending_add_event(a->s, a->r->uid, e, e->seq == 1 ? 0 : prev);
        if (rc == SQLITE_OK && e->seq % MARK_EVERY == 0)
            rc = insert_mark(a, e);
        if (rc != SQLITE_OK)
            return rc;
        prev = e->rid;
    }
    return SQLITE_OK;
}

/* ---- Messages -------------------------------------------------------------- */

static int insert_messages(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_MESSAGE_INSERT);
    int rc = stmt ? SQLITE_OK : apply_broken(a);

    for (size_t i = 0; i < a->r->message_count && rc == SQLITE_OK; i++) {
        bind_message(stmt, &a->r->messages[i]);
        rc = apply_run(a, stmt);
    }
    return rc;
}

static int update_messages(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_MESSAGE_UPDATE);
    int rc = stmt ? SQLITE_OK : apply_broken(a);

    for (size_t i = 0; i < a->r->message_update_count && rc == SQLITE_OK; i++) {
        bind_message_update(stmt, &a->r->message_updates[i]);
        rc = apply_run(a, stmt);
    }
    return rc;
}

static int quarantine_messages(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_QUARANTINE_INSERT);
    int rc = stmt ? SQLITE_OK : apply_broken(a);

    for (size_t i = 0; i < a->r->quarantine_count && rc == SQLITE_OK; i++) {
        const pawl_quarantine *q = &a->r->quarantine[i];
        bind_id(stmt, 1, q->id);
        bind_text(stmt, 2, q->reason);
        rc = apply_run(a, stmt);
        if (rc == SQLITE_OK)
            rc = apply_ids(a, ST_MESSAGE_DELETE, &q->id, 1);
    }
    return rc;
}

static int change_messages(struct apply *a)
{
    const pawl_round *r = a->r;
    int rc = r->message_count ? insert_messages(a) : SQLITE_OK;

    if (rc == SQLITE_OK && r->message_update_count)
        rc = update_messages(a);
    if (rc == SQLITE_OK && r->quarantine_count)
        rc = quarantine_messages(a);
    if (rc == SQLITE_OK)
        rc = apply_ids(a, ST_MESSAGE_DELETE, r->drop_messages, r->drop_message_count);
    return rc;
}

/* ---- Keys ------------------------------------------------------------------ */

static int remember_keys(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_KEY_INSERT);
    int rc = stmt ? SQLITE_OK : apply_broken(a);

    for (size_t i = 0; i < a->r->key_count && rc == SQLITE_OK; i++) {
        bind_id(stmt, 1, a->r->uid);
        bind_text(stmt, 2, a->r->keys[i]);
        rc = apply_run(a, stmt);
    }
    return rc;
}
