/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_list.c -- instances page by page, and how much there is.
 *
 * The server compares a page's conditions itself, so that rows which do not fit never travel; it
 * examines at most LIST_EXAMINE_MAX of them (L1), newest first, along the index that fits best
 * (children of a parent; the rare states; else all).
 */
#include "store/postgres/postgres.h"

static bool is_rare(int state)
{
    return state == PAWL_SUSPENDED || state == PAWL_BLOCKED || state == PAWL_FAILED ||
           state == PAWL_CANCELLED;
}

static int statement_of(const pawl_row_query *q)
{
    return q->parent_uid                       ? ST_PG_LIST_PARENT
           : q->state && is_rare(q->state - 1) ? ST_PG_LIST_STATE
                                               : ST_PG_LIST;
}

/* In the order of PG_LIST. */
static void put_query(struct pg_params *p, const pawl_row_query *q)
{
    params_i64(p, q->before_uid ? (int64_t)q->before_uid : INT64_MAX);
    params_id(p, q->parent_uid);
    params_i64(p, q->state - 1);
    params_str(p, q->orchestration);
    params_str(p, q->prefix);
    params_i64(p, q->created_after_ms);
    params_i64(p, q->ended_before_ms);
    params_i64(p, (int64_t)q->limit + 2); /* one more that fits, or the two at the end */
    params_i64(p, LIST_EXAMINE_MAX);
}

/* A page out of what came: rows that fit, then the last one examined and the one behind it. */
static void take_page(const PGresult *r, uint32_t limit, pawl_mem *mem, pawl_row_list *ret)
{
    const int fits = ROW_updated_ms + 1, number = fits + 1;
    LIST(pawl_row) items = {0};
    uint64_t last_examined = 0;

    for (int i = 0; i < pq.ntuples(r); i++) {
        if (items.count == limit && value_i64(r, i, fits)) {
            ret->next_uid = items.items[limit - 1].uid;
            break;
        }
        if (value_i64(r, i, number) == LIST_EXAMINE_MAX)
            last_examined = value_id(r, i, ROW_uid);
        if (value_i64(r, i, number) > LIST_EXAMINE_MAX)
            ret->next_uid = last_examined;
        if (value_i64(r, i, fits))
            (void)pg_decode_row(r, i, mem, list_add(mem, &items));
    }
    ret->items = items.items;
    ret->count = items.count;
}

pawl_status pg_list(pawl_store *base, const pawl_row_query *query, pawl_mem *mem,
                    pawl_row_list *ret, pawl_error *reterr)
{
    struct pg_params p = {0};
    pawl_status status;

    *ret = (pawl_row_list){0};
    if (query->limit == 0)
        return PAWL_OK;
    put_query(&p, query);
    PGresult *r = pg_read(pg_of(base), statement_of(query), &p, "list instances", &status, reterr);
    if (r)
        take_page(r, query->limit, mem, ret);
    pq.clear(r);
    params_deinit(&p);
    return status;
}

pawl_status pg_depths(pawl_store *base, int64_t now_ms, pawl_depths *ret, pawl_error *reterr)
{
    struct pg_params p = {0};
    pawl_status status;

    params_i64(&p, now_ms);
    PGresult *r = pg_read(pg_of(base), ST_PG_DEPTHS, &p, "count rows", &status, reterr);
    if (r) {
        pawl_depths d = {.messages = value_id(r, 0, 0),
                         .timers = value_id(r, 0, 1),
                         .work = value_id(r, 0, 2),
                         .quarantine = value_id(r, 0, 3),
                         .instances = value_id(r, 0, 4),
                         .suspended = value_id(r, 0, 5),
                         .blocked = value_id(r, 0, 6),
                         .failed = value_id(r, 0, 7),
                         .cancelled = value_id(r, 0, 8)};
        pawl_fill(ret, &d, sizeof d);
    }
    pq.clear(r);
    params_deinit(&p);
    return status;
}
