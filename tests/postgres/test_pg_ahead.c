/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/test_pg_ahead.c -- how many statements it takes to bring instances into memory.
 *
 * Sleepers of an earlier process wake at one moment.  Their rows, histories and mailboxes come a
 * pass at a time (runtime/instance/ahead.h), so the statements are a few per pass and none is for
 * one instance.  The calls of libpq are counted.
 */
#include "../harness.h"
#include "../scratch.h"

#include "pawl.h"
#include "store/postgres/postgres.h"

#include <stdatomic.h>
#include <stdio.h>

#define SLEEPERS 10000

static int64_t now_ms = 1700000000000;

static int64_t clock_of_test(void *user)
{
    (void)user;
    return now_ms;
}

static pawl_result sleeps(pawl_ctx *ctx, pawl_str input)
{
    pawl_result slept = pawl_sleep(ctx, PAWL_SECONDS(60));
    return slept.ok ? pawl_done_str(ctx, input) : slept;
}

static int answered, ended;

static void on_reply(void *arg, const pawl_reply *reply)
{
    (void)arg;
    ck_assert_msg(reply->status == PAWL_OK, "%s", reply->error.text);
    answered++;
}

static void on_commit(void *arg, const pawl_change *changes, size_t count)
{
    (void)arg;
    for (size_t i = 0; i < count; i++)
        ended += changes[i].state == PAWL_COMPLETED;
}

/* ---- Statements ------------------------------------------------------------------------------- */

static atomic_uint statements, singles;
static int (*send_prepared)(PGconn *c, const char *name, int n, const char *const *values,
                            const int *lengths, const int *formats, int result_format);

static int count_prepared(PGconn *c, const char *name, int n, const char *const *values,
                          const int *lengths, const int *formats, int result_format)
{
    char history[24], row[24], mail[24];
    (void)snprintf(history, sizeof(history), "s%d", (int)ST_PG_HISTORY);
    (void)snprintf(row, sizeof(row), "s%d", (int)ST_ROW_BY_UID);
    (void)snprintf(mail, sizeof(mail), "s%d", (int)ST_MESSAGES_OF_UID);
    statements++;
    singles += strcmp(name, history) == 0 || strcmp(name, row) == 0 || strcmp(name, mail) == 0;
    return send_prepared(c, name, n, values, lengths, formats, result_format);
}

static void count_statements(void)
{
    if (!send_prepared) {
        send_prepared = pq.sendQueryPrepared;
        pq.sendQueryPrepared = count_prepared;
    }
    statements = singles = 0;
}

/* ---- The test --------------------------------------------------------------------------------- */

static pawl_runtime *up(pawl_app *app, const char *url, const pawl_env *env)
{
    pawl_error err;
    pawl_runtime *rt =
        pawl_runtime_open(app, PAWL_OPTIONS(.store = url, .env = env, .data = NULL), &err);
    ck_assert_msg(rt != NULL, "%s", err.text);
    return rt;
}

static void start_all(pawl_runtime *rt)
{
    char id[16];
    for (int i = 0; i < SLEEPERS; i++) {
        (void)snprintf(id, sizeof(id), "s-%d", i);
        ck_assert_int_eq(pawl_client_submit(pawl_runtime_client(rt),
                                            PAWL_REQUEST(.op = PAWL_OP_START, .name = "Sleeps",
                                                         .instance = id, .data = pawl_s("\"x\"")),
                                            on_reply, NULL, NULL),
                         PAWL_OK);
        while (i % 1000 == 999 && answered <= i)
            ck_assert_int_ge(pawl_runtime_step(rt, 100), 0);
    }
}

TEST(sleepers_that_wake_are_read_a_pass_at_a_time_postgres)
{
    struct scratch schema;
    const pawl_env env = {.now_ms = clock_of_test};
    pawl_app *app = pawl_app_new();
    pawl_register_orchestration(app, "Sleeps", "1.0.0", sleeps);
    scratch_new(&schema);
    pawl_runtime *rt = up(app, schema.url, &env);
    start_all(rt);
    ck_assert_int_eq(answered, SLEEPERS);
    pawl_runtime_close(rt);

    now_ms += 61000;
    rt = up(app, schema.url, &env);
    (void)pawl_client_feed(pawl_runtime_client(rt), on_commit, NULL);
    count_statements();
    while (ended < SLEEPERS)
        ck_assert_int_ge(pawl_runtime_step(rt, 100), 0);
    printf("| %d sleepers woke with %u statements, %u of them for one instance\n", SLEEPERS,
           statements, singles);
    ck_assert_uint_eq(singles, 0);
    ck_assert_uint_lt(statements, SLEEPERS / 20);
    pawl_runtime_close(rt);
    pawl_app_free(app);
    scratch_drop(&schema);
}
