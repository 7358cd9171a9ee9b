/* SPDX-License-Identifier: MIT */
/*
 * store/sql/list.c -- instances page by page, and how much there is.
 *
 * A page walks uids downwards along the index that fits best (children of a
 * parent; the rare states; else the table) and compares the rest of the query
 * row by row, at most LIST_EXAMINE_MAX rows, so that a dashboard never holds a
 * snapshot for long however few rows match.
 */
#include "store/sql/cursor.h"
#include "store/sql/reads.h"
#include "store/sql/sql_statements.h"

static bool has_index(int state)
{
    return state == PAWL_SUSPENDED || state == PAWL_BLOCKED || state == PAWL_FAILED ||
           state == PAWL_CANCELLED;
}

static int statement_of(const pawl_row_query *q)
{
    return q->parent_uid                         ? ST_LIST_PARENT
           : q->state && has_index(q->state - 1) ? ST_LIST_STATE
                                                 : ST_LIST_ALL;
}

static bool has_prefix(pawl_str text, pawl_str prefix)
{
    return text.len >= prefix.len && memcmp(text.ptr, prefix.ptr, prefix.len) == 0;
}

static bool matches(struct sql_cursor *c, const pawl_row_query *q)
{
    int state = (int)cursor_i64(c, ROW_state);

    if (q->state && state != q->state - 1)
        return false;
    if (q->orchestration.len && !pawl_str_eq(cursor_view(c, ROW_orchestration), q->orchestration))
        return false;
    if (q->created_after_ms && cursor_i64(c, ROW_created_ms) <= q->created_after_ms)
        return false;
    if (q->ended_before_ms && (!pawl_state_is_terminal((pawl_state)state) ||
                               cursor_i64(c, ROW_updated_ms) >= q->ended_before_ms))
        return false;
    return q->prefix.len == 0 || has_prefix(cursor_view(c, ROW_id), q->prefix);
}

/* One that is not what was written shows as blocked, with nothing of it but its id. */
static void take_row(struct sql_cursor *c, pawl_mem *mem, pawl_row *ret)
{
    if (c->driver->row(c, mem, ret) == SQL_SOUND)
        return;
    c->driver->damaged(c->store, "the row of instance", ret->uid);
    *ret = (pawl_row){.uid = ret->uid,
                      .id = ret->id,
                      .state = PAWL_BLOCKED,
                      .execution = ret->execution,
                      .finding = pawl_s("its stored row is damaged: it does not fit its check "
                                        "sum; restore a backup")};
}

pawl_status sql_list(pawl_store *s, const pawl_row_query *query, pawl_mem *mem, pawl_row_list *ret,
                     pawl_error *reterr)
{
    LIST(pawl_row) items = {0};
    size_t seen = 0;
    uint64_t last_uid = 0;
    struct sql_cursor c;
    pawl_status status;
    int which = statement_of(query);

    *ret = (pawl_row_list){0};
    if (query->limit == 0)
        return PAWL_OK;
    if (!cursor_begin(&c, s, which, "list instances", mem, &status, reterr))
        return status;
    cursor_bind_i64(&c, 1, query->before_uid ? (int64_t)query->before_uid : INT64_MAX);
    if (which == ST_LIST_PARENT)
        cursor_bind_id(&c, 2, query->parent_uid);
    else if (which == ST_LIST_STATE)
        cursor_bind_i64(&c, 2, query->state - 1);
    while (cursor_next(&c)) {
        if (items.count == query->limit || seen == LIST_EXAMINE_MAX) {
            ret->next_uid = last_uid; /* there is more */
            break;
        }
        seen++;
        last_uid = cursor_id(&c, ROW_uid);
        if (!matches(&c, query))
            continue;
        take_row(&c, mem, list_room(mem, &items));
        items.count++;
    }
    ret->items = items.items;
    ret->count = items.count;
    return cursor_end(&c, reterr);
}

/* ---- How much there is ------------------------------------------------------ */

/* The number that a statement says; false: it failed. */
static bool count_rows(struct sql_cursor *c, int which, uint64_t *ret)
{
    if (!cursor_use(c, which) || !cursor_next(c))
        return false;
    *ret = cursor_id(c, 0);
    return true;
}

static bool count_timers(struct sql_cursor *c, int64_t now_ms, uint64_t *ret)
{
    if (!cursor_use(c, ST_COUNT_TIMERS))
        return false;
    cursor_bind_i64(c, 1, now_ms);
    if (!cursor_next(c))
        return false;
    *ret = cursor_id(c, 0);
    return true;
}

/* The rare states, from their index; to count the others takes a look at every instance. */
static void count_states(struct sql_cursor *c, pawl_depths *ret)
{
    if (!cursor_use(c, ST_COUNT_STATES))
        return;
    while (cursor_next(c)) {
        int state = (int)cursor_i64(c, 0);
        uint64_t *count = state == PAWL_SUSPENDED ? &ret->suspended
                          : state == PAWL_BLOCKED ? &ret->blocked
                          : state == PAWL_FAILED  ? &ret->failed
                                                  : &ret->cancelled;
        *count += cursor_id(c, 1);
    }
}

pawl_status sql_depths(pawl_store *s, int64_t now_ms, pawl_depths *ret, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_depths d = {0};
    pawl_status status;

    if (!cursor_begin(&c, s, ST_COUNT_MESSAGES, "count rows", NULL, &status, reterr))
        return status;
    if (cursor_snapshot(&c) && count_rows(&c, ST_COUNT_MESSAGES, &d.messages) &&
        count_timers(&c, now_ms, &d.timers) && count_rows(&c, ST_COUNT_WORK, &d.work) &&
        count_rows(&c, ST_COUNT_QUARANTINE, &d.quarantine) &&
        count_rows(&c, ST_COUNT_INSTANCES, &d.instances))
        count_states(&c, &d);
    pawl_fill(ret, &d, sizeof d);
    return cursor_end(&c, reterr);
}
