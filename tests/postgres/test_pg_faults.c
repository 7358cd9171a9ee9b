/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/test_pg_faults.c -- a bad network between the store and its server.
 *
 * No verdict of commit() or outcome() is wrong, and no row is lost or doubled, wherever a
 * connection breaks (chains.h keeps the ledger).  With PAWL_PG_FULL set the samples are large.
 */
#include "../harness.h"
#include "chains.h"
#include "proxy.h"
#include "store/store.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEVER ((size_t)1 << 40)

struct bad_line {
    struct scratch schema;
    char url[400];
    struct proxy *proxy;
    struct chains c;
};

static int sample(int few, int many)
{
    return getenv("PAWL_PG_FULL") ? many : few;
}

/* The same schema, by way of the proxy: only the socket's directory differs. */
static void line_open_with(struct bad_line *l, const char *parameters)
{
    char dir[120], server[120];
    snprintf(dir, sizeof(dir), "%s/p%d", getenv("PAWL_TEST_PG_DIR"), (int)getpid());
    snprintf(server, sizeof(server), "%s/a", getenv("PAWL_TEST_PG_DIR"));
    scratch_new(&l->schema);
    l->proxy = proxy_start(dir, server);
    ck_assert_ptr_nonnull(l->proxy);
    snprintf(l->url, sizeof(l->url), "postgresql:///postgres?host=%s&user=pawl&pawl_schema=%s%s",
             dir, l->schema.schema, parameters);
    chains_begin(&l->c, &l->schema, l->url);
}

static void line_open(struct bad_line *l)
{
    line_open_with(l, "");
}

static void line_close(struct bad_line *l)
{
    chains_check(&l->c);
    chains_end(&l->c);
    scratch_drop(&l->schema);
}

static void must_step(struct chains *c, int times)
{
    for (int i = 0; i < times; i++)
        ck_assert_msg(chains_step(c) == PAWL_OK, "step %d of %d: %s", i, times, c->error.text);
}

/* How many bytes a commit sends; all of them are of one size. */
static size_t bytes_of_commit(struct bad_line *l)
{
    proxy_plan(l->proxy, (struct proxy_plan){.bytes = NEVER});
    must_step(&l->c, 1);
    size_t bytes = proxy_counted(l->proxy);
    proxy_disarm(l->proxy);
    ck_assert_uint_gt(bytes, 100);
    return bytes;
}

static size_t bytes_of_answer(struct bad_line *l)
{
    proxy_plan(l->proxy, (struct proxy_plan){.to_client = true, .bytes = NEVER});
    must_step(&l->c, 1);
    size_t bytes = proxy_counted(l->proxy);
    proxy_disarm(l->proxy);
    return bytes;
}

static void cut_often(enum proxy_do act, bool to_client, int ms, int times)
{
    static struct bad_line l;
    unsigned seed = 17 + (unsigned)act * 2 + to_client;
    line_open(&l);
    must_step(&l.c, 3);
    size_t room = to_client ? bytes_of_answer(&l) : bytes_of_commit(&l);
    for (int i = 0; i < times; i++) {
        size_t at = act == PROXY_SWALLOW ? 0 : (size_t)rand_r(&seed) % room;
        proxy_plan(l.proxy, (struct proxy_plan){act, to_client, at, ms});
        must_step(&l.c, 1);
        proxy_disarm(l.proxy);
        must_step(&l.c, 1);
    }
    printf("| %d cuts: %d doubts (%d committed, %d not), %d commits refused, %d wrong verdicts\n",
           times, l.c.unknown, l.c.committed, l.c.not_committed, l.c.refused, l.c.wrong);
    if (act == PROXY_SWALLOW)
        ck_assert_int_eq(l.c.committed, times);
    line_close(&l);
}

TEST(a_commit_cut_on_its_way_there_happened_or_not_postgres)
{
    cut_often(PROXY_CUT, false, 0, sample(20, 400));
}

TEST(a_commit_cut_on_its_way_back_happened_or_not_postgres)
{
    cut_often(PROXY_CUT, true, 0, sample(20, 300));
}

TEST(a_lost_answer_is_found_again_postgres)
{
    cut_often(PROXY_SWALLOW, true, 0, sample(10, 150));
}

TEST(a_slow_line_changes_nothing_postgres)
{
    cut_often(PROXY_DELAY, false, 20, sample(5, 50));
}

TEST(what_comes_after_its_connection_ended_changes_no_verdict_postgres)
{
    cut_often(PROXY_LATE, false, 20, sample(10, 150));
}

/* ---- Two cases of those, exactly ------------------------------------------------------- */

/* The verdict was that it did not happen; now the server gets it. */
static void let_it_come(void *user, bool answered)
{
    struct bad_line *l = user;
    int before = proxy_late_answers(l->proxy);
    if (!answered)
        return;
    proxy_release(l->proxy);
    for (int i = 0; i < 500 && proxy_late_answers(l->proxy) == before; i++)
        usleep(10000);
    ck_assert_int_eq(proxy_late_answers(l->proxy), before + 1);
}

TEST(a_commit_that_comes_after_the_verdict_is_refused_postgres)
{
    static struct bad_line l;
    line_open(&l);
    must_step(&l.c, 3);
    l.c.in_doubt = let_it_come;
    l.c.user = &l;
    for (int i = 0; i < 3; i++) {
        proxy_plan(l.proxy, (struct proxy_plan){PROXY_LATE, false, (size_t)i * 10, -1});
        must_step(&l.c, 1);
        ck_assert(!proxy_is_armed(l.proxy));
    }
    ck_assert_int_eq(l.c.unknown, 3);
    ck_assert_int_eq(l.c.not_committed, 3);
    l.c.in_doubt = NULL;
    must_step(&l.c, 3);
    line_close(&l);
}

/* Everything is carried out but COMMIT, which arrives while outcome() asks: a plain read would
 * see nothing and say that it did not happen. */
TEST(a_verdict_waits_for_the_commit_in_flight_postgres)
{
    static struct bad_line l;
    line_open(&l);
    must_step(&l.c, 3);
    size_t bytes = bytes_of_commit(&l);
    for (int i = 1; i <= 3; i++) {
        proxy_plan(l.proxy, (struct proxy_plan){PROXY_LATE, false, bytes - 8, 100 * i});
        must_step(&l.c, 1);
        ck_assert(!proxy_is_armed(l.proxy));
    }
    ck_assert_int_eq(l.c.committed, 3);
    line_close(&l);
}

/* COMMIT of a transaction that was aborted is no error, only its tag is another. */
TEST(a_commit_that_was_answered_with_rollback_did_not_happen_postgres)
{
    static struct bad_line l;
    line_open(&l);
    must_step(&l.c, 1);
    proxy_plan(l.proxy, (struct proxy_plan){.act = PROXY_RETAG});
    ck_assert_int_ne(chains_try(&l.c), PAWL_OK);
    ck_assert(!proxy_is_armed(l.proxy));
    chains_end(&l.c);
    scratch_drop(&l.schema);
}

/* ---- Connections that an operator ends --------------------------------------------------- */

static pid_t storm(int every_us)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    while (pid == 0) {
        (void)scratch_do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                         " WHERE application_name='stormy'");
        usleep((useconds_t)every_us);
    }
    return pid;
}

TEST(backends_that_are_terminated_lose_nothing_postgres)
{
    struct scratch schema;
    static struct chains c;
    char url[440];
    scratch_new(&schema);
    snprintf(url, sizeof(url), "%s&application_name=stormy", schema.url);
    chains_begin(&c, &schema, url);
    pid_t pid = storm(150000);
    must_step(&c, sample(150, 3000));
    kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    printf("| %d doubts (%d committed), %d commits refused, %d wrong verdicts\n", c.unknown,
           c.committed, c.refused, c.wrong);
    ck_assert_int_gt(c.unknown + c.refused, 0);
    chains_check(&c);
    chains_end(&c);
    scratch_drop(&schema);
}

static pawl_status ask_time(struct bad_line *l)
{
    int64_t ms = 0;
    pawl_error err = {0};
    pawl_status status = l->c.store->ops->clock(l->c.store, &ms, &err);
    ck_assert(status != PAWL_OK || ms > 0);
    return status;
}

/* Packets are dropped: each attempt to connect takes seconds, so the commit's is the only one. */
TEST(a_question_for_the_time_is_no_second_attempt_to_connect_postgres)
{
    static struct bad_line l;
    line_open_with(&l, "&connect_timeout=2");
    const pawl_store *before = store_engine_set(l.c.store);
    int made = proxy_connections(l.proxy);
    ck_assert_int_eq(ask_time(&l), PAWL_OK); /* where it writes */
    proxy_hole(l.proxy, true);
    ck_assert(scratch_do("SELECT pg_terminate_backend(pid) FROM %s.lane", l.schema.schema));
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(ask_time(&l), PAWL_UNAVAILABLE);
    ck_assert_int_eq(proxy_connections(l.proxy), made);
    ck_assert_int_eq(chains_try(&l.c), PAWL_UNAVAILABLE);
    ck_assert_int_eq(proxy_connections(l.proxy), made + 1);
    ck_assert_int_eq(ask_time(&l), PAWL_UNAVAILABLE);
    ck_assert_int_eq(proxy_connections(l.proxy), made + 1);
    proxy_hole(l.proxy, false);
    must_step(&l.c, 1);
    ck_assert_int_eq(ask_time(&l), PAWL_OK);
    ck_assert_int_eq(proxy_connections(l.proxy), made + 2);
    (void)store_engine_set(before);
    line_close(&l);
}
