/* SPDX-License-Identifier: MIT */
/* tests/vfs/look.c -- see world.h: plain SQL on the files, with a connection of its own. */
#include "world.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* While the database is being replaced by a sound copy, that copy is the truth. */
static sqlite3 *open_file(void)
{
    sqlite3 *db = NULL;
    bool replaced =
        disk_find(WORLD_DATA "/dirty") != DISK_NONE && disk_find(WORLD_FILE ".ready") != DISK_NONE;
    const char *file = replaced ? WORLD_FILE ".ready" : WORLD_FILE;
    if (disk_find(file) == DISK_NONE)
        return NULL;
    if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        (void)sqlite3_close(db);
        return NULL;
    }
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return db;
}

static void mix(uint64_t *hash, const void *data, size_t n)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ at[i]) * UINT64_C(1099511628211);
}

static void mix_row(uint64_t *hash, sqlite3_stmt *stmt)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        int type = sqlite3_column_type(stmt, i);
        const void *data = sqlite3_column_blob(stmt, i);
        int n = sqlite3_column_bytes(stmt, i);
        mix(hash, &type, sizeof(type));
        mix(hash, &n, sizeof(n));
        if (n > 0)
            mix(hash, data, (size_t)n);
    }
}

static void complain(struct sight *s, sqlite3 *db, const char *what)
{
    if (!s->trouble[0])
        (void)snprintf(s->trouble, sizeof(s->trouble), "%s: %s", what, sqlite3_errmsg(db));
}

static void hash_table(sqlite3 *db, const char *table, struct sight *ret)
{
    char sql[200];
    sqlite3_stmt *stmt = NULL;
    int rc;
    (void)snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\"", table);
    mix(&ret->hash, table, strlen(table));
    rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        mix_row(&ret->hash, stmt);
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_DONE)
        complain(ret, db, table);
    (void)sqlite3_finalize(stmt);
}

static void read_tables(sqlite3 *db, struct sight *ret)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(
        db, "SELECT name FROM sqlite_master WHERE type='table' ORDER BY name", -1, &stmt, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        ret->tables++;
        hash_table(db, (const char *)sqlite3_column_text(stmt, 0), ret);
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_DONE)
        complain(ret, db, "tables");
    (void)sqlite3_finalize(stmt);
}

static void read_fence(sqlite3 *db, struct sight *ret)
{
    sqlite3_stmt *stmt = NULL;
    if (ret->tables && !ret->trouble[0]) {
        if (sqlite3_prepare_v2(db, "SELECT epoch,group_no FROM fence", -1, &stmt, NULL) ==
                SQLITE_OK &&
            sqlite3_step(stmt) == SQLITE_ROW) {
            ret->there = true;
            ret->epoch = (uint64_t)sqlite3_column_int64(stmt, 0);
            ret->group = (uint64_t)sqlite3_column_int64(stmt, 1);
        } else {
            complain(ret, db, "fence");
        }
    }
    (void)sqlite3_finalize(stmt);
}

static void check_integrity(sqlite3 *db, struct sight *ret)
{
    sqlite3_stmt *stmt = NULL;
    const char *found = NULL;
    if (sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        found = (const char *)sqlite3_column_text(stmt, 0);
    if (!found || strcmp(found, "ok") != 0)
        (void)snprintf(ret->trouble, sizeof(ret->trouble), "integrity check: %s",
                       found ? found : sqlite3_errmsg(db));
    (void)sqlite3_finalize(stmt);
}

static void look_with(struct sight *ret, bool check)
{
    *ret = (struct sight){.hash = UINT64_C(14695981039346656037)};
    sqlite3 *db = open_file();
    if (!db)
        return;
    (void)sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    if (check)
        check_integrity(db, ret);
    if (!ret->trouble[0])
        read_tables(db, ret);
    read_fence(db, ret);
    (void)sqlite3_close(db);
}

void look_beside(struct sight *ret)
{
    look_with(ret, false);
}

void look(struct sight *ret, bool check)
{
    size_t len;
    void *image = disk_save(false, &len);
    look_with(ret, check);
    disk_format();
    disk_load(image, len);
    free(image);
}

bool look_for_begun(const struct begun *list, size_t count, bool removes, uint64_t *retmissing)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = open_file();
    bool all = true;
    (void)sqlite3_prepare_v2(db,
                             "SELECT 1 FROM history WHERE rid=?1 UNION ALL SELECT 1 WHERE ?4 AND "
                             "NOT EXISTS(SELECT 1 FROM history WHERE uid=?2 AND execution=?3)",
                             -1, &stmt, NULL);
    for (size_t i = 0; i < count && all; i++) {
        (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)list[i].rid);
        (void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)list[i].uid);
        (void)sqlite3_bind_int64(stmt, 3, (sqlite3_int64)list[i].execution);
        (void)sqlite3_bind_int(stmt, 4, removes);
        all = sqlite3_step(stmt) == SQLITE_ROW;
        (void)sqlite3_reset(stmt);
        if (!all)
            *retmissing = list[i].rid;
    }
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return all;
}

static void print_rows(sqlite3 *db, struct buf *ret, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        buf_printf(ret, "%s", sqlite3_errmsg(db));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++)
            buf_printf(ret, "%s ", (const char *)sqlite3_column_text(stmt, i));
        buf_puts(ret, "\n");
    }
    (void)sqlite3_finalize(stmt);
}

void look_at_end(const struct story *story, struct buf *ret)
{
    sqlite3 *db = open_file();
    print_rows(db, ret,
               "SELECT i.id,state,quote(output),quote(custom_status),finding,execution FROM "
               "instance i JOIN head USING(uid) ORDER BY i.id");
    const char *history =
        story->unordered
            ? "SELECT i.id,h.execution,k.name,h.ref,h.name FROM history h JOIN instance i "
              "USING(uid) JOIN event_kind k USING(kind) ORDER BY 1,2,3,4"
            : "SELECT i.id,h.execution,h.seq&4294967295,k.name,h.ref,h.name FROM history h "
              "JOIN instance "
              "i USING(uid) JOIN event_kind k USING(kind) ORDER BY 1,2,3";
    if (!story->timed)
        print_rows(db, ret, history);
    print_rows(db, ret,
               "SELECT 'messages',(SELECT count(*) FROM message),'work',(SELECT count(*) FROM "
               "all_work),'quarantine',(SELECT count(*) FROM quarantine),'removed',(SELECT "
               "count(*) FROM tomb)");
    print_rows(db, ret,
               "SELECT q.name,e.state,e.priority,quote(e.data) FROM queue_entry e JOIN queue q "
               "USING(qid) ORDER BY 1,2,3,4");
    (void)sqlite3_close(db);
}
