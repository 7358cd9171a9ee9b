/* SPDX-License-Identifier: MIT */
/*
 * scenario/test_store_clock.c -- a store with a clock of its own says what time it is.
 *
 * The scene's wall clock is not given to the runtime: the store has it.  So whatever took the time
 * of this machine instead would be years off.
 */
#include "scene.h"

#include <string.h>

static const pawl_store_ops *real;
static pawl_store_ops clocked;
static struct scene *scene;
static int64_t store_ahead_ms; /* of the scene's clock */
static int64_t reply_takes_ms; /* the time is read in the middle */
static int asked;
static pawl_status answer;

static pawl_status store_time(pawl_store *s, int64_t *ret, pawl_error *reterr)
{
    (void)s, (void)reterr;
    asked++;
    if (answer != PAWL_OK)
        return answer;
    scene->mono += reply_takes_ms / 2;
    scene->now += reply_takes_ms / 2;
    *ret = scene->now + store_ahead_ms;
    scene->mono += reply_takes_ms - reply_takes_ms / 2;
    scene->now += reply_takes_ms - reply_takes_ms / 2;
    return PAWL_OK;
}

static void add_clock(pawl_store *outer)
{
    real = outer->ops;
    clocked = *real;
    clocked.clock = store_time;
    outer->ops = &clocked;
}

static pawl_result sleeps(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_timer(ctx, 60000));
}

static void begin(struct scene *s)
{
    scene = s;
    store_ahead_ms = reply_takes_ms = 0;
    asked = 0;
    answer = PAWL_OK;
    s->decorate = add_clock;
    s->env.now_ms = NULL;
    scene_flow(s, "Sleep", sleeps);
}

static int64_t now(struct scene *s)
{
    return pawl_client_now(s->c);
}

static void pass_time(struct scene *s, int64_t ms)
{
    s->now += ms;
    s->mono += ms;
    scene_settle(s);
}

static pawl_state state_of(struct scene *s, const char *id)
{
    return scene_row(s, id).state;
}

SCENARIO(time_is_the_store_s_where_it_has_a_clock)
{
    begin(s);
    store_ahead_ms = PAWL_HOURS(1);
    scene_up(s);
    expect_is(asked, 1);
    expect_is(now(s), s->now + PAWL_HOURS(1));
    scene_start(s, "Sleep", "a", "");
    expect_is(scene_row(s, "a").created_ms, s->now + PAWL_HOURS(1));
    pass_time(s, 59000);
    expect_is(state_of(s, "a"), PAWL_RUNNING);
    pass_time(s, 1001);
    expect_is(state_of(s, "a"), PAWL_COMPLETED);
}

/* Another machine takes over; its own clock says nothing. */
SCENARIO(a_timer_survives_the_move_to_a_machine_with_another_clock)
{
    begin(s);
    scene_up(s);
    scene_start(s, "Sleep", "a", "");
    pass_time(s, 30000);
    s->mono = 77; /* started just now */
    scene_crash(s);
    expect_is(now(s), s->now);
    pass_time(s, 29000);
    expect_is(state_of(s, "a"), PAWL_RUNNING);
    pass_time(s, 1001);
    expect_is(state_of(s, "a"), PAWL_COMPLETED);
}

/* A slow reply says little: time moves only when it is proved wrong, and then as little as that. */
SCENARIO(a_slow_reply_does_not_move_the_time)
{
    begin(s);
    scene_up(s);
    scene_start(s, "Sleep", "a", "");
    reply_takes_ms = 4000;
    pass_time(s, 6000);
    expect_is(asked, 2);
    expect_is(now(s), s->now);
    store_ahead_ms = 1500; /* within what that reply leaves open */
    pass_time(s, 6000);
    expect_is(asked, 3);
    expect_is(now(s), s->now);
    store_ahead_ms = 10000;
    reply_takes_ms = 400;
    pass_time(s, 6000);
    expect_is(now(s), s->now + 10000 - 200); /* it was at least this */
    store_ahead_ms = -10000;
    pass_time(s, 6000);
    expect_is(now(s), s->now - 10000 + 200 + 1); /* it was at most this */
}

/* While there is nothing to do nothing is asked; without an answer time goes on. */
SCENARIO(a_clock_that_does_not_answer_is_asked_again)
{
    begin(s);
    scene_up(s);
    scene_start(s, "Sleep", "a", "");
    int before = asked;
    for (int i = 0; i < 10; i++)
        pass_time(s, 10);
    expect_is(asked, before); /* an answer is good for some seconds */
    answer = PAWL_UNAVAILABLE;
    pass_time(s, 50000);
    expect_is(asked, before + 1);
    expect_is(now(s), s->now);
    pass_time(s, 9000);
    expect_is(state_of(s, "a"), PAWL_RUNNING);
    pass_time(s, 1000);
    expect_is(state_of(s, "a"), PAWL_COMPLETED);
    scene_down(s);
    pawl_error err = {0};
    s->opts.opened_store = s->store;
    s->opts.env = &s->env;
    ck_assert_ptr_null(pawl_runtime_open(s->app, &s->opts, &err)); /* it must not guess */
    expect_is(err.status, PAWL_UNAVAILABLE);
    answer = PAWL_OK;
}

static void ignore(void *arg, const pawl_reply *reply)
{
    (void)arg, (void)reply;
}

/* Each question would be one more attempt to connect, before the one that the commit makes. */
SCENARIO(a_store_that_is_away_is_not_asked_for_the_time)
{
    begin(s);
    scene_up(s);
    answer = PAWL_UNAVAILABLE;
    scene_fail(s, FAULT_OP_commit, 0, 6, FAULT_BEFORE, PAWL_UNAVAILABLE);
    int before = asked;
    expect_is(pawl_client_submit(
                  s->c, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Sleep", .instance = "a"), ignore,
                  NULL, NULL),
              PAWL_OK);
    for (int i = 0; i < 6; i++)
        pass_time(s, 6000);
    expect_is(asked, before + 1); /* before anything had failed */
    answer = PAWL_OK;
    pass_time(s, 6000);
    expect_is(state_of(s, "a"), PAWL_RUNNING);
    pass_time(s, 60000);
    ck_assert_int_gt(asked, before); /* it is back */
}

/* Who has a clock of its own keeps it. */
SCENARIO(a_caller_s_clock_counts_more_than_the_store_s)
{
    pawl_env own = s->env;
    begin(s);
    s->env = own;
    store_ahead_ms = PAWL_HOURS(1);
    scene_up(s);
    expect_is(asked, 0);
    expect_is(now(s), s->now);
}
