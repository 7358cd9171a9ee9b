/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/rows.c -- between structs and statements.
 *
 * Binding borrows (SQLITE_STATIC): the caller's bytes are read when the
 * statement runs, never copied.  Decoding copies once, into the caller's memory.
 * Bind calls can only fail on a wrong index, so their results are not looked at.
 *
 * The code for each table comes from its list (store/sql/columns.h).
 *
 * Bytes come back as they went in, whatever they are: sqlite3_column_blob gives
 * the stored bytes of TEXT and BLOB alike.
 */
#include "base/limits.h"
#include "base/word.h"
#include "pawl/queue.h"
#include "store/sql/fields.h"
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

/* ROW_UPDATE. */
void bind_row(sqlite3_stmt *stmt, uint64_t uid, const pawl_row *r)
{
    const int64_t sum = sum_row(uid, r);
    int at = 0;

    SQL_INSTANCE(SQL_BIND_CHANGES)
    bind_id(stmt, ++at, uid);
}

/* HEAD_UPDATE: the new head, and the one that is expected. */
void bind_head(sqlite3_stmt *stmt, uint64_t uid, const pawl_row *r, uint64_t execution,
               uint64_t last_seq)
{
    int at = 0;

    SQL_HEAD(SQL_BIND_CHANGES)
    bind_id(stmt, ++at, uid);
    bind_id(stmt, ++at, execution);
    bind_id(stmt, ++at, last_seq);
}

/* EXECUTION_INSERT. */
void bind_execution(sqlite3_stmt *stmt, uint64_t uid, uint64_t execution, uint64_t last_seq,
                    uint64_t last_rid, uint64_t first_rid, const pawl_row *r)
{
    int at = 0;

    SQL_EXECUTION(SQL_BIND)
}

/* MESSAGE_INSERT, MESSAGE_UPDATE. */
void bind_message(sqlite3_stmt *stmt, const pawl_message *r)
{
    const uint64_t id = r->id;
    const int64_t sum = sum_message(r);
    int at = 0;

    SQL_MESSAGE(SQL_BIND)
}

void bind_message_update(sqlite3_stmt *stmt, const pawl_message_update *r)
{
    int at = 0;

    SQL_MESSAGE(SQL_BIND_CHANGES)
    bind_id(stmt, ++at, r->id);
}

/* WORK_INSERT, WORK_UPDATE. */
void bind_work(sqlite3_stmt *stmt, const pawl_work *r, enum place place)
{
    const uint64_t id = r->id;
    const int64_t sum = sum_work(r);
    int at = 0;

    SQL_WORK(SQL_BIND)
}

void bind_work_update(sqlite3_stmt *stmt, const pawl_work_update *r, enum place place)
{
    int at = 0;

    SQL_WORK(SQL_BIND_CHANGES)
    bind_id(stmt, ++at, r->id);
}

/* QUEUE_INSERT, QUEUE_UPDATE. */
void bind_queue(sqlite3_stmt *stmt, const pawl_queue_row *r)
{
    const uint64_t qid = r->qid;
    int at = 0;

    SQL_QUEUE(SQL_BIND)
}

void bind_queue_update(sqlite3_stmt *stmt, const pawl_queue_row *r)
{
    int at = 0;

    SQL_QUEUE(SQL_BIND_CHANGES)
    bind_id(stmt, ++at, r->qid);
}

/* ENTRY_NOTE. */
void bind_entry_note(sqlite3_stmt *stmt, const pawl_entry_update *r)
{
    int at = 0;

    SQL_ENTRY(SQL_BIND_CHANGES)
    bind_bytes(stmt, ++at, r->note);
    bind_id(stmt, ++at, r->id);
}

/* LOCK_UPDATE; `entries` is their text. */
void bind_lock_update(sqlite3_stmt *stmt, const pawl_queue_lock *r, pawl_str entries)
{
    int at = 0;

    SQL_LOCK(SQL_BIND_CHANGES)
    bind_id(stmt, ++at, r->qid);
    bind_id(stmt, ++at, r->number);
}

/* PAST_INSERT, DEDUP_INSERT. */
void bind_past(sqlite3_stmt *stmt, const pawl_queue_past *r)
{
    const uint64_t qid = r->qid;
    int at = 0;

    SQL_PAST(SQL_BIND)
}

void bind_queue_key(sqlite3_stmt *stmt, const pawl_queue_key *r)
{
    const uint64_t qid = r->qid;
    int at = 0;

    SQL_KEY(SQL_BIND)
}

/* OBJECT_PUT. */
void bind_object(sqlite3_stmt *stmt, const pawl_object *r, uint64_t version, int64_t updated_ms)
{
    const int64_t sum = sum_object(r, version, updated_ms);
    int at = 0;

    SQL_OBJECT(SQL_BIND)
}

/* The statement's lock is not needed: one thread at a time has the connection. */
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
    return sum_fits(c, column_i64(stmt, ROW_sum), row->uid, sum_row(row->uid, row));
}

bool message_fits(struct conn *c, sqlite3_stmt *stmt, const pawl_message *m)
{
    return sum_fits(c, column_i64(stmt, MESSAGE_sum), m->id, sum_message(m));
}

bool work_fits(struct conn *c, sqlite3_stmt *stmt, const pawl_work *w)
{
    return sum_fits(c, column_i64(stmt, WORK_sum), w->id, sum_work(w));
}

void column_row(sqlite3_stmt *stmt, pawl_mem *mem, pawl_row *ret)
{
    *ret = (pawl_row){SQL_INSTANCE(SQL_ROW_FIELD) SQL_HEAD(SQL_ROW_HEAD_FIELD)};
}

/* A number that was bound from an unsigned one and fits it. */
static bool is_count(sqlite3_stmt *stmt, int at, int64_t max)
{
    int64_t n = sqlite3_column_int64(stmt, at);

    return sqlite3_column_type(stmt, at) == SQLITE_INTEGER && n >= 0 && n <= max;
}

bool column_message(sqlite3_stmt *stmt, pawl_mem *mem, pawl_message *ret)
{
    if (!(true SQL_MESSAGE(SQL_MESSAGE_COUNTS)))
        return false;
    *ret = (pawl_message){SQL_MESSAGE(SQL_MESSAGE_FIELD)};
    return true;
}

void column_work(sqlite3_stmt *stmt, pawl_mem *mem, pawl_work *ret)
{
    *ret = (pawl_work){SQL_WORK(SQL_WORK_FIELD)};
}

void column_queue(sqlite3_stmt *stmt, pawl_mem *mem, pawl_queue_row *ret)
{
    *ret = (pawl_queue_row){SQL_QUEUE(SQL_QUEUE_FIELD)};
}

bool column_object(sqlite3_stmt *stmt, pawl_mem *mem, pawl_object *ret)
{
    *ret = (pawl_object){SQL_OBJECT(SQL_OBJECT_FIELD)};
    return column_i64(stmt, OBJECT_sum) == sum_object(ret, ret->version, ret->updated_ms);
}

int64_t column_entry(sqlite3_stmt *stmt, pawl_queue_entry *ret)
{
    uint64_t joined = column_id(stmt, ENTRY_bytes);

    *ret = (pawl_queue_entry){SQL_ENTRY(SQL_ENTRY_NUMBER)};
    if (column_i64(stmt, ENTRY_is_taken)) { /* only its lock was written */
        ret->state = PAWL_QUEUE_LOCKED;
        ret->deliveries++;
    }
    return (int64_t)joined >> 32;
}

void column_lock(sqlite3_stmt *stmt, pawl_mem *mem, pawl_queue_lock *ret)
{
    pawl_str text = column_view(stmt, LOCK_entries);
    size_t count = text.len > 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == ' ';
    uint64_t *ids = arena_array(mem, uint64_t, count + 1);
    for (size_t i = 0, n = 0; i < text.len; i++) {
        if (text.ptr[i] == ' ')
            n++;
        else
            ids[n] = ids[n] * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    *ret = (pawl_queue_lock){SQL_LOCK(SQL_LOCK_FIELD)};
}
