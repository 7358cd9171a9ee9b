/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_queue_groups.c -- S68 to S71: order within a group while consumers
 * compete (`groups`).
 */
#include "queue_verbs.h"

#include <stdio.h>

static pawl_queue_config config(uint32_t max_locks)
{
    pawl_queue_config c = pawl_queue_config_default();
    c.max_locks = max_locks;
    c.groups = true;
    return c;
}

/* "A1" is the first item of group A; "-" of none. */
static void put(struct scene *s, const char *data)
{
    pawl_queue_item item = {.data = pawl_s(data)};
    if (data[0] != '-')
        item.group = (pawl_str){data, 1};
    q_push_item(s, "q", item);
}

static void put_all(struct scene *s, const char *const *names)
{
    for (; *names; names++)
        put(s, *names);
}

#define PUT(...) put_all(s, (const char *const[]){__VA_ARGS__, NULL})

/* The lock of a pop that gets exactly these. */
static const char *take(struct scene *s, uint32_t count, const char *want)
{
    const char *got, *lock = q_lock(s, "q", count, 10000, &got);
    expect_str(got, want);
    return lock;
}

QUEUE_SCENARIO(s68_items_of_a_group_go_one_after_the_other_while_consumers_compete)
{
    q_config(s, "q", config(0));
    PUT("A1", "A2", "B1", "A3", "-1", "B2");
    const char *a = take(s, 1, "A1"), *b = take(s, 1, "B1");
    (void)take(s, 1, "-1"); /* groups do not count for it */
    (void)take(s, 1, "");
    expect_is(q_ack(s, "q", a), PAWL_OK);
    scene_crash(s);
    a = take(s, 3, "A2"); /* the others wait for it, and for B1 */
    (void)take(s, 1, "");
    expect_is(q_ack(s, "q", b), PAWL_OK);
    (void)take(s, 1, "B2");
    expect_is(q_ack(s, "q", a), PAWL_OK);
    (void)take(s, 1, "A3");
    expect_str(q_counts(s, "q"), "0 0 3 3");
}

QUEUE_SCENARIO(s68_a_pop_of_several_has_one_of_each_group)
{
    q_config(s, "q", config(0));
    PUT("A1", "A2", "B1", "-1", "-2");
    pawl_queue_reply *r = queue_do(
        s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .require_ack = true, .count = 9));
    expect_is(r->count, 4);
    ck_assert(pawl_str_is(r->messages[0].data, "A1") && pawl_str_is(r->messages[1].data, "B1"));
    (void)take(s, 9, "");
    expect_is(q_ack(s, "q", r->messages[0].lock_id.ptr), PAWL_OK); /* of A alone */
    PUT("B2");
    (void)take(s, 9, "A2");
}

QUEUE_SCENARIO(s68_a_plain_pop_waits_behind_a_lock_too)
{
    q_config(s, "q", config(0));
    PUT("A1", "A2", "B1", "B2", "B3");
    const char *lock = take(s, 1, "A1");
    expect_str(q_pop(s, "q", 2), "B1 B2");
    expect_str(q_pop(s, "q", 9), "B3");
    expect_str(q_pop(s, "q", 9), "");
    expect_is(q_ack(s, "q", lock), PAWL_OK);
    expect_str(q_pop(s, "q", 9), "A2");
}

QUEUE_SCENARIO(s69_an_item_that_comes_back_is_before_the_others_of_its_group)
{
    q_config(s, "q", config(0));
    PUT("A1", "A2", "B1");
    const char *lock = take(s, 1, "A1");
    (void)take(s, 1, "B1");
    s->now += 10000; /* both locks are lost */
    lock = take(s, 1, "A1");
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", lock), PAWL_OK);
    (void)take(s, 9, "A1 B1");
    (void)take(s, 9, "");
}

QUEUE_SCENARIO(s69_a_group_waits_for_the_next_attempt_of_its_first_item)
{
    pawl_queue_config c = config(1);
    int64_t backoff[] = {5000};
    c.retry_backoff = backoff;
    c.retry_backoff_count = 1;
    q_config(s, "q", c);
    PUT("A1", "A2", "B1");
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", take(s, 1, "A1")), PAWL_OK);
    expect_str(q_counts(s, "q"), "2 0 1 1"); /* under a lock of nobody */
    scene_crash(s);
    const char *b = take(s, 9, "B1"); /* which max_locks does not count */
    (void)take(s, 9, "locked");
    expect_is(q_ack(s, "q", b), PAWL_OK);
    (void)take(s, 9, "");
    expect_is(q_ack(s, "q", b), PAWL_NOT_FOUND);
    s->now += 4999;
    (void)take(s, 9, "");
    s->now += 1;
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .require_ack = true));
    expect_str(r->messages[0].data.ptr, "A1");
    expect_is(r->messages[0].delivery_count, 2);
    expect_is(q_ack(s, "q", r->lock_id.ptr), PAWL_OK);
    (void)take(s, 9, "A2");
}

QUEUE_SCENARIO(s70_a_dead_letter_lets_its_group_go_on)
{
    pawl_queue_config c = config(0);
    c.max_deliveries = 1;
    q_config(s, "q", c);
    PUT("A1", "A2");
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", take(s, 1, "A1")), PAWL_OK);
    (void)take(s, 9, "A2");
    expect_str(q_pop(s, "q-deadletter", 9), "A1");
}

QUEUE_SCENARIO(s70_what_is_removed_behind_a_lock_is_not_given_out)
{
    q_config(s, "q", config(0));
    PUT("A1");
    q_push_item(s, "q",
                (pawl_queue_item){
                    .data = {"A2", 2},
                      .group = {"A",  1},
                      .expires_in_ms = 1000
    });
    PUT("A3", "A4");
    const char *lock = take(s, 1, "A1");
    (void)take(s, 9, "");
    s->now += 2000;
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .require_ack = true));
    expect_is(r->count, 0);
    expect_is(q_ack(s, "q", lock), PAWL_OK);
    lock = take(s, 9, "A3");
    (void)take(s, 9, "");
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PURGE, .queue = "q"))->count, 1);
    expect_is(q_ack(s, "q", lock), PAWL_OK);
    (void)take(s, 9, "");
    expect_str(q_counts(s, "q"), "0 0 0 0");
}

QUEUE_SCENARIO(s70_a_waiting_pop_gets_the_next_of_a_group_when_its_lock_ends)
{
    struct q_poll p = {0};
    q_config(s, "q", config(0));
    PUT("A1", "A2");
    const char *lock = take(s, 1, "A1");
    q_poll(s, "q", 20000, true, &p);
    scene_settle(s);
    ck_assert(!p.done);
    expect_is(q_ack(s, "q", lock), PAWL_OK);
    scene_settle(s);
    ck_assert(p.done);
    expect_str(p.data, "A2");
}

QUEUE_SCENARIO(s71_groups_begin_and_cease_to_count_with_the_configuration)
{
    q_config(s, "q", config(0));
    PUT("A1", "A2", "A3", "A4");
    (void)take(s, 1, "A1");
    pawl_queue_config c = config(0);
    c.groups = false;
    q_config(s, "q", c);
    (void)take(s, 1, "A2");
    scene_crash(s);
    q_config(s, "q", config(0));
    (void)take(s, 1, ""); /* what is out counts, also what went out before */
    s->now += 10000;
    (void)take(s, 9, "A1");
}

/* More than the window holds is passed over; nobody behind it waits. */
QUEUE_SCENARIO(s71_a_long_group_delays_nobody_and_keeps_its_order)
{
    enum { LONG = 3000, PIECE = 1000 };
    pawl_queue_item *items = pawl_mem_alloc(s->mem, PIECE * sizeof(*items));
    q_config(s, "q", config(0));
    for (int at = 0; at < LONG; at += PIECE) {
        for (int i = 0; i < PIECE; i++)
            items[i] = (pawl_queue_item){
                .data = pawl_mem_printf(s->mem, "%d", at + i), .group = {"A", 1}
            };
        expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q",
                                                 .items = items, .item_count = PIECE))
                      ->status,
                  PAWL_OK);
    }
    PUT("B1");
    const char *lock = take(s, 1, "0");
    (void)take(s, 9, "B1");
    for (int i = 1; i < LONG; i++) {
        char want[16];
        (void)snprintf(want, sizeof(want), "%d", i);
        expect_is(q_ack(s, "q", lock), PAWL_OK);
        if (i == LONG / 2)
            scene_crash(s);
        lock = take(s, 2, want);
    }
}
