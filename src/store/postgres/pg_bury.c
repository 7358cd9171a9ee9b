/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_bury.c -- the end of a lane that is dead (pg_burial.h), and which lanes live.
 *
 * A lock that does not come belongs to a connection of the dead lane that the server believes
 * alive: it is ended, and the caller tries again.
 *
 * Called as operations of the store, on any thread; burial_… by pg_node.c.
 */
#include "store/postgres/pg_burial.h"

enum { BURY_BEGIN, BURY_CLUSTER, BURY_OWN }; /* then the caller's, the lock, the view */
enum { VIEW_LANE, VIEW_EPOCH, VIEW_NODE, VIEW_SHARDS, VIEW_MOVES, VIEW_FREE };

/* ---- The first round trip ------------------------------------------------------------------------ */

void burial_send(struct burial *b, int statement)
{
    (void)link_send(b->link, statement, &b->params); /* link_reap tells */
    params_reset(&b->params);
    b->own++;
}

pawl_status burial_begin(struct burial *b, pawl_store *s, pawl_error *reterr)
{
    *b = (struct burial){.s = pg_of(s), .on_own = b->on_own};
    b->shard.type = PG_INT2;
    b->heir.type = PG_INT8;
    pawl_status status = pg_check_writable(b->s, reterr);
    if (status == PAWL_OK)
        status = pg_pool_take(b->s, &b->link, reterr);
    if (status != PAWL_OK)
        return status;
    if (link_pipe(b->link)) {
        (void)link_send_begin(b->link);
        params_i64(&b->params, 1);
        burial_send(b, ST_PG_CLUSTER);
    }
    b->own = 0;
    return PAWL_OK;
}

static void keep(struct burial *b, uint64_t lane)
{
    uint64_t *slot = vec_push(&b->dead);

    if (slot)
        *slot = lane;
    else
        b->memory_gone = true;
}

static bool is_dead(const struct burial *b, uint64_t lane)
{
    for (size_t i = 0; i < b->dead.count; i++)
        if (b->dead.items[i] == lane)
            return true;
    return false;
}

static void see_lanes(struct burial *b, const PGresult *r)
{
    for (int i = 0; i < pq.ntuples(r); i++) {
        struct living l = {value_id(r, i, VIEW_LANE), value_id(r, i, VIEW_SHARDS)};
        if (is_dead(b, l.lane)) {
            b->shards |= l.shards;
            continue;
        }
        struct living *slot = l.lane ? vec_push(&b->heirs) : NULL;
        if (slot)
            *slot = l;
        else if (l.lane)
            b->memory_gone = true;
    }
}

static void on_found(void *user, size_t index, const PGresult *r)
{
    struct burial *b = user;

    if (index >= BURY_OWN && index < BURY_OWN + b->own)
        b->on_own(b, index - BURY_OWN, r);
    for (int i = 0; index == BURY_OWN + b->own && i < pq.ntuples(r); i++)
        keep(b, value_id(r, i, 0));
    if (index == BURY_OWN + b->own + 1 && b->dead.count)
        see_lanes(b, r);
}

void burial_cancel(struct burial *b)
{
    if (link_is_up(b->link) && link_do(b->link, "ROLLBACK", "roll back", NULL) != PAWL_OK)
        link_close(b->link);
}

pawl_status burial_look(struct burial *b, int lock, pawl_error *reterr)
{
    struct link_report report;

    if (link_is_up(b->link)) {
        (void)link_send(b->link, lock, &b->params);
        (void)link_send(b->link, ST_PG_LANES_VIEW, NULL);
    }
    params_reset(&b->params);
    link_reap(b->link, on_found, b, &report);
    pawl_status status =
        report.end == LINK_DONE ? PAWL_OK : link_error(&report, "bury lanes", reterr);
    if (status == PAWL_OK && b->memory_gone) {
        status = PAWL_NO_MEMORY;
        error_set(reterr, status, "out of memory");
    }
    if (status != PAWL_OK)
        burial_cancel(b);
    return status;
}

/* ---- The second ------------------------------------------------------------------------------------ */

/* Each shard to the lane that has the fewest then; of several to the oldest (E17). */
static void spread(struct burial *b)
{
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

/* The rows go first: their shards have no lane then, and may have another. */
static void send_end(struct burial *b)
{
    for (size_t i = 0; i < b->dead.count; i++) {
        params_id(&b->params, b->dead.items[i]);
        params_id(&b->params, 0);
        burial_send(b, ST_PG_LANE_DROP);
        params_id(&b->params, b->dead.items[i]);
        burial_send(b, ST_PG_LOG_DROP);
    }
    if (!b->shard.rows)
        return;
    params_array(&b->params, &b->shard);
    params_array(&b->params, &b->heir);
    burial_send(b, ST_PG_SHARDS_SPREAD);
}

pawl_status burial_end(struct burial *b, pawl_error *reterr)
{
    struct link_report report;
    bool sent = false;

    spread(b);
    if (link_pipe(b->link)) {
        send_end(b);
        sent = link_send(b->link, ST_PG_COMMIT, NULL);
    }
    link_reap(b->link, NULL, NULL, &report);
    if (report.end == LINK_DONE && report.committed_tag && !report.wait_cancelled)
        return PAWL_OK;
    pawl_status status = link_error(&report, "bury lanes", reterr);
    if (report.end == LINK_FAILED)
        burial_cancel(b);
    else if (sent)
        status = PAWL_UNKNOWN;
    status = status == PAWL_CONFLICT ? PAWL_UNAVAILABLE : status;
    if (reterr)
        reterr->status = status;
    return status;
}

void burial_deinit(struct burial *b)
{
    if (b->link)
        pg_pool_give(b->s, b->link);
    params_deinit(&b->params);
    array_deinit(&b->shard);
    array_deinit(&b->heir);
    vec_deinit(&b->heirs);
    vec_deinit(&b->dead);
}

/* ---- bury ------------------------------------------------------------------------------------------- */

/* The lane's connection keeps a lock: the server does not know that its process is gone. */
static void end_connection(struct burial *b, uint64_t epoch)
{
    pawl_status status;

    params_reset(&b->params);
    params_id(&b->params, epoch);
    pq.clear(link_run(b->link, ST_PG_BURY_END, &b->params, "end a connection", &status, NULL));
}

pawl_status pg_bury(pawl_store *base, uint64_t epoch, int64_t now_ms, pawl_error *reterr)
{
    struct burial b = {0};
    pawl_status status = burial_begin(&b, base, reterr);

    (void)now_ms;
    if (status == PAWL_OK) {
        params_id(&b.params, epoch);
        status = burial_look(&b, ST_PG_BURY_LOCK, reterr);
        if (status == PAWL_BUSY)
            end_connection(&b, epoch);
    }
    if (status == PAWL_OK && !b.dead.count) {
        burial_cancel(&b);
        status = PAWL_NOT_FOUND;
        error_set(reterr, status, "there is no lane %llu", (unsigned long long)epoch);
    } else if (status == PAWL_OK) {
        status = burial_end(&b, reterr);
    }
    burial_deinit(&b);
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
