/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/test_pg_cost.c -- what steps cost the server, in figures that do not depend on
 * the machine: bytes of its write-ahead log, and updates that touch no index.
 *
 * The server is one of its own without autovacuum, whose log would be counted, too.  A figure may
 * be two per cent off; change it when a change of the tables or statements is worth it.
 */
#include "../harness.h"
#include "chains.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WARM  40
#define STEPS 100

static void must(const char *command)
{
    ck_assert_msg(system(command) == 0, "%s", command);
}

static void quiet_server(char dir[120])
{
    char command[400], url[300];
    snprintf(dir, 120, "%s/q%d", getenv("PAWL_TEST_PG_DIR"), (int)getpid());
    snprintf(command, sizeof(command),
             "tests/postgres/server make %s autovacuum=off checkpoint_timeout=1h && "
             "tests/postgres/server start %s",
             dir, dir);
    must(command);
    snprintf(url, sizeof(url), "postgresql:///postgres?host=%s&user=pawl", dir);
    ck_assert_int_eq(setenv("PAWL_TEST_PG", url, 1), 0);
}

static void remove_server(const char *dir)
{
    char command[200];
    snprintf(command, sizeof(command), "tests/postgres/server remove %s", dir);
    must(command);
}

static int64_t log_bytes(void)
{
    return scratch_number("SELECT (pg_current_wal_insert_lsn()-'0/0')::bigint");
}

static void must_step(struct chains *c)
{
    ck_assert_msg(chains_step(c) == PAWL_OK, "%s", c->error.text);
}

static void expect_about(const char *what, int64_t got, int64_t wanted)
{
    printf("| %s: %" PRId64 " bytes of log (budget %" PRId64 ")\n", what, got, wanted);
    ck_assert_msg(got * 100 >= wanted * 98 && got * 100 <= wanted * 102,
                  "%s: %" PRId64 " bytes of log, not %" PRId64 " within 2 %%", what, got, wanted);
}

/* Bytes of log for one step of one of `count` instances in a commit. */
static int64_t bytes_of_step(struct chains *c, int count)
{
    chains_renew(c, count);
    for (int i = 0; i < WARM; i++)
        must_step(c);
    int64_t before = log_bytes();
    for (int i = 0; i < STEPS; i++)
        must_step(c);
    return (log_bytes() - before) / (STEPS * count);
}

/* Start, one activity, end: two commits. */
static int64_t bytes_of_hello(struct chains *c, int count)
{
    int64_t before = 0;
    for (int i = 0; i < WARM + STEPS; i++) {
        if (i == WARM)
            before = log_bytes();
        chains_renew(c, count);
        must_step(c);
        c->ending = true;
        must_step(c);
    }
    c->ending = false;
    return (log_bytes() - before) / (STEPS * count);
}

TEST(steps_stay_within_their_budget_of_log_postgres)
{
    struct scratch schema;
    static struct chains c;
    char dir[120];
    quiet_server(dir);
    scratch_new(&schema);
    chains_begin(&c, &schema, schema.url);
    c.no_mail = true;
    expect_about("a step, 32 in a commit", bytes_of_step(&c, 32), 325);
    expect_about("a step alone", bytes_of_step(&c, 1), 569);
    expect_about("hello, 32 in a commit", bytes_of_hello(&c, 32), 1191);
    chains_end(&c);
    remove_server(dir);
}

TEST(steps_touch_no_index_of_an_instance_postgres)
{
    struct scratch schema;
    static struct chains c;
    char dir[120];
    quiet_server(dir);
    scratch_new(&schema);
    chains_begin(&c, &schema, schema.url);
    chains_renew(&c, CHAINS_MAX);
    for (int i = 0; i < 200; i++)
        must_step(&c);
    chains_end(&c); /* the server counts when the connection ends */
    int64_t updates = 0;
    for (int i = 0; i < 200 && updates < 199 * CHAINS_MAX; i++) {
        usleep(20000);
        updates = scratch_number("SELECT n_tup_upd FROM pg_stat_user_tables"
                                 " WHERE schemaname='%s' AND relname='head'",
                                 schema.schema);
    }
    ck_assert_int_ge(updates, 199 * CHAINS_MAX);
    ck_assert_int_eq(scratch_number("SELECT n_tup_upd-n_tup_hot_upd FROM pg_stat_user_tables"
                                    " WHERE schemaname='%s' AND relname='head'",
                                    schema.schema),
                     0);
    remove_server(dir);
}

/* ---- An old snapshot -------------------------------------------------------------------------- */

/* Nanoseconds that the server's process for our connection has run. */
static int64_t writer_ns(const struct scratch *schema)
{
    char path[64];
    long long ns = -1;
    snprintf(path, sizeof(path), "/proc/%d/schedstat",
             (int)scratch_number("SELECT pid FROM %s.lane", schema->schema));
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%lld", &ns), 1);
    fclose(f);
    return ns;
}

/* Instances of ten steps, one after another; nanoseconds of the server for a step. */
static int64_t ns_of_steps(struct chains *c, const struct scratch *schema, int instances)
{
    int64_t before = writer_ns(schema);
    for (int i = 0; i < instances; i++) {
        chains_renew(c, CHAINS_MAX);
        for (int n = 0; n < 9; n++)
            must_step(c);
        c->ending = true;
        must_step(c);
        c->ending = false;
    }
    return (writer_ns(schema) - before) / (instances * 10 * CHAINS_MAX);
}

/* pg_dump and its like keep every version of a row that is younger than they are. */
TEST(an_old_snapshot_makes_steps_less_than_twice_as_dear_postgres)
{
    struct scratch schema;
    static struct chains c;
    char dir[120];
    if (!getenv("PAWL_PG_FULL"))
        return;
    quiet_server(dir);
    scratch_new(&schema);
    chains_begin(&c, &schema, schema.url);
    c.no_mail = true;
    (void)ns_of_steps(&c, &schema, 20);
    int64_t without = ns_of_steps(&c, &schema, 200);
    char command[400];
    snprintf(
        command, sizeof(command),
        "(echo 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id();'; sleep 120)"
        " | psql -q 'postgresql:///postgres?host=%s&user=pawl' >/dev/null 2>&1 &",
        dir);
    must(command);
    usleep(500000);
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM pg_stat_activity"
                                    " WHERE state='idle in transaction'"),
                     1);
    int64_t with = ns_of_steps(&c, &schema, 400);
    printf("| a step costs the server %" PRId64 " ns, and %" PRId64 " ns beside an old snapshot\n",
           without, with);
    ck_assert_int_lt(with, 2 * without);
    chains_end(&c);
    remove_server(dir);
}
