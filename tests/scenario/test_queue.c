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
    expect_text(r->error.text, "use sqlite, postgres or memory");
    expect_is(pawl_queue_list(s->c, NULL, NULL, 0, s->mem, &page, NULL), PAWL_UNSUPPORTED);
    scene_close(s);
}

/* A page of messages from `cursor` on as "a b c"; *cursor: where the next one begins. */
static const char *page_of(struct scene *s, pawl_queue_browse query, const char **cursor)
{
    pawl_queue_messages page = {0};
    pawl_str text = {"", 0};
    pawl_error err;
    scene_up(s);
    query.size = sizeof(query);
    query.cursor = *cursor;
    pawl_status rc = pawl_queue_browse_messages(s->c, "q", &query, s->mem, &page, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    for (size_t i = 0; i < page.count; i++)
        text = pawl_mem_printf(s->mem, "%s%s%.*s", text.ptr, i ? " " : "",
                               PAWL_FMT(page.items[i].data));
    *cursor = page.next ? page.cursor.ptr : NULL;
    return text.ptr;
}

static void push_late(struct scene *s, const char *data, int64_t delay_ms)
{
    q_push_item(s, "q", (pawl_queue_item){.data = pawl_s(data), .delay_ms = delay_ms});
}

QUEUE_SCENARIO(messages_are_shown_in_the_order_of_delivery)
{
    pawl_queue_config c = pawl_queue_config_default();
    const char *at = NULL, *data;
    c.max_locks = 9;
    q_config(s, "q", c);
    for (int i = 0; i < 6; i++)
        q_push(s, "q", scene_id(s, "l", i), 0);
    const char *lock = q_lock(s, "q", 2, 0, NULL);
    for (int i = 0; i < 3; i++)
        q_lock(s, "q", 1, 0, &data);
    for (int i = 0; i < 6; i++)
        q_push(s, "q", scene_id(s, "r", i), 2 - i % 3);
    push_late(s, "late", 9000);
    push_late(s, "soon", 1000);
    expect_str(q_all(s, "q"),
               "l5:ready r2:ready r5:ready r1:ready r4:ready r0:ready r3:ready soon:delayed "
               "late:delayed l2:locked l3:locked l4:locked l0:locked l1:locked");
    expect_str(page_of(s, (pawl_queue_browse){.has_priority = true, .limit = 2}, &at), "l5 r2");
    expect_str(page_of(s, (pawl_queue_browse){.has_priority = true, .priority = 1}, &at), "r1 r4");
    at = NULL;
    expect_str(page_of(s, (pawl_queue_browse){.state = PAWL_QUEUE_LOCKED + 1, .limit = 4}, &at),
               "l2 l3 l4 l0");
    expect_is(q_ack(s, "q", lock), PAWL_OK);
    expect_str(page_of(s, (pawl_queue_browse){.state = PAWL_QUEUE_LOCKED + 1}, &at), "");
    expect_str(q_pop(s, "q", 9), "l5 r2 r5 r1 r4 r0 r3");
}

QUEUE_SCENARIO(pages_of_messages_go_on_although_others_come_and_go)
{
    const char *at = NULL;
    for (int i = 0; i < 8; i++)
        q_push(s, "q", scene_id(s, "m", i), i % 2);
    push_late(s, "late", 9000);
    expect_str(page_of(s, (pawl_queue_browse){.limit = 3}, &at), "m0 m2 m4");
    expect_str(q_pop(s, "q", 3), "m0 m2 m4"); /* that of the cursor is gone */
    q_push(s, "q", "new", 0);
    expect_str(page_of(s, (pawl_queue_browse){.limit = 3}, &at), "m6 new m1");
    scene_crash(s);
    q_push(s, "q", "before", 0);
    expect_str(page_of(s, (pawl_queue_browse){.limit = 3}, &at), "m3 m5 m7");
    expect_str(page_of(s, (pawl_queue_browse){.limit = 1}, &at), "late");
    ck_assert(!at);
}

QUEUE_SCENARIO(what_is_no_cursor_is_refused)
{
    static const char *const bad[] = {"17",
                                      "r17",
                                      "r1.2x",
                                      "x1.2",
                                      "r01.2",
                                      "r-1.2",
                                      "r1.-2",
                                      " r1.2",
                                      "r99999999999999999999.1",
                                      "d1.99999999999999999999"};
    pawl_queue_messages page;
    pawl_error err;
    q_push(s, "q", "a", 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(pawl_queue_browse_messages(s->c, "q", PAWL_QUEUE_BROWSE(.cursor = bad[i]),
                                                 s->mem, &page, &err) == PAWL_INVALID,
                      "'%s' is a cursor", bad[i]);
    expect_is(
        pawl_queue_browse_messages(s->c, "q", PAWL_QUEUE_BROWSE(.after = 1), s->mem, &page, &err),
        PAWL_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "no cursor of messages"));
    expect_is(
        pawl_queue_browse_messages(s->c, "q", PAWL_QUEUE_BROWSE(.cursor = ""), s->mem, &page, &err),
        PAWL_OK);
    expect_is(page.count, 1);
}

/* ---- Removing queues ------------------------------------------------------------------ */

static pawl_queue_reply *q_remove(struct scene *s, const char *queue, bool force)
{
    return queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REMOVE, .queue = queue, .force = force));
}

static pawl_status known(struct scene *s, const char *queue)
{
    pawl_queue_stats stats;
    scene_up(s);
    return pawl_queue_get_stats(s->c, queue, s->mem, &stats, NULL);
}

QUEUE_SCENARIO(an_empty_queue_is_removed_with_its_configuration)
{
    pawl_queue_config c = pawl_queue_config_default();
    expect_is(q_remove(s, "q", false)->status, PAWL_NOT_FOUND);
    c.max_locks = 7;
    c.default_priority = 3;
    q_config(s, "q", c);
    q_push(s, "q", "a", 0);
    expect_str(q_pop(s, "q", 1), "a");
    pawl_queue_reply *r = q_remove(s, "q", false);
    expect_is(r->status, PAWL_OK);
    expect_is(r->count, 0);
    scene_crash(s);
    expect_is(known(s, "q"), PAWL_NOT_FOUND);
    expect_is(q_remove(s, "q", true)->status, PAWL_NOT_FOUND);
    q_push_item(s, "q", (pawl_queue_item){.data = pawl_s("b"), .use_default_priority = true});
    pawl_queue_stats stats = q_stats(s, "q");
    expect_is(stats.pushed, 1);
    expect_is(stats.popped, 0);
    expect_is(stats.config.max_locks, 1);
    expect_is(stats.config.default_priority, 0);
    expect_str(q_pop(s, "q", 2), "b");
}

/* Rows the store still has of entries with ids from 1 up to `last`. */
static size_t rows_left(struct scene *s, uint64_t last)
{
    pawl_entry_list list = {0};
    uint64_t *ids = pawl_mem_alloc(s->mem, last * sizeof(*ids));
    for (uint64_t i = 0; i < last; i++)
        ids[i] = i + 1;
    expect_is(s->store->ops->queues->read_entries(s->store, ids, last, true, s->mem, &list, NULL),
              PAWL_OK);
    return list.count;
}

QUEUE_SCENARIO(a_queue_with_messages_is_removed_by_force_alone)
{
    pawl_queue_config c = pawl_queue_config_default();
    c.max_locks = 9;
    q_config(s, "q", c);
    for (int i = 0; i < 1300; i++)
        q_push(s, "q", scene_id(s, "m", i), i % 3);
    push_late(s, "late", 5000);
    const char *one = q_lock(s, "q", 1, 0, NULL), *two = q_lock(s, "q", 5, 0, NULL);
    const char *dead = q_lock(s, "q", 1, 0, NULL);
    expect_is(q_settle(s, PAWL_QUEUE_DEADLETTER, "q", dead), PAWL_OK);
    pawl_queue_reply *r = q_remove(s, "q", false);
    expect_is(r->status, PAWL_CONFLICT);
    ck_assert_ptr_nonnull(strstr(r->error.text, "has 1300 messages"));
    ck_assert_ptr_nonnull(strstr(r->error.text, "force=true"));
    expect_str(q_counts(s, "q"), "1293 1 6 2");
    r = q_remove(s, "q", true);
    expect_is(r->status, PAWL_OK);
    expect_is(r->count, 1300);
    expect_is(q_ack(s, "q", one), PAWL_NOT_FOUND);
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", two), PAWL_NOT_FOUND);
    expect_str(q_all(s, "q-deadletter"), "m18:ready");
    scene_advance(s, 1000);
    expect_is(rows_left(s, 9000), 1); /* the dead letter */
    scene_crash(s);
    expect_is(known(s, "q"), PAWL_NOT_FOUND);
    scene_advance(s, 600000); /* nothing becomes ready or runs out */
    q_push(s, "q", "new", 0);
    expect_str(q_all(s, "q"), "new:ready");
    expect_str(q_pop(s, "q", 9), "new");
}

QUEUE_SCENARIO(who_waits_for_a_queue_that_is_removed_hears_of_it)
{
    struct q_poll p, other;
    q_push(s, "q", "a", 0);
    expect_str(q_pop(s, "q", 1), "a");
    q_poll(s, "q", 30000, true, &p);
    q_poll(s, "other", 30000, true, &other);
    ck_assert(!p.done);
    expect_is(q_remove(s, "q", false)->status, PAWL_OK);
    ck_assert(p.done && !other.done);
    expect_is(p.status, PAWL_OK);
    expect_str(p.data, "");
    q_push(s, "q", "b", 0);
    expect_str(q_pop(s, "q", 1), "b");
    scene_down(s); /* while `other` is here */
    expect_is(other.status, PAWL_SHUTDOWN);
}

static void note_status(void *arg, const pawl_queue_reply *r)
{
    *(pawl_status *)arg = r->status;
}

static void hand(struct scene *s, const pawl_queue_request *request, pawl_status *ret)
{
    pawl_error err;
    *ret = PAWL_BUSY;
    pawl_status rc = pawl_queue_submit(s->c, request, note_status, ret, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
}

QUEUE_SCENARIO(requests_around_a_removal_keep_their_order)
{
    pawl_queue_item item = {.data = pawl_s("old")};
    pawl_status of[4];
    scene_up(s);
    hand(s,
         PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = &item, .item_count = 1),
         &of[0]);
    hand(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REMOVE, .queue = "q"), &of[1]);
    hand(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REMOVE, .queue = "q", .force = true), &of[2]);
    item.data = pawl_s("new");
    hand(s,
         PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = &item, .item_count = 1),
         &of[3]);
    scene_settle(s);
    expect_is(of[0], PAWL_OK);
    expect_is(of[1], PAWL_CONFLICT);
    expect_is(of[2], PAWL_OK);
    expect_is(of[3], PAWL_OK);
    scene_crash(s);
    expect_str(q_all(s, "q"), "new:ready");
    expect_is(q_stats(s, "q").pushed, 1);
}

QUEUE_SCENARIO(a_dead_letter_that_meets_a_removal_is_not_lost)
{
    pawl_status removed, buried;
    q_config(s, "q-deadletter", pawl_queue_config_default());
    q_push(s, "q", "a", 0);
    const char *lock = q_lock(s, "q", 1, 0, NULL);
    hand(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REMOVE, .queue = "q-deadletter"), &removed);
    hand(s,
         PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_DEADLETTER, .queue = "q", .lock_ids = &lock,
                            .lock_count = 1),
         &buried);
    scene_settle(s);
    expect_is(buried, PAWL_OK);
    expect_is(removed, PAWL_CONFLICT);
    scene_crash(s);
    expect_str(q_all(s, "q-deadletter"), "a:ready");
}

static pawl_result note_it(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

QUEUE_SCENARIO(a_bound_queue_that_was_removed_is_bound_no_more)
{
    scene_flow(s, "Note", note_it);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_BIND, .queue = "q",
                                             .orchestration = "Note"))
                  ->status,
              PAWL_OK);
    q_push(s, "q", "1", 0);
    scene_settle(s);
    expect_is(q_remove(s, "q", false)->status, PAWL_OK);
    q_push(s, "q", "2", 0);
    scene_settle(s);
    expect_str(q_all(s, "q"), "2:ready");
    expect_is(scene_depths(s).instances, 1);
}

/* The queue is there with all it has, or it is gone, whenever the process ends. */
static void removal_with_death(struct scene *s, enum fault_kind when)
{
    for (int n = 0; n < 3; n++) {
        q_push(s, "q", "a", 0);
        push_late(s, "late", 5000);
        scene_settle(s);
        scene_fail(s, FAULT_OP_commit, n, 1000, when, PAWL_UNAVAILABLE);
        expect_is(pawl_queue_submit(
                      s->c,
                      PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REMOVE, .queue = "q", .force = true),
                      NULL, NULL, NULL),
                  PAWL_OK);
        for (int i = 0; i < 20; i++)
            (void)pawl_runtime_step(s->rt, 0);
        s->fault.left = 0;
        scene_down(s);
        if (known(s, "q") == PAWL_OK)
            expect_str(q_all(s, "q"), "a:ready late:delayed");
        pawl_queue_reply *r = q_remove(s, "q", true); /* the client asks again */
        ck_assert_msg(r->status == PAWL_OK || r->status == PAWL_NOT_FOUND, "%s", r->error.text);
        expect_is(known(s, "q"), PAWL_NOT_FOUND);
    }
}

QUEUE_SCENARIO(death_before_a_removal_is_durable_leaves_all_or_nothing)
{
    removal_with_death(s, FAULT_BEFORE);
}

QUEUE_SCENARIO(death_after_a_removal_is_durable_leaves_nothing)
{
    removal_with_death(s, FAULT_AFTER);
}
