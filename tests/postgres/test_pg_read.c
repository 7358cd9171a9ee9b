/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/test_pg_read.c -- what readers of the PostgreSQL store do at the edges: pages at
 * the border of what is examined, rows that do not fit, connections that died, another copy of the
 * database.  Rows come from SQL here, not from commits.
 */
#include "../harness.h"
#include "../scratch.h"
#include "base/arena.h"
#include "pawl/provider.h"

#include <string.h>

#define NOW 1700000000000

static pawl_store *open_new(struct scratch *schema)
{
    pawl_error err;
    scratch_new(schema);
    pawl_store *s = pawl_postgres_store(schema->url, PAWL_STORE_OPTS(.now_ms = NOW), &err);
    ck_assert_msg(s != NULL, "%s", err.text);
    return s;
}

static void done(pawl_store *s, const struct scratch *schema)
{
    s->ops->close(s);
    scratch_drop(schema);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* Instances 1 to `count`, completed; every 4,000th is of the orchestration "rare". */
static void add_instances(const struct scratch *schema, int count)
{
    ck_assert(scratch_do("INSERT INTO %s.instance(uid,parent_uid,parent_execution,parent_ref,id,"
                         "parent_id,created_ms,first_rid,orchestration,version,custom_status,"
                         "finding,output) SELECT g,0,0,0,'i'||g,'',g,g,"
                         "CASE WHEN g%%4000=0 THEN 'rare' ELSE 'common' END,'1.0.0','','',''"
                         " FROM generate_series(1,%d) g",
                         schema->schema, count));
    ck_assert(scratch_do("INSERT INTO %s.head(uid,shard,execution,last_seq,last_rid,updated_ms,"
                         "open1,state,flags,busy) SELECT g,0,1,1,g,g,0,4,0,false"
                         " FROM generate_series(1,%d) g",
                         schema->schema, count));
}

/* Every page of a query: how many rows and pages, and that uids fall. */
static void walk_list(pawl_store *s, pawl_row_query query, size_t *retrows, int *retpages)
{
    pawl_mem mem;
    uint64_t before = UINT64_MAX;
    arena_init(&mem);
    *retrows = 0;
    *retpages = 0;
    do {
        pawl_row_list page;
        pawl_error err;
        ck_assert_msg(s->ops->list(s, &query, &mem, &page, &err) == PAWL_OK, "%s", err.text);
        ck_assert_uint_le(page.count, query.limit);
        for (size_t i = 0; i < page.count; before = page.items[i++].uid)
            ck_assert_uint_lt(page.items[i].uid, before);
        *retrows += page.count;
        ++*retpages;
        query.before_uid = page.next_uid;
    } while (query.before_uid);
    arena_deinit(&mem);
}

TEST(a_page_examines_ten_thousand_rows_and_says_where_it_stopped_postgres)
{
    struct scratch schema;
    pawl_store *s = open_new(&schema);
    size_t rows;
    int pages;
    add_instances(&schema, 24000);
    walk_list(s, (pawl_row_query){.limit = 50, .orchestration = pawl_s("rare")}, &rows, &pages);
    ck_assert_uint_eq(rows, 6);
    ck_assert_int_eq(pages, 3); /* 10,000, 10,000 and 4,000 were examined */
    walk_list(s, (pawl_row_query){.limit = 2, .orchestration = pawl_s("rare")}, &rows, &pages);
    ck_assert_uint_eq(rows, 6);
    walk_list(s, (pawl_row_query){.limit = 1000}, &rows, &pages);
    ck_assert_uint_eq(rows, 24000);
    ck_assert_int_eq(pages, 24);
    walk_list(s, (pawl_row_query){.limit = 10, .prefix = pawl_s("i2399")}, &rows, &pages);
    ck_assert_uint_eq(rows, 11);
    done(s, &schema);
}

TEST(exactly_ten_thousand_rows_are_one_page_postgres)
{
    struct scratch schema;
    pawl_store *s = open_new(&schema);
    size_t rows;
    int pages;
    add_instances(&schema, 10000);
    walk_list(s, (pawl_row_query){.limit = 50, .orchestration = pawl_s("none")}, &rows, &pages);
    ck_assert_uint_eq(rows, 0);
    ck_assert_int_eq(pages, 1);
    done(s, &schema);
}

/* ---- How much there is ---------------------------------------------------------------------------- */

/* Nobody counts a million rows for a figure: above 10,000 it is the server's estimate. */
TEST(depths_are_exact_up_to_ten_thousand_and_then_near_postgres)
{
    struct scratch schema;
    pawl_store *s = open_new(&schema);
    pawl_depths d = {.size = sizeof(d)};
    ck_assert(scratch_do("ALTER TABLE %s.instance SET (autovacuum_enabled=off)", schema.schema));
    add_instances(&schema, 15000);
    ck_assert(scratch_do("INSERT INTO %s.odd SELECT 5+g%%2,g FROM generate_series(1,9000) g",
                         schema.schema));
    ck_assert(scratch_do("ANALYZE %s.instance", schema.schema));
    ck_assert(scratch_do("DELETE FROM %s.instance WHERE uid>10000", schema.schema));
    ck_assert(scratch_do("DELETE FROM %s.head WHERE uid>10000", schema.schema));
    /* the estimate is still 15,000 */
    ck_assert_int_eq(s->ops->depths(s, NOW, &d, NULL), PAWL_OK);
    ck_assert_uint_eq(d.instances, 10000);
    ck_assert_uint_eq(d.failed, 4500);
    ck_assert_uint_eq(d.cancelled, 4500);
    ck_assert(scratch_do("INSERT INTO %s.instance SELECT uid+10000*k,0,0,0,id||'/'||k,'',0,0,"
                         "'','','','','' FROM %s.instance,generate_series(1,5) k",
                         schema.schema, schema.schema)); /* five times what was analysed */
    ck_assert(scratch_do("INSERT INTO %s.odd SELECT 5,g FROM generate_series(9001,50000) g",
                         schema.schema));
    ck_assert(scratch_do("ANALYZE %s.odd", schema.schema));
    ck_assert(
        scratch_do("UPDATE pg_class SET reltuples=reltuples*0.7 WHERE oid='%s.instance'::regclass",
                   schema.schema));
    ck_assert_int_eq(s->ops->depths(s, NOW, &d, NULL), PAWL_OK);
    ck_assert_uint_ge(d.instances, 10001);
    ck_assert_uint_lt(d.instances, 60000); /* it was not counted: there are 60,000 */
    ck_assert_uint_ge(d.failed, 40000);
    ck_assert_uint_le(d.failed, 50000);
    ck_assert_uint_eq(d.cancelled, 4500);
    done(s, &schema);
}

/* ---- Histories ----------------------------------------------------------------------------------- */

/* Instance 1 with events 1 to 6 in the rows 11 (two), 13 (one), 14 (two) and 20 (one). */
static void add_history(const struct scratch *schema)
{
    add_instances(schema, 1);
    ck_assert(scratch_do("UPDATE %s.head SET last_seq=6,last_rid=20", schema->schema));
    ck_assert(scratch_do("INSERT INTO %s.history(rid,uid,prev,at_ms,ref,ref2,execution,seq,kind,"
                         "kind2,name,data,attrs,name2,data2,attrs2) VALUES"
                         "(11,1,0,5,0,1,1,1,1,2,'a','1','','b','2',''),"
                         "(13,1,12,5,0,NULL,1,3,3,NULL,'c','3','',NULL,NULL,NULL),"
                         "(14,1,13,5,0,1,1,4,4,5,'d','4','','e','5',''),"
                         "(20,1,15,5,0,NULL,1,6,6,NULL,'f','6','',NULL,NULL,NULL)",
                         schema->schema));
}

static void expect_page(pawl_store *s, uint64_t after, uint32_t limit, const char *datas)
{
    pawl_mem mem;
    pawl_event_list list;
    pawl_error err;
    char got[20] = "";
    arena_init(&mem);
    ck_assert_msg(s->ops->read_history(s, 1, 1, after, limit, &mem, &list, &err) == PAWL_OK, "%s",
                  err.text);
    for (size_t i = 0; i < list.count; i++) {
        ck_assert_uint_eq(list.items[i].seq, after + i + 1);
        got[i] = list.items[i].data.ptr[0];
    }
    ck_assert_str_eq(got, datas);
    arena_deinit(&mem);
}

TEST(pages_of_a_history_begin_and_end_inside_rows_postgres)
{
    struct scratch schema;
    pawl_store *s = open_new(&schema);
    add_history(&schema);
    expect_page(s, 0, 0, "123456");
    expect_page(s, 1, 0, "23456");
    expect_page(s, 0, 1, "1");
    expect_page(s, 1, 3, "234");
    expect_page(s, 4, 1, "5");
    expect_page(s, 6, 0, "");
    expect_page(s, 9, 5, "");
    ck_assert(scratch_do("INSERT INTO %s.mark VALUES(1,1,5,15)", schema.schema));
    expect_page(s, 1, 3, "234");
    expect_page(s, 3, 2, "45");
    expect_page(s, 3, 0, "456");
    done(s, &schema);
}

TEST(each_event_is_found_by_its_rid_postgres)
{
    struct scratch schema;
    pawl_store *s = open_new(&schema);
    static const uint64_t rids[] = {11, 12, 13, 14, 15, 20};
    pawl_mem mem;
    pawl_event e;
    arena_init(&mem);
    add_history(&schema);
    for (uint64_t i = 0; i < 6; i++) {
        ck_assert_int_eq(s->ops->read_event(s, rids[i], &mem, &e, NULL), PAWL_OK);
        ck_assert_uint_eq(e.rid, rids[i]);
        ck_assert_uint_eq(e.seq, i + 1);
        ck_assert_int_eq(e.data.ptr[0], (int)('1' + i));
    }
    ck_assert_int_eq(s->ops->read_event(s, 16, &mem, &e, NULL), PAWL_NOT_FOUND);
    ck_assert_int_eq(s->ops->read_event(s, 10, &mem, &e, NULL), PAWL_NOT_FOUND);
    arena_deinit(&mem);
    done(s, &schema);
}

/* After `damage` the history cannot be read, and the error names the row. */
static void expect_corrupt(const char *damage, const char *words)
{
    struct scratch schema;
    pawl_store *s = open_new(&schema);
    pawl_mem mem;
    pawl_event_list list;
    pawl_error err;
    arena_init(&mem);
    add_history(&schema);
    ck_assert(scratch_do("SET search_path TO %s; %s; RESET search_path", schema.schema, damage));
    ck_assert_int_eq(s->ops->read_history(s, 1, 1, 0, 0, &mem, &list, &err), PAWL_CORRUPT);
    ck_assert_msg(strstr(err.text, words) != NULL, "\"%s\" is not in: %s", words, err.text);
    arena_deinit(&mem);
    done(s, &schema);
}

TEST(a_row_that_does_not_fit_is_named_postgres)
{
    expect_corrupt("DELETE FROM history WHERE rid=20", "row 20 is missing");
    expect_corrupt("DELETE FROM history WHERE rid=13", "row 13 is missing");
    expect_corrupt("DELETE FROM history WHERE rid=11", "row 12 is missing");
    expect_corrupt("UPDATE history SET uid=2 WHERE rid=13", "row 13 is event 3 of uid 2");
    expect_corrupt("UPDATE history SET execution=2 WHERE rid=14", "row 14 is event 4");
    expect_corrupt("UPDATE history SET seq=seq+1000000 WHERE rid=14", "row 14 is event 1000004");
    expect_corrupt("UPDATE history SET prev=0 WHERE rid=13", "row 13 is event 3");
    expect_corrupt("UPDATE history SET prev=20 WHERE rid=13", "row 13 is event 3"); /* a circle */
    expect_corrupt("UPDATE head SET last_seq=50000", "row 20");
}

/* ---- Queues --------------------------------------------------------------------------------------- */

/* Locks whose entries are gone fill the first page that the server is asked for. */
TEST(locked_entries_behind_empty_locks_are_found_postgres)
{
    struct scratch schema;
    pawl_store *s = open_new(&schema);
    pawl_mem mem;
    pawl_entry_list list = {.more = true};
    pawl_entry_query q = {.qid = 1, .order = PAWL_ENTRIES_LOCKED, .limit = 1};
    uint64_t sum = 0;
    int pages = 0;
    arena_init(&mem);
    ck_assert(
        scratch_do("INSERT INTO %s.queue SELECT 1,0,0,'q',0,0,0,0,0,0,false,'',''", schema.schema));
    ck_assert(scratch_do("INSERT INTO %s.queue_entry SELECT n,0,0,1,'','',1,n,0,0,0,0,'' FROM"
                         " unnest(ARRAY[10,20,90]) n",
                         schema.schema));
    ck_assert(scratch_do("INSERT INTO %s.queue_lock SELECT 1,n,0,'l'||n,9,CASE WHEN n IN (10,20,90)"
                         " THEN ARRAY[n] ELSE '{}' END FROM generate_series(10,90,10) n",
                         schema.schema));
    for (; list.more && pages < 5; pages++) {
        ck_assert_int_eq(s->ops->queues->query_entries(s, &q, &mem, &list, NULL), PAWL_OK);
        for (size_t i = 0; i < list.count; i++)
            sum += list.items[i].id;
        q.after_key = list.last_key;
        q.after = list.last_id;
    }
    ck_assert_uint_eq(sum, 120);
    ck_assert_int_eq(pages, 3);
    arena_deinit(&mem);
    done(s, &schema);
}

/* ---- Connections, copies ------------------------------------------------------------------------ */

/* End the backends whose last statement was about this schema. */
static void end_readers(const struct scratch *schema)
{
    ck_assert_int_ge(scratch_number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                                    " WHERE application_name='pawl' AND query LIKE '%%\"%s\"%%'",
                                    schema->schema),
                     1);
}

TEST(a_reader_whose_connection_died_gets_another_postgres)
{
    struct scratch schema;
    pawl_store *s = open_new(&schema);
    pawl_mem mem;
    pawl_row row;
    pawl_row_list list;
    pawl_error err = {0};
    arena_init(&mem);
    add_instances(&schema, 3);
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(s->ops->find(s, pawl_s("i2"), &mem, &row, &err) == PAWL_OK, "%s", err.text);
        end_readers(&schema);
        ck_assert_msg(s->ops->find_execution(s, 2, 1, &mem, &row, &err) == PAWL_OK, "%s", err.text);
        ck_assert_msg(s->ops->find(s, pawl_s("i3"), &mem, &row, &err) == PAWL_OK, "%s", err.text);
        end_readers(&schema);
        ck_assert_msg(s->ops->list(s, &(pawl_row_query){.limit = 9}, &mem, &list, &err) == PAWL_OK,
                      "%s", err.text);
        ck_assert_uint_eq(list.count, 3);
    }
    arena_deinit(&mem);
    done(s, &schema);
}

/* A promoted standby, a restored backup, a loaded dump: commits may be missing, and what they used
 * must not be used again. */
static void expect_leap(const char *change)
{
    struct scratch schema;
    pawl_store *s = open_new(&schema);
    pawl_fence before, after;
    ck_assert_int_eq(s->ops->take(s, NOW, &before, NULL), PAWL_OK);
    before.next_id = 100;
    ck_assert_int_eq(s->ops->commit(s, &before, NULL, 0, NOW, NULL), PAWL_OK);
    s->ops->close(s);
    ck_assert(scratch_do("UPDATE %s.meta SET %s", schema.schema, change));
    s = pawl_postgres_store(schema.url, PAWL_STORE_OPTS(.now_ms = NOW), NULL);
    ck_assert_ptr_nonnull(s);
    ck_assert_int_eq(s->ops->take(s, NOW, &after, NULL), PAWL_OK);
    ck_assert_uint_ge(after.next_id, (UINT64_C(1) << 36) + 100);
    ck_assert_uint_gt(after.epoch, before.epoch + (1 << 20));
    ck_assert_uint_eq(after.group_no, before.group_no);
    ck_assert_int_gt(scratch_number("SELECT moved_ms FROM %s.meta", schema.schema), 0);
    s->ops->close(s);
    s = pawl_postgres_store(schema.url, PAWL_STORE_OPTS(.now_ms = NOW), NULL);
    ck_assert_ptr_nonnull(s);
    ck_assert_int_eq(s->ops->take(s, NOW, &before, NULL), PAWL_OK);
    ck_assert_uint_lt(before.next_id, UINT64_C(1) << 37); /* once */
    done(s, &schema);
}

TEST(on_another_copy_of_the_database_ids_and_epochs_leap_postgres)
{
    expect_leap("timeline=timeline+1");
    expect_leap("system_id=system_id+1");
    expect_leap("home='1'||home"); /* a dump that was loaded on the same server */
}
