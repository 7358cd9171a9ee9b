/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/abandon_work.c -- work that was taken and is given back.
 *
 * A fetch finds the row again by its index; a held row is in no index and is found by its id in
 * memory (store/sql/work_names.h).
 *
 * sqlite_abandon_work is an operation of the store.  Rows it fails to abandon are abandoned by the
 * next fetch (work.c).
 */
#include "base/attr.h"
#include "store/sqlite/sqlite.h"

/* Let a fetch find a taken row again, unless the row cannot be read. */
static int let_go(struct sqlite_store *s, uint64_t id)
{
    sqlite3_stmt *stmt = conn_statement(&s->writer, ST_WORK_PLACE);

    int rc = stmt ? SQLITE_OK : sqlite3_extended_errcode(s->writer.db);
    if (!stmt)
        return rc != SQLITE_OK ? rc : SQLITE_NOMEM;
    bind_id(stmt, 1, id);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        struct work_name *n = work_name_of(&s->names, column_view(stmt, 0));
        int64_t free_ms = sqlite3_column_int64(stmt, 2);
        need_memory(n != NULL);
        if (sqlite3_column_int(stmt, 1) == PLACE_HELD)
            work_name_loosen(&s->names, n, id, free_ms);
        else
            work_name_look_again(n, id, free_ms);
    }
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE || (rc & 0xff) == SQLITE_CORRUPT ? SQLITE_OK : rc;
}

void sqlite_abandon_work(pawl_store *base, const uint64_t *ids, size_t count)
{
    struct sqlite_store *s = sqlite_of(base);

    for (size_t i = 0; i < count; i++) {
        idset_remove(&s->names.taken, ids[i]);
        if (s->writer.db && ids[i] && let_go(s, ids[i]) != SQLITE_OK)
            need_memory(
                idset_add(&s->names.abandoned, ids[i])); /* it failed: again at the next fetch */
    }
}

int work_abandon_rest(struct sqlite_store *s, pawl_mem *mem)
{
    struct idset *all = &s->names.abandoned;
    size_t count = all->count;
    int rc = SQLITE_OK;

    if (!count)
        return SQLITE_OK;
    uint64_t *ids = arena_array(mem, uint64_t, count);
    idset_list(all, ids);
    for (size_t i = 0; i < count && (rc = let_go(s, ids[i])) == SQLITE_OK; i++)
        idset_remove(all, ids[i]);
    return rc;
}
