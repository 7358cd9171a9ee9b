/* SPDX-License-Identifier: MIT */
/* suite/case_clock.c -- the clock of a store that has one: J1 to J3. */
#include "suite.h"

#include <time.h>

static int64_t mono_ms(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* A time that was told, and between which two moments of ours. */
struct told {
    int64_t ms, after, before;
};

static struct told ask(struct probe *t)
{
    struct told told = {.after = mono_ms()};
    CHECK_STATUS(t->store->ops->clock(t->store, &told.ms, NULL), PAWL_OK);
    told.before = mono_ms();
    CHECK(told.ms > 0);
    return told;
}

static void needs_clock(struct probe *t)
{
    if (t->store->ops->size <= offsetof(pawl_store_ops, clock) || !t->store->ops->clock)
        probe_skip(t);
}

/* As much time passed there as here; both clocks show whole milliseconds. */
static void check_passed(struct probe *t, struct told a, struct told b)
{
    CHECK(b.ms - a.ms >= b.after - a.before - 2);
    CHECK(b.ms - a.ms <= b.before - a.after + 2);
}

static void pause_a_bit(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
}

static void j1_it_goes_as_fast_as_ours(struct probe *t)
{
    needs_clock(t);
    struct told first = ask(t);
    for (int i = 0; i < 3; i++) {
        pause_a_bit();
        check_passed(t, first, ask(t));
    }
}

static void j2_it_goes_on_while_the_store_is_closed(struct probe *t)
{
    needs_clock(t);
    struct told first = ask(t);
    pause_a_bit();
    die(t);
    check_passed(t, first, ask(t)); /* not yet taken: a reader may ask */
    take(t);
    check_passed(t, first, ask(t));
}

static void j3_asking_changes_nothing(struct probe *t)
{
    needs_clock(t);
    pawl_row a = make(t, "a");
    (void)deliver_at(t, &a, "later", t->now + 5000);
    pawl_fence before = t->fence;
    int64_t due = next_due(t, t->now);
    (void)ask(t);
    CHECK_NUMBER(next_due(t, t->now), due);
    CHECK_TEXT(fetch(t, 10), ""); /* now_ms counts, whatever the clock says */
    append(t, &a, "x");
    CHECK_NUMBER(t->fence.group_no, before.group_no + 1);
    CHECK_TEXT(history(t, a.uid, 1), "start x");
}

const struct probe_case cases_clock[] = {
    CASE(j1_it_goes_as_fast_as_ours),
    CASE(j2_it_goes_on_while_the_store_is_closed),
    CASE(j3_asking_changes_nothing),
    CASES_END,
};
