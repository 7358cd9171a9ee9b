/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/sqlite_work_names.c -- names that work is filed under (W4, W5).
 *
 * One seek in each of three indexes per name, so a start costs in proportion to names, not to rows.
 * Called through the table of open.c.
 */
#include "base/str.h"
#include "store/sqlite/sqlite.h"

/* The next name after `after` in one index, if it is before *retnext. */
static int next_in(struct sqlite_store *s, int which, pawl_str after, pawl_mem *mem,
                   pawl_str *retnext)
{
    sqlite3_stmt *stmt = conn_statement(&s->writer, which);
    if (!stmt)
        return sqlite3_extended_errcode(s->writer.db);
    bind_text(stmt, 1, after);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        pawl_str name = column_view(stmt, 0);
        if (!retnext->len || str_compare(name, *retnext) < 0)
            *retnext = arena_dup(mem, name);
    }
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int next_name(struct sqlite_store *s, pawl_str after, pawl_mem *mem, pawl_str *ret)
{
    *ret = (pawl_str){0};
    int rc = next_in(s, ST_FRESH_NAME, after, mem, ret);
    if (rc == SQLITE_OK)
        rc = next_in(s, ST_WORK_READY_NAME, after, mem, ret);
    return rc == SQLITE_OK ? next_in(s, ST_WORK_DELAYED_NAME, after, mem, ret) : rc;
}

pawl_status sqlite_list_work_names(pawl_store *base, pawl_str after, uint32_t limit, pawl_mem *mem,
                                   pawl_text_list *ret, pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    LIST(pawl_str) names = {0};
    int rc = SQLITE_OK;
    *ret = (pawl_text_list){0};
    pawl_status status = engine_check(s, reterr);
    if (status != PAWL_OK)
        return status;
    conn_enter(&s->writer, mem);
    while (names.count < limit) {
        pawl_str next;
        rc = next_name(s, after, mem, &next);
        if (rc != SQLITE_OK || !next.len)
            break;
        *list_add(mem, &names) = after = next;
    }
    conn_leave(&s->writer);
    if (rc != SQLITE_OK)
        return conn_error(&s->writer, rc, "list names of work", reterr);
    *ret = (pawl_text_list){.items = names.items, .count = names.count};
    return PAWL_OK;
}

pawl_status sqlite_read_named_work(pawl_store *base, pawl_str name, int64_t now_ms, uint32_t limit,
                                   pawl_mem *mem, pawl_work_list *ret, pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    LIST(pawl_work) items = {0};
    *ret = (pawl_work_list){0};
    pawl_status status = engine_check(s, reterr);
    if (status != PAWL_OK)
        return status;
    sqlite3_stmt *stmt = conn_statement(&s->writer, ST_LANE_READ);
    if (!stmt)
        return conn_error(&s->writer, sqlite3_extended_errcode(s->writer.db), "read work", reterr);
    conn_enter(&s->writer, mem);
    bind_text(stmt, 1, name);
    (void)sqlite3_bind_int64(stmt, 2, now_ms);
    (void)sqlite3_bind_int64(stmt, 3, limit);
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        pawl_work *w = list_room(mem, &items);
        column_work(stmt, mem, w);
        if (!work_fits(&s->writer, stmt, w))
            damage_note(&s->sql.base, "work", w->id);
        else if (!idset_has(&s->names.taken, w->id))
            items.count++;
    }
    (void)sqlite3_reset(stmt);
    conn_leave(&s->writer);
    if (rc != SQLITE_DONE)
        return conn_error(&s->writer, rc, "read work", reterr);
    *ret = (pawl_work_list){.items = items.items, .count = items.count};
    return PAWL_OK;
}
