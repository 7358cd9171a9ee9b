/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/pool.c -- connections for readers, on any thread.
 *
 * A connection is opened when it is first needed, at most READERS_MAX of them, and kept
 * until close.  A thread has one for one operation; when all are in use, it waits for the
 * next one (reads are short), never for the engine.
 */
#include "base/limits.h"
#include "store/sqlite/sqlite.h"
#include "store/store.h"

static struct conn *wait_idle(struct sqlite_store *s);

/* The engine reads on the writer: pages it changed are still in memory there, and one snapshot (two
 * locks of the file) serves all its reads up to the next commit.  A reader's cache is empty after
 * every commit. */
static pawl_status take_writer(struct sqlite_store *s, pawl_mem *mem, struct conn **ret,
                               pawl_error *reterr)
{
    /* A failed commit must be rolled back before anything is read, or the engine would read rows
     * that were never committed. */
    if (sqlite3_txn_state(s->writer.db, NULL) == SQLITE_TXN_WRITE)
        conn_rollback(&s->writer);
    if (sqlite3_txn_state(s->writer.db, NULL) == SQLITE_TXN_WRITE) {
        error_set(reterr, PAWL_UNAVAILABLE, "a commit that failed cannot be rolled back yet");
        return PAWL_UNAVAILABLE;
    }
    int rc = conn_snapshot(&s->writer);
    if (rc != SQLITE_OK)
        return conn_error(&s->writer, rc, "read", reterr);
    conn_enter(&s->writer, mem);
    *ret = &s->writer;
    return PAWL_OK;
}

pawl_status pool_take(struct sqlite_store *s, pawl_mem *mem, struct conn **ret, pawl_error *reterr)
{
    if (atomic_load_explicit(&s->gone, memory_order_relaxed))
        return there_refuse_read(s->file, reterr);
    if (store_engine_is(&s->sql.base) && s->writer.db && !s->broken) /* `broken` is the engine's */
        return take_writer(s, mem, ret, reterr);
    struct conn *c = wait_idle(s);

    if (!c) { /* we may open one more */
        c = malloc(sizeof *c);
        pawl_status status = PAWL_NO_MEMORY;
        if (c)
            status = conn_open(c, s->file, false, reterr);
        else
            error_set(reterr, status, "out of memory");
        if (status != PAWL_OK) {
            free(c);
            pthread_mutex_lock(&s->pool_lock);
            s->readers--;
            pthread_cond_signal(&s->pool_free);
            pthread_mutex_unlock(&s->pool_lock);
            return status;
        }
    }
    c->lender = s;
    conn_enter(c, mem);
    *ret = c;
    return PAWL_OK;
}

/* An idle reader; NULL: the caller opens a new one, which is counted already. */
static struct conn *wait_idle(struct sqlite_store *s)
{
    pthread_mutex_lock(&s->pool_lock);
    while (!s->pool && s->readers >= READERS_MAX)
        pthread_cond_wait(&s->pool_free, &s->pool_lock);
    struct conn *c = s->pool;
    if (c)
        s->pool = c->next;
    else
        s->readers++;
    assert_that(s->readers > 0 && s->readers <= READERS_MAX);
    pthread_mutex_unlock(&s->pool_lock);
    return c;
}

void pool_give(struct sqlite_store *s, struct conn *c)
{
    conn_leave(c);
    if (c->is_writer)
        return;
    assert_that(c->lender == s);
    pthread_mutex_lock(&s->pool_lock);
    c->next = s->pool;
    s->pool = c;
    pthread_cond_signal(&s->pool_free);
    pthread_mutex_unlock(&s->pool_lock);
}

void pool_close(struct sqlite_store *s)
{
    while (s->pool) {
        struct conn *c = s->pool;
        s->pool = c->next;
        conn_close(c);
        free(c);
        s->readers--;
    }
    assert_that(s->readers == 0); /* no reader is left */
}

/* ---- Figures ------------------------------------------------------------------ */

void sqlite_figures(pawl_store *base, pawl_store_figures *ret)
{
    struct sqlite_store *s = sqlite_of(base);
    pawl_store_figures figures = {.log_bytes = atomic_load(&s->wal_bytes)};

    damage_tell(&s->sql.damage, &figures);
    pawl_fill(ret, &figures, sizeof figures);
}
