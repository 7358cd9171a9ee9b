/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/schema.c -- the tables, and the steps that made them.
 *
 * Layout decides speed (docs/internals/sqlite.md has the measurements).  A step
 * of an orchestration deletes one work row, appends two history rows, inserts
 * the next work row and changes four numbers of the instance, which are in a
 * narrow table of their own, `head`.  History is in commit order, each row
 * pointing to its predecessor.  Everything about untried work is in its
 * ActivityScheduled event: it is a number in `work_local` when the engine keeps it
 * for itself, or a number and a name in `work_fresh`.  It moves to `work` when it
 * gets an attempt, a time or a lease.  All indexes but the one on instance ids are
 * partial, and the plain step touches none.
 *
 * Strings are '' when empty, never NULL.  Names and ids are TEXT.  Payload
 * columns are ANY: TEXT when the bytes are UTF-8 without NUL, else BLOB, so that
 * the sqlite3 shell shows text and everything comes back byte for byte.
 *
 * Called by open.c alone.
 */
#include "store/sqlite/schema.h"

#include "base/limits.h"
#include "base/point.h"
#include "pawl/event.h"
#include "store/sqlite/ddl.h"

#include <inttypes.h>
#include <stdio.h>

/* clang-format off */
static const char *const step_1[] = {
    "CREATE TABLE fence(\n"
    "  one INTEGER PRIMARY KEY CHECK(one=1),\n"
    "  epoch INTEGER NOT NULL,    -- grows with every take\n"
    "  group_no INTEGER NOT NULL, -- grows with every commit\n"
    "  next_id INTEGER NOT NULL,  -- ids below are used\n"
    "  created_ms INTEGER NOT NULL\n"
    ") STRICT",
    "INSERT INTO fence VALUES(1,0,0,1,0)",

    "CREATE TABLE instance(\n" SQL_INSTANCE(DDL) ") STRICT",
    "CREATE TABLE head( -- of an instance: what changes with every step\n" SQL_HEAD(DDL) ") STRICT",
    "CREATE INDEX instance_parent ON instance(parent_uid) WHERE parent_uid>0",
    "CREATE INDEX instance_state ON instance(state) WHERE state>1 AND state<>4",

    "CREATE TABLE execution( -- those that continued as new\n" SQL_EXECUTION(DDL)
    "  PRIMARY KEY(uid,execution)\n"
    ") STRICT, WITHOUT ROWID",

    "CREATE TABLE history( -- in commit order\n" SQL_HISTORY(DDL) ") STRICT",
    "CREATE TABLE mark( -- every 128th event, for paging forward\n"
    "  uid INTEGER NOT NULL,\n"
    "  execution INTEGER NOT NULL,\n"
    "  seq INTEGER NOT NULL,\n"
    "  rid INTEGER NOT NULL,\n"
    "  PRIMARY KEY(uid,execution,seq)\n"
    ") STRICT, WITHOUT ROWID",

    "CREATE TABLE message(\n" SQL_MESSAGE(DDL) ") STRICT",
    "CREATE INDEX message_due ON message(mailbox,visible_ms) WHERE mailbox=0",
    "CREATE INDEX message_uid ON message(uid,visible_ms) WHERE uid>0",
    "CREATE INDEX message_name ON message(instance,visible_ms) WHERE uid=0",
    "CREATE TABLE quarantine( -- messages put aside, as they were\n"
    "  n INTEGER PRIMARY KEY,\n"
    "  id INTEGER, uid ANY, instance ANY, kind ANY, execution ANY, ref ANY, name ANY, data ANY,\n"
    "  attrs ANY, visible_ms ANY, created_ms ANY, attempt ANY, mailbox ANY,\n"
    "  reason TEXT NOT NULL\n"
    ") STRICT",

    "CREATE TABLE work(\n" SQL_WORK(DDL) ") STRICT",
    "CREATE TABLE work_local( -- untried work the engine keeps for itself; its event has the rest\n"
    "  id INTEGER PRIMARY KEY, -- rid of its ActivityScheduled event\n"
    "  lock_epoch INTEGER NOT NULL\n"
    ") STRICT",
    "CREATE TABLE work_fresh( -- untried work free for anybody; its event has the rest\n"
    "  id INTEGER PRIMARY KEY, -- rid of its ActivityScheduled event\n"
    "  name TEXT NOT NULL,\n"
    "  lock_epoch INTEGER NOT NULL\n"
    ") STRICT",
    "CREATE INDEX work_fresh_name ON work_fresh(name)",
    "CREATE VIEW all_work AS SELECT id,uid,execution,ref,instance,name,input,attrs,attempt,crashes,\n"
    "  visible_ms,scheduled_ms,deadline_ms,last_error,lock_epoch,lock_token,lock_until_ms FROM work\n"
    "  UNION ALL SELECT l.id,h.uid,h.execution,h.ref,ifnull(i.id,''),h.name,h.data,h.attrs,0,0,0,\n"
    "  h.at_ms,0,'',l.lock_epoch,'',0 FROM (SELECT id,lock_epoch FROM work_local\n"
    "  UNION ALL SELECT id,lock_epoch FROM work_fresh) l JOIN history h ON h.rid=l.id\n"
    "  LEFT JOIN instance i ON i.uid=h.uid",
    "CREATE INDEX work_ready ON work(place,name) WHERE place=0",
    "CREATE INDEX work_delayed ON work(place,name,max(visible_ms,lock_until_ms))"
    " WHERE place=1",
    "CREATE INDEX work_held ON work(place) WHERE place=2",
    "CREATE INDEX work_visible ON work(visible_ms) WHERE visible_ms>0",
    "CREATE INDEX work_deadline ON work(deadline_ms) WHERE deadline_ms>0",

    "CREATE TABLE dedup( -- idempotency keys of raises\n"
    "  uid INTEGER NOT NULL,\n"
    "  key TEXT NOT NULL,\n"
    "  PRIMARY KEY(uid,key)\n"
    ") STRICT, WITHOUT ROWID",
    "CREATE TABLE tomb( -- removed, to be purged\n"
    "  n INTEGER PRIMARY KEY,\n"
    "  uid INTEGER NOT NULL,\n"
    "  execution INTEGER NOT NULL, -- 0: the whole instance\n"
    "  last_rid INTEGER NOT NULL   -- last row of its chain still there\n"
    ") STRICT",

    "CREATE TABLE event_kind(kind INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
    "CREATE VIEW events AS SELECT i.id AS instance,h.execution,h.seq,\n"
    "  ifnull(k.name,h.kind) AS kind,h.ref,h.name,h.data,h.attrs,\n"
    "  strftime('%Y-%m-%dT%H:%M:%fZ',h.at_ms/1000.0,'unixepoch') AS at,h.rid\n"
    "  FROM history h JOIN instance i ON i.uid=h.uid LEFT JOIN event_kind k ON k.kind=h.kind\n"
    "  ORDER BY i.uid,h.execution,h.seq",
    NULL,
};

#define STEP_4_MESSAGE(position, use, type, column, note)  DDL_STEP(4, "message", position, type, column, note)
#define STEP_4_WORK(position, use, type, column, note)     DDL_STEP(4, "work", position, type, column, note)
#define STEP_4_INSTANCE(position, use, type, column, note) DDL_STEP(4, "instance", position, type, column, note)
#define STEP_6_INSTANCE(position, use, type, column, note) DDL_STEP(6, "instance", position, type, column, note)
#define DDL_STEP_4_4(table, type, column) DDL_ADD(table, type, column),
#define DDL_STEP_4_6(table, type, column)
#define DDL_STEP_6_4(table, type, column)
#define DDL_STEP_6_6(table, type, column) DDL_ADD(table, type, column),

#define TAG "CASE WHEN json_valid(attrs) THEN ifnull(json_extract(attrs,'$.tag'),'') ELSE '' END"

static const char *const step_4[] = {
    /* Calls with a tag are filed under "activity/tag": a row of their own, by that name. */
    "INSERT INTO work SELECT a.*,0 FROM all_work a WHERE id NOT IN (SELECT id FROM work)\n"
    "  AND " TAG "<>''",
    "DELETE FROM work_local WHERE id IN (SELECT id FROM work)",
    "DELETE FROM work_fresh WHERE id IN (SELECT id FROM work)",
    "UPDATE work SET name=name||'/'||" TAG " WHERE instr(name,'/')=0\n"
    "  AND " TAG "<>''",

    /* Check sums (sum.h); 0: a row of before. */
    SQL_MESSAGE(STEP_4_MESSAGE)
    SQL_WORK(STEP_4_WORK)
    SQL_INSTANCE(STEP_4_INSTANCE)
    "ALTER TABLE fence ADD COLUMN sums_from INTEGER NOT NULL DEFAULT 0", /* ids from here on have sums */
    "UPDATE fence SET sums_from=next_id",
    "DROP VIEW events", /* history.seq has the sum above 32 bits */
    "CREATE VIEW events AS SELECT i.id AS instance,h.execution,h.seq&4294967295 AS seq,\n"
    "  ifnull(k.name,h.kind) AS kind,h.ref,h.name,h.data,h.attrs,\n"
    "  strftime('%Y-%m-%dT%H:%M:%fZ',h.at_ms/1000.0,'unixepoch') AS at,h.rid\n"
    "  FROM history h JOIN instance i ON i.uid=h.uid LEFT JOIN event_kind k ON k.kind=h.kind\n"
    "  ORDER BY i.uid,h.execution,h.seq&4294967295",
    NULL,
};

static const char *const step_5[] = {
    "CREATE TABLE object( -- small documents with a name\n" SQL_OBJECT(DDL)
    "  PRIMARY KEY(kind,name)\n"
    ") STRICT, WITHOUT ROWID",
    NULL,
};

#define STEP_6_INSTANCE(position, use, type, column, note) DDL_STEP(6, "instance", position, type, column, note)
static const char *const step_6[] = {
    SQL_INSTANCE(STEP_6_INSTANCE)
    /* By segments of uids: a start writes to the pages of the newest one alone (measured: 4 times
     * as fast as one tree), and a walk from the newest to the oldest needs no sort. */
    "CREATE TABLE attribute( -- index of the attributes of instances\n"
    "  seg INTEGER NOT NULL,  -- uid >> 18\n"
    "  name TEXT NOT NULL,\n"
    "  value TEXT NOT NULL,   -- n and 16 hex digits, or t and a text: in the order of values\n"
    "  uid INTEGER NOT NULL,\n"
    "  PRIMARY KEY(seg,name,value,uid)\n"
    ") STRICT, WITHOUT ROWID",
    NULL,
};
/* clang-format on */

/* Only the meaning of a lock changes: a process of schema 2 must not open the file any more. */
static const char *const step_3[] = {NULL};

const char *const *const schema_steps[] = {step_1, schema_queue_step, step_3, step_4, step_5,
                                           step_6};
const int schema_version = sizeof schema_steps / sizeof schema_steps[0];
const int schema_oldest_read = 6;

static pawl_status unreadable(sqlite3 *db, const char *file, pawl_error *reterr);
static int number(sqlite3 *db, const char *sql, int64_t *ret);
static int fill_event_kinds(sqlite3 *db);

pawl_status schema_check(sqlite3 *db, const char *file, int newest, int *ret, pawl_error *reterr)
{
    int64_t application = 0, version = 0, tables = 0;

    if (number(db, "PRAGMA application_id", &application) ||
        number(db, "PRAGMA user_version", &version) ||
        number(db, "SELECT count(*) FROM sqlite_schema", &tables))
        return unreadable(db, file, reterr);
    if (application != SCHEMA_APPLICATION_ID && (tables > 0 || application || version)) {
        error_set(reterr, PAWL_INVALID,
                  "%s is an SQLite database of another program; use another file or --data", file);
        return PAWL_INVALID;
    }
    if (version > newest) {
        error_set(reterr, PAWL_UNSUPPORTED,
                  "database schema %" PRId64 " is newer than this pawl (%d); upgrade pawl", version,
                  newest);
        return PAWL_UNSUPPORTED;
    }
    if (version < 0) {
        error_set(reterr, PAWL_CORRUPT, "database %s has schema %" PRId64 "; restore a backup",
                  file, version);
        return PAWL_CORRUPT;
    }
    *ret = (int)version;
    return PAWL_OK;
}

pawl_status schema_migrate(sqlite3 *db, const char *const *const *steps, int from, int count,
                           int64_t now_ms, pawl_error *reterr)
{
    char sql[160];
    int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

    for (int i = from; i < count; i++) {
        for (const char *const *sql_text = steps[i]; *sql_text && rc == SQLITE_OK; sql_text++)
            rc = sqlite3_exec(db, *sql_text, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK && from == 0) {
        (void)snprintf(sql, sizeof sql,
                       "PRAGMA application_id=%d;UPDATE fence SET created_ms=%" PRId64,
                       SCHEMA_APPLICATION_ID, now_ms);
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK)
        rc = fill_event_kinds(db);
    POINT("sqlite.migrate.before");
    if (rc == SQLITE_OK) {
        (void)snprintf(sql, sizeof sql, "PRAGMA user_version=%d;COMMIT", count);
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    POINT("sqlite.migrate.after");
    if (rc == SQLITE_OK)
        return PAWL_OK;
    pawl_status status = (rc & 0xff) == SQLITE_FULL ? PAWL_DISK_FULL : PAWL_UNAVAILABLE;
    error_set(reterr, status, "cannot bring the database from schema %d to %d: %s", from, count,
              sqlite3_errmsg(db));
    if (!sqlite3_get_autocommit(db))
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* The names the view shows; filled again by every later schema step. */
static int fill_event_kinds(sqlite3 *db)
{
    static const struct {
        int kind;
        const char *name;
    } kinds[] = {
#define KIND(enum_name, number, text, klass) {number, text},
        PAWL_EVENT_KINDS(KIND)
#undef KIND
    };
    int rc = SQLITE_OK;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && rc == SQLITE_OK; i++) {
        char sql[128];
        (void)snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO event_kind VALUES(%d,'%s')",
                       kinds[i].kind, kinds[i].name);
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    return rc;
}

static pawl_status unreadable(sqlite3 *db, const char *file, pawl_error *reterr)
{
    int rc = sqlite3_errcode(db) & 0xff;
    pawl_status status = PAWL_UNAVAILABLE;

    if (rc == SQLITE_NOTADB) {
        status = PAWL_CORRUPT;
        error_set(reterr, status,
                  "%s is not an SQLite database; restore a backup or use another "
                  "--data",
                  file);
    } else if (rc == SQLITE_CORRUPT) {
        status = PAWL_CORRUPT;
        error_set(reterr, status, "database %s is damaged (%s); restore a backup", file,
                  sqlite3_errmsg(db));
    } else {
        error_set(reterr, status, "cannot read database %s: %s%s", file, sqlite3_errmsg(db),
                  rc == SQLITE_READONLY
                      ? "; reading also needs a writable directory: run this as its owner"
                      : "");
    }
    return status;
}

/* The first column of the first row; an SQLite error code, or SQLITE_OK. */
static int number(sqlite3 *db, const char *sql, int64_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    int done = sqlite3_finalize(stmt);
    return rc == SQLITE_ROW ? done : rc == SQLITE_OK ? SQLITE_ERROR : rc;
}
