/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/test_pg_plan.c -- every statement finds its rows by an index.
 *
 * Plans are made once per connection, often while the tables are empty, and kept: so the plan of
 * each statement is asked for as the store's connections make it, on tables that are new, that were
 * analysed while they were empty or had one row, that are filled and that were emptied.  None may
 * read a whole table, by itself or by an index without a condition, or join by hashing or merging,
 * except those listed with their reason (docs/internals/postgres.md, Plans).
 */
#include "../harness.h"
#include "../scratch.h"
#include "store/postgres/postgres.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_SIZE 8000
#define SQL_SIZE  8192

static const struct {
    int which;
    const char *name;
} all[] = {
#define PLAN_ENTRY(name, sql) {ST_##name, #name},
    SQL_COMMON_STATEMENTS(PLAN_ENTRY)
#undef PLAN_ENTRY
#define PLAN_ENTRY(name, sql) {ST_PG_##name, "PG_" #name},
        PG_STATEMENTS(PLAN_ENTRY)
#undef PLAN_ENTRY
};

/* Statement, what its plan may have, and why. */
static const struct {
    const char *name, *has, *reason;
} listed[] = {
    {"PG_DEPTHS",        "Index Only Scan",                   "the first 10,001 rows, by a limit"        },
    {"QUARANTINE_READ",  "Scan",                              "from the newest, with a limit"            },
    {"PG_WORK_FREE",     "work_held",                         "what was held, when it starts"            },
    {"PG_FRESH_FREE",    "work_fresh_locked",                 "what was held, when it starts"            },
    {"PG_HEADS_OPEN",    "head_busy",                         "what is in flight, when it starts"        },
    {"MESSAGES_BY_NAME", "message_name",                      "all mail by name, when it starts"         },
    {"PG_LANE_TAKE",     "Index Scan Backward using history", "the last row, when it starts"             },
    {"PG_WORK_NAMES",    "Index Only Scan",                   "the first row of a name, then of the next"},
};

struct planner {
    struct scratch schema;
    struct pg_place place;
    char *texts[ST_PG_COUNT];
    struct pg_link link;
    pawl_store *store;
};

static void planner_open(struct planner *p)
{
    pawl_error err = {0};
    memset(p, 0, sizeof(*p));
    scratch_new(&p->schema);
    p->store = pawl_postgres_store(p->schema.url, PAWL_STORE_OPTS(.now_ms = 1), &err);
    ck_assert_msg(p->store != NULL, "%s", err.text);
    ck_assert_int_eq(pg_place_read(p->schema.url, &p->place, &err), PAWL_OK);
    ck_assert(pg_texts_make(p->texts, p->place.schema));
    ck_assert_msg(link_open(&p->link, &p->place, p->texts, &err) == PAWL_OK, "%s", err.text);
}

static void planner_close(struct planner *p)
{
    link_close(&p->link);
    pg_texts_free(p->texts);
    pg_place_deinit(&p->place);
    p->store->ops->close(p->store);
    scratch_drop(&p->schema);
}

static PGresult *run(struct planner *p, const char *sql)
{
    PGresult *r = pq.exec(p->link.pg, sql);
    enum pq_result status = pq.resultStatus(r);
    ck_assert_msg(status == PQ_COMMAND_OK || status == PQ_TUPLES_OK, "%s: %s", sql,
                  pq.resultErrorMessage(r));
    return r;
}

static void run_and_forget(struct planner *p, const char *sql)
{
    pq.clear(run(p, sql));
}

/* Only these have a plan. */
static bool has_plan(const char *text)
{
    static const char *const begins[] = {"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"};
    for (size_t i = 0; i < COUNT_OF(begins); i++)
        if (strncmp(text, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* The plan of a statement whose parameters are not known, one node or condition a line. */
static void plan_of(struct planner *p, const char *text, char *ret)
{
    static char sql[PLAN_SIZE + SQL_SIZE];
    size_t used = 0;
    snprintf(sql, sizeof(sql), "PREPARE asked AS %s", text);
    run_and_forget(p, sql);
    PGresult *r = run(p, "SELECT cardinality(parameter_types) FROM pg_prepared_statements"
                         " WHERE name='asked'");
    int count = atoi(pq.getvalue(r, 0, 0));
    pq.clear(r);
    int n = snprintf(sql, sizeof(sql), "EXPLAIN (COSTS OFF) EXECUTE asked%s", count ? "(" : "");
    for (int i = 1; i <= count; i++)
        n += snprintf(sql + n, sizeof(sql) - (size_t)n, "NULL%s", i < count ? "," : ")");
    r = run(p, sql);
    ret[0] = '\0';
    for (int i = 0; i < pq.ntuples(r) && used < PLAN_SIZE; i++)
        used += (size_t)snprintf(ret + used, PLAN_SIZE - used, "%s\n", pq.getvalue(r, i, 0));
    pq.clear(r);
    run_and_forget(p, "DEALLOCATE asked");
}

/* The node at `line` goes to the next arrow. */
static bool has_condition(const char *line)
{
    const char *condition = strstr(line, "Index Cond:"), *next = strstr(line + 4, "->");
    return condition && (!next || condition < next);
}

/* The line of a plan that reads too much; NULL: there is none. */
static const char *bad_line(const char *plan)
{
    static const char *const joins[] = {"Hash Join", "Merge Join", "Seq Scan"};
    for (size_t i = 0; i < COUNT_OF(joins); i++)
        if (strstr(plan, joins[i]))
            return strstr(plan, joins[i]);
    for (const char *at = plan; (at = strstr(at, "Index ")); at += 6) {
        bool scan = strncmp(at, "Index Scan", 10) == 0 || strncmp(at, "Index Only Scan", 15) == 0;
        if (scan && !has_condition(at))
            return at;
    }
    return NULL;
}

static bool is_listed(const char *name, const char *line)
{
    for (size_t i = 0; i < COUNT_OF(listed); i++)
        if (strcmp(listed[i].name, name) == 0 && strstr(line, listed[i].has))
            return true;
    return false;
}

/* A reason for a statement that is gone would excuse the next one of that name. */
TEST(every_reason_is_for_a_statement_that_there_is_postgres)
{
    for (size_t i = 0; i < COUNT_OF(listed); i++) {
        bool found = false;
        for (size_t k = 0; k < COUNT_OF(all); k++)
            found = found || strcmp(all[k].name, listed[i].name) == 0;
        ck_assert_msg(found, "there is no statement %s", listed[i].name);
    }
}

static void look_at_all(struct planner *p, const char *when)
{
    static char plan[PLAN_SIZE];
    int bad = 0;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (!has_plan(p->texts[all[i].which]))
            continue;
        plan_of(p, p->texts[all[i].which], plan);
        const char *line = bad_line(plan);
        if (!line || is_listed(all[i].name, line))
            continue;
        printf("%s, %s: %.*s\n%s\n", all[i].name, when, (int)strcspn(line, "\n"), line, plan);
        bad++;
    }
    ck_assert_msg(bad == 0, "%d plans read too much on a schema that is %s", bad, when);
}

static const char *const filling[] = {
    "instance SELECT n,0,0,0,'i'||n,'',0,n,'F','1','','',''",
    "head SELECT n,0,1,2,n,0,0,1,0,n%100=0",
    "history SELECT n,n,0,0,0,NULL,1,1,1,NULL,'','','',NULL,NULL,NULL",
    "message SELECT n,n,0,1,0,1,'','','','',0,0,0,0",
    "work SELECT n,n,1,0,0,'','a'||n%5,'','',0,1,0,0,n%10,0,0,false,'',''",
    "work_fresh SELECT n,n,0,'a'||n%5,0",
    "dedup SELECT n,('k'||n)::bytea",
    "queue_entry SELECT n,0,0,1,'','',n%3,n,0,0,0,0,''",
    "lane_log SELECT 1,n,n,0",
    "queue SELECT n,0,0,'q'||n,0,0,0,0,0,0,false,'',''",
    "odd SELECT 5,n",
    "execution SELECT n,1,'','',1,n,n,0,0,''",
    "mark SELECT n,1,128,n",
    "queue_lock SELECT n%3,n,0,'',0,'{}'",
    "queue_past SELECT n%3,('l'||n)::bytea,n,0",
    "queue_key SELECT n%3,('k'||n)::bytea,n,0",
    "object SELECT 1+n%2,'o'||n,1,0,'{}'",
    "tomb(uid,execution,last_rid) SELECT n,0,n",
};

static void fill(const struct planner *p, int rows)
{
    for (size_t i = 0; i < COUNT_OF(filling); i++)
        ck_assert(scratch_do("INSERT INTO %s.%s FROM generate_series(1,%d) n", p->schema.schema,
                             filling[i], rows));
}

/* The tables keep their pages: a table that is used up as fast as it is filled. */
static void empty(const struct planner *p)
{
    for (size_t i = 0; i < COUNT_OF(filling); i++) {
        int name = (int)strcspn(filling[i], " (");
        ck_assert(scratch_do("DELETE FROM %s.%.*s", p->schema.schema, name, filling[i]));
        ck_assert(
            scratch_do("VACUUM (TRUNCATE false) %s.%.*s", p->schema.schema, name, filling[i]));
    }
}

TEST(no_statement_reads_a_whole_table_when_all_are_empty_postgres)
{
    struct planner p;
    planner_open(&p);
    look_at_all(&p, "empty");
    planner_close(&p);
}

/* A table that was analysed while it had no rows is taken for a table that never has any. */
TEST(no_statement_reads_a_whole_table_when_all_were_analysed_empty_postgres)
{
    struct planner p;
    planner_open(&p);
    ck_assert(scratch_do("ANALYZE"));
    look_at_all(&p, "analysed while it is empty");
    planner_close(&p);
}

TEST(no_statement_reads_a_whole_table_when_they_have_one_row_postgres)
{
    struct planner p;
    planner_open(&p);
    fill(&p, 1);
    ck_assert(scratch_do("ANALYZE"));
    look_at_all(&p, "analysed with one row in each table");
    planner_close(&p);
}

TEST(no_statement_reads_a_whole_table_when_they_are_filled_postgres)
{
    struct planner p;
    planner_open(&p);
    fill(&p, 3000);
    ck_assert(scratch_do("ANALYZE"));
    look_at_all(&p, "filled");
    planner_close(&p);
}

TEST(no_statement_reads_a_whole_table_when_they_were_emptied_postgres)
{
    struct planner p;
    planner_open(&p);
    fill(&p, 3000);
    empty(&p);
    ck_assert(scratch_do("ANALYZE"));
    look_at_all(&p, "emptied");
    planner_close(&p);
}

/* One value has nearly all rows of its table. */
static const char *const skewing[] = {
    "instance SELECT n,least(n-1,1),0,0,'i'||n,'',0,n,'F','1','','',''",
    "head SELECT n,0,1,2,n,0,0,1,0,n%100=0",
    "history SELECT n,1,0,0,0,NULL,1,1,1,NULL,'','','',NULL,NULL,NULL",
    "message SELECT n,1,0,1,0,1,'','','','',0,0,0,0",
    "work SELECT n,1,1,0,0,'','a','','',0,1,0,0,n%10,0,0,false,'',''",
    "work_fresh SELECT n,1,0,'a',0",
    "queue_entry SELECT n,0,0,1,'','',1,n,0,0,0,0,''",
    "odd SELECT 5,n",
    "execution SELECT 1,n,'','',1,n,n,0,0,''",
    "mark SELECT 1,1,128*n,n",
    "queue_lock SELECT 1,n,0,'',0,'{}'",
    "queue_past SELECT 1,('l'||n)::bytea,n,0",
    "queue_key SELECT 1,('k'||n)::bytea,n,0",
    "object SELECT 1,'o'||n,1,0,'{}'",
};

/* A condition of the node at `line`, such as "Filter:", has an equality. */
static bool has_equality(const char *line, const char *what)
{
    const char *at = strstr(line, what), *next = strstr(line + 4, "->"), *equal;
    if (!at || (next && at > next))
        return false;
    equal = strstr(at, " = ");
    return equal && equal < at + strcspn(at, "\n");
}

/* The line of a scan that reads rows in an order and leaves out those of other values. */
static const char *leaving_out(const char *plan)
{
    for (const char *at = plan; (at = strstr(at, "Index ")); at += 6) {
        bool scan = strncmp(at, "Index Scan", 10) == 0 || strncmp(at, "Index Only Scan", 15) == 0;
        if (scan && has_equality(at, "Filter:") && !has_equality(at, "Index Cond:"))
            return at;
    }
    return NULL;
}

/* Statements that do so, and why they pass few rows. */
static const struct {
    const char *name, *reason;
} leaves_out[] = {
    {"PG_LANE_TAKE",   "a row for each lane that lives"                             },
    {"PG_FRESH_PAGE",  "rows of other lanes within our block of ids, behind a place"},
    {"PG_QUEUE_TIMES", "queues of other lanes, when shards came or went"            },
};

static bool may_leave_out(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(leaves_out); i++)
        if (strcmp(leaves_out[i].name, name) == 0)
            return true;
    return false;
}

/* By the statistics the index of the value then costs as much as one that only has the order; with
 * that one, a value with few rows would be looked for in all of them. */
TEST(no_statement_reads_the_rows_of_a_frequent_value_for_a_rare_one_postgres)
{
    static char plan[PLAN_SIZE];
    struct planner p;
    int bad = 0;
    planner_open(&p);
    for (size_t i = 0; i < COUNT_OF(skewing); i++)
        ck_assert(scratch_do("INSERT INTO %s.%s FROM generate_series(1,3000) n", p.schema.schema,
                             skewing[i]));
    ck_assert(scratch_do("ANALYZE"));
    look_at_all(&p, "skewed");
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (!has_plan(p.texts[all[i].which]))
            continue;
        plan_of(&p, p.texts[all[i].which], plan);
        const char *line = may_leave_out(all[i].name) ? NULL : leaving_out(plan);
        bad += line != NULL;
        if (line)
            printf("%s: %.*s\n%s\n", all[i].name, (int)strcspn(line, "\n"), line, plan);
    }
    ck_assert_int_eq(bad, 0);
    planner_close(&p);
}

/* Use two statements: they are prepared. */
static void use_some(struct planner *p)
{
    static const int which[] = {ST_PG_CLOCK, ST_PG_LANES_VIEW};
    pawl_status status;
    pawl_error err = {0};
    for (size_t i = 0; i < COUNT_OF(which); i++) {
        PGresult *r = link_run(&p->link, which[i], NULL, "look", &status, &err);
        ck_assert_msg(r != NULL, "%s", err.text);
        pq.clear(r);
    }
}

/* A pooler may give a client the prepared statements of another: then a statement must be missing,
 * not another store's. */
TEST(prepared_statements_of_two_stores_have_different_names_postgres)
{
    static struct planner a, b;
    static char sql[SQL_SIZE];
    planner_open(&a);
    planner_open(&b);
    use_some(&a);
    use_some(&b);
    PGresult *r = run(&a, "SELECT string_agg(quote_literal(name),',') FROM pg_prepared_statements");
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM pg_prepared_statements WHERE name IN (%s)",
             pq.getvalue(r, 0, 0));
    pq.clear(r);
    r = run(&a, sql);
    ck_assert_int_eq(atoi(pq.getvalue(r, 0, 0)), 2);
    pq.clear(r);
    r = run(&b, sql);
    ck_assert_int_eq(atoi(pq.getvalue(r, 0, 0)), 0);
    pq.clear(r);
    planner_close(&b);
    planner_close(&a);
}

static void count_result(void *user, size_t index, const PGresult *r)
{
    (void)r;
    *(size_t *)user = *(size_t *)user * 10 + index;
}

/* What stands behind a refusal was never prepared, although it was sent. */
TEST(a_statement_behind_a_refusal_is_prepared_when_it_is_used_again_postgres)
{
    static struct planner p;
    struct pg_params fence = {0};
    struct link_report report;
    size_t seen = 0;
    planner_open(&p);
    for (int i = 0; i < 5; i++)
        params_i64(&fence, 77); /* nobody's */
    ck_assert(link_pipe(&p.link));
    ck_assert(link_send_begin(&p.link) && link_send(&p.link, ST_PG_FENCE, &fence) &&
              link_send(&p.link, ST_PG_CLOCK, NULL));
    link_reap(&p.link, NULL, NULL, &report);
    ck_assert_int_eq(report.end, LINK_FAILED);
    ck_assert_uint_eq(report.failed, 1);
    ck_assert_str_eq(report.sqlstate, "22012");
    link_check(&p.link);
    run_and_forget(&p, "ROLLBACK");
    for (int again = 0; again < 2; again++) { /* twice in one pipeline; then known */
        ck_assert(link_pipe(&p.link));
        ck_assert(link_send_begin(&p.link) && link_send(&p.link, ST_PG_CLOCK, NULL) &&
                  link_send(&p.link, ST_PG_LANES_VIEW, NULL) &&
                  link_send(&p.link, ST_PG_CLOCK, NULL) && link_send(&p.link, ST_PG_COMMIT, NULL));
        seen = 0;
        link_reap(&p.link, count_result, &seen, &report);
        ck_assert_msg(report.end == LINK_DONE, "%s", report.text);
        ck_assert(report.committed_tag);
        ck_assert_uint_eq(seen, 123); /* as the caller counts: BEGIN is 0 */
    }
    PGresult *r = run(&p, "SELECT count(*) FROM pg_prepared_statements");
    ck_assert_str_eq(pq.getvalue(r, 0, 0), "4"); /* with the fence and COMMIT */
    pq.clear(r);
    params_deinit(&fence);
    planner_close(&p);
}
