/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/work_names.c -- what is known in memory about free work, by name.
 *
 * A struct work_name may report work where there is none, never the opposite: code that
 * makes a row free calls work_appeared() or abandons it, and both move the memory back.
 * Engine thread only.
 *
 * Called by work.c (a look moves it on), commit.c and open.c; sqlite_abandon_work is an
 * operation of the store.
 */
#include "base/attr.h"
#include "store/sqlite/sqlite.h"

#define NAMES_MAX 16384

struct work_name *work_name_of(struct sqlite_store *s, pawl_str name)
{
    struct work_name *n = map_gets(&s->names, name);

    if (n)
        return n;
    n = calloc(1, sizeof *n + name.len + 1);
    if (!n)
        return NULL;
    if (name.len)
        memcpy(n->text, name.ptr, name.len);
    n->name = (pawl_str){.ptr = n->text, .len = name.len};
    n->ready = true;
    n->look_ms = INT64_MIN;
    n->delayed_ms = INT64_MIN;
    if (!map_puts(&s->names, n->name, n)) {
        free(n);
        return NULL;
    }
    return n;
}

/* Names come from outside and are only a cache: start again, but keep what is nowhere else. */
void work_names_trim(struct sqlite_store *s)
{
    size_t cursor = 0, kept = 0;
    struct work_name *n, **keep;

    if (s->names.count <= NAMES_MAX || !(keep = calloc(s->names.count, sizeof(struct work_name *))))
        return;
    while ((n = map_next(&s->names, &cursor))) {
        if (n->loose.count) {
            keep[kept++] = n;
            continue;
        }
        vec_deinit(&n->loose);
        free(n);
    }
    map_reset(&s->names);
    for (size_t i = 0; i < kept; i++)
        need_memory(map_puts(&s->names, keep[i]->name, keep[i]));
    free(keep);
}

/* A row of this name may be free from `free_ms` on. */
static void look_again(struct work_name *n, uint64_t id, int64_t free_ms)
{
    assert_that(id != 0); /* the cursors stand at the id before it */
    if (free_ms <= 0) {
        n->ready = true;
        if (n->fresh_id >= id)
            n->fresh_id = id - 1;
        if (n->ready_id >= id)
            n->ready_id = id - 1;
        return;
    }
    if (n->look_ms > free_ms)
        n->look_ms = free_ms;
    if (n->delayed_ms > free_ms || (n->delayed_ms == free_ms && n->delayed_id >= id)) {
        n->delayed_ms = free_ms;
        n->delayed_id = id - 1;
    }
}

void work_appeared(struct sqlite_store *s, const pawl_str *name, uint64_t id, int64_t free_ms)
{
    size_t cursor = 0;
    struct work_name *n;

    if (name) {
        if (s->names.count && (n = map_gets(&s->names, *name)))
            look_again(n, id, free_ms);
        return;
    }
    while ((n = map_next(&s->names, &cursor)))
        look_again(n, id, free_ms);
}

void work_forget(struct sqlite_store *s, uint64_t id)
{
    if (s->work.count)
        idset_remove(&s->work, id);
    if (s->loose.count)
        idset_remove(&s->loose, id);
}

void work_reset(struct sqlite_store *s)
{
    size_t cursor = 0;
    struct work_name *n;

    while ((n = map_next(&s->names, &cursor))) {
        vec_deinit(&n->loose);
        free(n);
    }
    map_reset(&s->names);
    idset_reset(&s->work);
    idset_reset(&s->loose);
}

void work_deinit(struct sqlite_store *s)
{
    work_reset(s);
    map_deinit(&s->names);
    idset_deinit(&s->work);
    idset_deinit(&s->loose);
    vec_deinit(&s->candidates);
    vec_deinit(&s->abandoned);
}

/* A held row is free: it is in no index, so remember it by its name. */
static void loosen(struct sqlite_store *s, struct work_name *n, uint64_t id)
{
    if (idset_has(&s->loose, id))
        return;
    uint64_t *slot = vec_push(&n->loose);
    need_memory(slot && idset_add(&s->loose, id)); /* else the row is stuck until a restart */
    *slot = id;
}

/* Make a row that was taken findable again; not when it cannot be read. */
static int let_go(struct sqlite_store *s, uint64_t id)
{
    sqlite3_stmt *stmt = conn_statement(&s->writer, ST_WORK_PLACE);

    int rc = stmt ? SQLITE_OK : sqlite3_extended_errcode(s->writer.db);
    if (!stmt)
        return rc != SQLITE_OK ? rc : SQLITE_NOMEM;
    bind_id(stmt, 1, id);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        struct work_name *n = work_name_of(s, column_view(stmt, 0));
        need_memory(n != NULL);
        if (sqlite3_column_int(stmt, 1) == PLACE_HELD)
            loosen(s, n, id);
        else
            look_again(n, id, sqlite3_column_int64(stmt, 2));
    }
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE || (rc & 0xff) == SQLITE_CORRUPT ? SQLITE_OK : rc;
}

void sqlite_abandon_work(pawl_store *base, const uint64_t *ids, size_t count)
{
    struct sqlite_store *s = sqlite_of(base);

    for (size_t i = 0; i < count; i++) {
        idset_remove(&s->work, ids[i]);
        if (!s->writer.db || let_go(s, ids[i]) == SQLITE_OK)
            continue;
        uint64_t *slot = vec_push(&s->abandoned); /* in trouble: at the next fetch */
        need_memory(slot != NULL);
        *slot = ids[i];
    }
}

int work_abandon_rest(struct sqlite_store *s)
{
    int rc = SQLITE_OK;

    while (s->abandoned.count && rc == SQLITE_OK) {
        rc = let_go(s, s->abandoned.items[s->abandoned.count - 1]);
        s->abandoned.count -= rc == SQLITE_OK;
    }
    return rc;
}
