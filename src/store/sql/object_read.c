/* SPDX-License-Identifier: MIT */
/*
 * store/sql/object_read.c -- named objects, from the database: clauses V4 and V5.
 *
 * One statement each, along the primary key.  Called from any thread.
 */
#include "base/limits.h"
#include "base/str.h"
#include "store/sql/cursor.h"
#include "store/sql/reads.h"
#include "store/sql/sql_statements.h"

/* One that is not what was written: only who asks for it gets CORRUPT. */
static pawl_status refuse(struct sql_cursor *c, pawl_str name, pawl_error *reterr)
{
    damage_note(c->store, "object", 0);
    error_about(reterr, PAWL_CORRUPT, "object '", name,
                "' is damaged; restore a backup, or remove it and make it again");
    return PAWL_CORRUPT;
}

pawl_status sql_read_object(pawl_store *s, int kind, pawl_str name, pawl_mem *mem, pawl_object *ret,
                            pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status, fits = PAWL_OK;

    if (!cursor_begin(&c, s, ST_OBJECT_READ, "read an object", mem, &status, reterr))
        return status;
    cursor_bind_i64(&c, 1, kind);
    cursor_bind_text(&c, 2, name);
    bool found = cursor_next(&c);
    if (found && c.driver->object(&c, mem, ret) != SQL_SOUND)
        fits = refuse(&c, name, reterr);
    status = cursor_end(&c, reterr);
    if (found || status != PAWL_OK)
        return status == PAWL_OK ? fits : status;
    error_about(reterr, PAWL_NOT_FOUND, "there is no object '", name, "'");
    return PAWL_NOT_FOUND;
}

pawl_status sql_list_objects(pawl_store *s, int kind, pawl_str prefix, pawl_str after,
                             uint32_t limit, pawl_mem *mem, pawl_object_list *ret,
                             pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status, fits = PAWL_OK;
    LIST(pawl_object) items = {0};

    if (!cursor_begin(&c, s, ST_OBJECTS_FROM, "list objects", mem, &status, reterr))
        return status;
    cursor_bind_i64(&c, 1, kind);
    cursor_bind_text(&c, 2, after);
    cursor_bind_text(&c, 3, prefix);
    cursor_further(&c, limit);
    while (items.count < limit && cursor_next(&c) &&
           str_begins(cursor_view(&c, OBJECT_name), prefix)) {
        pawl_object *o = list_add(mem, &items);
        if (c.driver->object(&c, mem, o) != SQL_SOUND)
            fits = refuse(&c, o->name, reterr);
    }
    status = cursor_end(&c, reterr);
    *ret = (pawl_object_list){items.items, items.count};
    return status == PAWL_OK ? fits : status;
}
