/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/queue_round.c -- the queue part of a round: one statement per kind of change,
 * for any number of rows (bulk.c); rare changes have one statement per row.
 *
 * Called by round.c inside a transaction, after the rest of the round.  A row that is
 * missing, or that exists where it must not, refuses the round (Q3); commit.c undoes what it
 * wrote.
 */
#include "store/sqlite/sqlite.h"

enum { LOCKED = 2 }; /* state of an entry */
#define FEW 8        /* up to this many locks are searched one by one */

struct writing {
    struct conn *c;
    bool *wrote;
    const pawl_queue_round *r;
    struct idset lone; /* if many: numbers of new locks of one entry whose row stays as it is */
};

static sqlite3_stmt *statement(struct writing *w, int which, int *retrc)
{
    sqlite3_stmt *stmt = conn_statement(w->c, which);

    *retrc = stmt ? SQLITE_OK : sqlite3_extended_errcode(w->c->db);
    return stmt;
}

static int run(struct writing *w, sqlite3_stmt *stmt)
{
    int rc = sqlite3_step(stmt);

    (void)sqlite3_reset(stmt);
    if (rc != SQLITE_DONE)
        return rc;
    *w->wrote = true;
    return SQLITE_OK;
}

/* As run(), refused when no row matched. */
static int run_one(struct writing *w, sqlite3_stmt *stmt)
{
    int rc = run(w, stmt);

    return rc == SQLITE_OK && sqlite3_changes(w->c->db) == 0 ? SQLITE_CONSTRAINT : rc;
}

static int change_queues(struct writing *w, const pawl_queue_round *r)
{
    int rc = SQLITE_OK;
    sqlite3_stmt *insert = r->new_queue_count ? statement(w, ST_QUEUE_INSERT, &rc) : NULL;

    for (size_t i = 0; i < r->new_queue_count && rc == SQLITE_OK; i++) {
        bind_queue(insert, &r->new_queues[i]);
        rc = run(w, insert);
    }
    if (rc != SQLITE_OK || !r->queue_count)
        return rc;
    sqlite3_stmt *update = statement(w, ST_QUEUE_UPDATE, &rc);
    for (size_t i = 0; i < r->queue_count && rc == SQLITE_OK; i++) {
        bind_queue_update(update, &r->queues[i]);
        rc = run_one(w, update);
    }
    return rc;
}

/* Write all rows with one statement; refused when a row is missing, or exists already. */
static int run_all(struct writing *w, enum bulk_kind kind, const void *rows, size_t count)
{
    if (!count)
        return SQLITE_OK;
    int rc = bulk_run(w->c, kind, rows, count);
    size_t changed = rc == SQLITE_OK ? (size_t)sqlite3_changes(w->c->db) : count;
    *w->wrote = true; /* also after a failure, which may come in the middle */
    return changed == count ? rc : SQLITE_CONSTRAINT;
}

static int update_with_note(struct writing *w, const pawl_entry_update *u)
{
    int rc;
    sqlite3_stmt *stmt = statement(w, ST_ENTRY_NOTE, &rc);

    if (!stmt)
        return rc;
    bind_entry_note(stmt, u);
    return run_one(w, stmt);
}

static bool is_lone(const pawl_queue_lock *l)
{
    return l->entry_count == 1 && l->entries[0] == l->number;
}

/* Note the lone locks, so that update_entries() need not search all locks for each entry. */
static int note_lone(struct writing *w)
{
    const pawl_queue_round *r = w->r;

    if (r->new_lock_count <= FEW || !r->update_count)
        return SQLITE_OK;
    if (!idset_reserve(&w->lone, r->new_lock_count))
        return SQLITE_NOMEM;
    for (size_t i = 0; i < r->new_lock_count; i++)
        if (is_lone(&r->new_locks[i]) && !idset_add(&w->lone, r->new_locks[i].number))
            return SQLITE_NOMEM;
    return SQLITE_OK;
}

/* Does this update only put the entry under its own new lock (pawl_queue_lock)?  Then its row is not
 * written: readers see the lock (ENTRY_is_taken). */
static bool is_taken(const struct writing *w, const pawl_entry_update *u)
{
    if (u->state != LOCKED || !w->r->new_lock_count)
        return false;
    if (w->r->new_lock_count > FEW)
        return idset_has(&w->lone, u->id);
    for (size_t i = 0; i < w->r->new_lock_count; i++)
        if (w->r->new_locks[i].number == u->id && is_lone(&w->r->new_locks[i]))
            return true;
    return false;
}

/* The end of the run of updates that fit into one statement: without notes, and with ascending ids,
 * so that no id occurs twice. */
static size_t updates_end(const struct writing *w, size_t at)
{
    const pawl_queue_round *r = w->r;
    size_t end = at;

    while (end < r->update_count && !r->updates[end].has_note &&
           (end == at || r->updates[end].id > r->updates[end - 1].id) &&
           !is_taken(w, &r->updates[end]))
        end++;
    return end;
}

static int update_entries(struct writing *w, const pawl_queue_round *r)
{
    int rc = SQLITE_OK;

    for (size_t i = 0, end; i < r->update_count && rc == SQLITE_OK; i = end) {
        end = updates_end(w, i);
        if (end > i)
            rc = run_all(w, BULK_ENTRY_UPDATE, &r->updates[i], end - i);
        else if (!r->updates[i].has_note || is_taken(w, &r->updates[i]))
            end++; /* an empty run: its lock says it all, skip the entry */
        else
            rc = update_with_note(w, &r->updates[end++]);
    }
    return rc;
}

size_t lock_entries_text(char *to, const pawl_queue_lock *l)
{
    size_t len = 0;

    for (size_t i = 0; i < l->entry_count; i++) {
        char digits[20];
        size_t n = 0;
        for (uint64_t id = l->entries[i]; id || !n; id /= 10)
            digits[n++] = (char)('0' + id % 10);
        if (i)
            to[len++] = ' ';
        while (n)
            to[len++] = digits[--n];
    }
    to[len] = 0;
    return len;
}

static int update_locks(struct writing *w, const pawl_queue_round *r)
{
    char few[LOCK_TEXT_BYTES(10)], *text = few;
    int rc = SQLITE_OK;
    sqlite3_stmt *stmt = r->lock_count ? statement(w, ST_LOCK_UPDATE, &rc) : NULL;

    for (size_t i = 0; i < r->lock_count && rc == SQLITE_OK; i++) {
        const pawl_queue_lock *l = &r->locks[i];
        if (l->entry_count > 10 && !(text = malloc(LOCK_TEXT_BYTES(l->entry_count))))
            return SQLITE_NOMEM;
        bind_lock_update(stmt, l, (pawl_str){text, lock_entries_text(text, l)});
        rc = run_one(w, stmt);
        if (text != few)
            free(text);
        text = few;
    }
    return rc;
}

/* One statement per lock: a set of keys with two columns costs more. */
static int drop_locks(struct writing *w, const pawl_queue_round *r)
{
    int rc = SQLITE_OK;
    sqlite3_stmt *stmt = r->drop_lock_count ? statement(w, ST_LOCK_DELETE, &rc) : NULL;

    for (size_t i = 0; i < r->drop_lock_count && rc == SQLITE_OK; i++) {
        bind_id(stmt, 1, r->drop_locks[i].qid);
        bind_id(stmt, 2, r->drop_locks[i].number);
        rc = run_one(w, stmt);
    }
    return rc;
}

static int insert_pasts(struct writing *w, const pawl_queue_round *r)
{
    int rc = SQLITE_OK;
    sqlite3_stmt *stmt = r->past_count ? statement(w, ST_PAST_INSERT, &rc) : NULL;

    for (size_t i = 0; i < r->past_count && rc == SQLITE_OK; i++) {
        bind_past(stmt, &r->pasts[i]);
        rc = run(w, stmt);
    }
    return rc;
}

static int insert_keys(struct writing *w, const pawl_queue_round *r)
{
    int rc = SQLITE_OK;
    sqlite3_stmt *stmt = r->key_count ? statement(w, ST_DEDUP_INSERT, &rc) : NULL;

    for (size_t i = 0; i < r->key_count && rc == SQLITE_OK; i++) {
        bind_queue_key(stmt, &r->keys[i]);
        rc = run(w, stmt);
    }
    return rc;
}

/* Run a statement whose parameters are a queue and a number. */
static int run_pair(struct writing *w, int which, uint64_t qid, int64_t number)
{
    int rc;
    sqlite3_stmt *stmt = statement(w, which, &rc);

    if (!stmt)
        return rc;
    bind_id(stmt, 1, qid);
    (void)sqlite3_bind_int64(stmt, 2, number);
    return run(w, stmt);
}

/* Delete past locks, except the newest `keep`. */
static int trim_pasts(struct writing *w, uint64_t qid, uint32_t keep)
{
    int rc;
    sqlite3_stmt *stmt = statement(w, ST_PAST_OLD, &rc);

    if (!stmt)
        return rc;
    bind_id(stmt, 1, qid);
    (void)sqlite3_bind_int64(stmt, 2, keep);
    rc = sqlite3_step(stmt);
    int64_t newest = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    (void)sqlite3_reset(stmt);
    if (rc == SQLITE_ROW)
        return run_pair(w, ST_PAST_TRIM, qid, newest);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int forget(struct writing *w, const pawl_queue_round *r)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < r->forget_count && rc == SQLITE_OK; i++) {
        const pawl_queue_forget *f = &r->forgets[i];
        rc = run_pair(w, ST_PAST_FORGET, f->qid, f->before_ms);
        if (rc == SQLITE_OK)
            rc = trim_pasts(w, f->qid, f->keep);
        if (rc == SQLITE_OK)
            rc = run_pair(w, ST_DEDUP_FORGET, f->qid, f->now_ms);
    }
    return rc;
}

/* Delete the rows of queues; purge deletes the rest. */
static int drop_queues(struct writing *w, const pawl_queue_round *r)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < r->drop_queue_count && rc == SQLITE_OK; i++) {
        sqlite3_stmt *drop = statement(w, ST_QUEUE_DELETE, &rc);
        sqlite3_stmt *tomb = drop ? statement(w, ST_QUEUE_TOMB, &rc) : NULL;
        if (!tomb)
            return rc;
        bind_id(drop, 1, r->drop_queues[i]);
        bind_id(tomb, 1, r->drop_queues[i]);
        rc = run_one(w, drop);
        if (rc == SQLITE_OK)
            rc = run(w, tomb);
    }
    return rc;
}

int queue_round_apply(struct conn *c, const pawl_queue_round *r, bool *retwrote)
{
    struct writing w = {.c = c, .wrote = retwrote, .r = r};
    int rc = change_queues(&w, r);

    idset_init(&w.lone);
    if (rc == SQLITE_OK)
        rc = run_all(&w, BULK_ENTRY, r->entries, r->entry_count);
    if (rc == SQLITE_OK)
        rc = note_lone(&w);
    if (rc == SQLITE_OK)
        rc = update_entries(&w, r);
    idset_deinit(&w.lone);
    if (rc == SQLITE_OK)
        rc = run_all(&w, BULK_ENTRY_DROP, r->drop_entries, r->drop_entry_count);
    if (rc == SQLITE_OK)
        rc = run_all(&w, BULK_LOCK, r->new_locks, r->new_lock_count);
    if (rc == SQLITE_OK)
        rc = update_locks(&w, r);
    if (rc == SQLITE_OK)
        rc = drop_locks(&w, r);
    if (rc == SQLITE_OK)
        rc = insert_pasts(&w, r);
    if (rc == SQLITE_OK)
        rc = insert_keys(&w, r);
    if (rc == SQLITE_OK)
        rc = forget(&w, r);
    return rc == SQLITE_OK ? drop_queues(&w, r) : rc;
}
