/* SPDX-License-Identifier: MIT */
/* tests/unit/test_counts.c -- how often the figures of a runtime count the rows of its store. */
#include "../harness.h"
#include "pawl.h"
#include "pawl/provider.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t now_ms;
static int64_t took_ms;
static unsigned counted;
static bool slow;
static const pawl_store_ops *real;
static pawl_store_ops ops;

static int64_t clock_ms(void *user)
{
    (void)user;
    return now_ms;
}

static pawl_status count(pawl_store *s, int64_t at_ms, pawl_depths *ret, pawl_error *reterr)
{
    counted++;
    now_ms += took_ms;
    pawl_status status = real->depths(s, at_ms, ret, reterr);
    ret->instances = counted;
    return status;
}

static void caps(pawl_store *s, pawl_store_caps *ret)
{
    real->caps(s, ret);
    ret->slow_counts = slow;
}

/* Figures of a runtime on a store whose count takes `ms`, asked for twice with a pause. */
static uint64_t counts(bool is_slow, int64_t ms, int64_t pause_ms)
{
    char dir[] = "/tmp/pawl-counts-XXXXXX", text[64];
    pawl_env env = {.now_ms = clock_ms, .mono_ms = clock_ms};
    pawl_app *app = pawl_app_new();
    pawl_error err;
    pawl_stats stats;
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(text, sizeof(text), "%s/pawl.db", dir);
    pawl_store *store = pawl_sqlite_store(text, NULL, &err);
    ck_assert_msg(store != NULL, "%s", err.text);
    real = store->ops;
    ops = *real;
    ops.depths = count;
    ops.caps = caps;
    store->ops = &ops;
    slow = is_slow;
    took_ms = ms;
    now_ms = 1000000;
    counted = 0;
    pawl_runtime *rt =
        pawl_runtime_open(app, PAWL_OPTIONS(.opened_store = store, .env = &env), &err);
    ck_assert_msg(rt != NULL, "%s", err.text);
    pawl_runtime_stats(rt, &stats);
    ck_assert_uint_eq(stats.instances, 1);
    now_ms += pause_ms;
    pawl_runtime_stats(rt, &stats);
    pawl_runtime_close(rt);
    pawl_app_free(app);
    store->ops->close(store);
    (void)snprintf(text, sizeof(text), "rm -r %s", dir);
    ck_assert_int_eq(system(text), 0);
    return stats.instances;
}

TEST(rows_are_counted_whenever_figures_are_asked_for)
{
    ck_assert_uint_eq(counts(false, 0, 0), 2);
    ck_assert_uint_eq(counts(false, 10000, 0), 2);
}

TEST(a_slow_count_is_used_for_twenty_times_as_long)
{
    ck_assert_uint_eq(counts(true, 100, 1999), 1);
    ck_assert_uint_eq(counts(true, 100, 2000), 2);
    ck_assert_uint_eq(counts(true, 49, 0), 2);
}

TEST(a_very_slow_count_is_used_for_a_minute)
{
    ck_assert_uint_eq(counts(true, 10000, 59999), 1);
    ck_assert_uint_eq(counts(true, 10000, 60000), 2);
}
