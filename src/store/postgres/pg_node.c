/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_node.c -- nodes: processes with lanes, each with a lease.
 *
 * A node that lives has a row in `node`.  A beat updates that row.  A burial deletes it: that waits
 * for a beat under way and compares the lease then (E21).  The lanes of nodes that are gone end in
 * the same transaction (pg_burial.h).
 *
 * Times are the server's, read when a statement runs: now_ms of the caller is not used (N10 of the
 * design: now() would be old behind a lock).
 *
 * The end of a lease does nothing by itself.  Every node looks for others at each of its beats, so
 * this look is one that reads; only when there is one, the cluster is locked.
 *
 * Called as operations of the store, on any thread; over a connection of the pool.
 */
#include "store/postgres/pg_burial.h"

/* The nodes, or the rows of a statement that changed them: b->found of the first, how many. */
static void on_nodes(struct burial *b, size_t index, const PGresult *r)
{
    (void)index;
    if (pq.ntuples(r))
        b->found = value_id(r, 0, 0);
}

static void on_gone(struct burial *b, size_t index, const PGresult *r)
{
    (void)index;
    b->found = (uint64_t)pq.ntuples(r);
}

static pawl_status not_there(uint64_t id, pawl_error *reterr)
{
    error_set(reterr, PAWL_NOT_FOUND, "there is no node %llu", (unsigned long long)id);
    return PAWL_NOT_FOUND;
}

/* The lanes of nodes that are gone in this transaction end with it; b->found 0: nothing happened. */
static pawl_status finish(struct burial *b, pawl_error *reterr)
{
    pawl_status status = burial_look(b, ST_PG_LANES_ORPHANED, reterr);

    if (status == PAWL_OK && !b->found)
        burial_cancel(b);
    else if (status == PAWL_OK)
        status = burial_end(b, reterr);
    return status;
}

/* ---- Coming and going ---------------------------------------------------------------------- */

pawl_status pg_node_join(pawl_store *s, pawl_str name, pawl_str about, int64_t lease_ms, bool again,
                         int64_t now_ms, uint64_t *retid, pawl_error *reterr)
{
    struct burial b = {.on_own = on_nodes};
    pawl_status status = burial_begin(&b, s, reterr);

    (void)now_ms;
    if (status == PAWL_OK) {
        params_str(&b.params, name);
        params_i64(&b.params, again);
        burial_send(&b, ST_PG_NODE_FORMER);
        params_str(&b.params, name);
        params_str(&b.params, about);
        params_i64(&b.params, lease_ms);
        burial_send(&b, ST_PG_NODE_ADD);
        status = finish(&b, reterr);
    }
    *retid = b.found;
    if (status == PAWL_OK && !b.found) {
        status = PAWL_EXISTS;
        error_set(reterr, status, "a node of the name '%.*s' lives", PAWL_FMT(name));
    }
    burial_deinit(&b);
    return status;
}

pawl_status pg_node_leave(pawl_store *s, uint64_t id, int64_t now_ms, pawl_error *reterr)
{
    struct burial b = {.on_own = on_gone};
    pawl_status status = burial_begin(&b, s, reterr);

    (void)now_ms;
    if (status == PAWL_OK) {
        params_id(&b.params, id);
        burial_send(&b, ST_PG_NODE_DROP);
        status = finish(&b, reterr);
    }
    bool gone = b.found > 0;
    burial_deinit(&b);
    return status == PAWL_OK && !gone ? not_there(id, reterr) : status;
}

/* Is the lease of any node over?  It may be another moment later. */
static pawl_status look_for_dead(struct pg_store *s, bool *ret, pawl_error *reterr)
{
    struct pg_params none = {0};
    pawl_status status;

    PGresult *r = pg_read(s, ST_PG_NODES_OVER, &none, "look at the nodes", &status, reterr);
    *ret = r && pq.ntuples(r) > 0;
    pq.clear(r);
    return status;
}

pawl_status pg_bury_over(pawl_store *s, int64_t now_ms, uint32_t *retcount, pawl_error *reterr)
{
    struct burial b = {.on_own = on_gone};
    bool any = false;
    pawl_status status = look_for_dead(pg_of(s), &any, reterr);

    (void)now_ms;
    *retcount = 0;
    if (status != PAWL_OK || !any)
        return status;
    status = burial_begin(&b, s, reterr);
    if (status == PAWL_OK) {
        burial_send(&b, ST_PG_NODES_DROP);
        status = finish(&b, reterr);
    }
    if (status == PAWL_OK)
        *retcount = (uint32_t)b.found;
    burial_deinit(&b);
    return status;
}

/* ---- Beats ------------------------------------------------------------------------------------ */

enum { BEAT_NOW, BEAT_UNTIL, BEAT_ASKED, BEAT_MOVES };

pawl_status pg_node_beat(pawl_store *s, uint64_t id, pawl_str about, int64_t lease_ms,
                         int64_t now_ms, pawl_beat *ret, pawl_error *reterr)
{
    struct pg_params p = {0};
    pawl_beat beat = {0};
    pawl_status status;

    (void)now_ms;
    params_id(&p, id);
    params_i64(&p, lease_ms);
    if (about.ptr)
        params_str(&p, about);
    else
        params_null(&p);
    PGresult *r = pg_read(pg_of(s), ST_PG_NODE_BEAT, &p, "beat", &status, reterr);
    params_deinit(&p);
    if (!r)
        return status;
    bool lives = pq.ntuples(r) == 1;
    if (lives)
        beat = (pawl_beat){.now_ms = value_i64(r, 0, BEAT_NOW),
                           .lease_until_ms = value_i64(r, 0, BEAT_UNTIL),
                           .asked = (uint32_t)value_i64(r, 0, BEAT_ASKED),
                           .moves = value_id(r, 0, BEAT_MOVES)};
    pq.clear(r);
    if (lives) {
        pawl_fill(ret, &beat, sizeof beat);
        return PAWL_OK;
    }
    error_set(reterr, PAWL_FENCED, "node %llu left, or was buried", (unsigned long long)id);
    return PAWL_FENCED;
}

pawl_status pg_node_ask(pawl_store *s, uint64_t id, uint32_t asked, pawl_error *reterr)
{
    struct pg_params p = {0};
    pawl_status status;

    params_id(&p, id);
    params_i64(&p, asked);
    PGresult *r = pg_read(pg_of(s), ST_PG_NODE_ASK, &p, "ask a node", &status, reterr);
    params_deinit(&p);
    bool there = r && pq.ntuples(r) == 1;
    pq.clear(r);
    return r && !there ? not_there(id, reterr) : status;
}

enum { NODE_ID, NODE_NAME, NODE_ABOUT, NODE_JOINED, NODE_UNTIL, NODE_ASKED };

pawl_status pg_nodes(pawl_store *s, pawl_mem *mem, pawl_node_list *ret, pawl_error *reterr)
{
    struct pg_params none = {0};
    pawl_status status;

    PGresult *r = pg_read(pg_of(s), ST_PG_NODES, &none, "look at the nodes", &status, reterr);
    if (!r)
        return status;
    size_t count = (size_t)pq.ntuples(r);
    pawl_node *items = arena_array(mem, pawl_node, count + 1);
    for (int i = 0; i < (int)count; i++)
        items[i] = (pawl_node){.id = value_id(r, i, NODE_ID),
                               .name = value_dup(r, i, NODE_NAME, mem),
                               .about = value_dup(r, i, NODE_ABOUT, mem),
                               .joined_ms = value_i64(r, i, NODE_JOINED),
                               .lease_until_ms = value_i64(r, i, NODE_UNTIL),
                               .asked = (uint32_t)value_i64(r, i, NODE_ASKED)};
    pq.clear(r);
    *ret = (pawl_node_list){.items = items, .count = count};
    return PAWL_OK;
}
