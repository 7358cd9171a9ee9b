/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_open.c -- opening and closing a store.
 *
 * The order matters: the first check is whether the server can keep what it acknowledges, the second
 * whose schema it is and which number that has.  Nothing is created before both.  A read-only
 * opener creates nothing and may read any server, also a standby.
 *
 * Called by store/open_url.c.
 */
#include "base/misuse.h"
#include "store/postgres/postgres.h"

#include <stdio.h>
#include <time.h>

#define ALONE_LOOKS    20
#define ALONE_PAUSE_NS 100000000

static void pg_close(pawl_store *base);

static void pg_caps(pawl_store *base, pawl_store_caps *ret)
{
    (void)base;
    static const pawl_store_caps caps = {.atomic_rounds = true,
                                         .delayed_visibility = true,
                                         .durable = true,
                                         .queues = true,
                                         .slow_counts = true,
                                         .far = true,
                                         .objects = true,
                                         .shared = true};
    pawl_fill(ret, &caps, sizeof(caps));
}

/* The room on the server's disk is not known; a commit that finds none says so. */
static pawl_status pg_space(pawl_store *base)
{
    (void)base;
    return PAWL_OK;
}

static const pawl_queue_ops queue_ops = {
    .size = sizeof(pawl_queue_ops),
    .find_queue = sql_find_queue,
    .list_queues = sql_list_queues,
    .due_queues = pg_due_queues,
    .query_entries = sql_query_entries,
    .read_entries = sql_read_entries,
    .read_locks = sql_read_locks,
    .has_past = sql_has_past,
    .find_key = sql_find_key,
    .levels = sql_levels,
    .find_keys = pg_find_keys,
};

static const pawl_store_ops ops = {
    .size = sizeof(pawl_store_ops),
    .abi = PAWL_STORE_ABI,
    .name = "postgres",
    .caps = pg_caps,
    .take = pg_take,
    .commit = pg_commit,
    .outcome = pg_outcome,
    .fetch_messages = pg_fetch_messages,
    .fetch_work = pg_fetch_work,
    .list_work_names = pg_list_work_names,
    .read_named_work = pg_read_named_work,
    .count_values = pg_count_values,
    .fetch_deadlines = pg_fetch_deadlines,
    .abandon_messages = pg_abandon_messages,
    .abandon_work = pg_abandon_work,
    .next_due = pg_next_due,
    .find = sql_find,
    .find_uid = sql_find_uid,
    .find_execution = sql_find_execution,
    .read_history = pg_read_history,
    .read_event = pg_read_event,
    .read_messages = sql_read_messages,
    .read_work = pg_read_work,
    .has_key = sql_has_key,
    .list = pg_list,
    .depths = pg_depths,
    .read_quarantine = sql_read_quarantine,
    .purge = pg_purge,
    .prune_executions = pg_prune_executions,
    .space = pg_space,
    .close = pg_close,
    .queues = &queue_ops,
    .figures = pg_figures,
    .load = pg_load,
    .load_histories = pg_load_histories,
    .upkeep = &pg_upkeep_ops,
    .read_object = sql_read_object,
    .list_objects = sql_list_objects,
    .search = pg_search,
    .clock = pg_clock,
    .shared = &pg_shared_ops,
};

/* ---- Open --------------------------------------------------------------------------------------- */

/* There is a schema, and its number is one that can be read. */
static pawl_status check_there(const struct pg_store *s, struct pg_link *l, pawl_error *reterr)
{
    int number;
    bool empty;
    pawl_status status = pg_schema_look(l, &s->place, &number, &empty, reterr);

    if (status != PAWL_OK || number == PG_SCHEMA_NO)
        return status;
    status = number ? PAWL_UNSUPPORTED : PAWL_NOT_FOUND;
    if (number)
        error_set(reterr, status, "schema %s has number %d, this pawl needs %d; run: pawl migrate",
                  s->place.schema, number, PG_SCHEMA_NO);
    else
        error_set(reterr, status,
                  "there is no store in schema %s; start pawl serve to make one, or name another "
                  "with pawl_schema=NAME in the URL",
                  s->place.schema);
    return status;
}

/* Say that another process owns the store; the lane's row names that process. */
static pawl_status in_use(struct pg_store *s, pawl_error *reterr)
{
    char sql[120];
    pawl_status status;

    (void)snprintf(sql, sizeof sql,
                   "SELECT owner FROM %s.lane WHERE owner<>'' ORDER BY lane LIMIT 1",
                   s->place.schema);
    PGresult *r = link_ask(&s->writer, sql, "look for the owner", &status, NULL);
    error_set(reterr, PAWL_UNAVAILABLE,
              "schema %s is in use by %s; stop it, talk to it with --url if it is a server, or use "
              "another pawl_schema",
              s->place.schema, r && pq.ntuples(r) == 1 ? pq.getvalue(r, 0, 0) : "another process");
    pq.clear(r);
    return PAWL_UNAVAILABLE;
}

/* While this connection lasts, no other process opens the store with `alone`.  The session of a
 * process that was killed just now may last a moment. */
static pawl_status be_alone(struct pg_store *s, pawl_error *reterr)
{
    char sql[120];
    pawl_status status = PAWL_OK;

    (void)snprintf(sql, sizeof sql, "SELECT pg_try_advisory_lock(hashtext('pawl alone %s'))::int",
                   s->place.schema);
    for (int i = 0; i < ALONE_LOOKS && status == PAWL_OK; i++) {
        PGresult *r = link_ask(&s->writer, sql, "lock the store", &status, reterr);
        bool got = r && pq.getvalue(r, 0, 0)[0] == '1';
        pq.clear(r);
        if (got)
            return PAWL_OK;
        (void)nanosleep(&(struct timespec){.tv_nsec = ALONE_PAUSE_NS}, NULL);
    }
    return status == PAWL_OK ? in_use(s, reterr) : status;
}

static pawl_status server_pid(struct pg_link *l, int *ret, pawl_error *reterr)
{
    pawl_status status;
    PGresult *r = link_ask(l, "SELECT pg_backend_pid()", "look at the connection", &status, reterr);

    *ret = r ? atoi(pq.getvalue(r, 0, 0)) : 0;
    pq.clear(r);
    return status;
}

/* Two connections that are open have two processes of the server, unless a pooler hands out one of
 * its own for a transaction.  Then settings and prepared statements get lost between two of them;
 * the URL must say so.  A busy pooler may hide it; then the first commit fails with that error. */
static pawl_status check_direct(struct pg_store *s, struct pg_link *other, pawl_error *reterr)
{
    int first = 0, second = 0;
    pawl_status status = server_pid(other, &first, reterr);

    if (status == PAWL_OK)
        status = server_pid(&s->writer, &second, reterr);
    if (status != PAWL_OK || first != second)
        return status;
    error_set(reterr, PAWL_UNSUPPORTED,
              "a pooler gives each transaction another connection: add pawl_pooler=transaction to "
              "the URL, and pawl_prepare=off if it does not keep prepared statements (PgBouncer "
              "before 1.21)");
    return PAWL_UNSUPPORTED;
}

/* Both prepare one statement.  A pooler that does not keep them apart finds it there already. */
static pawl_status check_prepares(struct pg_store *s, struct pg_link *other, pawl_error *reterr)
{
    struct pg_link *links[] = {other, &s->writer};
    pawl_status status = PAWL_OK;

    for (size_t i = 0; i < COUNT_OF(links) && status == PAWL_OK; i++)
        pq.clear(link_run(links[i], ST_PG_CLOCK, NULL, "prepare statements", &status, reterr));
    return status;
}

static pawl_status check_pooler(struct pg_store *s, struct pg_link *other, pawl_error *reterr)
{
    if (!s->place.pooled)
        return check_direct(s, other, reterr);
    return s->place.no_prepare ? PAWL_OK : check_prepares(s, other, reterr);
}

static pawl_status open_writer(struct pg_store *s, struct pg_link *l,
                               const pawl_store_open_opts *opts, pawl_error *reterr)
{
    pawl_status status = opts->must_exist ? check_there(s, l, reterr) : PAWL_OK;

    if (status == PAWL_OK)
        status = link_open(&s->writer, &s->place, s->texts, reterr);
    if (status == PAWL_OK)
        status = check_pooler(s, l, reterr);
    if (status == PAWL_OK)
        status = pg_migrate(l, &s->place, reterr);
    if (status == PAWL_OK)
        status = pg_schema_leap(l, &s->place, reterr);
    if (status == PAWL_OK && opts->alone && !s->place.pooled)
        status = be_alone(s, reterr);
    return status;
}

static pawl_status open_store(struct pg_store *s, const pawl_store_open_opts *opts,
                              pawl_error *reterr)
{
    struct pg_link *l;
    pawl_status status = pg_pool_take(s, &l, reterr);

    if (status != PAWL_OK)
        return status;
    status = pg_check_server(l, &s->place, reterr);
    if (status == PAWL_OK)
        status = s->read_only ? check_there(s, l, reterr) : open_writer(s, l, opts, reterr);
    pg_pool_give(s, l);
    return status;
}

static struct pg_store *create(void)
{
    struct pg_store *s = calloc(1, sizeof *s);

    if (!s || !pg_fetch_init(s)) {
        free(s);
        return NULL;
    }
    s->sql.base.ops = &ops;
    s->sql.driver = &pg_driver;
    open_work_init(&s->open);
    (void)pthread_mutex_init(&s->pool_lock, NULL);
    (void)pthread_cond_init(&s->pool_free, NULL);
    if (pg_group_init(s))
        return s;
    pg_close(&s->sql.base);
    return NULL;
}

static pawl_status set_place(struct pg_store *s, const char *url, pawl_error *reterr)
{
    pawl_status status = pg_place_read(url, &s->place, reterr);

    s->place.any_server = s->read_only;
    s->full_url = strdup(url);
    if (status != PAWL_OK || (s->full_url && pg_texts_make(s->texts, s->place.schema)))
        return status;
    error_set(reterr, PAWL_NO_MEMORY, "out of memory");
    return PAWL_NO_MEMORY;
}

pawl_store *pawl_postgres_store(const char *url, const pawl_store_open_opts *opts,
                                pawl_error *reterr)
{
    pawl_store_open_opts room;
    if (!IS_THERE(url, "a URL", reterr) ||
        !(opts = OPTIONS_OF(&room, opts, "pawl_store_open_opts", reterr)))
        return NULL;
    struct pg_store *s = create();
    if (!s) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        return NULL;
    }
    s->read_only = opts->read_only;
    pawl_status status = set_place(s, url, reterr);
    if (status == PAWL_OK)
        status = open_store(s, opts, reterr);
    if (status == PAWL_OK)
        return &s->sql.base;
    pg_close(&s->sql.base);
    return NULL;
}

/* The schema is there, and this server keeps it: nothing is looked at again. */
pawl_store *pg_another(pawl_store *base, pawl_error *reterr)
{
    const struct pg_store *from = pg_of(base);
    struct pg_store *s = create();

    if (!s) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        return NULL;
    }
    s->read_only = from->read_only;
    if (set_place(s, from->full_url, reterr) == PAWL_OK)
        return &s->sql.base;
    pg_close(&s->sql.base);
    return NULL;
}

static void pg_close(pawl_store *base)
{
    struct pg_store *s = pg_of(base);

    pg_pool_close(s);
    link_close(&s->writer);
    params_deinit(&s->params);
    pg_fetch_deinit(s);
    open_work_deinit(&s->open);
    pg_group_deinit(s);
    pg_texts_free(s->texts);
    pg_place_deinit(&s->place);
    pg_leaving_deinit(s);
    free(s->full_url);
    (void)pthread_mutex_destroy(&s->pool_lock);
    (void)pthread_cond_destroy(&s->pool_free);
    free(s);
}
