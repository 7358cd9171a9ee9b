/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_pool.c -- connections for readers, on any thread.
 *
 * They are opened when first needed, at most PG_READERS_MAX, and kept until close.  A thread has one
 * for the length of one operation; when all are in use, it waits for another reader, never for the
 * engine.  The engine reads on the connection on which it writes, while that is up and no commit is
 * in doubt.
 *
 * Called by pg_driver.c and the readers of this room.
 */
#include "store/postgres/postgres.h"
#include "store/store.h"

/* An idle reader; NULL: the caller opens one, it is counted already. */
static struct pg_link *wait_idle(struct pg_store *s)
{
    pthread_mutex_lock(&s->pool_lock);
    while (!s->pool && s->readers >= PG_READERS_MAX)
        pthread_cond_wait(&s->pool_free, &s->pool_lock);
    struct pg_link *l = s->pool;
    if (l)
        s->pool = l->next;
    else
        s->readers++;
    assert_that(s->readers > 0 && s->readers <= PG_READERS_MAX);
    pthread_mutex_unlock(&s->pool_lock);
    return l;
}

/* Count one reader less. */
static void forget(struct pg_store *s, struct pg_link *l)
{
    free(l);
    pthread_mutex_lock(&s->pool_lock);
    s->readers--;
    pthread_cond_signal(&s->pool_free);
    pthread_mutex_unlock(&s->pool_lock);
}

static bool is_writer(const struct pg_store *s, const struct pg_link *l)
{
    return l == &s->writer;
}

pawl_status pg_pool_take(struct pg_store *s, struct pg_link **ret, pawl_error *reterr)
{
    if (store_engine_is(&s->sql.base) && s->life && !s->in_doubt && link_is_up(&s->writer)) {
        *ret = &s->writer;
        return PAWL_OK;
    }
    struct pg_link *l = wait_idle(s);

    if (!l) { /* we may open one more */
        l = calloc(1, sizeof *l);
        pawl_status status = PAWL_NO_MEMORY;
        if (l)
            status = link_open(l, &s->place, s->texts, reterr);
        else
            error_set(reterr, status, "out of memory");
        if (status != PAWL_OK) {
            forget(s, l);
            return status;
        }
    }
    *ret = l;
    return PAWL_OK;
}

void pg_pool_give(struct pg_store *s, struct pg_link *l)
{
    if (is_writer(s, l))
        return;
    if (!link_is_up(l)) {
        link_close(l);
        forget(s, l);
        return;
    }
    pthread_mutex_lock(&s->pool_lock);
    l->next = s->pool;
    s->pool = l;
    pthread_cond_signal(&s->pool_free);
    pthread_mutex_unlock(&s->pool_lock);
}

PGresult *pg_read(struct pg_store *s, int statement, const struct pg_params *p, const char *what,
                  pawl_status *retstatus, pawl_error *reterr)
{
    struct pg_link *l;

    *retstatus = pg_pool_take(s, &l, reterr);
    if (*retstatus != PAWL_OK)
        return NULL;
    PGresult *r = link_run(l, statement, p, what, retstatus, reterr);
    if (!r && !is_writer(s, l) && !link_is_up(l) &&
        (*retstatus = link_open(l, &s->place, s->texts, reterr)) == PAWL_OK)
        r = link_run(l, statement, p, what, retstatus, reterr);
    pg_pool_give(s, l);
    return r;
}

void pg_pool_close(struct pg_store *s)
{
    while (s->pool) {
        struct pg_link *l = s->pool;
        s->pool = l->next;
        link_close(l);
        free(l);
        s->readers--;
    }
    assert_that(s->readers == 0); /* no reader is left */
}

/* ---- Figures ------------------------------------------------------------------------------- */

void pg_figures(pawl_store *base, pawl_store_figures *ret)
{
    struct pg_store *s = pg_of(base);
    pawl_store_figures figures = {0};

    damage_tell(&s->sql.damage, &figures);
    pthread_mutex_lock(&s->pool_lock);
    (void)memcpy(figures.trouble, s->trouble, sizeof figures.trouble);
    pthread_mutex_unlock(&s->pool_lock);
    pawl_fill(ret, &figures, sizeof figures);
}
