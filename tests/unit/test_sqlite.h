/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_sqlite.h -- a store in a directory of its own, and rounds to put in.
 *
 * A `box` is a temporary directory with the store opened in it.  Ids come from
 * the box's fence as the runtime takes them.
 */
#ifndef PAWL_TESTS_UNIT_TEST_SQLITE_H
#define PAWL_TESTS_UNIT_TEST_SQLITE_H

#include "../harness.h"
#include "pawl/provider.h"
#include "store/sqlite/sqlite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct box {
    char dir[64];
    char file[96];
    pawl_store *s;
    pawl_fence fence;
    pawl_mem *mem;
    pawl_error err;
};

__attribute__((unused)) static void box_open(struct box *b)
{
    b->s = pawl_sqlite_store(b->file, PAWL_STORE_OPTS(.now_ms = 1000), &b->err);
    ck_assert_msg(b->s != NULL, "%s", b->err.text);
    ck_assert_int_eq(b->s->ops->take(b->s, 1000, &b->fence, &b->err), PAWL_OK);
}

/* A directory (under $TMPDIR, or `in`) without a store yet. */
__attribute__((unused)) static void box_make_in(struct box *b, const char *in)
{
    *b = (struct box){.mem = pawl_mem_new()};
    (void)snprintf(b->dir, sizeof b->dir, "%s/pawl-sqlite-XXXXXX", in);
    ck_assert_ptr_nonnull(mkdtemp(b->dir));
    (void)snprintf(b->file, sizeof b->file, "%s/pawl.db", b->dir);
}

__attribute__((unused)) static void box_make(struct box *b)
{
    const char *tmp = getenv("TMPDIR");
    box_make_in(b, tmp && *tmp ? tmp : "/tmp");
}

__attribute__((unused)) static void box_close(struct box *b)
{
    if (b->s)
        b->s->ops->close(b->s);
    b->s = NULL;
}

__attribute__((unused)) static void box_drop(struct box *b)
{
    box_close(b);
    pawl_mem_free(b->mem);
    DIR *d = opendir(b->dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[400];
        (void)snprintf(path, sizeof path, "%s/%s", b->dir, e->d_name);
        if (e->d_name[0] != '.')
            (void)unlink(path);
    }
    if (d)
        closedir(d);
    (void)rmdir(b->dir);
}

__attribute__((unused)) static uint64_t box_id(struct box *b)
{
    return b->fence.next_id++;
}

__attribute__((unused)) static pawl_status box_commit(struct box *b, pawl_round *r, size_t n)
{
    return b->s->ops->commit(b->s, &b->fence, r, n, 1000, &b->err);
}

/* A round that appends one event to `row`; *next is the row after it. */
__attribute__((unused)) static pawl_round box_round(const pawl_row *row, const pawl_event *e,
                                                    pawl_row *next)
{
    *next = *row;
    next->last_seq = e->seq;
    next->last_rid = e->rid;
    return (pawl_round){.uid = row->uid,
                        .execution = 1,
                        .base_seq = row->last_seq,
                        .base_rid = row->last_rid,
                        .change = PAWL_ROW_LAST,
                        .row = next,
                        .events = e,
                        .event_count = 1};
}

/* An instance with `count` events, ten a commit; the row as it is then. */
__attribute__((unused)) static pawl_row box_instance(struct box *b, const char *id, uint64_t count)
{
    pawl_row row = {.uid = box_id(b),
                    .id = pawl_s(id),
                    .orchestration = pawl_s("Order"),
                    .version = pawl_s("1.0.0"),
                    .state = PAWL_RUNNING,
                    .execution = 1,
                    .created_ms = 1000,
                    .updated_ms = 1000};
    pawl_row_change change = PAWL_ROW_INSERT;

    do {
        pawl_event events[10] = {0};
        pawl_round r = {.uid = row.uid,
                        .execution = 1,
                        .base_seq = row.last_seq,
                        .base_rid = row.last_rid,
                        .change = change,
                        .row = &row,
                        .events = events};
        while (r.event_count < 10 && row.last_seq < count) {
            pawl_event *e = &events[r.event_count++];
            *e = (pawl_event){.rid = box_id(b),
                              .execution = 1,
                              .seq = ++row.last_seq,
                              .kind = PAWL_EV_ACTIVITY_SCHEDULED,
                              .name = pawl_s("Step"),
                              .data = pawl_s("{\"n\":1}"),
                              .at_ms = 1000};
            row.last_rid = e->rid;
            if (e->seq == 1)
                row.first_rid = e->rid;
        }
        ck_assert_int_eq(box_commit(b, &r, 1), PAWL_OK);
        ck_assert_int_eq(r.result, PAWL_OK);
        change = PAWL_ROW_LAST;
    } while (row.last_seq < count);
    return row;
}

/* What later schemas added, taken away: the file is as one of this schema. */
#define BOX_SCHEMA_5                                                                               \
    "DROP TABLE attribute;ALTER TABLE instance DROP COLUMN attributes;PRAGMA user_version=5;"
#define BOX_SCHEMA_4 BOX_SCHEMA_5 "DROP TABLE object;PRAGMA user_version=4;"
#define BOX_SCHEMA_3                                                                               \
    BOX_SCHEMA_4                                                                                   \
    "UPDATE history SET seq=seq&4294967295;UPDATE queue_entry SET bytes=bytes&4294967295;"         \
    "ALTER TABLE message DROP COLUMN sum;ALTER TABLE instance DROP COLUMN sum;"                    \
    "ALTER TABLE work DROP COLUMN sum;ALTER TABLE fence DROP COLUMN sums_from;"                    \
    "PRAGMA user_version=3;"

/* Run SQL on a connection of its own, as a person with the sqlite3 shell would. */
__attribute__((unused)) static void box_sql(struct box *b, const char *sql)
{
    sqlite3 *db;
    char *text = NULL;
    ck_assert_int_eq(sqlite3_open(b->file, &db), SQLITE_OK);
    int rc = sqlite3_exec(db, sql, NULL, NULL, &text);
    ck_assert_msg(rc == SQLITE_OK, "%s: %s", sql, text ? text : "?");
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

#endif
