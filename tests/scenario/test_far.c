/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_far.c -- a store behind a network, whose absence nobody would notice.
 *
 * An engine without work reads nothing.  Who asks for its health makes it read, at most once per
 * second, and hears when that fails or takes long.
 */
#include "scene.h"

#include <poll.h>
#include <stdio.h>

static char told[PAWL_TROUBLE_BYTES]; /* what the store says of itself */
static pawl_store_ops ops;
static const pawl_store_ops *plain;

static void far_caps(pawl_store *s, pawl_store_caps *ret)
{
    plain->caps(s, ret);
    ret->far = true;
}

static void far_figures(pawl_store *s, pawl_store_figures *ret)
{
    (void)s;
    pawl_store_figures figures = {.size = sizeof(figures)};
    (void)snprintf(figures.trouble, sizeof(figures.trouble), "%.150s", told);
    memcpy(ret, &figures, ret->size < sizeof(figures) ? ret->size : sizeof(figures));
}

static int reads;

static pawl_status far_next_due(pawl_store *s, int64_t after_ms, int64_t *ret, pawl_error *reterr)
{
    reads++;
    return plain->next_due(s, after_ms, ret, reterr);
}

static void make_far(pawl_store *outer)
{
    plain = outer->ops;
    ops = *plain;
    ops.caps = far_caps;
    ops.figures = far_figures;
    ops.next_due = far_next_due;
    outer->ops = &ops;
}

static void begin(struct scene *s)
{
    told[0] = 0;
    s->decorate = make_far;
    scene_up(s);
    scene_settle(s);
    s->mono += 1000; /* it may be asked at once */
}

static bool is_readable(struct scene *s)
{
    struct pollfd p = {.fd = pawl_runtime_fd(s->rt), .events = POLLIN};
    ck_assert_int_ge(p.fd, 0);
    return poll(&p, 1, 0) == 1;
}

static const char *health(struct scene *s)
{
    static char trouble[PAWL_TROUBLE_BYTES];
    bool well = pawl_runtime_healthy(s->rt, trouble);
    expect_is(well, !trouble[0]);
    return trouble;
}

SCENARIO(who_asks_for_the_health_makes_an_idle_engine_read)
{
    begin(s);
    (void)is_readable(s);
    scene_settle(s);
    int before = reads;
    ck_assert(!is_readable(s));
    ck_assert_str_eq(health(s), "");
    ck_assert(is_readable(s)); /* the engine is woken */
    (void)pawl_runtime_step(s->rt, 0);
    ck_assert_int_gt(reads, before);
    ck_assert_str_eq(health(s), ""); /* at most once per second */
    s->mono += 999;
    ck_assert_str_eq(health(s), "");
    ck_assert(!is_readable(s));
    s->mono += 1;
    ck_assert_str_eq(health(s), "");
    ck_assert(is_readable(s));
}

SCENARIO(a_store_that_does_not_answer_twice_is_bad_health)
{
    begin(s);
    scene_fail(s, FAULT_OP_next_due, 0, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
    ck_assert_str_eq(health(s), "");
    (void)pawl_runtime_step(s->rt, 0); /* the second time, on a new connection, it is there */
    ck_assert_str_eq(health(s), "");
    s->mono += 1000;
    scene_fail(s, FAULT_OP_next_due, 0, 2, FAULT_BEFORE, PAWL_UNAVAILABLE);
    ck_assert_str_eq(health(s), "");
    (void)pawl_runtime_step(s->rt, 0);
    ck_assert_ptr_nonnull(strstr(health(s), "store: "));
    char trouble[PAWL_TROUBLE_BYTES];
    ck_assert(!pawl_runtime_ready(s->rt, trouble));
    s->mono += 200;
    scene_settle(s);
    ck_assert_str_eq(health(s), "");
    ck_assert(pawl_runtime_ready(s->rt, trouble));
}

SCENARIO(a_store_that_takes_long_is_bad_health)
{
    begin(s);
    ck_assert_str_eq(health(s), "");
    s->mono += 9999;
    ck_assert_str_eq(health(s), "");
    s->mono += 1;
    ck_assert_str_eq(health(s), "store: it has not answered for 10 s");
    s->mono += 7000;
    ck_assert_str_eq(health(s), "store: it has not answered for 17 s");
    (void)pawl_runtime_step(s->rt, 0);
    ck_assert_str_eq(health(s), "");
}

SCENARIO(a_store_that_knows_it_is_away_says_so)
{
    begin(s);
    (void)snprintf(told, sizeof(told), "no connection");
    ck_assert_str_eq(health(s), "store: no connection");
    told[0] = 0;
    ck_assert_str_eq(health(s), "");
}
