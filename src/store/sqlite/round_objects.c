/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/round_objects.c -- the named objects of a round (V1 to V3), and its entries of the
 * index of attributes (G2).
 *
 * The stored version is read first: it decides whether the round is refused, and the check sum of
 * the new row covers the new version.  Called by round.c, for rounds that have objects.
 */
#include "store/round_rules.h"
#include "store/sqlite/round.h"

/* *ret 0: there is no such object. */
static int read_version(struct apply *a, const pawl_object *o, uint64_t *ret)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_OBJECT_VERSION);

    *ret = 0;
    if (!stmt)
        return apply_broken(a);
    (void)sqlite3_bind_int64(stmt, 1, o->kind);
    bind_text(stmt, 2, o->name);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *ret = column_id(stmt, 0);
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int change_object(struct apply *a, const pawl_object *o)
{
    uint64_t version;
    int rc = read_version(a, o, &version);

    if (rc != SQLITE_OK)
        return rc;
    if (!object_fits(o, version))
        return ROUND_REFUSED;
    sqlite3_stmt *stmt = conn_statement(a->c, o->data.ptr ? ST_OBJECT_PUT : ST_OBJECT_DELETE);
    if (!stmt)
        return apply_broken(a);
    if (o->data.ptr) {
        bind_object(stmt, o, version + 1, a->s->now_ms);
    } else {
        (void)sqlite3_bind_int64(stmt, 1, o->kind);
        bind_text(stmt, 2, o->name);
    }
    return apply_run(a, stmt);
}

int change_objects(struct apply *a)
{
    size_t count;
    const pawl_object *objects = round_objects(a->r, &count);
    int rc = SQLITE_OK;

    for (size_t i = 0; i < count && rc == SQLITE_OK; i++)
        rc = change_object(a, &objects[i]);
    return rc;
}

static int change_entry(struct apply *a, const pawl_attribute_entry *e)
{
    sqlite3_stmt *stmt = conn_statement(a->c, e->drop ? ST_ATTRIBUTE_DROP : ST_ATTRIBUTE_PUT);

    if (!stmt)
        return apply_broken(a);
    bind_text(stmt, 1, e->name);
    bind_text(stmt, 2, e->key);
    bind_id(stmt, 3, a->r->uid);
    return apply_run(a, stmt);
}

int change_attributes(struct apply *a)
{
    size_t count;
    const pawl_attribute_entry *entries = round_entries(a->r, &count);
    int rc = SQLITE_OK;

    for (size_t i = 0; i < count && rc == SQLITE_OK; i++)
        rc = change_entry(a, &entries[i]);
    return rc;
}
