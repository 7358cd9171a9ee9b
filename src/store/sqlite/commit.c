/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/commit.c -- the fence, and groups of rounds in one transaction.
 *
 * A group is tried without savepoints first: refused rounds are rare, and a round that
 * its first statement refuses has written nothing.  Only when a round is refused after it
 * wrote something is the transaction rolled back and run again with a savepoint around
 * each round (measured: savepoints cost 10 %).
 *
 *      BEGIN IMMEDIATE, fence -> rounds -> what waits -> COMMIT -> memory -> checkpoint
 *                         ^         |refused late |
 *                         +---------+-------------+ ROLLBACK, now with savepoints
 *
 * Memory (taken rows, cursors) changes only after COMMIT.  A COMMIT that fails in any way
 * but "full" or "busy" has an unknown outcome: the file is marked dirty and this store
 * writes no more.  A durable COMMIT counts only if the database and its WAL are still in
 * their places (store/there.h).
 */
#include "base/limits.h"
#include "base/point.h"
#include "store/sqlite/sqlite.h"

#define REFILL_EVERY_MS 1000

static int apply_rounds(struct sqlite_store *s, pawl_round *rounds, size_t count, bool *retagain);
static int apply_rounds_singly(struct sqlite_store *s, pawl_round *rounds, size_t count);
static bool make_room(struct sqlite_store *s, const pawl_round *rounds, size_t count);
static void remember_round(struct sqlite_store *s, const pawl_round *r, int64_t now_ms);
static void checkpoint(struct sqlite_store *s);

/* Was the database deleted, moved or replaced?  If only the WAL is gone, its pages are moved into
 * the database while they can still be read.  (Closing does not touch a file that took the name:
 * SQLite checks that, too.) */
static bool is_gone(struct sqlite_store *s)
{
    if (!s->wal_there.path)
        (void)there_note(&s->wal_there, s->file, "-wal"); /* made with the first transaction */
    bool file = there_is_gone(&s->file_there), wal = there_is_gone(&s->wal_there);
    atomic_store_explicit(&s->wal_bytes, (uint64_t)s->wal_there.bytes, memory_order_relaxed);
    if (!file && !wal)
        return false;
    atomic_store(&s->gone, true);
    if (!file)
        (void)sqlite3_wal_checkpoint_v2(s->writer.db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return true;
}

/* A write or sync failed in a way that leaves the file in doubt. */
static void give_up(struct sqlite_store *s)
{
    s->broken = true;
    if (!is_gone(s)) /* or the mark would be beside the data of another process */
        dirty_mark(s->dir);
    (void)sqlite3_db_config(s->writer.db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

/* The disk is full: spend the reserve, and checkpoint with the next commit while there is room for
 * it.  From then on the WAL is overwritten and need not grow. */
static void give_room(struct sqlite_store *s)
{
    if (!s->reserve.spent)
        s->checkpoint_at = 0;
    reserve_spend(&s->reserve);
}

/* ---- take ------------------------------------------------------------------ */

static int read_fence(struct conn *c, pawl_fence *ret, uint64_t *rethighest)
{
    sqlite3_stmt *fence = conn_statement(c, ST_FENCE_READ);
    sqlite3_stmt *highest = fence ? conn_statement(c, ST_ID_HIGHEST) : NULL;

    if (!fence || !highest)
        return sqlite3_extended_errcode(c->db);
    int rc = sqlite3_step(fence);
    if (rc == SQLITE_ROW)
        *ret = (pawl_fence){.epoch = column_id(fence, 0),
                            .group_no = column_id(fence, 1),
                            .next_id = column_id(fence, 2)};
    (void)sqlite3_reset(fence);
    if (rc != SQLITE_ROW)
        return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
    rc = sqlite3_step(highest);
    if (rc == SQLITE_ROW)
        *rethighest = column_id(highest, 0);
    (void)sqlite3_reset(highest);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int take_fence(struct conn *c, pawl_fence *ret)
{
    uint64_t highest = 0;
    int rc = conn_begin_write(c);

    *ret = (pawl_fence){0};
    if (rc == SQLITE_OK)
        rc = read_fence(c, ret, &highest);
    sqlite3_stmt *stmt = conn_statement(c, ST_FENCE_TAKE);
    if (rc == SQLITE_OK && !stmt)
        rc = sqlite3_extended_errcode(c->db);
    if (rc != SQLITE_OK)
        return rc;
    ret->epoch++;
    if (ret->next_id <= highest)
        ret->next_id = highest + 1;
    bind_id(stmt, 1, ret->epoch);
    bind_id(stmt, 2, ret->next_id);
    rc = conn_run(c, ST_FENCE_TAKE);
    if (rc == SQLITE_OK)
        rc = conn_run(c, ST_WORK_FREE_ALL);
    if (rc == SQLITE_OK)
        rc = conn_run(c, ST_LOCAL_FREE_ALL);
    if (rc == SQLITE_OK)
        rc = conn_run(c, ST_LOCAL_CLEAR);
    return rc;
}

pawl_status engine_check(struct sqlite_store *s, pawl_error *reterr)
{
    if (!s->read_only && !s->broken && !atomic_load_explicit(&s->gone, memory_order_relaxed))
        return PAWL_OK;
    if (atomic_load(&s->gone))
        return there_refuse(s->file, reterr);
    if (s->read_only) {
        error_set(reterr, PAWL_UNSUPPORTED, "the database was opened read-only");
        return PAWL_UNSUPPORTED;
    }
    error_set(reterr, PAWL_UNKNOWN,
              "an earlier commit of this store has an unknown outcome; open it again");
    return PAWL_UNKNOWN;
}

static pawl_status take_once(struct sqlite_store *s, pawl_fence *ret, pawl_error *reterr)
{
    int rc = take_fence(&s->writer, ret);

    if (rc != SQLITE_OK)
        return group_fail(s, rc, "take the store", reterr);
    return transaction_end(s, reterr);
}

pawl_status sqlite_take(pawl_store *base, int64_t now_ms, pawl_fence *ret, pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    pawl_fence fence;

    (void)now_ms;
    pawl_status status = engine_check(s, reterr);
    if (status != PAWL_OK)
        return status;
    bool had_reserve = !s->reserve.spent;
    status = take_once(s, &fence, reterr);
    if (status == PAWL_DISK_FULL && had_reserve) /* the reserve was spent: there is room now */
        status = take_once(s, &fence, reterr);
    if (status != PAWL_OK)
        return status;
    s->fence = fence;
    committed_note(s);
    idset_reset(&s->messages);
    s->seen_ms = INT64_MIN;
    s->seen_id = 0;
    work_names_reset(&s->names);
    *ret = fence;
    return PAWL_OK;
}

/* ---- Groups ---------------------------------------------------------------- */

pawl_status group_fail(struct sqlite_store *s, int rc, const char *what, pawl_error *reterr)
{
    pawl_status status = conn_error(&s->writer, rc, what, reterr);

    conn_rollback(&s->writer);
    if (status == PAWL_DISK_FULL)
        give_room(s);
    return status;
}

pawl_status group_begin(struct sqlite_store *s, const pawl_fence *fence, pawl_error *reterr)
{
    pawl_status status = engine_check(s, reterr);
    if (status != PAWL_OK)
        return status;
    pending_forget(s);
    sqlite3_stmt *stmt = conn_statement(&s->writer, ST_FENCE_MOVE);
    int rc = stmt ? conn_begin_write(&s->writer) : sqlite3_extended_errcode(s->writer.db);
    if (rc == SQLITE_OK) {
        bind_id(stmt, 1, fence->next_id);
        bind_id(stmt, 2, fence->epoch);
        rc = conn_run(&s->writer, ST_FENCE_MOVE);
    }
    if (rc != SQLITE_OK)
        return group_fail(s, rc, "begin a commit", reterr);
    POINT("sqlite.begin");
    assert_that(!sqlite3_get_autocommit(s->writer.db));
    if (sqlite3_changes(s->writer.db) == 1) {
        assert_that(fence->epoch == s->fence.epoch); /* or `held` rows would not be found again */
        return PAWL_OK;
    }
    conn_rollback(&s->writer);
    error_set(reterr, PAWL_FENCED,
              "another process took this store (our epoch is %llu); this one stops",
              (unsigned long long)fence->epoch);
    return PAWL_FENCED;
}

pawl_status transaction_end(struct sqlite_store *s, pawl_error *reterr)
{
    POINT("sqlite.commit.before");
    int rc = conn_run(&s->writer, ST_COMMIT);
    POINT("sqlite.commit.after");

    int kind = rc & 0xff;
    if (rc == SQLITE_OK) {
        assert_that(sqlite3_get_autocommit(s->writer.db));
        return is_gone(s) ? there_refuse(s->file, reterr) : PAWL_OK;
    }
    if (kind == SQLITE_FULL || kind == SQLITE_BUSY || kind == SQLITE_CONSTRAINT)
        return group_fail(s, rc, "commit", reterr);
    /* The transaction may be in the WAL or not, and a later commit could overwrite it. */
    give_up(s);
    if (atomic_load(&s->gone)) {
        conn_rollback(&s->writer);
        return there_refuse(s->file, reterr);
    }
    (void)conn_error(&s->writer, rc, "commit", reterr);
    if (reterr)
        reterr->status = PAWL_UNKNOWN;
    conn_rollback(&s->writer);
    return PAWL_UNKNOWN;
}

pawl_status group_end(struct sqlite_store *s, pawl_fence *fence, pawl_error *reterr)
{
    assert_that(!s->pending.lowest); /* a row that waits would be missing */
    pawl_status status = transaction_end(s, reterr);

    if (status != PAWL_OK)
        return status;
    s->fence.group_no++;
    s->fence.next_id = fence->next_id;
    *fence = s->fence;
    committed_note(s);
    if (s->wal_pages >= s->checkpoint_at)
        checkpoint(s);
    return PAWL_OK;
}

pawl_status sqlite_commit(pawl_store *base, pawl_fence *fence, pawl_round *rounds, size_t count,
                          int64_t now_ms, pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    bool again = false;

    s->now_ms = now_ms;
    if (s->reserve.spent && now_ms - s->reserve.tried_ms >= REFILL_EVERY_MS) {
        s->reserve.tried_ms = now_ms;
        reserve_refill(&s->reserve);
    }
    if (!make_room(s, rounds, count)) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        return PAWL_NO_MEMORY;
    }
    pawl_status status = group_begin(s, fence, reterr);
    if (status != PAWL_OK)
        return status;
    int rc = apply_rounds(s, rounds, count, &again);
    if (again) {
        conn_rollback(&s->writer);
        status = group_begin(s, fence, reterr);
        if (status != PAWL_OK)
            return status;
        rc = apply_rounds_singly(s, rounds, count);
    }
    if (rc != SQLITE_OK)
        return group_fail(s, rc, "write a round", reterr);
    status = group_end(s, fence, reterr);
    for (size_t i = 0; i < count && status == PAWL_OK; i++) {
        if (rounds[i].result == PAWL_OK)
            remember_round(s, &rounds[i], now_ms);
    }
    return status;
}

/* Apply the rounds without savepoints.  *retagain: a round was refused after it wrote. */
static int apply_rounds(struct sqlite_store *s, pawl_round *rounds, size_t count, bool *retagain)
{
    for (size_t i = 0; i < count; i++) {
        bool wrote;
        int rc = round_apply(s, &rounds[i], &wrote);
        POINT("sqlite.round");
        if (rc != SQLITE_OK)
            return rc;
        if (rounds[i].result != PAWL_OK && wrote) {
            *retagain = true;
            return SQLITE_OK;
        }
    }
    int rc = pending_write(s);
    *retagain = (rc & 0xff) == SQLITE_CONSTRAINT; /* of which round is not known */
    return *retagain ? SQLITE_OK : rc;
}

static int undo_round(struct sqlite_store *s)
{
    pending_forget(s);
    return conn_run(&s->writer, ST_ROLLBACK_TO);
}

/* Write the pending rows, all of which are of this round. */
static int write_own(struct sqlite_store *s, pawl_round *round)
{
    int rc = pending_write(s);

    if ((rc & 0xff) != SQLITE_CONSTRAINT)
        return rc;
    round->result = PAWL_CONFLICT;
    return SQLITE_OK;
}

static int apply_rounds_singly(struct sqlite_store *s, pawl_round *rounds, size_t count)
{
    struct conn *c = &s->writer;
    int rc = SQLITE_OK;

    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        bool wrote;
        assert_that(!s->pending.lowest); /* or it would be written or undone with this round */
        rc = conn_run(c, ST_SAVEPOINT);
        if (rc == SQLITE_OK)
            rc = round_apply(s, &rounds[i], &wrote);
        if (rc == SQLITE_OK && rounds[i].result == PAWL_OK)
            rc = write_own(s, &rounds[i]);
        if (rc == SQLITE_OK && rounds[i].result != PAWL_OK)
            rc = undo_round(s);
        if (rc == SQLITE_OK)
            rc = conn_run(c, ST_RELEASE);
    }
    return rc;
}

/* ---- What memory knows ----------------------------------------------------- */

/* Room in `messages` for every insert, so that nothing can fail after COMMIT. */
static bool make_room(struct sqlite_store *s, const pawl_round *rounds, size_t count)
{
    size_t more = 0;

    for (size_t i = 0; i < count; i++)
        more += rounds[i].message_count;
    return more == 0 || idset_reserve(&s->messages, more);
}

static void remember_messages(struct sqlite_store *s, const pawl_round *r, int64_t now_ms)
{
    for (size_t i = 0; i < r->message_count; i++) {
        const pawl_message *m = &r->messages[i];
        if (m->visible_ms <= now_ms)
            assert_that(idset_add(&s->messages, m->id)); /* C7; room was made */
        else
            messages_lower(s, m->visible_ms, m->id);
    }
    for (size_t i = 0; i < r->message_update_count; i++) {
        const pawl_message_update *u = &r->message_updates[i];
        idset_remove(&s->messages, u->id);
        if (!u->mailbox)
            messages_lower(s, u->visible_ms, u->id);
    }
    for (size_t i = 0; i < r->quarantine_count; i++)
        idset_remove(&s->messages, r->quarantine[i].id);
    for (size_t i = 0; i < r->drop_message_count; i++)
        idset_remove(&s->messages, r->drop_messages[i]);
}

static void remember_round(struct sqlite_store *s, const pawl_round *r, int64_t now_ms)
{
    remember_messages(s, r, now_ms);
    work_names_remember(&s->names, r, s->fence.epoch);
}

/* ---- Checkpoints ----------------------------------------------------------- */

/* SQLite calls it after each commit with the length of the WAL. */
int commit_saw_wal(void *user, sqlite3 *db, const char *name, int pages)
{
    struct sqlite_store *s = user;

    (void)db;
    (void)name;
    assert_that(pages >= 0);
    if (pages < s->wal_pages) /* the WAL started over */
        s->checkpoint_at = s->checkpoint_pages;
    s->wal_pages = pages;
    return SQLITE_OK;
}

/* Move the WAL into the database.  With a reader in the way or on a full disk the WAL goes on
 * growing: try again after the same number of pages. */
static void checkpoint(struct sqlite_store *s)
{
    assert_that(!s->broken); /* or a commit in doubt would get into the database */
    POINT("sqlite.checkpoint.before");
    int rc = sqlite3_wal_checkpoint_v2(s->writer.db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    POINT("sqlite.checkpoint.after");

    s->checkpoint_at = s->wal_pages + s->checkpoint_pages;
    if ((rc & 0xff) == SQLITE_FULL)
        give_room(s);
    else if ((rc & 0xff) == SQLITE_IOERR)
        give_up(s);
}
