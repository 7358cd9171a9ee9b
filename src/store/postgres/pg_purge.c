/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_purge.c -- purge and prune, each a commit of its own.
 *
 * Removing an instance, pruning executions and dropping a queue leave rows in `tomb`; readers no
 * longer see what a tomb names.  The rows to delete are those of store/sql/tombs.c, but one row at
 * a time would be one round trip each.  Here one statement follows the chains of many tombs
 * backwards, and statements with arrays delete what it found:
 *
 *     tombs ─▶ chains, deleted ─▶ (a whole instance: its next closed execution, again)
 *           ─▶ marks, messages, keys ─▶ tombs deleted
 *     tomb of a queue ─▶ entries that are not locked, past locks, keys ─▶ lock by lock what it holds
 *
 * A row of history with two events is deleted as a whole, so a purge may delete one event more than
 * its limit.
 *
 * Called as operations of the store, on the engine thread.
 */
#include "store/postgres/postgres.h"

#define OF_A_QUEUE ((uint64_t)-1) /* in tomb.execution: its uid is a qid */

struct grave {
    uint64_t n, uid;
    uint64_t execution; /* 0: the whole instance */
    uint64_t last_rid;  /* end of the chain that is left; 0: none */
    uint32_t shard;
    bool ended; /* its chains are gone; only rows found by uid can be left */
};

struct purge {
    struct pg_store *s;
    uint32_t left; /* rows that may still be deleted */
    VEC(struct grave) graves;
    struct pg_array rows, ids, uids; /* to delete: rows of history; events, their instance */
    struct pg_array a, b, c;         /* scratch */
    pawl_error *reterr;
};

static void purge_deinit(struct purge *p)
{
    vec_deinit(&p->graves);
    array_deinit(&p->rows);
    array_deinit(&p->ids);
    array_deinit(&p->uids);
    array_deinit(&p->a);
    array_deinit(&p->b);
    array_deinit(&p->c);
}

/* ---- Statements ------------------------------------------------------------------------------ */

static PGresult *run(struct purge *p, int statement, pawl_status *retstatus)
{
    return link_run(&p->s->writer, statement, &p->s->params, "purge", retstatus, p->reterr);
}

static pawl_status run_only(struct purge *p, int statement)
{
    pawl_status status;

    pq.clear(run(p, statement, &status));
    return status;
}

/* A statement that says how many rows it deleted.  *retmore: there may be more. */
static pawl_status spend(struct purge *p, int statement, bool *retmore)
{
    pawl_status status;
    PGresult *r = run(p, statement, &status);

    if (!r)
        return status;
    uint64_t gone = value_id(r, 0, 0);
    pq.clear(r);
    *retmore = gone >= p->left;
    p->left -= gone < p->left ? (uint32_t)gone : p->left;
    return PAWL_OK;
}

static struct pg_params *params(struct purge *p)
{
    params_reset(&p->s->params);
    return &p->s->params;
}

/* ---- Chains ------------------------------------------------------------------------------------ */

static pawl_status read_graves(struct purge *p)
{
    pawl_status status;

    struct pg_params *q = params(p);
    params_i64(q, p->left);
    params_shards(q, p->s->fence.shards);
    PGresult *r = run(p, ST_PG_TOMBS, &status);
    if (!r)
        return status;
    vec_reset(&p->graves);
    for (int i = 0; i < pq.ntuples(r); i++) {
        struct grave *g = vec_push(&p->graves);
        if (!g) {
            status = PAWL_NO_MEMORY;
            error_set(p->reterr, status, "out of memory");
            break;
        }
        *g = (struct grave){.n = value_id(r, i, 0),
                            .uid = value_id(r, i, 1),
                            .execution = value_id(r, i, 2),
                            .last_rid = value_id(r, i, 3),
                            .shard = (uint32_t)value_i64(r, i, 4)};
    }
    pq.clear(r);
    return status;
}

/* The tomb with this number, by bisection. */
static struct grave *grave_of(struct purge *p, uint64_t n)
{
    size_t low = 0, high = p->graves.count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (p->graves.items[middle].n < n)
            low = middle + 1;
        else
            high = middle;
    }
    assert_that(low < p->graves.count && p->graves.items[low].n == n);
    return &p->graves.items[low];
}

/* Delete a row of a chain, with the work or the timer that each of its events started. */
static void bury(struct purge *p, const PGresult *r, int row)
{
    struct grave *g = grave_of(p, value_id(r, row, 0));
    uint64_t rid = value_id(r, row, 1), prev = value_id(r, row, 2);
    uint64_t events = value_i64(r, row, 3) ? 2 : 1;

    array_id(&p->rows, rid);
    for (uint64_t i = 0; i < events; i++) {
        array_id(&p->ids, rid + i);
        array_id(&p->uids, g->uid);
    }
    g->last_rid = prev < rid ? prev : 0;
    p->left -= events < p->left ? (uint32_t)events : p->left;
}

/* Columns of all tombs: n, uid, the end of the chain. */
static void put_graves(struct purge *p)
{
    struct pg_params *q = params(p);

    array_reset(&p->a);
    array_reset(&p->b);
    p->c.type = PG_INT8;
    array_reset(&p->c);
    for (size_t i = 0; i < p->graves.count; i++) {
        array_id(&p->a, p->graves.items[i].n);
        array_id(&p->b, p->graves.items[i].uid);
        array_id(&p->c, p->graves.items[i].last_rid);
    }
    params_i64(q, p->left);
    params_array(q, &p->a);
    params_array(q, &p->b);
    params_array(q, &p->c);
}

/* Read as much of the chains as fits into this commit.  The last row of every tomb comes first, so
 * a tomb without a row has no chain, or one that is not its own (P2). */
static pawl_status read_chains(struct purge *p)
{
    pawl_status status;
    bool *seen = calloc(p->graves.count + 1, sizeof *seen);

    if (!seen) {
        error_set(p->reterr, PAWL_NO_MEMORY, "out of memory");
        return PAWL_NO_MEMORY;
    }
    put_graves(p);
    PGresult *r = run(p, ST_PG_CHAINS, &status);
    int rows = r ? pq.ntuples(r) : 0;
    bool whole = (uint64_t)rows < p->left;
    for (int i = 0; i < rows; i++)
        seen[grave_of(p, value_id(r, i, 0)) - p->graves.items] = true;
    for (int i = 0; i < rows; i++) {
        if (p->left)
            bury(p, r, i);
        else
            whole = false;
    }
    for (size_t i = 0; i < p->graves.count && r; i++) {
        struct grave *g = &p->graves.items[i];
        if (!seen[i] || whole)
            g->last_rid = 0; /* whole: every chain was followed to its end */
        g->ended = !g->last_rid;
    }
    free(seen);
    pq.clear(r);
    return status;
}

static void reset_shards(struct purge *p)
{
    p->c.type = PG_INT2;
    array_reset(&p->c);
}

static pawl_status delete_chains(struct purge *p)
{
    struct pg_params *q = params(p);

    if (!p->rows.rows)
        return PAWL_OK;
    params_array(q, &p->rows);
    params_array(q, &p->ids);
    params_array(q, &p->uids);
    pawl_status status = run_only(p, ST_PG_CHAIN_DELETE);
    array_reset(&p->rows);
    array_reset(&p->ids);
    array_reset(&p->uids);
    if (status != PAWL_OK)
        return status;
    array_reset(&p->a);
    array_reset(&p->b);
    reset_shards(p);
    for (size_t i = 0; i < p->graves.count; i++) {
        array_id(&p->a, p->graves.items[i].n);
        array_id(&p->b, p->graves.items[i].last_rid);
        array_i64(&p->c, p->graves.items[i].shard);
    }
    q = params(p);
    params_array(q, &p->a);
    params_array(q, &p->b);
    params_array(q, &p->c);
    return run_only(p, ST_PG_TOMB_KEEP);
}

/* ---- Rows by uid ----------------------------------------------------------------------------------- */

enum grave_kind { GRAVE_INSTANCE, GRAVE_EXECUTION, GRAVE_QUEUE };

static bool is_ended(const struct grave *g, enum grave_kind kind)
{
    return g->ended && kind == (g->execution == OF_A_QUEUE ? GRAVE_QUEUE
                                : g->execution             ? GRAVE_EXECUTION
                                                           : GRAVE_INSTANCE);
}

/* Columns of the tombs of a kind that have no chain left: n or uid; uid or execution; shard. */
static size_t ended_columns(struct purge *p, enum grave_kind kind, bool by_uid)
{
    array_reset(&p->a);
    array_reset(&p->b);
    reset_shards(p);
    for (size_t i = 0; i < p->graves.count; i++) {
        const struct grave *g = &p->graves.items[i];
        if (!is_ended(g, kind))
            continue;
        array_id(&p->a, by_uid ? g->uid : g->n);
        array_id(&p->b, by_uid ? g->execution : g->uid);
        array_i64(&p->c, g->shard);
    }
    return p->a.rows;
}

/* Whole instances: the next closed execution is the chain to delete now. */
static pawl_status next_executions(struct purge *p)
{
    pawl_status status;

    if (!ended_columns(p, GRAVE_INSTANCE, false))
        return PAWL_OK;
    struct pg_params *q = params(p);
    params_array(q, &p->a);
    params_array(q, &p->b);
    params_array(q, &p->c);
    PGresult *r = run(p, ST_PG_TOMB_NEXT, &status);
    if (!r)
        return status;
    for (int i = 0; i < pq.ntuples(r); i++) {
        grave_of(p, value_id(r, i, 0))->ended = false;
        p->left -= p->left > 0;
    }
    pq.clear(r);
    return PAWL_OK;
}

/* Delete the tombs of a kind that are done; those with more rows stay. */
static pawl_status close_graves(struct purge *p, enum grave_kind kind)
{
    if (!ended_columns(p, kind, false))
        return PAWL_OK;
    struct pg_params *q = params(p);
    params_array(q, &p->a);
    params_array(q, &p->c);
    return run_only(p, ST_PG_TOMB_DONE);
}

static pawl_status purge_rest(struct purge *p, enum grave_kind kind)
{
    bool more = true;

    if (!p->left || !ended_columns(p, kind, true))
        return PAWL_OK;
    struct pg_params *q = params(p);
    params_array(q, &p->a);
    if (kind == GRAVE_EXECUTION)
        params_array(q, &p->b);
    params_i64(q, p->left);
    pawl_status status =
        spend(p, kind == GRAVE_EXECUTION ? ST_PG_TOMB_MARKS : ST_PG_TOMB_REST, &more);
    return status == PAWL_OK && !more ? close_graves(p, kind) : status;
}

/* ---- Queues --------------------------------------------------------------------------------------- */

static pawl_status purge_queue(struct purge *p, const struct grave *g)
{
    bool more = true;
    struct pg_params *q = params(p);

    params_id(q, g->uid);
    params_i64(q, p->left);
    pawl_status status = spend(p, ST_PG_TOMB_QUEUE, &more);
    uint32_t before = p->left + 1;
    while (status == PAWL_OK && p->left && p->left != before) { /* lock by lock */
        before = p->left;
        params_id(params(p), g->uid);
        status = spend(p, ST_PG_TOMB_LOCK, &more);
    }
    if (status != PAWL_OK || !p->left)
        return status;
    q = params(p);
    params_ids(q, &g->n, 1);
    params_shards(q, UINT64_C(1) << g->shard);
    return run_only(p, ST_PG_TOMB_DONE);
}

static pawl_status purge_queues(struct purge *p)
{
    pawl_status status = PAWL_OK;

    for (size_t i = 0; i < p->graves.count && p->left && status == PAWL_OK; i++)
        if (is_ended(&p->graves.items[i], GRAVE_QUEUE))
            status = purge_queue(p, &p->graves.items[i]);
    return status;
}

/* ---- Operations ------------------------------------------------------------------------------------- */

/* Delete one chain of every tomb, or the rows that follow its chains. */
static pawl_status sweep(struct purge *p)
{
    pawl_status status = read_graves(p);

    if (status != PAWL_OK || !p->graves.count)
        return status;
    status = read_chains(p);
    if (status == PAWL_OK)
        status = delete_chains(p);
    if (status == PAWL_OK && p->left)
        status = next_executions(p);
    if (status == PAWL_OK)
        status = purge_rest(p, GRAVE_INSTANCE);
    if (status == PAWL_OK)
        status = purge_rest(p, GRAVE_EXECUTION);
    return status == PAWL_OK ? purge_queues(p) : status;
}

/* The last result of a pipeline that had one number. */
static void on_number(void *user, size_t index, const PGresult *r)
{
    uint64_t *ret = user;

    (void)index;
    if (pq.ntuples(r))
        *ret = value_id(r, 0, 0);
}

/* Commit a pipeline with rows to look at. */
static pawl_status end_with(struct pg_store *s, pawl_fence *fence, uint64_t *retnumber,
                            pawl_error *reterr)
{
    pawl_status status = pg_commit_end(s, fence, on_number, retnumber, reterr);

    if (status == PAWL_OK)
        pg_fence_moved(s, fence);
    return status;
}

pawl_status pg_purge(pawl_store *base, pawl_fence *fence, uint32_t limit, bool *retleft,
                     pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    struct purge p = {.s = s, .left = limit, .reterr = reterr};
    uint64_t left = 0;

    p.rows.type = p.ids.type = p.uids.type = p.a.type = p.b.type = PG_INT8;
    pawl_status status = pg_attach(s, reterr);
    s->writing = PG_ROUNDS;
    if (status == PAWL_OK)
        status = pg_commit_begin(s, fence, reterr);
    if (status != PAWL_OK)
        return status;
    do
        status = sweep(&p);
    while (status == PAWL_OK && p.left && p.graves.count);
    purge_deinit(&p);
    if (status == PAWL_OK)
        status = pg_commit_pipe(s, reterr);
    if (status != PAWL_OK) {
        pg_roll_back(s);
        return status == PAWL_CONFLICT ? PAWL_UNAVAILABLE : status;
    }
    params_reset(&s->params);
    params_shards(&s->params, s->fence.shards);
    (void)link_send(&s->writer, ST_PG_TOMB_LEFT, &s->params);
    status = end_with(s, fence, &left, reterr);
    if (status == PAWL_OK)
        *retleft = left;
    return status;
}

pawl_status pg_prune_executions(pawl_store *base, pawl_fence *fence, uint64_t uid,
                                uint64_t before_execution, uint64_t *retcount, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    uint64_t count = 0;
    pawl_status status = pg_attach(s, reterr);

    s->writing = PG_ROUNDS;
    if (status == PAWL_OK)
        status = pg_commit_pipe(s, reterr);
    if (status != PAWL_OK)
        return status;
    (void)pg_send_fence(s, fence);
    params_reset(&s->params);
    params_id(&s->params, uid);
    params_id(&s->params, s->fence.shards);
    (void)link_send(&s->writer, ST_PG_INSTANCE_NEED, &s->params);
    params_reset(&s->params);
    params_id(&s->params, uid);
    params_id(&s->params, before_execution);
    (void)link_send(&s->writer, ST_PG_PRUNE, &s->params);
    status = end_with(s, fence, &count, reterr);
    if (status == PAWL_CONFLICT) {
        error_set(reterr, PAWL_NOT_FOUND, "there is no instance with uid %llu",
                  (unsigned long long)uid);
        return PAWL_NOT_FOUND;
    }
    if (status == PAWL_OK)
        *retcount = count;
    return status;
}
