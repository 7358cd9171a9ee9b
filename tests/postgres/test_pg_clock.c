/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/test_pg_clock.c -- times follow the clock of the server, not that of this machine.
 *
 * The wall clock of this machine (base/clock.h) is replaced: it is off by hours, and it jumps.
 */
#include "../harness.h"
#include "../scratch.h"
#include "base/clock.h"
#include "pawl.h"
#include "pawl/provider.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_llong off_ms;

static int64_t real_ms(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

int64_t __wrap_clock_wall_ms(void);
int64_t __wrap_clock_wall_ms(void)
{
    return real_ms() + atomic_load(&off_ms);
}

static pawl_result sleeps(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_timer(ctx, 400));
}

static bool is_near(int64_t ms, int64_t to)
{
    return ms > to - 5000 && ms < to + 5000;
}

TEST(timers_and_times_follow_the_server_when_the_clock_here_is_wrong_postgres)
{
    struct scratch schema;
    pawl_error err = {0};
    pawl_info info;
    pawl_mem *mem = pawl_mem_new();
    pawl_app *app = pawl_app_new();
    scratch_new(&schema);
    ck_assert_int_eq(pawl_register_orchestration(app, "Sleep", "1.0.0", sleeps), PAWL_OK);
    atomic_store(&off_ms, 3600000);
    char *data = scratch_text("SELECT '/tmp/pawl-clock-'||pg_backend_pid()");
    data[strcspn(data, "\n")] = 0;
    pawl_runtime *rt =
        pawl_runtime_open(app, PAWL_OPTIONS(.store = schema.url, .data = data), &err);
    ck_assert_msg(rt != NULL, "%s", err.text);
    ck_assert_int_eq(pawl_runtime_start(rt, &err), PAWL_OK);
    pawl_client *c = pawl_runtime_client(rt);
    ck_assert(is_near(pawl_client_now(c), real_ms()));
    for (int i = 0; i < 2;
         i++) { /* an hour ahead; then an hour behind, from one moment to the next */
        const char *id = i ? "late" : "early";
        pawl_reply reply;
        ck_assert_int_eq(
            pawl_client_start(c, "Sleep", pawl_s("1"), PAWL_START_OPTS(.instance = id), &reply),
            PAWL_OK);
        atomic_store(&off_ms, i ? 7200000 : -3600000);
        int64_t began = clock_mono_ms();
        ck_assert_int_eq(pawl_client_wait(c, id, 0, 60000, mem, &info, &err), PAWL_OK);
        ck_assert_int_eq(info.state, PAWL_COMPLETED);
        ck_assert_int_lt(clock_mono_ms() - began, 30000);
        ck_assert(is_near(info.created_ms, real_ms() - (clock_mono_ms() - began)));
        ck_assert_int_ge(info.updated_ms - info.created_ms, 400);
        ck_assert(is_near(info.updated_ms, real_ms()));
    }
    pawl_runtime_close(rt);
    pawl_app_free(app);
    pawl_mem_free(mem);
    free(data);
    scratch_drop(&schema);
    atomic_store(&off_ms, 0);
}

struct said {
    pawl_verdict verdict;
    char text[300];
};

static void keep_clock(void *user, const char *name, pawl_verdict verdict, const char *text)
{
    struct said *said = user;
    if (strcmp(name, "clock") != 0)
        return;
    said->verdict = verdict;
    snprintf(said->text, sizeof(said->text), "%s", text);
}

static struct said examine(pawl_store *s, int64_t now_ms)
{
    struct said said = {0};
    pawl_error err = {0};
    pawl_status rc = s->ops->upkeep->examine(s, now_ms, keep_clock, &said, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    return said;
}

TEST(doctor_says_when_the_clocks_differ_postgres)
{
    struct scratch schema;
    pawl_error err = {0};
    scratch_new(&schema);
    pawl_store *s = pawl_postgres_store(schema.url, PAWL_STORE_OPTS(.now_ms = 1), &err);
    ck_assert_msg(s != NULL, "%s", err.text);
    struct said said = examine(s, real_ms());
    ck_assert_msg(said.verdict == PAWL_VERDICT_OK, "%s", said.text);
    ck_assert_ptr_nonnull(strstr(said.text, "agree"));
    said = examine(s, real_ms() - 100000);
    ck_assert_int_eq(said.verdict, PAWL_VERDICT_WARN);
    ck_assert_msg(strstr(said.text, " s ahead of that of this machine"), "%s", said.text);
    said = examine(s, real_ms() + 100000);
    ck_assert_msg(strstr(said.text, " s behind that of this machine"), "%s", said.text);
    s->ops->close(s);
    scratch_drop(&schema);
}
