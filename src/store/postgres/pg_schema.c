/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_schema.c -- the tables: are they there, are they ours, make them.
 *
 * A schema of ours has a table `meta` with its number.  It is made or brought up to date in one
 * transaction: a reader sees all of a step or nothing.  Two processes that do it at once wait for
 * each other, the first time for a lock by name, later for the row of `meta`; both also work
 * behind a pooler.  A schema that is there without our `meta` is left alone unless it is empty.
 *
 * Called by pg_open.c and, as pawl_postgres_migrate() and its kin, by the command line.
 */
#include "base/buf.h"
#include "base/misuse.h"
#include "pawl/postgres.h"
#include "store/postgres/pg_ddl.h"
#include "store/postgres/postgres.h"

#include <stdio.h>

#define DDL_MAX     (256 * 1024)
#define MAKE_SCHEMA "CREATE SCHEMA @;\n" /* what step 1 begins with */

/* The server's timeline, and its system identifier. */
#define PG_TIMELINE "('x'||substr(pg_walfile_name(pg_current_wal_lsn()),1,8))::bit(32)::int"
#define PG_SYSTEM   "(SELECT system_identifier FROM pg_control_system())"

static const char *const step_1[] = {PG_STEP_1};
static const char *const step_2[] = {PG_STEP_2};
static const char *const step_3[] = {PG_STEP_3};
static const char *const step_4[] = {PG_STEP_4};
static const char *const step_5[] = {PG_STEP_5};
static const char *const step_6[] = {PG_STEP_6};
static const struct {
    const char *const *texts;
    size_t count;
} steps[PG_SCHEMA_NO] = {
    {step_1, COUNT_OF(step_1)},
    {step_2, COUNT_OF(step_2)},
    {step_3, COUNT_OF(step_3)},
    {step_4, COUNT_OF(step_4)},
    {step_5, COUNT_OF(step_5)},
    {step_6, COUNT_OF(step_6)},
};

#define PG_NOW_MS "(extract(epoch FROM clock_timestamp())*1000)::bigint"
static const char sql_meta[] =
    "INSERT INTO @.meta(one,schema_no,shards,timeline,system_id,cluster,created_ms,moved_ms,"
    "home) VALUES(1,%d,64," PG_TIMELINE "," PG_SYSTEM
    ",md5(random()::text||clock_timestamp()::text)::uuid," PG_NOW_MS ",0," PG_HOME ");\n";

/* Rights for a role that runs pawl and does not own the tables. */
static const char sql_grants[] =
    "-- If the role that runs pawl is not the one that runs this, grant it:\n"
    "--   GRANT USAGE ON SCHEMA @ TO role;\n"
    "--   GRANT SELECT,INSERT,UPDATE,DELETE ON ALL TABLES IN SCHEMA @ TO role;\n"
    "--   GRANT USAGE,SELECT,UPDATE ON ALL SEQUENCES IN SCHEMA @ TO role;\n";

/* ---- Looking -------------------------------------------------------------------------------- */

/* A text with the schema's name, on the heap; NULL: out of memory. */
static char *with_schema(const struct pg_place *place, const char *text)
{
    struct buf b;

    buf_init(&b, DDL_MAX);
    pg_text_put(&b, text, place->schema);
    if (!b.failed)
        return b.ptr;
    buf_deinit(&b);
    return NULL;
}

static PGresult *ask(struct pg_link *l, const struct pg_place *place, const char *text,
                     pawl_status *retstatus, pawl_error *reterr)
{
    char *sql = with_schema(place, text);
    PGresult *r = NULL;

    if (sql) {
        r = link_ask(l, sql, "look at the schema", retstatus, reterr);
    } else {
        *retstatus = PAWL_NO_MEMORY;
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
    }
    free(sql);
    return r;
}

static pawl_status read_number(struct pg_link *l, const struct pg_place *place, const char *text,
                               int *ret, pawl_error *reterr)
{
    pawl_status status;
    PGresult *r = ask(l, place, text, &status, reterr);

    if (r)
        *ret = pq.ntuples(r) ? atoi(pq.getvalue(r, 0, 0)) : 0;
    pq.clear(r);
    return status;
}

/* 0: no schema, 1: an empty one, 2: one with tables, 3: one with our meta. */
static pawl_status look_at_kind(struct pg_link *l, const struct pg_place *place, int *ret,
                                pawl_error *reterr)
{
    char sql[600];

    (void)snprintf(
        sql, sizeof sql,
        "SELECT CASE WHEN n.oid IS NULL THEN 0 WHEN EXISTS(SELECT 1 FROM pg_class c JOIN"
        " pg_attribute a ON a.attrelid=c.oid AND a.attname='schema_no' WHERE c.relnamespace=n.oid"
        " AND c.relname='meta') THEN 3 WHEN EXISTS(SELECT 1 FROM pg_class c WHERE"
        " c.relnamespace=n.oid) THEN 2 ELSE 1 END FROM (SELECT 1) one LEFT JOIN pg_namespace n"
        " ON n.nspname='%s'",
        place->schema);
    return read_number(l, place, sql, ret, reterr);
}

pawl_status pg_schema_look(struct pg_link *l, const struct pg_place *place, int *ret,
                           bool *retempty, pawl_error *reterr)
{
    int kind = 0;
    pawl_status status = look_at_kind(l, place, &kind, reterr);

    *ret = 0;
    *retempty = kind == 1;
    if (status == PAWL_OK && kind == 2) {
        error_set(
            reterr, PAWL_CONFLICT,
            "schema %s exists and is not a store of pawl; choose another with pawl_schema=NAME "
            "in the URL",
            place->schema);
        return PAWL_CONFLICT;
    }
    if (status == PAWL_OK && kind == 3)
        status = read_number(l, place, "SELECT schema_no FROM @.meta", ret, reterr);
    if (status == PAWL_OK && *ret > PG_SCHEMA_NO) {
        error_set(reterr, PAWL_UNSUPPORTED,
                  "schema %s has number %d, made by a newer pawl; this one knows %d: use the newer "
                  "pawl",
                  place->schema, *ret, PG_SCHEMA_NO);
        return PAWL_UNSUPPORTED;
    }
    return status;
}

/* ---- Making ----------------------------------------------------------------------------------- */

/* The steps behind `from`; of an empty schema that is there, step 1 without its first line. */
static void put_steps(struct buf *b, const struct pg_place *place, int from, bool empty)
{
    char meta[sizeof sql_meta + 20];

    for (size_t i = (size_t)from; i < PG_SCHEMA_NO; i++) {
        for (size_t k = 0; k < steps[i].count; k++)
            pg_text_put(b, steps[i].texts[k] + (i + k == 0 && empty ? strlen(MAKE_SCHEMA) : 0),
                        place->schema);
    }
    if (from == 0)
        (void)snprintf(meta, sizeof meta, sql_meta, PG_SCHEMA_NO);
    else
        (void)snprintf(meta, sizeof meta, "UPDATE @.meta SET schema_no=%d;\n", PG_SCHEMA_NO);
    pg_text_put(b, meta, place->schema);
}

pawl_str pg_migration_text(const struct pg_place *place, int from, pawl_mem *mem)
{
    struct buf b;

    buf_init(&b, DDL_MAX);
    buf_puts(&b, "BEGIN;\n");
    put_steps(&b, place, from, false);
    buf_puts(&b, "COMMIT;\n");
    pg_text_put(&b, sql_grants, place->schema);
    pawl_str text = arena_dup(mem, buf_slice(&b));
    buf_deinit(&b);
    return text;
}

/* May this role make a schema?  Asked before, so that the error can say what to grant. */
static pawl_status check_rights(struct pg_link *l, const struct pg_place *place, bool empty,
                                pawl_error *reterr)
{
    char sql[300];
    pawl_status status;

    (void)snprintf(sql, sizeof sql,
                   "SELECT current_database(),current_user,has_%s_privilege(%s%s%s,'CREATE')",
                   empty ? "schema" : "database", empty ? "'" : "",
                   empty ? place->schema : "current_database()", empty ? "'" : "");
    PGresult *r = link_ask(l, sql, "look at the rights", &status, reterr);
    if (r && pq.getvalue(r, 0, 2)[0] != 't') {
        status = PAWL_UNAVAILABLE;
        error_set(
            reterr, status,
            "role %s may not make the tables of schema %s; let the owner of the database run: "
            "GRANT CREATE ON %s %s TO %s",
            pq.getvalue(r, 0, 1), place->schema, empty ? "SCHEMA" : "DATABASE",
            empty ? place->schema : pq.getvalue(r, 0, 0), pq.getvalue(r, 0, 1));
    }
    pq.clear(r);
    return status;
}

/* Lock out other processes that migrate. */
static pawl_status lock(struct pg_link *l, const struct pg_place *place, int from,
                        pawl_error *reterr)
{
    char sql[200];

    if (from == 0)
        (void)snprintf(sql, sizeof sql, "SELECT pg_advisory_xact_lock(hashtext('pawl schema %s'))",
                       place->schema);
    else
        (void)snprintf(sql, sizeof sql, "SELECT 1 FROM \"%s\".meta FOR UPDATE", place->schema);
    return link_do(l, sql, "lock the schema", reterr);
}

/* In a transaction that the caller ends. */
static pawl_status migrate_in(struct pg_link *l, const struct pg_place *place, int from,
                              pawl_error *reterr)
{
    bool empty;
    struct buf b;
    pawl_status status = lock(l, place, from, reterr);

    if (status == PAWL_OK) /* another process may have been faster */
        status = pg_schema_look(l, place, &from, &empty, reterr);
    if (status != PAWL_OK || from == PG_SCHEMA_NO)
        return status;
    if (from == 0)
        status = check_rights(l, place, empty, reterr);
    if (status != PAWL_OK)
        return status;
    buf_init(&b, DDL_MAX);
    put_steps(&b, place, from, empty);
    if (b.failed) {
        status = PAWL_NO_MEMORY;
        error_set(reterr, status, "out of memory");
    } else {
        status = link_do(l, b.ptr, "make the tables", reterr);
    }
    buf_deinit(&b);
    return status;
}

pawl_status pg_migrate(struct pg_link *l, const struct pg_place *place, pawl_error *reterr)
{
    int from = 0;
    bool empty;
    pawl_status status = pg_schema_look(l, place, &from, &empty, reterr);

    if (status != PAWL_OK || from == PG_SCHEMA_NO)
        return status;
    status = link_do(l, "BEGIN", "begin", reterr);
    if (status == PAWL_OK)
        status = migrate_in(l, place, from, reterr);
    if (status == PAWL_OK)
        return link_do(l, "COMMIT", "make the tables", reterr);
    if (link_is_up(l) && link_do(l, "ROLLBACK", "roll back", NULL) != PAWL_OK)
        link_close(l);
    return status;
}

/* ---- Another copy of the database ------------------------------------------------------------ */

/* The same number of the schema, but another server, line of time or place on the server: a standby
 * was promoted, a backup restored, or a dump loaded.  Commits of the old one may be missing here, and their ids
 * and epochs must not come again.  meta.moved_ms says when it was seen, for `pawl doctor`. */
pawl_status pg_schema_leap(struct pg_link *l, const struct pg_place *place, pawl_error *reterr)
{
    static const char is_other[] = "SELECT (timeline<>" PG_TIMELINE " OR system_id<>" PG_SYSTEM
                                   " OR home<>" PG_HOME ")::int FROM @.meta";
    static const char leap[] =
        "BEGIN;UPDATE @.cluster SET ids_end=ids_end+68719476736;"
        "SELECT 1 FROM @.lane ORDER BY lane FOR UPDATE;"
        "SELECT setval('@.epochs',(SELECT last_value FROM @.epochs)+1048576);"
        "UPDATE @.lane_log SET next_id=next_id+68719476736 WHERE (lane,group_no) IN"
        " (SELECT lane,max(group_no) FROM @.lane_log GROUP BY lane);"
        "UPDATE @.meta SET timeline=" PG_TIMELINE ",system_id=" PG_SYSTEM ",home=" PG_HOME
        ",moved_ms=" PG_NOW_MS ";COMMIT";
    int moved = 0;
    pawl_status status = read_number(l, place, is_other, &moved, reterr);

    if (status != PAWL_OK || !moved)
        return status;
    char *sql = with_schema(place, leap);
    if (!sql) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        return PAWL_NO_MEMORY;
    }
    status = link_do(l, sql, "take over a copy of the database", reterr);
    free(sql);
    if (status != PAWL_OK)
        link_close(l);
    return status;
}

/* ---- For the command line ---------------------------------------------------------------------- */

/* With a connection that has no statements. */
static pawl_status with_link(const char *url,
                             pawl_status (*fn)(struct pg_link *l, const struct pg_place *place,
                                               pawl_error *reterr),
                             pawl_error *reterr)
{
    struct pg_place place;
    struct pg_link l;
    pawl_status status = pg_place_read(url, &place, reterr);

    if (status != PAWL_OK)
        return status;
    status = link_open(&l, &place, NULL, reterr);
    if (status == PAWL_OK) {
        status = fn(&l, &place, reterr);
        link_close(&l);
    }
    pg_place_deinit(&place);
    return status;
}

/* Tables on a server that pawl would not open are of no use, and look as if they were. */
static pawl_status migrate_checked(struct pg_link *l, const struct pg_place *place,
                                   pawl_error *reterr)
{
    pawl_status status = pg_check_server(l, place, reterr);

    return status == PAWL_OK ? pg_migrate(l, place, reterr) : status;
}

pawl_status pawl_postgres_migrate(const char *url, pawl_error *reterr)
{
    return IS_THERE(url, "a URL", reterr) ? with_link(url, migrate_checked, reterr) : PAWL_MISUSE;
}

static pawl_status drop(struct pg_link *l, const struct pg_place *place, pawl_error *reterr)
{
    int number;
    bool empty;
    char sql[100];
    pawl_status status = pg_schema_look(l, place, &number, &empty, reterr);

    if (status == PAWL_CONFLICT || status == PAWL_UNAVAILABLE)
        return status;
    (void)snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS \"%s\" CASCADE", place->schema);
    return link_do(l, sql, "drop the schema", reterr);
}

pawl_status pawl_postgres_drop(const char *url, pawl_error *reterr)
{
    return IS_THERE(url, "a URL", reterr) ? with_link(url, drop, reterr) : PAWL_MISUSE;
}

pawl_status pawl_postgres_ddl(const char *url, pawl_mem *mem, pawl_str *ret, pawl_error *reterr)
{
    struct pg_place place;

    if (!IS_THERE(url && mem && ret, "a URL, memory and a place for the text", reterr))
        return PAWL_MISUSE;
    pawl_status status = pg_place_read(url, &place, reterr);
    if (status != PAWL_OK)
        return status;
    *ret = pg_migration_text(&place, 0, mem);
    pg_place_deinit(&place);
    return PAWL_OK;
}
