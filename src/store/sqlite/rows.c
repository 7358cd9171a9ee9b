/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/rows.c -- between structs and statements.
 *
 * Binding borrows (SQLITE_STATIC): the caller's bytes are read when the
 * statement runs, never copied.  Decoding copies once, into the caller's memory.
 * Bind calls can only fail on a wrong index, so their results are not looked at.
 *
 * Bytes come back as they went in, whatever they are: sqlite3_column_blob gives
 * the stored bytes of TEXT and BLOB alike.
 */
#include "base/limits.h"
#include "base/word.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/sum.h"

/* A NUL, or not ASCII. */
INLINED uint64_t needs_a_look(uint64_t word)
{
    return ((word - WORD_ONES) | word) & WORD_TOPS;
}

static NOINLINE bool look(pawl_str s)
{
    return !memchr(s.ptr, 0, s.len) && utf8_valid(s);
}

/* Could this be shown as text?  Almost always plain ASCII, checked 8 bytes at a time. */
bool bytes_are_text(pawl_str s)
{
    return LIKELY(word_none(s.ptr, s.len, needs_a_look)) || look(s);
}

void bind_id(sqlite3_stmt *stmt, int at, uint64_t id)
{
    (void)sqlite3_bind_int64(stmt, at, (int64_t)id);
}

void bind_text(sqlite3_stmt *stmt, int at, pawl_str text)
{
    (void)sqlite3_bind_text64(stmt, at, text.len ? text.ptr : "", text.len, SQLITE_STATIC,
                              SQLITE_UTF8);
}

void bind_bytes(sqlite3_stmt *stmt, int at, pawl_str data)
{
    if (bytes_are_text(data))
        bind_text(stmt, at, data);
    else
        (void)sqlite3_bind_blob64(stmt, at, data.ptr, data.len, SQLITE_STATIC);
}

/* ?1..?10 of ROW_UPDATE. */
void bind_row(sqlite3_stmt *stmt, uint64_t uid, const pawl_row *row)
{
    bind_id(stmt, 1, uid);
    bind_text(stmt, 2, row->orchestration);
    bind_text(stmt, 3, row->version);
    (void)sqlite3_bind_int(stmt, 4, (int)row->state);
    bind_id(stmt, 5, row->first_rid);
    (void)sqlite3_bind_int64(stmt, 6, row->created_ms);
    bind_bytes(stmt, 7, row->output);
    bind_bytes(stmt, 8, row->custom_status);
    bind_bytes(stmt, 9, row->finding);
    (void)sqlite3_bind_int64(stmt, 10, sum_row(uid, row));
}

/* ?1..?5 of HEAD_UPDATE. */
void bind_head(sqlite3_stmt *stmt, uint64_t uid, const pawl_row *row)
{
    bind_id(stmt, 1, uid);
    bind_id(stmt, 2, row->execution);
    bind_id(stmt, 3, row->last_seq);
    bind_id(stmt, 4, row->last_rid);
    (void)sqlite3_bind_int64(stmt, 5, row->updated_ms);
}

void bind_message(sqlite3_stmt *stmt, const pawl_message *m)
{
    bind_id(stmt, 1, m->id);
    bind_id(stmt, 2, m->uid);
    bind_text(stmt, 3, m->instance);
    (void)sqlite3_bind_int(stmt, 4, m->kind);
    bind_id(stmt, 5, m->execution);
    bind_id(stmt, 6, m->ref);
    bind_text(stmt, 7, m->name);
    bind_bytes(stmt, 8, m->data);
    bind_bytes(stmt, 9, m->attrs);
    (void)sqlite3_bind_int64(stmt, 10, m->visible_ms);
    (void)sqlite3_bind_int64(stmt, 11, m->created_ms);
    (void)sqlite3_bind_int64(stmt, 12, m->attempt);
    (void)sqlite3_bind_int(stmt, 13, m->mailbox);
    (void)sqlite3_bind_int64(stmt, 14, sum_message(m));
}

void bind_work(sqlite3_stmt *stmt, const pawl_work *w, enum place place)
{
    bind_id(stmt, 1, w->id);
    bind_id(stmt, 2, w->uid);
    bind_id(stmt, 3, w->execution);
    bind_id(stmt, 4, w->ref);
    bind_text(stmt, 5, w->instance);
    bind_text(stmt, 6, w->name);
    bind_bytes(stmt, 7, w->input);
    bind_bytes(stmt, 8, w->attrs);
    (void)sqlite3_bind_int64(stmt, 9, w->attempt);
    (void)sqlite3_bind_int64(stmt, 10, w->crashes);
    (void)sqlite3_bind_int64(stmt, 11, w->visible_ms);
    (void)sqlite3_bind_int64(stmt, 12, w->scheduled_ms);
    (void)sqlite3_bind_int64(stmt, 13, w->deadline_ms);
    bind_bytes(stmt, 14, w->last_error);
    bind_id(stmt, 15, w->lock_epoch);
    bind_text(stmt, 16, w->lock_token);
    (void)sqlite3_bind_int64(stmt, 17, w->lock_token.len ? w->lock_until_ms : 0);
    (void)sqlite3_bind_int64(stmt, 18, sum_work(w));
    (void)sqlite3_bind_int(stmt, 19, (int)place);
}

uint64_t column_id(sqlite3_stmt *stmt, int at)
{
    return (uint64_t)sqlite3_column_int64(stmt, at);
}

/* A value may be asked without its statement's lock: one thread at a time has the connection. */
pawl_str column_view(sqlite3_stmt *stmt, int at)
{
    sqlite3_value *value = sqlite3_column_value(stmt, at);
    const char *ptr = sqlite3_value_blob(value);
    int len = sqlite3_value_bytes(value);

    return ptr ? (pawl_str){.ptr = ptr, .len = (size_t)len} : (pawl_str){.ptr = "", .len = 0};
}

pawl_str column_dup(sqlite3_stmt *stmt, int at, pawl_mem *mem)
{
    return arena_dup(mem, column_view(stmt, at));
}

bool row_fits(struct conn *c, sqlite3_stmt *stmt, const pawl_row *row)
{
    return sum_fits(c, sqlite3_column_int64(stmt, 18), row->uid, sum_row(row->uid, row));
}

bool message_fits(struct conn *c, sqlite3_stmt *stmt, const pawl_message *m)
{
    return sum_fits(c, sqlite3_column_int64(stmt, 13), m->id, sum_message(m));
}

bool work_fits(struct conn *c, sqlite3_stmt *stmt, const pawl_work *w)
{
    return sum_fits(c, sqlite3_column_int64(stmt, 17), w->id, sum_work(w));
}

void column_row(sqlite3_stmt *stmt, pawl_mem *mem, pawl_row *ret)
{
    *ret = (pawl_row){
        .uid = column_id(stmt, 0),
        .id = column_dup(stmt, 1, mem),
        .orchestration = column_dup(stmt, 2, mem),
        .version = column_dup(stmt, 3, mem),
        .state = (pawl_state)sqlite3_column_int(stmt, 4),
        .execution = column_id(stmt, 5),
        .last_seq = column_id(stmt, 6),
        .last_rid = column_id(stmt, 7),
        .first_rid = column_id(stmt, 8),
        .created_ms = sqlite3_column_int64(stmt, 9),
        .updated_ms = sqlite3_column_int64(stmt, 10),
        .parent_uid = column_id(stmt, 11),
        .parent_execution = column_id(stmt, 12),
        .parent_ref = column_id(stmt, 13),
        .parent_id = column_dup(stmt, 14, mem),
        .output = column_dup(stmt, 15, mem),
        .custom_status = column_dup(stmt, 16, mem),
        .finding = column_dup(stmt, 17, mem),
    };
}

/* A number that was bound from an unsigned one and fits it. */
static bool is_count(sqlite3_stmt *stmt, int at, int64_t max)
{
    int64_t n = sqlite3_column_int64(stmt, at);

    return sqlite3_column_type(stmt, at) == SQLITE_INTEGER && n >= 0 && n <= max;
}

bool column_message(sqlite3_stmt *stmt, pawl_mem *mem, pawl_message *ret)
{
    if (!is_count(stmt, 0, INT64_MAX) || !is_count(stmt, 1, INT64_MAX) ||
        !is_count(stmt, 3, INT32_MAX) || !is_count(stmt, 4, INT64_MAX) ||
        !is_count(stmt, 5, INT64_MAX) || !is_count(stmt, 11, UINT32_MAX))
        return false;
    *ret = (pawl_message){
        .id = column_id(stmt, 0),
        .uid = column_id(stmt, 1),
        .instance = column_dup(stmt, 2, mem),
        .kind = sqlite3_column_int(stmt, 3),
        .execution = column_id(stmt, 4),
        .ref = column_id(stmt, 5),
        .name = column_dup(stmt, 6, mem),
        .data = column_dup(stmt, 7, mem),
        .attrs = column_dup(stmt, 8, mem),
        .visible_ms = sqlite3_column_int64(stmt, 9),
        .created_ms = sqlite3_column_int64(stmt, 10),
        .attempt = (uint32_t)sqlite3_column_int64(stmt, 11),
        .mailbox = sqlite3_column_int(stmt, 12) != 0,
    };
    return true;
}

void column_work(sqlite3_stmt *stmt, pawl_mem *mem, pawl_work *ret)
{
    *ret = (pawl_work){
        .id = column_id(stmt, 0),
        .uid = column_id(stmt, 1),
        .execution = column_id(stmt, 2),
        .ref = column_id(stmt, 3),
        .instance = column_dup(stmt, 4, mem),
        .name = column_dup(stmt, 5, mem),
        .input = column_dup(stmt, 6, mem),
        .attrs = column_dup(stmt, 7, mem),
        .attempt = (uint32_t)sqlite3_column_int64(stmt, 8),
        .crashes = (uint32_t)sqlite3_column_int64(stmt, 9),
        .visible_ms = sqlite3_column_int64(stmt, 10),
        .scheduled_ms = sqlite3_column_int64(stmt, 11),
        .deadline_ms = sqlite3_column_int64(stmt, 12),
        .last_error = column_dup(stmt, 13, mem),
        .lock_epoch = column_id(stmt, 14),
        .lock_token = column_dup(stmt, 15, mem),
        .lock_until_ms = sqlite3_column_int64(stmt, 16),
    };
}
