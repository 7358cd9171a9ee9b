/* SPDX-License-Identifier: MIT */
/*
 * store/sql/read.c -- readers of instances, messages, work, keys, quarantine.
 *
 * Each is one statement, hence one snapshot, or says that it takes one.  Called
 * from any thread.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/sql/cursor.h"
#include "store/sql/reads.h"
#include "store/sql/sql_statements.h"

#define REASON_JSON_MAX   (1024 * 1024)
#define QUARANTINE_REASON MESSAGE_sum /* follows the columns of the message */

pawl_status cursor_refuse(struct sql_cursor *c, const char *what, uint64_t id, pawl_error *reterr)
{
    damage_note(c->store, what, id);
    error_set(reterr, PAWL_CORRUPT,
              "%s %llu does not fit its check sum: it is not what was written; restore a backup",
              what, (unsigned long long)id);
    return PAWL_CORRUPT;
}

/* The instance that was found; PAWL_CORRUPT: it is not what was written. */
static pawl_status take_row(struct sql_cursor *c, pawl_mem *mem, pawl_row *ret, pawl_error *reterr)
{
    return c->driver->row(c, mem, ret) == SQL_SOUND
               ? PAWL_OK
               : cursor_refuse(c, "the row of instance", ret->uid, reterr);
}

/* ---- Instances ------------------------------------------------------------- */

/* Every start asks for an id that is not there: the index alone says so.  From afar one question
 * is better than two. */
pawl_status sql_find(pawl_store *s, pawl_str id, pawl_mem *mem, pawl_row *ret, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status, fits = PAWL_OK;

    if (!cursor_begin(&c, s, ST_ROW_IS_THERE, "read", mem, &status, reterr))
        return status;
    bool found = cursor_is_far(&c);
    if (!found) {
        cursor_bind_text(&c, 1, id);
        found = cursor_next(&c);
    }
    if (found && cursor_use(&c, ST_ROW_BY_ID)) {
        cursor_bind_text(&c, 1, id);
        found = cursor_next(&c);
    }
    if (found)
        fits = take_row(&c, mem, ret, reterr);
    status = cursor_end(&c, reterr);
    if (found || status != PAWL_OK)
        return status == PAWL_OK ? fits : status;
    error_about(reterr, PAWL_NOT_FOUND, "there is no instance '", id, "'");
    return PAWL_NOT_FOUND;
}

pawl_status sql_find_uid(pawl_store *s, uint64_t uid, pawl_mem *mem, pawl_row *ret,
                         pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status, fits = PAWL_OK;

    if (!cursor_begin(&c, s, ST_ROW_BY_UID, "read", mem, &status, reterr))
        return status;
    bool found = cursor_seek(&c, uid);
    if (found)
        fits = take_row(&c, mem, ret, reterr);
    status = cursor_end(&c, reterr);
    if (found || status != PAWL_OK)
        return status == PAWL_OK ? fits : status;
    error_set(reterr, PAWL_NOT_FOUND, "there is no instance with uid %llu",
              (unsigned long long)uid);
    return PAWL_NOT_FOUND;
}

/* The row of a closed execution; it has no check sum of its own. */
static bool find_closed(struct sql_cursor *c, uint64_t uid, uint64_t execution, pawl_mem *mem,
                        pawl_row *ret)
{
    if (!cursor_use(c, ST_EXECUTION_READ))
        return false;
    cursor_bind_id(c, 1, uid);
    cursor_bind_id(c, 2, execution);
    if (!cursor_next(c))
        return false;
    (void)c->driver->row(c, mem, ret);
    return true;
}

/* In one snapshot: an execution may close between the two looks. */
pawl_status sql_find_execution(pawl_store *s, uint64_t uid, uint64_t execution, pawl_mem *mem,
                               pawl_row *ret, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_row row = {0};
    pawl_status status, fits = PAWL_OK;
    bool found = false;

    if (!cursor_begin(&c, s, ST_ROW_BY_UID, "read an execution", mem, &status, reterr))
        return status;
    if (cursor_snapshot(&c))
        found = cursor_seek(&c, uid);
    if (found)
        fits = take_row(&c, mem, &row, reterr);
    if (found && row.execution != execution)
        found = find_closed(&c, uid, execution, mem, &row);
    status = cursor_end(&c, reterr);
    if (status == PAWL_OK && found && fits == PAWL_OK)
        *ret = row;
    if (found || status != PAWL_OK)
        return status == PAWL_OK ? fits : status;
    error_set(reterr, PAWL_NOT_FOUND, "instance with uid %llu has no execution %llu",
              (unsigned long long)uid, (unsigned long long)execution);
    return PAWL_NOT_FOUND;
}

/* ---- Messages, work -------------------------------------------------------- */

pawl_status sql_read_messages(pawl_store *s, uint64_t uid, pawl_str instance, pawl_mem *mem,
                              pawl_message_list *ret, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;
    LIST(pawl_message) items = {0};
    int which = uid ? ST_MESSAGES_OF_UID : instance.len ? ST_MESSAGES_OF_NAME : ST_MESSAGES_BY_NAME;

    if (!cursor_begin(&c, s, which, "read", mem, &status, reterr))
        return status;
    if (uid)
        cursor_bind_id(&c, 1, uid);
    else if (instance.len)
        cursor_bind_text(&c, 1, instance);
    uint64_t damaged = 0;
    while (cursor_next(&c)) {
        pawl_message *m = list_room(mem, &items);
        enum sql_sight sight = c.driver->message(&c, mem, m);
        items.count += sight == SQL_SOUND; /* else fetch puts it aside … */
        if (sight == SQL_DAMAGED && uid && m->mailbox)
            damaged = m->id; /* … but for the mailbox, which is not fetched */
    }
    status = cursor_end(&c, reterr);
    if (status == PAWL_OK && damaged)
        status = cursor_refuse(&c, "message", damaged, reterr);
    if (status == PAWL_OK)
        *ret = (pawl_message_list){.items = items.items, .count = items.count};
    return status;
}

/* In one snapshot. */
pawl_status sql_read_work(pawl_store *s, const uint64_t *ids, size_t count, pawl_mem *mem,
                          pawl_work_list *ret, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status, fits = PAWL_OK;
    size_t found = 0;

    if (!cursor_begin(&c, s, ST_WORK_READ, "read work", mem, &status, reterr))
        return status;
    pawl_work *items = arena_array(mem, pawl_work, count);
    bool good = cursor_snapshot(&c);
    if (good)
        cursor_foresee(&c, ids, count);
    for (size_t i = 0; i < count && good; i++) {
        if (cursor_seek(&c, ids[i]) && c.driver->work(&c, mem, &items[found++]) != SQL_SOUND)
            fits = cursor_refuse(&c, "work", ids[i], reterr);
        good = c.step != SQL_STEP_FAILED;
    }
    status = cursor_end(&c, reterr);
    if (status == PAWL_OK)
        status = fits;
    if (status == PAWL_OK)
        *ret = (pawl_work_list){.items = items, .count = found};
    return status;
}

pawl_status sql_has_key(pawl_store *s, uint64_t uid, pawl_str key, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;

    if (!cursor_begin(&c, s, ST_KEY_READ, "read", NULL, &status, reterr))
        return status;
    cursor_bind_id(&c, 1, uid);
    cursor_bind_text(&c, 2, key);
    bool found = cursor_next(&c);
    status = cursor_end(&c, reterr);
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

pawl_status sql_read_quarantine(pawl_store *s, uint32_t limit, pawl_mem *mem,
                                pawl_message_list *ret, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;
    LIST(pawl_message) items = {0};

    if (!cursor_begin(&c, s, ST_QUARANTINE_READ, "read", mem, &status, reterr))
        return status;
    cursor_bind_i64(&c, 1, limit);
    while (cursor_next(&c)) {
        pawl_message *m = list_add(mem, &items);
        if (c.driver->message(&c, mem, m) == SQL_UNREADABLE) /* what can be read of it */
            *m = (pawl_message){.id = cursor_id(&c, MESSAGE_id),
                                .uid = cursor_id(&c, MESSAGE_uid),
                                .instance = arena_dup(mem, cursor_view(&c, MESSAGE_instance)),
                                .name = arena_dup(mem, cursor_view(&c, MESSAGE_name)),
                                .data = arena_dup(mem, cursor_view(&c, MESSAGE_data))};
        m->attrs = reason_json(mem, cursor_view(&c, QUARANTINE_REASON));
    }
    status = cursor_end(&c, reterr);
    if (status == PAWL_OK)
        *ret = (pawl_message_list){.items = items.items, .count = items.count};
    return status;
}
