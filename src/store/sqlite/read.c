/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/read.c -- readers of instances, messages, work, keys, quarantine.
 *
 * Each is one statement on a reader connection, hence one snapshot.  Called from
 * any thread.
 */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/sqlite/reading.h"

#define REASON_JSON_MAX   (1024 * 1024)
#define QUARANTINE_REASON MESSAGE_sum /* follows the columns of the message */

/* Decode the instance that was found; PAWL_CORRUPT: it is not what was written. */
static pawl_status take_row(struct reading *r, pawl_mem *mem, pawl_row *ret, pawl_error *reterr)
{
    if (r->rc != SQLITE_ROW)
        return PAWL_OK; /* none was */
    column_row(r->stmt, mem, ret);
    return row_fits(r->c, r->stmt, ret)
               ? PAWL_OK
               : damage_refuse(r->s, "the row of instance", ret->uid, reterr);
}

/* ---- Instances ------------------------------------------------------------- */

/* Every start asks for an id that is not there: the index alone says so. */
static int is_there(struct conn *c, pawl_str id)
{
    sqlite3_stmt *stmt = conn_statement(c, ST_ROW_IS_THERE);

    if (!stmt)
        return sqlite3_extended_errcode(c->db);
    bind_text(stmt, 1, id);
    int rc = sqlite3_step(stmt);
    (void)sqlite3_reset(stmt);
    return rc;
}

pawl_status sqlite_find(pawl_store *base, pawl_str id, pawl_mem *mem, pawl_row *ret,
                        pawl_error *reterr)
{
    struct reading r;
    pawl_status status;

    if (!reading_begin(&r, base, ST_ROW_BY_ID, "read", mem, &status, reterr))
        return status;
    r.rc = is_there(r.c, id);
    if (r.rc == SQLITE_ROW) {
        bind_text(r.stmt, 1, id);
        (void)reading_next(&r);
    }
    pawl_status fits = take_row(&r, mem, ret, reterr);
    status = reading_end(&r, reterr);
    if (r.rc != SQLITE_DONE)
        return status == PAWL_OK ? fits : status;
    error_about(reterr, PAWL_NOT_FOUND, "there is no instance '", id, "'");
    return PAWL_NOT_FOUND;
}

pawl_status sqlite_find_uid(pawl_store *base, uint64_t uid, pawl_mem *mem, pawl_row *ret,
                            pawl_error *reterr)
{
    struct reading r;
    pawl_status status;

    if (!reading_begin(&r, base, ST_ROW_BY_UID, "read", mem, &status, reterr))
        return status;
    bind_id(r.stmt, 1, uid);
    bool found = reading_next(&r);
    pawl_status fits = take_row(&r, mem, ret, reterr);
    status = reading_end(&r, reterr);
    if (found || status != PAWL_OK)
        return status == PAWL_OK ? fits : status;
    error_set(reterr, PAWL_NOT_FOUND, "there is no instance with uid %llu",
              (unsigned long long)uid);
    return PAWL_NOT_FOUND;
}

/* The row a statement finds by uid (and execution): SQLITE_ROW or SQLITE_DONE. */
static int look_up(struct conn *c, enum statement which, uint64_t uid, uint64_t execution,
                   pawl_mem *mem, pawl_row *ret, bool *retfits)
{
    sqlite3_stmt *stmt = conn_statement(c, which);

    if (!stmt)
        return sqlite3_extended_errcode(c->db);
    bind_id(stmt, 1, uid);
    if (which == ST_EXECUTION_READ)
        bind_id(stmt, 2, execution);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        column_row(stmt, mem, ret);
        *retfits = which == ST_EXECUTION_READ ? *retfits : row_fits(c, stmt, ret);
    }
    (void)sqlite3_reset(stmt);
    return rc;
}

/* In one snapshot: an execution may close between the two looks. */
pawl_status sqlite_find_execution(pawl_store *base, uint64_t uid, uint64_t execution, pawl_mem *mem,
                                  pawl_row *ret, pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    struct conn *c;
    pawl_row row = {0};
    bool fits = true;
    pawl_status status = pool_take(s, mem, &c, reterr);

    if (status != PAWL_OK)
        return status;
    int rc = conn_snapshot(c);
    if (rc == SQLITE_OK)
        rc = look_up(c, ST_ROW_BY_UID, uid, execution, mem, &row, &fits);
    if (rc == SQLITE_ROW && row.execution != execution)
        rc = look_up(c, ST_EXECUTION_READ, uid, execution, mem, &row, &fits);
    if (rc == SQLITE_ROW && !fits) {
        status = damage_refuse(s, "the row of instance", uid, reterr);
    } else if (rc == SQLITE_ROW) {
        *ret = row;
    } else if (rc == SQLITE_DONE) {
        status = PAWL_NOT_FOUND;
        error_set(reterr, status, "instance with uid %llu has no execution %llu",
                  (unsigned long long)uid, (unsigned long long)execution);
    } else {
        status = conn_error(c, rc, "read an execution", reterr);
    }
    conn_snapshot_end(c);
    pool_give(s, c);
    return status;
}

/* ---- Messages, work -------------------------------------------------------- */

pawl_status sqlite_read_messages(pawl_store *base, uint64_t uid, pawl_str instance, pawl_mem *mem,
                                 pawl_message_list *ret, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;
    LIST(pawl_message) items = {0};
    enum statement which = uid            ? ST_MESSAGES_OF_UID
                           : instance.len ? ST_MESSAGES_OF_NAME
                                          : ST_MESSAGES_BY_NAME;

    if (!reading_begin(&r, base, which, "read", mem, &status, reterr))
        return status;
    if (uid)
        bind_id(r.stmt, 1, uid);
    else if (instance.len)
        bind_text(r.stmt, 1, instance);
    uint64_t damaged = 0;
    while (reading_next(&r)) {
        pawl_message *m = list_room(mem, &items);
        bool readable = column_message(r.stmt, mem, m);
        bool fits = readable && message_fits(r.c, r.stmt, m);
        items.count += fits; /* else fetch puts it aside … */
        if (readable && !fits && uid && m->mailbox)
            damaged = m->id; /* … but for the mailbox, which is not fetched */
    }
    status = reading_end(&r, reterr);
    if (status == PAWL_OK && damaged)
        status = damage_refuse(r.s, "message", damaged, reterr);
    if (status == PAWL_OK)
        *ret = (pawl_message_list){.items = items.items, .count = items.count};
    return status;
}

pawl_status sqlite_read_work(pawl_store *base, const uint64_t *ids, size_t count, pawl_mem *mem,
                             pawl_work_list *ret, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;

    if (!reading_begin(&r, base, ST_WORK_READ, "read", mem, &status, reterr))
        return status;
    int rc = conn_snapshot(r.c);
    pawl_work *items = arena_array(mem, pawl_work, count);
    size_t found = 0;
    rc = rc == SQLITE_OK ? SQLITE_DONE : rc;
    for (size_t i = 0; i < count && (rc == SQLITE_ROW || rc == SQLITE_DONE); i++) {
        bind_id(r.stmt, 1, ids[i]);
        rc = sqlite3_step(r.stmt);
        if (rc == SQLITE_ROW) {
            column_work(r.stmt, mem, &items[found]);
            if (!work_fits(r.c, r.stmt, &items[found]))
                status = damage_refuse(r.s, "work", ids[i], reterr);
            found++;
        }
        (void)sqlite3_reset(r.stmt);
    }
    if (status != PAWL_OK)
        ;
    else if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        *ret = (pawl_work_list){.items = items, .count = found};
    else
        status = conn_error(r.c, rc, "read work", reterr);
    conn_snapshot_end(r.c);
    pool_give(r.s, r.c);
    return status;
}

pawl_status sqlite_has_key(pawl_store *base, uint64_t uid, pawl_str key, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;

    if (!reading_begin(&r, base, ST_KEY_READ, "read", NULL, &status, reterr))
        return status;
    bind_id(r.stmt, 1, uid);
    bind_text(r.stmt, 2, key);
    bool found = reading_next(&r);
    status = reading_end(&r, reterr);
    return status == PAWL_OK && !found ? PAWL_EMPTY : status;
}

/* ---- Quarantine ------------------------------------------------------------ */

/* {"reason":"…"} in `mem`. */
static pawl_str reason_json(pawl_mem *mem, pawl_str reason)
{
    struct buf b;

    buf_init(&b, REASON_JSON_MAX);
    buf_puts(&b, "{\"reason\":");
    json_quote(&b, reason);
    buf_putc(&b, '}');
    pawl_str json =
        b.failed ? arena_dup(mem, pawl_s("{\"reason\":\"\"}")) : arena_dup(mem, buf_slice(&b));
    buf_deinit(&b);
    return json;
}

pawl_status sqlite_read_quarantine(pawl_store *base, uint32_t limit, pawl_mem *mem,
                                   pawl_message_list *ret, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;
    LIST(pawl_message) items = {0};

    if (!reading_begin(&r, base, ST_QUARANTINE_READ, "read", mem, &status, reterr))
        return status;
    (void)sqlite3_bind_int64(r.stmt, 1, limit);
    while (reading_next(&r)) {
        pawl_message *m = list_add(mem, &items);
        if (!column_message(r.stmt, mem, m)) /* what can be read of it */
            *m = (pawl_message){.id = column_id(r.stmt, MESSAGE_id),
                                .uid = column_id(r.stmt, MESSAGE_uid),
                                .instance = column_dup(r.stmt, MESSAGE_instance, mem),
                                .name = column_dup(r.stmt, MESSAGE_name, mem),
                                .data = column_dup(r.stmt, MESSAGE_data, mem)};
        m->attrs = reason_json(mem, column_view(r.stmt, QUARANTINE_REASON));
    }
    status = reading_end(&r, reterr);
    if (status == PAWL_OK)
        *ret = (pawl_message_list){.items = items.items, .count = items.count};
    return status;
}
