/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_rows.c -- a sound database with impossible rows.
 *
 * The input changes columns of rows, any table, any type and value, or deletes the
 * row: what a bug, a hand with the sqlite3 shell or another version could leave.
 * The runtime on it may refuse, block an instance or put a row aside; it may not
 * crash, and what it cannot read it says.
 */
#include "fuzz.h"
#include "used.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define TARGETS_MAX 400
#define CHANGES_MAX 12

static pawl_str whole;
static char store[300];
static struct target {
    char table[40], column[40];
} targets[TARGETS_MAX];
static size_t target_count;

static void list_columns(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    must(sqlite3_open(path, &db) == SQLITE_OK);
    must(
        sqlite3_prepare_v2(db,
                           "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c"
                           " WHERE m.type='table' AND m.name NOT LIKE 'sqlite_%' ORDER BY 1, c.cid",
                           -1, &s, NULL) == SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW && target_count < TARGETS_MAX) {
        struct target *t = &targets[target_count++];
        (void)snprintf(t->table, sizeof(t->table), "%s", (const char *)sqlite3_column_text(s, 0));
        (void)snprintf(t->column, sizeof(t->column), "%s", (const char *)sqlite3_column_text(s, 1));
    }
    sqlite3_finalize(s);
    sqlite3_close(db);
    must(target_count > 20);
}

static void need_database(void)
{
    static pawl_mem *volatile kept; /* never read: but the leak checker looks for it here */
    if (whole.ptr)
        return;
    (void)snprintf(store, sizeof(store), "sqlite:%s", fuzz_path("pawl.db"));
    used_make(store, fuzz_dir());
    kept = pawl_mem_new();
    whole = fuzz_read(fuzz_path("pawl.db"), kept);
    list_columns(fuzz_path("pawl.db"));
}

static void bind(sqlite3_stmt *s, struct feed *f)
{
    static const int64_t numbers[] = {0,         1,
                                      2,         -1,
                                      5,         INT64_MAX,
                                      INT64_MIN, 1LL << 40,
                                      255,       1700000000000LL,
                                      99999,     1700003600000LL};
    uint8_t type = feed_byte(f);
    switch (type % 6) {
    case 0:
        (void)sqlite3_bind_null(s, 1);
        break;
    case 1:
        (void)sqlite3_bind_int64(s, 1, numbers[type / 6 % (sizeof(numbers) / sizeof(numbers[0]))]);
        break;
    case 2:
        (void)sqlite3_bind_int64(s, 1, (int64_t)feed_number(f, 2));
        break;
    case 3:
        (void)sqlite3_bind_double(s, 1, type * 0.5);
        break;
    default: {
        pawl_str text = feed_text(f);
        if (type % 6 == 4)
            (void)sqlite3_bind_text(s, 1, text.ptr, (int)text.len, SQLITE_STATIC);
        else
            (void)sqlite3_bind_blob(s, 1, text.ptr, (int)text.len, SQLITE_STATIC);
        break;
    }
    }
}

static void change(sqlite3 *db, struct feed *f)
{
    const struct target *t = &targets[feed_number(f, 2) % target_count];
    uint8_t row = feed_byte(f), how = feed_byte(f);
    char sql[400], where[120];
    sqlite3_stmt *s = NULL;
    (void)snprintf(where, sizeof(where), "WHERE rowid IN (SELECT rowid FROM %s LIMIT %d OFFSET %u)",
                   t->table, how & 2 ? -1 : 1, row % 40U);
    if (how % 16 == 0)
        (void)snprintf(sql, sizeof(sql), "DELETE FROM %s %s", t->table, where);
    else
        (void)snprintf(sql, sizeof(sql), "UPDATE OR IGNORE %s SET %s=?1 %s", t->table, t->column,
                       where);
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK) {
        if (how % 16)
            bind(s, f);
        (void)sqlite3_step(s); /* a constraint may forbid it: then nothing changed */
    }
    sqlite3_finalize(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    sqlite3 *db;
    need_database();
    fuzz_clear(fuzz_dir());
    fuzz_write(fuzz_path("pawl.db"), whole);
    must(sqlite3_open(fuzz_path("pawl.db"), &db) == SQLITE_OK);
    (void)sqlite3_exec(db, "PRAGMA synchronous=OFF; PRAGMA ignore_check_constraints=ON", NULL, NULL,
                       NULL);
    for (int n = 0; n < CHANGES_MAX && f.at < f.end; n++)
        change(db, &f);
    sqlite3_close(db);
    used_use(store, fuzz_dir());
    return 0;
}
