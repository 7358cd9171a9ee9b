/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_queue_rules.c -- the extensions of QUEUE_API §3.
 *
 * Bulk, dedup, delay, expiry, extend, release, dead letters, redrive, purge, pause,
 * revoke, browse, several locks, long polls, limits.
 */
#include "queue_verbs.h"

#include <stdio.h>

static pawl_queue_config config(void)
{
    return pawl_queue_config_default();
}

/* ---- Push -------------------------------------------------------------------- */

QUEUE_SCENARIO(a_bulk_push_is_all_or_nothing_and_keeps_its_order)
{
    pawl_queue_item *items = pawl_mem_alloc(s->mem, 1001 * sizeof(*items));
    for (int i = 0; i < 1000; i++)
        items[i] = (pawl_queue_item){.data = pawl_mem_printf(s->mem, "%d", i), .priority = i % 2};
    pawl_queue_request *req =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = items, .item_count = 1000);
    pawl_queue_reply *r = queue_do(s, req);
    expect_is(r->status, PAWL_OK);
    expect_is(r->count, 1000);
    ck_assert(r->pushed[0].id < r->pushed[999].id);
    expect_is(r->pushed[999].priority, 1);
    items[999].priority = -1;
    expect_is(queue_do(s, req)->status, PAWL_INVALID);
    items[999].priority = 1;
    expect_is(queue_do(s, req)->status, PAWL_OK); /* 500 + 500 behind one another */
    req->item_count = 1001;
    expect_is(queue_do(s, req)->status, PAWL_INVALID);
    expect_str(q_counts(s, "q"), "2000 0 0 0");
    scene_crash(s);
    int seen = 0;
    for (int round = 0; round < 2; round++)
        for (int at = 0; at < 1000; at += 100) {
            pawl_queue_reply *p =
                queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 100));
            expect_is(p->count, 100);
            for (int i = 0; i < 100; i++, seen++) {
                int want = (seen % 500) * 2 + (seen >= 1000);
                ck_assert(pawl_str_eq(p->messages[i].data, pawl_mem_printf(s->mem, "%d", want)));
            }
        }
    expect_str(q_pop(s, "q", 1), "");
}

static pawl_str large(struct scene *s, size_t bytes)
{
    char *text = pawl_mem_alloc(s->mem, bytes);
    memset(text, 'z', bytes);
    return (pawl_str){text, bytes};
}

/* What a pop asks for is more than the engine holds in memory: it gets what fits, at once. */
QUEUE_SCENARIO(a_pop_of_more_than_4_mib_gets_fewer_items_and_stops_nobody)
{
    pawl_queue_item item = {.data = large(s, 100000)};
    for (int i = 0; i < 60; i++)
        q_push_item(s, "q", item);
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 50));
    expect_is(r->status, PAWL_OK);
    expect_is(r->count, 41);
    r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 50,
                                       .require_ack = true));
    expect_is(r->count, 19);
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", r->lock_id.ptr), PAWL_OK);
    for (int i = 0; i < 60; i++) /* those in memory came back without their bytes */
        q_push_item(s, "q", item);
    r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 100));
    expect_is(r->count, 41);
    for (int left = 38; left > 0; left -= (int)r->count) {
        r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 100));
        ck_assert(r->status == PAWL_OK && r->count > 0 && (int)r->count <= left);
    }
    expect_str(q_counts(s, "q"), "0 0 0 0");
}

QUEUE_SCENARIO(one_item_comes_however_large_it_is)
{
    pawl_queue_item item = {.data = large(s, PAWL_QUEUE_ITEM_BYTES)};
    for (int i = 0; i < 9; i++)
        q_push_item(s, "q", item);
    for (int left = 9; left > 0;) {
        pawl_queue_reply *r =
            queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 9));
        ck_assert(r->count >= 1 && r->count <= 4);
        expect_is(r->messages[0].data.len, PAWL_QUEUE_ITEM_BYTES);
        left -= (int)r->count;
    }
}

QUEUE_SCENARIO(the_same_dedup_id_in_the_window_is_one_item)
{
    pawl_queue_item twice[] = {
        {.data = {"a", 1}, .dedup_id = {"k1", 2}},
        {.data = {"b", 1}, .dedup_id = {"k2", 2}},
        {.data = {"c", 1}, .dedup_id = {"k1", 2}},
    };
    pawl_queue_request *req =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = twice, .item_count = 3);
    pawl_queue_reply *r = queue_do(s, req);
    expect_is(r->count, 2);
    expect_is(r->pushed[2].duplicate, true);
    expect_is(r->pushed[2].id, r->pushed[0].id);
    uint64_t first = r->pushed[0].id;
    scene_crash(s);
    expect_str(q_pop(s, "q", 9), "a b"); /* popped or not: the window counts */
    r = queue_do(s, req);
    expect_is(r->count, 0);
    expect_is(r->pushed[0].id, first);
    scene_advance(s, 300001);
    r = queue_do(s, req);
    expect_is(r->count, 2);
    expect_is(q_stats(s, "q").duplicates, 5);
    r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "other", .items = twice,
                                       .item_count = 1));
    expect_is(r->count, 1);
}

QUEUE_SCENARIO(a_delayed_item_is_not_there_before_its_time)
{
    q_push_item(s, "q",
                (pawl_queue_item){
                    .data = {"late", 4},
                      .delay_ms = 5000
    });
    q_push_item(s, "q",
                (pawl_queue_item){
                    .data = {"later", 5},
                      .deliver_at_ms = s->now + 9000
    });
    q_push(s, "q", "now", 5);
    expect_str(q_counts(s, "q"), "1 2 0 0");
    expect_str(q_pop(s, "q", 9), "now");
    scene_advance(s, 4999);
    expect_str(q_pop(s, "q", 9), "");
    scene_crash(s);
    scene_advance(s, 1);
    expect_str(q_counts(s, "q"), "1 1 0 0");
    expect_str(q_pop(s, "q", 9), "late");
    scene_down(s);
    s->now += 100000;
    s->mono += 100000;
    scene_up(s);
    scene_settle(s);
    expect_str(q_pop(s, "q", 9), "later");
}

QUEUE_SCENARIO(an_item_past_its_ttl_is_dropped_or_buried)
{
    q_push_item(s, "q",
                (pawl_queue_item){
                    .data = {"a", 1},
                      .expires_in_ms = 5000
    });
    q_push_item(s, "q",
                (pawl_queue_item){
                    .data = {"b", 1},
                      .expires_in_ms = 5000, .delay_ms = 60000
    });
    q_push(s, "q", "c", 0);
    scene_advance(s, 5000);
    expect_str(q_all(s, "q"), "c:ready");
    expect_is(q_stats(s, "q").dropped, 2);
    pawl_queue_config c = config();
    c.message_ttl_ms = 2000;
    c.dead_letter_expired = true;
    q_config(s, "q", c);
    q_push(s, "q", "d", 0);
    const char *lock = q_lock(s, "q", 2, 10000, NULL); /* c, d: locked ones stay */
    scene_advance(s, 3000);
    expect_str(q_counts(s, "q"), "0 0 2 1");
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", lock), PAWL_OK);
    expect_str(q_all(s, "q"), "c:ready");
    expect_str(q_all(s, "q-deadletter"), "d:ready");
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q-deadletter"));
    expect_str(r->messages[0].source.ptr, "q");
    expect_str(r->messages[0].reason.ptr, "expired");
}

QUEUE_SCENARIO(a_full_queue_refuses_until_it_is_shorter)
{
    pawl_queue_config c = config();
    c.max_length = 2;
    c.max_bytes = 10;
    q_config(s, "q", c);
    q_push(s, "q", "a", 0);
    q_push(s, "q", "b", 0);
    pawl_queue_item item = {
        .data = {"0123456789", 10}
    };
    pawl_queue_request *req =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = &item, .item_count = 1);
    expect_is(queue_do(s, req)->status, PAWL_BUSY);
    expect_str(q_pop(s, "q", 2), "a b");
    expect_is(queue_do(s, req)->status, PAWL_OK);
    item.data.len = 1;
    pawl_queue_reply *r = queue_do(s, req);
    expect_is(r->status, PAWL_BUSY);
    expect_text(r->error.text, "max_bytes");
}

QUEUE_SCENARIO(a_duplicate_needs_no_room)
{
    pawl_queue_config c = config();
    pawl_queue_item items[] = {
        {.data = {"a", 1}, .dedup_id = {"k1", 2}},
        {.data = {"a", 1}, .dedup_id = {"k1", 2}},
        {.data = {"b", 1}, .dedup_id = {"k2", 2}},
        {.data = {"c", 1}, .dedup_id = {"k3", 2}},
    };
    pawl_queue_request *req =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = items, .item_count = 3);
    c.max_length = c.max_bytes = 2;
    q_config(s, "q", c);
    expect_is(queue_do(s, req)->count, 2); /* twins in one push count once */
    for (int i = 0; i < 2; i++) {
        pawl_queue_reply *r = queue_do(s, req); /* the queue is full, and this is no news */
        expect_is(r->status, PAWL_OK);
        expect_is(r->pushed[0].duplicate && r->pushed[2].duplicate, true);
        scene_crash(s);
    }
    req->item_count = 4;
    expect_is(queue_do(s, req)->status, PAWL_BUSY);
    c.max_length = 1; /* fuller than it may be */
    q_config(s, "q", c);
    req->item_count = 1;
    expect_is(queue_do(s, req)->pushed[0].duplicate, true);
    c.max_length = 3;
    c.max_bytes = 0;
    c.dedup_window_ms = 0; /* nothing is remembered from here on: both are items */
    q_config(s, "other", c);
    req->queue = "other";
    req->item_count = 4;
    expect_is(queue_do(s, req)->status, PAWL_BUSY);
    expect_str(q_counts(s, "q"), "2 0 0 0");
}

QUEUE_SCENARIO(headers_group_and_default_priority_travel)
{
    pawl_queue_config c = config();
    c.default_priority = 4;
    q_config(s, "q", c);
    q_push_item(s, "q",
                (pawl_queue_item){
                    .data = {"x",             1 },
                    .use_default_priority = true,
                    .group = {"g\"1",          3 },
                    .headers = {"{\"a\": 1.50}", 11}
    });
    scene_crash(s);
    pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q"));
    expect_is(r->messages[0].priority, 4);
    expect_str(r->messages[0].group.ptr, "g\"1");
    expect_str(r->messages[0].headers.ptr, "{\"a\": 1.50}");
    expect_is(r->messages[0].enqueued_ms, s->now);
}

/* ---- Locks -------------------------------------------------------------------- */

QUEUE_SCENARIO(max_locks_lets_consumers_compete)
{
    const char *d1, *d2, *d3;
    pawl_queue_config c = config();
    c.max_locks = 2;
    q_config(s, "q", c);
    for (int i = 0; i < 4; i++)
        q_push(s, "q", scene_id(s, "", i), 0);
    const char *l1 = q_lock(s, "q", 1, 10000, &d1);
    const char *l2 = q_lock(s, "q", 1, 5000, &d2);
    expect_str(d1, "0");
    expect_str(d2, "1");
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .require_ack = true));
    expect_is(r->status, PAWL_CONFLICT);
    expect_is(r->locked_until_ms, s->now + 5000);  /* the earliest */
    expect_str(q_pop(s, "q", 2), "2 3");           /* plain: the next ones */
    ck_assert_ptr_null(q_lock(s, "q", 1, 0, &d3)); /* nothing waits: empty */
    expect_str(d3, "");
    expect_is(q_ack(s, "q", "unknown"), PAWL_INVALID);
    expect_is(q_ack(s, "q", l2), PAWL_OK);
    scene_crash(s);
    expect_is(q_ack(s, "q", l1), PAWL_OK);
    expect_is(q_ack(s, "q", l1), PAWL_NOT_FOUND);
}

QUEUE_SCENARIO(one_item_of_a_lock_can_be_settled_alone)
{
    for (int i = 0; i < 3; i++)
        q_push(s, "q", scene_id(s, "", i), 0);
    pawl_queue_reply *r = queue_do(
        s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .require_ack = true, .count = 3));
    expect_is(q_ack(s, "q", r->messages[1].lock_id.ptr), PAWL_OK);
    expect_is(q_ack(s, "q", r->messages[1].lock_id.ptr), PAWL_INVALID);
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", r->messages[0].lock_id.ptr), PAWL_OK);
    expect_str(q_counts(s, "q"), "1 0 1 1");
    scene_crash(s);
    expect_is(q_ack(s, "q", r->lock_id.ptr), PAWL_OK);
    expect_str(q_pop(s, "q", 9), "0");
}

QUEUE_SCENARIO(several_lock_ids_are_settled_each_by_itself)
{
    pawl_queue_config c = config();
    c.max_locks = 0;
    q_config(s, "q", c);
    for (int i = 0; i < 3; i++)
        q_push(s, "q", scene_id(s, "", i), 0);
    const char *ids[3] = {q_lock(s, "q", 1, 0, NULL), "nobody", q_lock(s, "q", 2, 0, NULL)};
    pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_ACK, .queue = "q",
                                                         .lock_ids = ids, .lock_count = 3));
    expect_is(r->status, PAWL_INVALID);
    expect_is(r->count, 3);
    expect_is(r->outcomes[0].status, PAWL_OK);
    expect_is(r->outcomes[1].status, PAWL_INVALID);
    expect_str(r->outcomes[1].lock_id.ptr, "nobody");
    expect_is(r->outcomes[2].items, 2);
    expect_str(q_counts(s, "q"), "0 0 0 0");
}

static int64_t extend(struct scene *s, const char *lock, int64_t extend_ms, int64_t ttl_ms)
{
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_EXTEND, .queue = "q", .lock_ids = &lock,
                                       .lock_count = 1, .extend_ms = extend_ms, .ttl_ms = ttl_ms));
    return r->status == PAWL_OK ? r->locked_until_ms - SCENE_T0 : r->status;
}

QUEUE_SCENARIO(a_lock_can_be_extended_up_to_its_life)
{
    pawl_queue_config c = config();
    c.max_lock_ms = 60000;
    q_config(s, "q", c);
    q_push(s, "q", "a", 0);
    const char *lock = q_lock(s, "q", 1, 10000, NULL);
    expect_is(extend(s, lock, 5000, 0), 15000);  /* from the old end */
    expect_is(extend(s, lock, 0, 20000), 20000); /* from now */
    expect_is(extend(s, lock, 0, 5000), 20000);  /* never shorter */
    expect_is(extend(s, lock, 500, 0), PAWL_INVALID);
    expect_is(extend(s, "wrong", 5000, 0), PAWL_INVALID);
    scene_crash(s);
    scene_advance(s, 19999);
    expect_is(extend(s, lock, 300000, 0), 60000);
    scene_advance(s, 1);
    expect_str(q_pop(s, "q", 1), "locked");
    scene_advance(s, 40000);
    expect_is(extend(s, lock, 5000, 0), PAWL_LOST);
    expect_str(q_pop(s, "q", 1), "a");
    expect_is(extend(s, "wrong", 5000, 0), PAWL_NOT_FOUND);
}

QUEUE_SCENARIO(released_items_return_at_once_or_later)
{
    q_push(s, "q", "a", 0);
    q_push(s, "q", "b", 0);
    const char *lock = q_lock(s, "q", 1, 0, NULL);
    expect_is(
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RELEASE, .queue = "q", .lock_ids = &lock,
                                       .lock_count = 1, .reason = "not today"))
            ->count,
        1);
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .require_ack = true));
    expect_str(r->messages[0].data.ptr, "a");
    expect_str(r->messages[0].reason.ptr, "not today");
    expect_is(r->messages[0].delivery_count, 2);
    lock = r->lock_id.ptr;
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RELEASE, .queue = "q",
                                             .lock_ids = &lock, .lock_count = 1, .delay_ms = 5000))
                  ->status,
              PAWL_OK);
    expect_str(q_all(s, "q"), "b:ready a:delayed");
    scene_crash(s);
    expect_str(q_pop(s, "q", 9), "b");
    scene_advance(s, 5000);
    expect_str(q_pop(s, "q", 9), "a");
    expect_is(q_ack(s, "q", lock), PAWL_NOT_FOUND); /* released, not run out */
}

QUEUE_SCENARIO(a_release_waits_as_configured_unless_it_says_how_long)
{
    static const int64_t backoff[] = {1000, 5000};
    pawl_queue_config c = config();
    c.retry_backoff = backoff;
    c.retry_backoff_count = 2;
    q_config(s, "q", c);
    q_push(s, "q", "a", 0);
    for (int i = 0; i < 2; i++) {
        expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", q_lock(s, "q", 1, 0, NULL)), PAWL_OK);
        expect_str(q_counts(s, "q"), "0 1 0 0");
        scene_advance(s, backoff[i] - 1);
        expect_str(q_counts(s, "q"), "0 1 0 0");
        scene_advance(s, 1);
        expect_str(q_counts(s, "q"), "1 0 0 0");
    }
    const char *lock = q_lock(s, "q", 1, 0, NULL);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RELEASE, .queue = "q",
                                             .lock_ids = &lock, .lock_count = 1, .has_delay = true))
                  ->status,
              PAWL_OK);
    expect_str(q_counts(s, "q"), "1 0 0 0");
    lock = q_lock(s, "q", 1, 0, NULL);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RELEASE, .queue = "q",
                                             .lock_ids = &lock, .lock_count = 1, .delay_ms = 70))
                  ->status,
              PAWL_OK);
    scene_advance(s, 70);
    expect_str(q_counts(s, "q"), "1 0 0 0");
}

static pawl_status push_keyed(struct scene *s, const char *key, const char *data, uint64_t *retnew)
{
    pawl_queue_item item = {.data = pawl_s(data), .dedup_id = pawl_s(key)};
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = &item,
                                       .item_count = 1, .key = key));
    *retnew = r->count;
    return r->status;
}

static void count_refused(void *arg, const pawl_queue_reply *r)
{
    *(int *)arg += r->status == PAWL_CONFLICT;
}

QUEUE_SCENARIO(a_key_is_one_push_and_of_other_items_a_conflict)
{
    uint64_t n;
    int refused = 0;
    expect_is(push_keyed(s, "k", "a", &n), PAWL_OK);
    expect_is(n, 1);
    expect_is(push_keyed(s, "k", "a", &n), PAWL_OK);
    expect_is(n, 0);
    scene_crash(s);
    expect_is(push_keyed(s, "k", "b", &n), PAWL_CONFLICT);
    expect_is(push_keyed(s, "", "b", &n), PAWL_INVALID);
    for (int i = 0; i < 3; i++) { /* in one group */
        pawl_queue_item item = {.data = pawl_s(i ? "y" : "x"), .dedup_id = pawl_s("one")};
        expect_is(
            pawl_queue_submit(s->c,
                              PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q",
                                                 .items = &item, .item_count = 1, .key = "one"),
                              count_refused, &refused, NULL),
            PAWL_OK);
    }
    scene_settle(s);
    expect_is(refused, 2);
    expect_str(q_all(s, "q"), "a:ready x:ready");
    scene_advance(s, PAWL_SECONDS(301));
    expect_is(push_keyed(s, "k", "b", &n), PAWL_OK);
    expect_is(n, 1);
}

QUEUE_SCENARIO(expired_items_can_go_to_the_back_and_wait_a_while)
{
    static const int64_t backoff[] = {1000, 5000};
    pawl_queue_config c = config();
    c.expire_to_back = true;
    q_config(s, "q", c);
    q_push(s, "q", "a", 0);
    q_push(s, "q", "b", 0);
    q_lock(s, "q", 1, 1000, NULL);
    scene_advance(s, 1000);
    expect_str(q_pop(s, "q", 9), "b a");
    c.retry_backoff = backoff;
    c.retry_backoff_count = 2;
    q_config(s, "q", c);
    q_push(s, "q", "p", 0);
    static const int64_t waits[] = {1000, 5000, 5000};
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_nonnull(q_lock(s, "q", 1, 1000, NULL));
        scene_crash(s);
        scene_advance(s, 1000);
        expect_str(q_counts(s, "q"), "0 1 0 0");
        scene_advance(s, waits[i] - 1);
        expect_str(q_counts(s, "q"), "0 1 0 0");
        scene_advance(s, 1);
        expect_str(q_counts(s, "q"), "1 0 0 0");
    }
}

/* ---- Dead letters --------------------------------------------------------------- */

QUEUE_SCENARIO(a_message_delivered_too_often_is_buried_with_its_story)
{
    pawl_queue_config c = config();
    c.max_deliveries = 2;
    q_config(s, "q", c);
    q_push(s, "q", "poison", 3);
    q_push(s, "q", "fine", 3);
    q_lock(s, "q", 1, 1000, NULL);
    scene_advance(s, 1000);
    q_lock(s, "q", 1, 1000, NULL);
    scene_crash(s);
    scene_advance(s, 1000);
    expect_str(q_all(s, "q"), "fine:ready");
    expect_str(q_all(s, "q-deadletter"), "poison:ready");
    expect_is(q_stats(s, "q").dead_lettered, 1);
    pawl_queue_reply *r = queue_do(
        s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q-deadletter", .require_ack = true));
    expect_is(r->messages[0].priority, 3);
    expect_str(r->messages[0].source.ptr, "q");
    expect_str(r->messages[0].reason.ptr, "delivered too often");
    expect_is(r->messages[0].delivery_count, 3); /* with those before its death */
    expect_is(r->messages[0].died_ms, s->now);
}

/* Buried from `queue`; *retlock: then locked in its dead letter queue, named `dead`. */
static void bury_and_lock(struct scene *s, const char *queue, const char *dead,
                          const char **retlock)
{
    q_push(s, queue, "m", 0);
    const char *lock = q_lock(s, queue, 1, 0, NULL);
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_DEADLETTER, .queue = queue,
                                       .lock_ids = &lock, .lock_count = 1, .reason = "bad"));
    expect_is(r->status, PAWL_OK);
    expect_str(r->target.ptr, dead);
    *retlock = q_lock(s, dead, 1, 0, NULL);
}

QUEUE_SCENARIO(a_dead_letter_that_is_released_keeps_where_it_came_from)
{
    for (int round = 0; round < 3; round++) {
        const char *lock;
        bury_and_lock(s, "q", "q-deadletter", &lock);
        int64_t died = s->now;
        scene_advance(s, 5000);
        if (round == 1)
            scene_crash(s); /* the lock comes from its row */
        expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RELEASE, .queue = "q-deadletter",
                                                 .lock_ids = &lock, .lock_count = 1,
                                                 .reason = "not mine"))
                      ->status,
                  PAWL_OK);
        if (round == 2)
            scene_crash(s);
        pawl_queue_messages list;
        pawl_error err;
        expect_is(pawl_queue_browse_messages(s->c, "q-deadletter", PAWL_QUEUE_BROWSE(.limit = 9),
                                             s->mem, &list, &err),
                  PAWL_OK);
        expect_is(list.count, 1);
        expect_str(list.items[0].source.ptr, "q");
        expect_str(list.items[0].reason.ptr, "not mine");
        expect_is(list.items[0].died_ms, died);
        expect_is(list.items[0].delivery_count, 2);
        expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = "q-deadletter"))
                      ->count,
                  1);
        pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q"));
        expect_is(r->count, 1);
        expect_is(r->messages[0].delivery_count, 1);
        expect_is(r->messages[0].died_ms, 0);
    }
}

QUEUE_SCENARIO(dead_letters_of_the_longest_name_can_be_addressed)
{
    for (size_t len = 240; len <= 255; len += 5) {
        char name[256] = "", dead[280], deader[300];
        memset(name, 'n', len);
        (void)snprintf(dead, sizeof(dead), "%s-deadletter", name);
        (void)snprintf(deader, sizeof(deader), "%s-deadletter", dead);
        const char *lock;
        bury_and_lock(s, name, dead, &lock);
        expect_is(q_settle(s, PAWL_QUEUE_DEADLETTER, dead, lock), PAWL_OK);
        expect_str(q_counts(s, deader), "1 0 0 0");
        expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = deader))->count,
                  1);
        expect_is(
            queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = dead, .target = name))
                ->count,
            1);
        expect_str(q_pop(s, name, 1), "m");
    }
    char longer[280] = "";
    memset(longer, 'n', 256);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = longer))->status,
              PAWL_LIMIT);
}

QUEUE_SCENARIO(a_redrive_leaves_what_does_not_fit)
{
    pawl_queue_config c = config();
    c.max_locks = 0;
    q_config(s, "q", c);
    for (int i = 0; i < 5; i++) {
        const char *lock;
        bury_and_lock(s, "q", "q-deadletter", &lock);
        expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q-deadletter", lock), PAWL_OK);
    }
    c.max_length = 2;
    q_config(s, "q", c);
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = "q-deadletter"));
    expect_is(r->status, PAWL_OK);
    expect_is(r->count, 2);
    expect_text(r->warning.ptr, "3 dead letters stay");
    expect_str(q_counts(s, "q"), "2 0 0 0");
    expect_str(q_counts(s, "q-deadletter"), "3 0 0 0");
    r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = "q-deadletter",
                                       .target = "elsewhere"));
    expect_is(r->count, 3);
    expect_is(r->warning.len, 0);
}

QUEUE_SCENARIO(a_consumer_can_bury_and_an_operator_can_redrive)
{
    const char *lock;
    for (int i = 0; i < 3; i++) {
        q_push(s, i == 2 ? "other" : "q", scene_id(s, "m", i), 0);
        lock = q_lock(s, i == 2 ? "other" : "q", 1, 0, NULL);
        pawl_queue_config c = config();
        c.dead_letter_queue = pawl_s("graves");
        q_config(s, "other", c);
        pawl_queue_reply *r = queue_do(
            s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_DEADLETTER, .queue = i == 2 ? "other" : "q",
                                  .lock_ids = &lock, .lock_count = 1, .reason = "bad"));
        expect_is(r->status, PAWL_OK);
        expect_str(r->target.ptr, i == 2 ? "graves" : "q-deadletter");
    }
    expect_str(q_counts(s, "q"), "0 0 0 0");
    scene_crash(s);
    expect_str(q_all(s, "q-deadletter"), "m0:ready m1:ready");
    pawl_queue_reply *r = queue_do(
        s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = "q-deadletter", .max = 1));
    expect_is(r->count, 1);
    expect_str(q_all(s, "q"), "m0:ready");
    r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = "q-deadletter"));
    expect_is(r->count, 1);
    r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = "graves", .target = "q",
                                       .rate_per_second = 2));
    expect_is(r->count, 1);
    expect_str(q_counts(s, "q"), "2 1 0 0");
    scene_advance(s, 500);
    expect_str(q_pop(s, "q", 9), "m0 m1 m2");
    expect_is(q_stats(s, "q-deadletter").redriven, 2);
    q_push(s, "plain", "x", 0);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = "plain"))->count,
              0);
    expect_str(q_all(s, "plain"), "x:ready");
}

/* ---- Looking after -------------------------------------------------------------- */

QUEUE_SCENARIO(purge_leaves_what_is_locked)
{
    for (int i = 0; i < 1300; i++)
        q_push(s, "q", scene_id(s, "", i), i % 2);
    q_push_item(s, "q",
                (pawl_queue_item){
                    .data = {"d", 1},
                      .delay_ms = 5000
    });
    const char *lock = q_lock(s, "q", 2, 60000, NULL);
    pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PURGE, .queue = "q",
                                                         .has_priority = true, .priority = 1));
    expect_is(r->count, 650);
    expect_str(q_counts(s, "q"), "648 1 2 1");
    r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PURGE, .queue = "q"));
    expect_is(r->count, 649);
    expect_str(q_counts(s, "q"), "0 0 2 1");
    scene_crash(s);
    scene_advance(s, 6000);
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", lock), PAWL_OK);
    expect_str(q_pop(s, "q", 9), "0 2");
}

QUEUE_SCENARIO(purge_passes_over_messages_that_were_popped_alone)
{
    const char *locks[3];
    pawl_queue_config c = pawl_queue_config_default();
    c.max_locks = 0;
    q_config(s, "q", c);
    for (int i = 0; i < 1100; i++)
        q_push(s, "q", scene_id(s, "", i), i >= 550);
    for (int i = 0; i < 3; i++)
        locks[i] = pawl_mem_dup(s->mem, pawl_s(q_lock(s, "q", 1, 60000, NULL))).ptr;
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", locks[1]), PAWL_OK);
    scene_crash(s);
    expect_str(q_counts(s, "q"), "1098 0 2 2");
    pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PURGE, .queue = "q",
                                                         .has_priority = true, .priority = 0));
    expect_is(r->count, 548);
    r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PURGE, .queue = "q"));
    expect_is(r->count, 550);
    expect_str(q_counts(s, "q"), "0 0 2 2");
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", locks[2]), PAWL_OK);
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", locks[0]), PAWL_OK);
    expect_str(q_pop(s, "q", 9), "0 2");
}

QUEUE_SCENARIO(a_paused_queue_takes_and_gives_nothing)
{
    struct q_poll p;
    q_push(s, "q", "a", 0);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PAUSE, .queue = "q"))->status,
              PAWL_OK);
    expect_str(q_pop(s, "q", 1), "");
    q_push(s, "q", "b", 0);
    q_poll(s, "q", 30000, false, &p);
    scene_advance(s, 100);
    expect_is(p.done, false);
    expect_is(q_stats(s, "q").paused, true);
    scene_settle(s);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RESUME, .queue = "q"))->status,
              PAWL_OK);
    scene_settle(s);
    expect_is(p.done, true);
    expect_str(p.data, "a");
    expect_str(q_pop(s, "q", 1), "b");
}

QUEUE_SCENARIO(one_message_can_be_looked_at_and_revoked)
{
    pawl_queue_message m;
    uint64_t id = 0;
    scene_up(s);
    expect_is(pawl_client_push(s->c, "q", pawl_s("a"), NULL, &id, NULL), PAWL_OK);
    q_push(s, "q", "b", 0);
    expect_is(pawl_queue_get_message(s->c, "q", id, s->mem, &m, NULL), PAWL_OK);
    expect_str(m.data.ptr, "a");
    pawl_queue_request *del =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_DELETE, .queue = "q", .message = id);
    const char *lock = q_lock(s, "q", 1, 0, NULL);
    expect_is(queue_do(s, del)->status, PAWL_CONFLICT);
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", lock), PAWL_OK);
    del->queue = "other";
    expect_is(queue_do(s, del)->status, PAWL_NOT_FOUND);
    del->queue = "q";
    pawl_queue_reply *r = queue_do(s, del);
    expect_is(r->status, PAWL_OK);
    expect_str(r->messages[0].data.ptr, "a");
    expect_is(queue_do(s, del)->status, PAWL_NOT_FOUND);
    expect_is(pawl_queue_get_message(s->c, "q", id, s->mem, &m, NULL), PAWL_NOT_FOUND);
    expect_str(q_pop(s, "q", 9), "b");
}

QUEUE_SCENARIO(queues_are_listed_with_their_counts)
{
    static const char *const names[] = {"b/c", "b2", "a", "b1", "c\xc3\xa9"};
    for (int i = 1; i < 5; i++)
        q_push(s, names[i], "x", i);
    pawl_queue_page page;
    expect_is(pawl_queue_list(s->c, "b", NULL, 1, s->mem, &page, NULL), PAWL_OK);
    expect_is(page.count, 1);
    expect_str(page.items[0].name.ptr, "b1");
    expect_str(page.next.ptr, "b1");
    expect_is(pawl_queue_list(s->c, "b", page.next.ptr, 5, s->mem, &page, NULL), PAWL_OK);
    expect_str(page.items[0].name.ptr, "b2");
    expect_is(page.next.len, 0);
    pawl_queue_stats t = q_stats(s, "b1");
    expect_is(t.level_count, 1);
    expect_is(t.levels[0].priority, 3);
    expect_is(t.oldest_ms, s->now);
    expect_is(t.pushed, 1);
    expect_is(t.config.max_locks, 1);
    pawl_queue_locks locks;
    const char *lock = q_lock(s, "b1", 1, 5000, NULL);
    expect_is(pawl_queue_get_locks(s->c, "b1", s->mem, &locks, NULL), PAWL_OK);
    expect_is(locks.count, 1);
    expect_is(locks.items[0].expires_ms, s->now + 5000);
    ck_assert(!strstr(locks.items[0].lock_id.ptr, lock + 3));
}

QUEUE_SCENARIO(a_configuration_survives_and_bad_ones_are_refused)
{
    static const int64_t backoff[] = {1, 2, 3};
    pawl_queue_config c = config(), got;
    c.max_locks = 0;
    c.max_deliveries = 7;
    c.dead_letter_queue = pawl_s("dlq");
    c.retry_backoff = backoff;
    c.retry_backoff_count = 3;
    c.max_length = 99;
    q_config(s, "q", c);
    scene_crash(s);
    scene_up(s);
    expect_is(pawl_queue_get_config(s->c, "q", s->mem, &got, NULL), PAWL_OK);
    expect_is(got.max_locks, 0);
    expect_is(got.max_deliveries, 7);
    expect_str(got.dead_letter_queue.ptr, "dlq");
    expect_is(got.retry_backoff[2], 3);
    expect_is(got.max_length, 99);
    expect_is(got.default_ttl_ms, 30000);
    c.dead_letter_queue = pawl_s("q");
    pawl_queue_request *req =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "q", .config = &c);
    expect_is(queue_do(s, req)->status, PAWL_INVALID);
    c = config();
    c.default_ttl_ms = 0;
    expect_is(queue_do(s, req)->status, PAWL_INVALID);
    expect_is(pawl_queue_get_config(s->c, "nobody", s->mem, &got, NULL), PAWL_OK);
    expect_is(got.max_locks, 1);
}

/* ---- Long polls ------------------------------------------------------------------- */

QUEUE_SCENARIO(some_settings_change_and_the_others_stay)
{
    static const int64_t backoff[] = {1000, 5000};
    pawl_queue_config c = config();
    c.max_locks = 3;
    c.retry_backoff = backoff;
    c.retry_backoff_count = 2;
    c.dead_letter_queue = pawl_s("graves");
    q_config(s, "q", c);
    c = config();
    c.max_length = 9;
    c.default_priority = 4; /* not meant */
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "q", .config = &c,
                                       .some = true, .settings = PAWL_QUEUE_SET_MAX_LENGTH));
    expect_is(r->status, PAWL_OK);
    scene_crash(s);
    pawl_queue_config now = q_stats(s, "q").config;
    for (int i = 0; i < 2; i++) { /* as answered, as stored */
        const pawl_queue_config *k = i ? &now : r->config;
        expect_is(k->max_length, 9);
        expect_is(k->max_locks, 3);
        expect_is(k->default_priority, 0);
        expect_is(k->retry_backoff_count, 2);
        expect_is(k->retry_backoff[1], 5000);
        expect_str(k->dead_letter_queue.ptr, "graves");
    }
    r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "q", .config = &c,
                                       .some = true));
    expect_is(r->config->max_locks, 3);
}

QUEUE_SCENARIO(a_waiting_pop_gets_the_item_when_it_comes)
{
    struct q_poll a, b, c;
    q_poll(s, "q", 10000, false, &a);
    q_poll(s, "q", 10000, true, &b);
    q_poll(s, "q", 5000, false, &c);
    scene_settle(s);
    ck_assert(!a.done && !b.done && !c.done);
    q_push(s, "q", "x", 0);
    scene_settle(s);
    ck_assert(a.done && !b.done);
    expect_str(a.data, "x");
    q_push(s, "q", "y", 0);
    scene_settle(s);
    ck_assert(b.done && !c.done);
    expect_is(strlen(b.lock), 11);
    s->now += 5000;
    s->mono += 5000;
    scene_settle(s);
    ck_assert(c.done);
    expect_is(c.status, PAWL_CONFLICT); /* its time is over, and the queue is locked */
    expect_is(q_ack(s, "q", b.lock), PAWL_OK);
}

QUEUE_SCENARIO(a_waiting_pop_is_woken_by_expiry_release_and_delay_and_ends_empty)
{
    struct q_poll p;
    q_push(s, "q", "a", 0);
    pawl_queue_config c = config();
    c.max_locks = 0;
    q_config(s, "q", c);
    q_lock(s, "q", 1, 2000, NULL);
    q_poll(s, "q", 30000, true, &p);
    scene_advance(s, 2000);
    ck_assert(p.done);
    expect_str(p.data, "a");
    const char *lock = pawl_mem_dup(s->mem, pawl_s(p.lock)).ptr;
    q_poll(s, "q", 30000, false, &p);
    expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", lock), PAWL_OK);
    scene_settle(s);
    expect_str(p.data, "a");
    q_push_item(s, "q",
                (pawl_queue_item){
                    .data = {"d", 1},
                      .delay_ms = 3000
    });
    q_poll(s, "q", 30000, false, &p);
    scene_advance(s, 3000);
    expect_str(p.data, "d");
    q_poll(s, "q", 1000, false, &p);
    scene_advance(s, 999);
    ck_assert(!p.done);
    s->now += 1;
    s->mono += 1;
    scene_settle(s);
    ck_assert(p.done);
    expect_is(p.status, PAWL_OK);
    expect_str(p.data, "");
    q_poll(s, "q", 1000, false, &p);
    scene_down(s); /* answered also when it all ends */
    expect_is(p.status, PAWL_SHUTDOWN);
}

/* ---- What a caller hands in is its own again when the call returns --------------------------------- */

static char lent[4096];
static size_t lent_used;

/* A copy that will not be there when the engine reads it. */
static const char *lend(const char *text)
{
    char *at = lent + lent_used;
    lent_used += strlen(text) + 1;
    ck_assert_uint_le(lent_used, sizeof(lent));
    return memcpy(at, text, strlen(text) + 1);
}

static pawl_str lend_str(const char *text)
{
    return pawl_s(lend(text));
}

static void keep_status(void *arg, const pawl_queue_reply *reply)
{
    *(pawl_status *)arg = reply->status;
}

static void submit_lent(struct scene *s, const pawl_queue_request *request)
{
    pawl_status got = PAWL_BUSY;
    scene_up(s);
    expect_is(pawl_queue_submit(s->c, request, keep_status, &got, NULL), PAWL_OK);
    memset(lent, '#', sizeof(lent)); /* the caller goes on */
    lent_used = 0;
    scene_settle(s);
    expect_is(got, PAWL_OK);
}

static pawl_queue_message only_message(struct scene *s, const char *queue)
{
    pawl_queue_messages list;
    pawl_error err;
    expect_is(pawl_queue_browse_messages(s->c, queue, NULL, s->mem, &list, &err), PAWL_OK);
    expect_is(list.count, 1);
    return list.items[0];
}

static void submit_lent_config(struct scene *s)
{
    pawl_queue_config c = pawl_queue_config_default();
    int64_t *backoff = (int64_t *)(void *)lent;
    backoff[0] = 1000;
    backoff[1] = 2000;
    lent_used = 2 * sizeof(*backoff);
    c.retry_backoff = backoff;
    c.retry_backoff_count = 2;
    c.dead_letter_queue = lend_str("graves");
    c.orchestration = lend_str("Order");
    c.version = lend_str("1.2.3");
    submit_lent(
        s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = lend("bound"), .config = &c));
    pawl_queue_config got;
    pawl_error err;
    expect_is(pawl_queue_get_config(s->c, "bound", s->mem, &got, &err), PAWL_OK);
    expect_str(got.dead_letter_queue.ptr, "graves");
    expect_str(got.orchestration.ptr, "Order");
    expect_str(got.version.ptr, "1.2.3");
    expect_is(got.retry_backoff[1], 2000);
}

QUEUE_SCENARIO(what_is_handed_in_is_read_before_the_call_returns)
{
    submit_lent_config(s);
    submit_lent(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_BIND, .queue = lend("tied"),
                                      .orchestration = lend("Other"), .version = lend("2.0.0")));
    expect_str(q_stats(s, "tied").config.orchestration.ptr, "Other");
    expect_str(q_stats(s, "tied").config.version.ptr, "2.0.0");
    pawl_queue_item item = {.data = lend_str("\"it\""),
                            .dedup_id = lend_str("once"),
                            .headers = lend_str("{\"h\":1}"),
                            .priority = 7};
    submit_lent(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = lend("q"), .items = &item,
                                      .item_count = 1, .key = lend("key")));
    pawl_queue_message m = only_message(s, "q");
    expect_str(m.data.ptr, "\"it\"");
    ck_assert(pawl_str_is(m.headers, "{\"h\":1}"));
    expect_is(m.priority, 7);
    q_push_item(s, "q", (pawl_queue_item){.data = pawl_s("2"), .dedup_id = pawl_s("once")});
    expect_is(q_stats(s, "q").ready, 1); /* it is the same */
    const char *data, *locks[1] = {lend(q_lock(s, "q", 1, 0, &data))};
    submit_lent(s,
                PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_DEADLETTER, .queue = lend("q"),
                                   .lock_ids = locks, .lock_count = 1, .reason = lend("too old")));
    expect_str(only_message(s, "q-deadletter").reason.ptr, "too old");
    submit_lent(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = lend("q-deadletter"),
                                      .target = lend("elsewhere")));
    expect_str(only_message(s, "elsewhere").data.ptr, "\"it\"");
}
