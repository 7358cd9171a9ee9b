/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/fetch.c -- taking messages, deadlines, the next due time.
 *
 * The index message_due has the messages that are not in a mailbox, by (visible_ms, id).
 * Fetching walks along it from a cursor: every row up to (seen_ms, seen_id) is taken, gone,
 * or was never free.  Anything that makes a row before the cursor fetchable (an abandon, an
 * update, a clock that stepped back) lowers the cursor; the `taken` set skips rows that are
 * visited again.  So the cost of a fetch depends on what it returns, not on the number of
 * timers or taken rows.
 */
#include "base/limits.h"
#include "store/sqlite/sqlite.h"

struct cursor {
    int64_t ms;
    uint64_t id;
};

static int scan(struct sqlite_store *s, sqlite3_stmt *stmt, uint32_t limit, pawl_mem *mem,
                struct cursor *at);
static pawl_status quarantine_unreadable(struct sqlite_store *s, pawl_error *reterr);

void messages_lower(struct sqlite_store *s, int64_t visible_ms, uint64_t id)
{
    if (visible_ms > s->seen_ms || (visible_ms == s->seen_ms && id > s->seen_id))
        return;
    s->seen_ms = visible_ms;
    s->seen_id = id - 1;
}

/* Collect into s->fetched; the cursor after it in *at. */
static int collect(struct sqlite_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                   struct cursor *at)
{
    sqlite3_stmt *here = conn_statement(&s->writer, ST_MESSAGES_AT);
    sqlite3_stmt *later = here ? conn_statement(&s->writer, ST_MESSAGES_AFTER) : NULL;

    if (!here || !later)
        return sqlite3_extended_errcode(s->writer.db);
    (void)sqlite3_bind_int64(here, 1, at->ms);
    bind_id(here, 2, at->id);
    int rc = scan(s, here, limit, mem, at);
    if (rc != SQLITE_OK || s->fetched.count >= limit)
        return rc;
    (void)sqlite3_bind_int64(later, 1, at->ms);
    (void)sqlite3_bind_int64(later, 2, now_ms);
    return scan(s, later, limit, mem, at);
}

static int scan(struct sqlite_store *s, sqlite3_stmt *stmt, uint32_t limit, pawl_mem *mem,
                struct cursor *at)
{
    int rc = SQLITE_DONE;

    while (s->fetched.count < limit && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        at->id = column_id(stmt, MESSAGE_id);
        at->ms = column_i64(stmt, MESSAGE_visible_ms);
        if (idset_has(&s->messages, at->id))
            continue;
        pawl_message m;
        uint64_t *bad;
        pawl_message *slot;
        if (!column_message(stmt, mem, &m) || !message_fits(&s->writer, stmt, &m)) {
            damage_note(&s->sql.base, "message", at->id);
            if (!(bad = vec_push(&s->unreadable)))
                break;
            *bad = at->id;
        } else {
            if (!(slot = vec_push(&s->fetched)))
                break;
            *slot = m;
        }
    }
    (void)sqlite3_reset(stmt);
    if (rc == SQLITE_ROW && s->fetched.count < limit)
        return SQLITE_NOMEM;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

pawl_status sqlite_fetch_messages(pawl_store *base, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                  pawl_message_list *ret, pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    struct cursor at = {.ms = s->seen_ms, .id = s->seen_id};
    int rc = SQLITE_OK;

    pawl_status status = engine_check(s, reterr);
    if (status != PAWL_OK)
        return status;
    vec_reset(&s->fetched);
    vec_reset(&s->unreadable);
    conn_enter(&s->writer, mem);
    if (at.ms <= now_ms) /* otherwise the clock stepped back */
        rc = collect(s, now_ms, limit, mem, &at);
    if (rc == SQLITE_OK && !idset_reserve(&s->messages, s->fetched.count))
        rc = SQLITE_NOMEM;
    if (rc != SQLITE_OK) {
        conn_leave(&s->writer);
        return conn_error(&s->writer, rc, "fetch messages", reterr);
    }
    pawl_message *items = arena_array(mem, pawl_message, s->fetched.count);
    conn_leave(&s->writer);
    if (s->unreadable.count) {
        status = quarantine_unreadable(s, reterr);
        if (status != PAWL_OK)
            return status;
    }
    for (size_t i = 0; i < s->fetched.count; i++) {
        items[i] = s->fetched.items[i];
        assert_that(idset_add(&s->messages, items[i].id)); /* room was made */
    }
    s->seen_ms = at.ms;
    s->seen_id = at.id;
    *ret = (pawl_message_list){.items = items, .count = s->fetched.count};
    return PAWL_OK;
}

/* Move rows that cannot be read into the quarantine, or every start would find them again (M5). */
static pawl_status quarantine_unreadable(struct sqlite_store *s, pawl_error *reterr)
{
    struct conn *c = &s->writer;
    sqlite3_stmt *keep = conn_statement(c, ST_QUARANTINE_INSERT);
    sqlite3_stmt *drop = keep ? conn_statement(c, ST_MESSAGE_DELETE) : NULL;
    int rc = keep && drop ? conn_begin_write(c) : sqlite3_extended_errcode(c->db);

    for (size_t i = 0; i < s->unreadable.count && rc == SQLITE_OK; i++) {
        bind_id(keep, 1, s->unreadable.items[i]);
        bind_text(keep, 2, pawl_s("the stored row cannot be read"));
        bind_id(drop, 1, s->unreadable.items[i]);
        rc = conn_run(c, ST_QUARANTINE_INSERT);
        if (rc == SQLITE_OK)
            rc = conn_run(c, ST_MESSAGE_DELETE);
    }
    if (rc != SQLITE_OK)
        return group_fail(s, rc, "put unreadable messages aside", reterr);
    return transaction_end(s, reterr);
}

void sqlite_abandon_messages(pawl_store *base, const uint64_t *ids, size_t count)
{
    struct sqlite_store *s = sqlite_of(base);
    sqlite3_stmt *stmt = s->writer.db ? conn_statement(&s->writer, ST_MESSAGE_WHEN) : NULL;

    for (size_t i = 0; i < count; i++) {
        idset_remove(&s->messages, ids[i]);
        if (stmt)
            bind_id(stmt, 1, ids[i]);
        int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
        if (rc == SQLITE_ROW) {
            messages_lower(s, sqlite3_column_int64(stmt, 0), ids[i]);
        } else if (rc != SQLITE_DONE) { /* its place is unknown: start from the beginning */
            s->seen_ms = INT64_MIN;
            s->seen_id = 0;
        }
        (void)sqlite3_reset(stmt);
    }
}

pawl_status sqlite_fetch_deadlines(pawl_store *base, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                   pawl_work_list *ret, pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    LIST(pawl_work) items = {0};

    pawl_status status = engine_check(s, reterr);
    if (status != PAWL_OK)
        return status;
    sqlite3_stmt *stmt = conn_statement(&s->writer, ST_WORK_DEADLINES);
    if (!stmt)
        return conn_error(&s->writer, sqlite3_extended_errcode(s->writer.db), "read deadlines",
                          reterr);
    conn_enter(&s->writer, mem);
    (void)sqlite3_bind_int64(stmt, 1, now_ms);
    (void)sqlite3_bind_int64(stmt, 2, limit);
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        pawl_work *w = list_room(mem, &items);
        column_work(stmt, mem, w);
        if (work_fits(&s->writer, stmt, w))
            items.count++;
        else
            damage_note(&s->sql.base, "work", w->id);
    }
    (void)sqlite3_reset(stmt);
    conn_leave(&s->writer);
    if (rc != SQLITE_DONE)
        return conn_error(&s->writer, rc, "read deadlines", reterr);
    *ret = (pawl_work_list){.items = items.items, .count = items.count};
    return PAWL_OK;
}

pawl_status sqlite_next_due(pawl_store *base, int64_t after_ms, int64_t *ret, pawl_error *reterr)
{
    static const int looks[] = {ST_DUE_MESSAGE, ST_DUE_WORK, ST_DUE_DEADLINE, ST_DUE_QUEUE};
    struct sqlite_store *s = sqlite_of(base);
    int64_t due = INT64_MAX;

    pawl_status status = engine_check(s, reterr);
    if (status != PAWL_OK)
        return status;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        sqlite3_stmt *stmt = conn_statement(&s->writer, looks[i]);
        int rc = stmt ? SQLITE_OK : sqlite3_extended_errcode(s->writer.db);
        if (stmt) {
            (void)sqlite3_bind_int64(stmt, 1, after_ms);
            rc = sqlite3_step(stmt);
            if (rc == SQLITE_ROW && sqlite3_column_int64(stmt, 0) < due)
                due = sqlite3_column_int64(stmt, 0);
            (void)sqlite3_reset(stmt);
        }
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            return conn_error(&s->writer, rc, "find the next due time", reterr);
    }
    conn_rest(&s->writer); /* asked before the engine sleeps */
    *ret = due;
    return PAWL_OK;
}
