/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_queue.c -- seed 003: push, pop, acknowledge, expire.
 *
 * Every rule of QUEUE_API §2, by the C API, on memory and sqlite, with crashes.
 */
#include "queue_verbs.h"

QUEUE_SCENARIO(items_come_out_by_priority_then_in_the_order_they_came)
{
    q_push(s, "q", "b1", 1);
    q_push(s, "q", "a1", 0);
    q_push(s, "q", "c1", 7);
    q_push(s, "q", "a2", 0);
    q_push(s, "q", "b2", 1);
    expect_str(q_pop(s, "q", 3), "a1 a2 b1");
    scene_crash(s);
    expect_str(q_pop(s, "q", 1), "b2");
    expect_str(q_pop(s, "q", 100), "c1");
    expect_str(q_pop(s, "q", 1), "");
    expect_str(q_counts(s, "q"), "0 0 0 0");
}

QUEUE_SCENARIO(payload_bytes_come_back_as_they_went_in)
{
    static const char bytes[] = {'{', '"', 0, (char)0xff, '\n', ' ', '1', '.', '0', '0', '}'};
    q_push_item(s, "q",
                (pawl_queue_item){
                    .data = {bytes, sizeof(bytes)}
    });
    q_push_item(s, "q",
                (pawl_queue_item){
                    .data = {"", 0}
    });
    scene_crash(s);
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 2));
    expect_is(r->count, 2);
    expect_is(r->messages[0].data.len, sizeof(bytes));
    ck_assert(memcmp(r->messages[0].data.ptr, bytes, sizeof(bytes)) == 0);
    expect_is(r->messages[1].data.len, 0);
}

QUEUE_SCENARIO(a_lock_has_an_id_of_11_url_safe_characters_and_an_end)
{
    q_push(s, "q", "x", 2);
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .require_ack = true));
    expect_is(r->locked, true);
    expect_is(r->lock_id.len, 11);
    expect_is(
        strspn(r->lock_id.ptr, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        11);
    expect_is(r->locked_until_ms, s->now + 30000);
    expect_is(r->messages[0].delivery_count, 1);
    expect_is(r->messages[0].priority, 2);
    expect_str(q_counts(s, "q"), "0 0 1 1");
}

QUEUE_SCENARIO(acknowledged_items_are_gone)
{
    const char *data;
    q_push(s, "q", "a", 0);
    q_push(s, "q", "b", 0);
    q_push(s, "q", "c", 0);
    const char *lock = q_lock(s, "q", 2, 0, &data);
    expect_str(data, "a b");
    scene_crash(s);
    pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_ACK, .queue = "q",
                                                         .lock_ids = &lock, .lock_count = 1));
    expect_is(r->status, PAWL_OK);
    expect_is(r->count, 2);
    expect_is(q_ack(s, "q", lock), PAWL_NOT_FOUND);
    scene_advance(s, 60000);
    expect_str(q_pop(s, "q", 5), "c");
}

QUEUE_SCENARIO(while_locked_both_kinds_of_pop_are_refused_and_pushes_are_not)
{
    q_push(s, "q", "a", 0);
    q_push(s, "q", "b", 0);
    const char *lock = q_lock(s, "q", 1, 5000, NULL);
    pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q"));
    expect_is(r->status, PAWL_CONFLICT);
    expect_is(r->locked_until_ms, s->now + 5000);
    expect_str(r->error.text, "Queue is locked pending acknowledgement");
    ck_assert_ptr_null(q_lock(s, "q", 1, 0, NULL));
    q_push(s, "q", "c", 0);
    scene_crash(s);
    expect_str(q_pop(s, "q", 1), "locked");
    expect_is(q_ack(s, "q", lock), PAWL_OK);
    expect_str(q_pop(s, "q", 5), "b c");
}

QUEUE_SCENARIO(the_ttl_is_brought_into_1_to_300_seconds)
{
    static const struct {
        int64_t ttl, life;
    } rows[] = {
        {-5,     1000  },
        {1,      1000  },
        {0,      30000 },
        {60000,  60000 },
        {400000, 300000},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *queue = scene_id(s, "q", i);
        q_push(s, queue, "x", 0);
        pawl_queue_reply *r =
            queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = queue,
                                           .require_ack = true, .ttl_ms = rows[i].ttl));
        expect_is(r->locked_until_ms - s->now, rows[i].life);
    }
}

QUEUE_SCENARIO(expired_items_return_to_the_front_of_their_priority_in_order)
{
    const char *data;
    q_push(s, "q", "a1", 0);
    q_push(s, "q", "a2", 0);
    q_push(s, "q", "b1", 1);
    q_push(s, "q", "a3", 0);
    const char *lock = q_lock(s, "q", 4, 5000, &data);
    expect_str(data, "a1 a2 a3 b1");
    q_push(s, "q", "a4", 0);
    q_push(s, "q", "z0", 9);
    scene_advance(s, 5000);
    expect_str(q_counts(s, "q"), "6 0 0 0");
    scene_crash(s);
    expect_str(q_pop(s, "q", 9), "a1 a2 a3 a4 b1 z0");
    expect_is(q_ack(s, "q", lock), PAWL_LOST);
}

QUEUE_SCENARIO(a_late_acknowledgement_is_lost_and_loses_nothing)
{
    q_push(s, "q", "a", 0);
    const char *first = q_lock(s, "q", 1, 5000, NULL);
    s->now += 6000; /* nobody looked: the ack itself finds out */
    s->mono += 6000;
    expect_is(q_ack(s, "q", first), PAWL_LOST);
    const char *second = q_lock(s, "q", 1, 30000, NULL);
    ck_assert_ptr_nonnull(second);
    expect_is(q_ack(s, "q", first), PAWL_LOST); /* also after redelivery */
    scene_crash(s);
    expect_is(q_ack(s, "q", first), PAWL_LOST);
    expect_is(q_ack(s, "q", "neverwasone"), PAWL_INVALID);
    expect_str(q_counts(s, "q"), "0 0 1 1");
    expect_is(q_ack(s, "q", second), PAWL_OK);
    expect_is(q_ack(s, "q", "neverwasone"), PAWL_NOT_FOUND);
    expect_is(q_ack(s, "q", first), PAWL_LOST);
    expect_str(q_counts(s, "q"), "0 0 0 0");
}

QUEUE_SCENARIO(expired_locks_are_remembered_for_a_day)
{
    q_push(s, "q", "a", 0);
    const char *lock = q_lock(s, "q", 1, 1000, NULL);
    scene_advance(s, 2000);
    scene_advance(s, 23 * 3600000);
    expect_is(q_ack(s, "q", lock), PAWL_LOST);
    scene_advance(s, 3600000);
    const char *other = q_lock(s, "q", 1, 1000, NULL);
    scene_advance(s, 2000); /* the next one that runs out takes old ones with it */
    expect_is(q_ack(s, "q", lock), PAWL_NOT_FOUND);
    expect_is(q_ack(s, "q", other), PAWL_LOST);
}

QUEUE_SCENARIO(a_lock_that_ends_while_the_process_is_down_has_ended)
{
    q_push(s, "q", "a", 0);
    const char *lock = q_lock(s, "q", 1, 5000, NULL);
    scene_down(s);
    s->now += 10000;
    s->mono += 10000;
    scene_up(s);
    scene_settle(s);
    expect_str(q_counts(s, "q"), "1 0 0 0");
    expect_is(q_ack(s, "q", lock), PAWL_LOST);
    expect_str(q_pop(s, "q", 1), "a");
}

QUEUE_SCENARIO(a_clock_set_back_never_shortens_a_lock)
{
    q_push(s, "q", "a", 0);
    const char *lock = q_lock(s, "q", 1, 10000, NULL);
    s->now -= 3600000;
    scene_advance(s, 20000);
    expect_str(q_pop(s, "q", 1), "locked");
    scene_crash(s);
    expect_str(q_pop(s, "q", 1), "locked");
    expect_is(q_ack(s, "q", lock), PAWL_OK);
    expect_str(q_counts(s, "q"), "0 0 0 0");
}

QUEUE_SCENARIO(an_empty_queue_makes_no_lock_and_a_pop_makes_no_queue)
{
    pawl_queue_stats stats;
    ck_assert_ptr_null(q_lock(s, "nobody", 1, 0, NULL));
    expect_str(q_pop(s, "nobody", 1), "");
    expect_is(q_ack(s, "nobody", "abc"), PAWL_NOT_FOUND);
    expect_is(pawl_queue_get_stats(s->c, "nobody", s->mem, &stats, NULL), PAWL_NOT_FOUND);
}

QUEUE_SCENARIO(bad_requests_are_refused_with_the_words_of_the_contract)
{
    static char big[PAWL_QUEUE_ITEM_BYTES + 1];
    memset(big, 'x', sizeof(big));
    const struct {
        pawl_queue_item item;
        pawl_status status;
        const char *text;
    } rows[] = {
        {{.priority = -1},                                   PAWL_INVALID, "Priority must be non-negative"},
        {{.data = {big, sizeof(big)}},                       PAWL_LIMIT,   "over the limit"               },
        {{.dedup_id = {big, 129}},                           PAWL_INVALID, "dedup_id"                     },
        {{.delay_ms = PAWL_SECONDS(604801)},                 PAWL_INVALID, "604800"                       },
        {{.delay_ms = -1},                                   PAWL_INVALID, "delay_seconds"                },
        {{.deliver_at_ms = SCENE_T0 + PAWL_SECONDS(700000)}, PAWL_INVALID, "deliver_at"                   },
        {{.headers = {"[1]", 3}},                            PAWL_INVALID, "JSON object"                  },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pawl_queue_reply *r =
            queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q",
                                           .items = &rows[i].item, .item_count = 1));
        expect_is(r->status, rows[i].status);
        expect_text(r->error.text, rows[i].text);
    }
    static const char *const names[] = {"", "a/b", "a\nb", "\xff"};
    for (size_t i = 0; i < 4; i++)
        expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = names[i]))->status,
                  PAWL_INVALID);
    expect_is(
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 101))->status,
        PAWL_INVALID);
    expect_is(q_ack(s, "q", ""), PAWL_INVALID);
    pawl_queue_page page;
    expect_is(pawl_queue_list(s->c, NULL, NULL, 0, s->mem, &page, NULL), PAWL_OK);
    expect_is(page.count, 0);
}

TEST(a_store_without_queues_says_so)
{
    struct scene *s = scene_open(SCENE_JSONL);
    pawl_queue_page page;
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 1));
    expect_is(r->status, PAWL_UNSUPPORTED);
    expect_text(r->error.text, "use sqlite or memory");
    expect_is(pawl_queue_list(s->c, NULL, NULL, 0, s->mem, &page, NULL), PAWL_UNSUPPORTED);
    scene_close(s);
}
