/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_bury.c -- the end of a lane that is dead, and who lives.
 *
 * A burial is one transaction in two round trips: it locks the row of the cluster, so that no lane
 * comes, goes or gives meanwhile, and the row of the dead lane, which waits for its commit under
 * way.  Then it deletes that row, so that no later commit of it finds its fence, and its shards go
 * to those that have the fewest.
 *
 * A lock that does not come belongs to a connection of the dead lane that the server believes
 * alive: it is ended, and the caller tries again.
 *
 * Called as operations of the store, on any thread: over a connection of the pool.
 */
#include "store/postgres/postgres.h"

struct living {
    uint64_t lane, shards;
};

struct burial {
    struct pg_store *s;
    struct pg_link *link;
    struct pg_params params;
    uint64_t dead; /* its number; 0: there is no such lane */
    uint64_t shards;
    VEC(struct living) heirs; /* by epoch */
    bool memory_gone;
    struct pg_array shard, heir; /* who gets what */
};

enum { BURY_BEGIN, BURY_CLUSTER, BURY_LOCK, BURY_VIEW };
enum { VIEW_LANE, VIEW_EPOCH, VIEW_NODE, VIEW_SHARDS, VIEW_MOVES, VIEW_FREE };

static void send_number(struct burial *b, int statement, uint64_t n)
{
    params_reset(&b->params);
    params_id(&b->params, n);
    (void)link_send(b->link, statement, &b->params); /* link_reap tells */
}

static void see_lanes(struct burial *b, const PGresult *r)
{
    for (int i = 0; i < pq.ntuples(r); i++) {
        struct living l = {value_id(r, i, VIEW_LANE), value_id(r, i, VIEW_SHARDS)};
        if (l.lane == b->dead)
            b->shards = l.shards;
        struct living *slot = l.lane && l.lane != b->dead ? vec_push(&b->heirs) : NULL;
        if (slot)
            *slot = l;
        else if (l.lane && l.lane != b->dead)
            b->memory_gone = true;
    }
}

static void on_found(void *user, size_t index, const PGresult *r)
{
    struct burial *b = user;

    if (index == BURY_LOCK && pq.ntuples(r))
        b->dead = value_id(r, 0, 0);
    if (index == BURY_VIEW && b->dead)
        see_lanes(b, r);
}

/* The lane's connection keeps a lock: the server does not know that its process is gone. */
static void end_connection(struct burial *b, uint64_t epoch)
{
    pawl_status status;

    params_reset(&b->params);
    params_id(&b->params, epoch);
    pq.clear(link_run(b->link, ST_PG_BURY_END, &b->params, "end a connection", &status, NULL));
}

static void roll_back(struct burial *b)
{
    if (link_is_up(b->link) && link_do(b->link, "ROLLBACK", "roll back", NULL) != PAWL_OK)
        link_close(b->link);
}

/* What is found is locked until the transaction ends. */
static pawl_status look(struct burial *b, uint64_t epoch, pawl_error *reterr)
{
    struct link_report report;

    if (link_pipe(b->link)) {
        (void)link_send_begin(b->link);
        send_number(b, ST_PG_CLUSTER, 1);
        send_number(b, ST_PG_BURY_LOCK, epoch);
        (void)link_send(b->link, ST_PG_LANES_VIEW, NULL);
    }
    link_reap(b->link, on_found, b, &report);
    pawl_status status =
        report.end == LINK_DONE ? PAWL_OK : link_error(&report, "bury a lane", reterr);
    if (status == PAWL_OK && b->memory_gone) {
        status = PAWL_NO_MEMORY;
        error_set(reterr, status, "out of memory");
    }
    if (status == PAWL_OK && !b->dead) {
        status = PAWL_NOT_FOUND;
        error_set(reterr, status, "there is no lane %llu", (unsigned long long)epoch);
    }
    if (status != PAWL_OK && report.end != LINK_LOST)
        roll_back(b);
    if (status == PAWL_BUSY)
        end_connection(b, epoch);
    return status;
}

/* Each shard to the lane that has the fewest then; of several to the oldest (E17). */
static void spread(struct burial *b)
{
    b->shard.type = PG_INT2;
    b->heir.type = PG_INT8;
    for (; b->shards && b->heirs.count; b->shards &= b->shards - 1) {
        struct living *least = &b->heirs.items[0];
        for (size_t i = 1; i < b->heirs.count; i++)
            if (__builtin_popcountll(b->heirs.items[i].shards) <
                __builtin_popcountll(least->shards))
                least = &b->heirs.items[i];
        least->shards |= b->shards & -b->shards;
        array_i64(&b->shard, __builtin_ctzll(b->shards));
        array_id(&b->heir, least->lane);
    }
}

/* The row goes first: its shards have no lane then, and may have another. */
static pawl_status carry_out(struct burial *b, pawl_error *reterr)
{
    struct link_report report;
    bool sent = false;

    if (link_pipe(b->link)) {
        params_reset(&b->params);
        params_id(&b->params, b->dead);
        params_id(&b->params, 0);
        (void)link_send(b->link, ST_PG_LANE_DROP, &b->params);
        send_number(b, ST_PG_LOG_DROP, b->dead);
        params_reset(&b->params);
        params_array(&b->params, &b->shard);
        params_array(&b->params, &b->heir);
        (void)link_send(b->link, ST_PG_SHARDS_SPREAD, &b->params);
        sent = link_send(b->link, ST_PG_COMMIT, NULL);
    }
    link_reap(b->link, NULL, NULL, &report);
    if (report.end == LINK_DONE && report.committed_tag && !report.wait_cancelled)
        return PAWL_OK;
    pawl_status status = link_error(&report, "bury a lane", reterr);
    if (report.end == LINK_FAILED)
        roll_back(b);
    else if (sent)
        status = PAWL_UNKNOWN;
    if (reterr)
        reterr->status = status;
    return status == PAWL_CONFLICT ? PAWL_UNAVAILABLE : status;
}

pawl_status pg_bury(pawl_store *base, uint64_t epoch, int64_t now_ms, pawl_error *reterr)
{
    struct burial b = {.s = pg_of(base)};

    (void)now_ms;
    pawl_status status = pg_check_writable(b.s, reterr);
    if (status == PAWL_OK)
        status = pg_pool_take(b.s, &b.link, reterr);
    if (status != PAWL_OK)
        return status;
    status = look(&b, epoch, reterr);
    if (status == PAWL_OK) {
        spread(&b);
        status = carry_out(&b, reterr);
    }
    pg_pool_give(b.s, b.link);
    params_deinit(&b.params);
    array_deinit(&b.shard);
    array_deinit(&b.heir);
    vec_deinit(&b.heirs);
    return status;
}

/* ---- view ---------------------------------------------------------------------------------------- */

/* One row without a lane when none lives. */
pawl_status pg_view(pawl_store *base, pawl_mem *mem, pawl_lane_view *ret, pawl_error *reterr)
{
    struct pg_params none = {0};
    pawl_status status;

    PGresult *r =
        pg_read(pg_of(base), ST_PG_LANES_VIEW, &none, "look at the lanes", &status, reterr);
    if (!r)
        return status;
    int rows = pq.ntuples(r);
    pawl_lane *lanes = arena_array(mem, pawl_lane, (size_t)rows + 1);
    pawl_lane_view view = {.lanes = lanes};
    for (int i = 0; i < rows; i++) {
        view.moves = value_id(r, i, VIEW_MOVES);
        view.free = value_id(r, i, VIEW_FREE);
        if (!value_is_null(r, i, VIEW_LANE))
            lanes[view.lane_count++] = (pawl_lane){.epoch = value_id(r, i, VIEW_EPOCH),
                                                   .node = value_id(r, i, VIEW_NODE),
                                                   .shards = value_id(r, i, VIEW_SHARDS)};
    }
    pq.clear(r);
    pawl_fill(ret, &view, sizeof view);
    return PAWL_OK;
}
