/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/conn.c -- one connection: settings, statements, errors.
 *
 * Every setting that decides durability is read back, and opening fails when SQLite has
 * another value (it silently replaces a misspelt value by a weaker one).  Connections do
 * not checkpoint by themselves; commit.c does it on the writer.
 *
 * A caller's memory can run out in the middle of a row; its hook then jumps away.
 * conn_enter installs a hook before it that resets the connection and returns it to the
 * pool, so that no snapshot stays open.
 */
#include "base/limits.h"
#include "store/sqlite/sqlite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define WRITER_BUSY_MS 1000
#define READER_BUSY_MS 5000

static const char *const texts[ST_COUNT] = {
#define STATEMENT_TEXT(name, sql) [ST_##name] = (sql),
    ALL_STATEMENTS(STATEMENT_TEXT)
#undef STATEMENT_TEXT
};

static pawl_status set_up(struct conn *c, bool writer, pawl_error *reterr);
static pawl_status demand(struct conn *c, const char *pragma, const char *want, pawl_error *reterr);
static void leave_exhausted(void *user);

/* Can this file not change, and has it no WAL?  Then a reader needs no shared memory, which it
 * could not make there. */
static bool is_frozen(const char *file)
{
    struct statvfs fs;
    struct stat log;
    char wal[4200];
    if (statvfs(file, &fs) != 0 || !(fs.f_flag & ST_RDONLY))
        return false;
    int n = snprintf(wal, sizeof(wal), "%s-wal", file);
    return n > 0 && (size_t)n < sizeof(wal) && (stat(wal, &log) != 0 || log.st_size == 0);
}

int conn_open_file(sqlite3 **ret, const char *file, bool writer)
{
    int flags = (writer ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX |
                SQLITE_OPEN_EXRESCODE;
    if (writer)
        return sqlite3_open_v2(file, ret, flags, wal_vfs_name());
    if (!is_frozen(file))
        return sqlite3_open_v2(file, ret, flags, NULL);
    char *uri = sqlite3_mprintf("file:");
    for (const char *at = file; *at && uri; at++) /* escape what ends a path in a URI */
        uri = strchr("?#%", *at) ? sqlite3_mprintf("%z%%%02x", uri, (unsigned char)*at)
                                 : sqlite3_mprintf("%z%c", uri, *at);
    uri = uri ? sqlite3_mprintf("%z?immutable=1", uri) : NULL;
    int rc = uri ? sqlite3_open_v2(uri, ret, flags | SQLITE_OPEN_URI, NULL) : SQLITE_NOMEM;
    sqlite3_free(uri);
    return rc;
}

pawl_status conn_open(struct conn *c, const char *file, bool writer, pawl_error *reterr)
{
    *c = (struct conn){0};
    int rc = conn_open_file(&c->db, file, writer);
    if (rc != SQLITE_OK) {
        pawl_status status = (rc & 0xff) == SQLITE_NOMEM ? PAWL_NO_MEMORY : PAWL_UNAVAILABLE;
        error_set(reterr, status, "cannot open database %s: %s", file,
                  c->db ? sqlite3_errmsg(c->db) : "out of memory");
        conn_close(c);
        return status;
    }
    c->is_writer = writer;
    pawl_status status = set_up(c, writer, reterr);
    if (status != PAWL_OK)
        conn_close(c);
    return status;
}

static pawl_status set_up(struct conn *c, bool writer, pawl_error *reterr)
{
    static const char common[] = "PRAGMA foreign_keys=OFF;"
                                 "PRAGMA trusted_schema=OFF;"
                                 "PRAGMA cell_size_check=ON;"
                                 "PRAGMA temp_store=MEMORY;"
                                 "PRAGMA wal_autocheckpoint=0;";

    /* Plans never depend on bound values; otherwise every statement that uses a partial
     * index is compiled again whenever a parameter changes. */
    (void)sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_QPSG, 1, NULL);
    (void)sqlite3_busy_timeout(c->db, writer ? WRITER_BUSY_MS : READER_BUSY_MS);
    int rc = sqlite3_exec(c->db, common, NULL, NULL, NULL);
    if (rc == SQLITE_OK && !writer)
        rc = sqlite3_exec(c->db, "PRAGMA cache_size=-4096", NULL, NULL, NULL);
    /* Debian builds with secure_delete on: every deleted row is overwritten with
     * zeros, which changes pages that need no change. */
    if (rc == SQLITE_OK && writer)
        rc = sqlite3_exec(c->db,
                          "PRAGMA cache_size=-65536;PRAGMA secure_delete=OFF;"
                          "PRAGMA journal_size_limit=" WAL_KEPT,
                          NULL, NULL, NULL);
    if (rc == SQLITE_OK && writer)
        rc = bulk_set_up(c);
    if (rc != SQLITE_OK)
        return conn_error(c, rc, "set up a connection", reterr);
    pawl_status status = PAWL_OK;
    if (writer)
        status = demand(c, "PRAGMA journal_mode=WAL", "wal", reterr);
    if (status == PAWL_OK && writer) {
        rc = sqlite3_exec(c->db, "PRAGMA synchronous=FULL", NULL, NULL, NULL);
        if (rc != SQLITE_OK)
            return conn_error(c, rc, "set up a connection", reterr);
        status = demand(c, "PRAGMA synchronous", "2", reterr);
        if (status == PAWL_OK && !conn_statement(c, ST_ROLLBACK)) /* see conn_rollback() */
            return conn_error(c, sqlite3_extended_errcode(c->db), "set up a connection", reterr);
    }
    return status;
}

/* Run a pragma and refuse any answer but one. */
static pawl_status demand(struct conn *c, const char *pragma, const char *want, pawl_error *reterr)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(c->db, pragma, -1, &stmt, NULL);
    pawl_status status = PAWL_OK;

    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        pawl_str got = column_view(stmt, 0);
        if (!pawl_str_is(got, want)) {
            status = PAWL_UNSUPPORTED;
            error_set(reterr, status,
                      "the database answers \"%.*s\" to \"%s\" where \"%s\" is needed for "
                      "durability; use another file system for --data",
                      PAWL_FMT(got), pragma, want);
        }
    } else {
        status = conn_error(c, rc, pragma, reterr);
    }
    (void)sqlite3_finalize(stmt);
    return status;
}

void conn_close(struct conn *c)
{
    for (int i = 0; i < ST_COUNT; i++)
        (void)sqlite3_finalize(c->statements[i]);
    (void)sqlite3_close_v2(c->db);
    vec_deinit(&c->events);
    *c = (struct conn){0};
}

void conn_rollback(struct conn *c)
{
    for (int i = 0; i < ST_COUNT; i++) {
        if (c->statements[i])
            (void)sqlite3_reset(c->statements[i]);
    }
    if (!sqlite3_get_autocommit(c->db)) /* prepared early: memory may be what failed */
        (void)conn_run(c, ST_ROLLBACK);
}

int conn_begin_write(struct conn *c)
{
    int rc = sqlite3_get_autocommit(c->db) ? SQLITE_OK : conn_run(c, ST_ROLLBACK);

    return rc == SQLITE_OK ? conn_run(c, ST_BEGIN_WRITE) : rc;
}

int conn_snapshot(struct conn *c)
{
    return sqlite3_get_autocommit(c->db) ? conn_run(c, ST_BEGIN_READ) : SQLITE_OK;
}

void conn_snapshot_end(struct conn *c)
{
    if (!c->is_writer)
        conn_rest(c);
}

void conn_rest(struct conn *c)
{
    if (!sqlite3_get_autocommit(c->db))
        (void)conn_run(c, ST_ROLLBACK);
}

sqlite3_stmt *conn_prepare(struct conn *c, int which)
{
    (void)sqlite3_prepare_v3(c->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT,
                             &c->statements[which], NULL);
    return c->statements[which];
}

uint64_t conn_sums_from(struct conn *c)
{
    sqlite3_stmt *stmt = c->sums_from ? NULL : conn_statement(c, ST_SUMS_FROM);

    if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
        c->sums_from = column_id(stmt, 0);
    (void)sqlite3_reset(stmt);
    return c->sums_from;
}

int conn_run(struct conn *c, int which)
{
    sqlite3_stmt *stmt = conn_statement(c, which);

    if (!stmt)
        return sqlite3_extended_errcode(c->db);
    int rc = sqlite3_step(stmt);
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static pawl_status status_of(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
        return PAWL_OK;
    case SQLITE_FULL:
        return PAWL_DISK_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return PAWL_BUSY;
    case SQLITE_NOMEM:
        return PAWL_NO_MEMORY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* our statements do not fit the tables: the schema is damaged */
        return PAWL_CORRUPT;
    case SQLITE_TOOBIG:
        return PAWL_LIMIT;
    default:
        return PAWL_UNAVAILABLE;
    }
}

pawl_status conn_error(struct conn *c, int rc, const char *what, pawl_error *reterr)
{
    pawl_status status = status_of(rc);
    const char *advice = status == PAWL_DISK_FULL ? "; free some space"
                         : status == PAWL_CORRUPT ? "; run pawl doctor"
                                                  : "";

    if (rc == SQLITE_IOERR_NOMEM)
        status = PAWL_NO_MEMORY;
    /* The connection's message is that of its last call, which may be a later, successful one. */
    bool last = c->db && (sqlite3_errcode(c->db) & 0xff) == (rc & 0xff);
    error_set(reterr, status, "database: cannot %s: %s (%d)%s", what,
              last ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc), rc, advice);
    return status;
}

void conn_enter(struct conn *c, pawl_mem *mem)
{
    assert_that(!c->mem && !c->exhausted); /* or the hook of the earlier call would be lost */
    c->mem = mem;
    if (!mem || !mem->exhausted)
        return;
    c->exhausted = mem->exhausted;
    c->exhausted_user = mem->user;
    mem->exhausted = leave_exhausted;
    mem->user = c;
}

void conn_leave(struct conn *c)
{
    if (c->mem && c->exhausted) {
        c->mem->exhausted = c->exhausted;
        c->mem->user = c->exhausted_user;
    }
    c->mem = NULL;
    c->exhausted = NULL;
}

static void leave_exhausted(void *user)
{
    struct conn *c = user;
    void (*exhausted)(void *) = c->exhausted;
    void *exhausted_user = c->exhausted_user;

    conn_rollback(c);
    if (c->lender)
        pool_give(c->lender, c);
    else
        conn_leave(c);
    exhausted(exhausted_user);
}
