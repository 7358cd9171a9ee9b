/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/list.c -- instances page by page, and how much there is.
 *
 * A page walks uids downwards along the index that fits best (children of a
 * parent; the rare states; else the table) and compares the rest of the query
 * row by row, at most LIST_EXAMINE_MAX rows, so that a dashboard never holds a
 * snapshot for long however few rows match.
 */
#include "store/sqlite/sqlite.h"

static bool has_index(int state)
{
    return state == PAWL_SUSPENDED || state == PAWL_BLOCKED || state == PAWL_FAILED ||
           state == PAWL_CANCELLED;
}

/* Choose a statement and bind it. */
static sqlite3_stmt *start(struct conn *c, const pawl_row_query *q)
{
    bool by_state = !q->parent_uid && q->state && has_index(q->state - 1);
    sqlite3_stmt *stmt = conn_statement(c, q->parent_uid ? ST_LIST_PARENT
                                           : by_state    ? ST_LIST_STATE
                                                         : ST_LIST_ALL);

    if (!stmt)
        return NULL;
    (void)sqlite3_bind_int64(stmt, 1, q->before_uid ? (int64_t)q->before_uid : INT64_MAX);
    if (q->parent_uid)
        bind_id(stmt, 2, q->parent_uid);
    else if (by_state)
        (void)sqlite3_bind_int(stmt, 2, q->state - 1);
    return stmt;
}

static bool has_prefix(pawl_str text, pawl_str prefix)
{
    return text.len >= prefix.len && memcmp(text.ptr, prefix.ptr, prefix.len) == 0;
}

static bool matches(sqlite3_stmt *stmt, const pawl_row_query *q)
{
    int state = (int)column_i64(stmt, ROW_state);

    if (q->state && state != q->state - 1)
        return false;
    if (q->orchestration.len &&
        !pawl_str_eq(column_view(stmt, ROW_orchestration), q->orchestration))
        return false;
    if (q->created_after_ms && column_i64(stmt, ROW_created_ms) <= q->created_after_ms)
        return false;
    if (q->ended_before_ms && (!pawl_state_is_terminal((pawl_state)state) ||
                               column_i64(stmt, ROW_updated_ms) >= q->ended_before_ms))
        return false;
    return q->prefix.len == 0 || has_prefix(column_view(stmt, ROW_id), q->prefix);
}

/* One that is not what was written shows as blocked, with nothing of it but its id. */
static void take_row(struct sqlite_store *s, struct conn *c, sqlite3_stmt *stmt, pawl_mem *mem,
                     pawl_row *ret)
{
    column_row(stmt, mem, ret);
    if (row_fits(c, stmt, ret))
        return;
    damage_note(s, "the row of instance", ret->uid);
    *ret = (pawl_row){.uid = ret->uid,
                      .id = ret->id,
                      .state = PAWL_BLOCKED,
                      .execution = ret->execution,
                      .finding = pawl_s("its stored row is damaged: it does not fit its check "
                                        "sum; restore a backup")};
}

pawl_status sqlite_list(pawl_store *base, const pawl_row_query *query, pawl_mem *mem,
                        pawl_row_list *ret, pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    LIST(pawl_row) items = {0};
    size_t seen = 0;
    uint64_t last_uid = 0;
    struct conn *c;

    *ret = (pawl_row_list){0};
    if (query->limit == 0)
        return PAWL_OK;
    pawl_status status = pool_take(s, mem, &c, reterr);
    if (status != PAWL_OK)
        return status;
    sqlite3_stmt *stmt = start(c, query);
    int rc = stmt ? SQLITE_ROW : sqlite3_extended_errcode(c->db);
    while (rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        if (items.count == query->limit || seen == LIST_EXAMINE_MAX) {
            ret->next_uid = last_uid; /* there is more */
            break;
        }
        seen++;
        last_uid = column_id(stmt, ROW_uid);
        if (!matches(stmt, query))
            continue;
        take_row(s, c, stmt, mem, list_room(mem, &items));
        items.count++;
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = conn_error(c, rc, "list instances", reterr);
    (void)sqlite3_reset(stmt);
    pool_give(s, c);
    ret->items = items.items;
    ret->count = items.count;
    return status;
}

static int count_rows(struct conn *c, enum statement which, const int64_t *now_ms, uint64_t *ret)
{
    sqlite3_stmt *stmt = conn_statement(c, which);

    if (!stmt)
        return sqlite3_extended_errcode(c->db);
    if (now_ms)
        (void)sqlite3_bind_int64(stmt, 1, *now_ms);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *ret = column_id(stmt, 0);
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* The rare states, from their index; to count the others takes a look at every instance. */
static int count_states(struct conn *c, pawl_depths *ret)
{
    sqlite3_stmt *stmt = conn_statement(c, ST_COUNT_STATES);
    int rc = SQLITE_ROW;

    ret->suspended = ret->blocked = ret->failed = ret->cancelled = 0;
    while (stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        int state = sqlite3_column_int(stmt, 0);
        uint64_t *count = state == PAWL_SUSPENDED ? &ret->suspended
                          : state == PAWL_BLOCKED ? &ret->blocked
                          : state == PAWL_FAILED  ? &ret->failed
                                                  : &ret->cancelled;
        *count += column_id(stmt, 1);
    }
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

pawl_status sqlite_depths(pawl_store *base, int64_t now_ms, pawl_depths *ret, pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    struct conn *c;
    pawl_status status = pool_take(s, NULL, &c, reterr);

    if (status != PAWL_OK)
        return status;
    int rc = conn_snapshot(c);
    if (rc == SQLITE_OK)
        rc = count_rows(c, ST_COUNT_MESSAGES, NULL, &ret->messages);
    if (rc == SQLITE_OK)
        rc = count_rows(c, ST_COUNT_TIMERS, &now_ms, &ret->timers);
    if (rc == SQLITE_OK)
        rc = count_rows(c, ST_COUNT_WORK, NULL, &ret->work);
    if (rc == SQLITE_OK)
        rc = count_rows(c, ST_COUNT_QUARANTINE, NULL, &ret->quarantine);
    if (rc == SQLITE_OK)
        rc = count_rows(c, ST_COUNT_INSTANCES, NULL, &ret->instances);
    if (rc == SQLITE_OK)
        rc = count_states(c, ret);
    if (rc != SQLITE_OK)
        status = conn_error(c, rc, "count rows", reterr);
    conn_snapshot_end(c);
    pool_give(s, c);
    return status;
}
