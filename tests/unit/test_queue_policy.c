/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_queue_policy.c -- src/queue without a store: tables of operations.
 *
 * A bench drives the policy by hand: a clock, a counter, a fixed source of random
 * bytes.  seal() looks at what a store would be told.
 */
#include "../harness.h"

#include "base/arena.h"
#include "base/attr.h"
#include "queue/queue.h"

#include <stdio.h>
#include <stdlib.h>

struct bench {
    struct queue_group g;
    struct queue *q, *dead;
    pawl_mem mem;
    uint64_t next_id;
    uint8_t dice;
    pawl_queue_round round;
};

static void *alloc(size_t size)
{
    return calloc(1, size);
}

static struct queue *open_queue(void *user, pawl_str name)
{
    struct bench *b = user;
    return pawl_str_is(name, "q") ? b->q : pawl_str_is(name, "q-deadletter") ? b->dead : NULL;
}

static bool was_lock(void *user, const struct queue *q, pawl_str id)
{
    struct bench *b = user;
    (void)q;
    b->g.unread |= pawl_str_is(id, "unreadable");
    return pawl_str_is(id, "remembered") || pawl_str_is(id, "unreadable");
}

static void dice(void *user, void *to, size_t n)
{
    struct bench *b = user;
    memset(to, b->dice++, n);
}

static void set_up(struct bench *b)
{
    static const struct queue_env env = {alloc, free};
    memset(b, 0, sizeof(*b));
    arena_init(&b->mem);
    b->next_id = 100;
    b->g = (struct queue_group){.now_ms = 1000000,
                                .next_id = &b->next_id,
                                .mem = &b->mem,
                                .user = b,
                                .open = open_queue,
                                .was_lock = was_lock,
                                .random = dice};
    queue_group_begin(&b->g);
    b->q = queue_create(&env, &(pawl_queue_row){.name = pawl_s("q")});
    b->dead = queue_create(&env, &(pawl_queue_row){.name = pawl_s("q-deadletter")});
}

static void tear_down(struct bench *b)
{
    queue_group_done(&b->g);
    queue_check(b->q);
    queue_destroy(b->q);
    queue_destroy(b->dead);
    arena_deinit(&b->mem);
}

static void seal(struct bench *b)
{
    queue_check(b->q);
    queue_group_seal(&b->g, &b->round);
    queue_group_done(&b->g);
    queue_check(b->q);
}

static void push(struct bench *b, const char *data, int64_t priority)
{
    pawl_queue_item item = {.data = pawl_s(data), .priority = priority};
    pawl_queue_reply r = {0};
    queue_push(&b->g, b->q, PAWL_QUEUE_REQUEST(.items = &item, .item_count = 1), NULL, &r);
    ck_assert_int_eq(r.status, PAWL_OK);
}

static enum queue_verdict pop(struct bench *b, bool ack, uint32_t count, pawl_queue_reply *r)
{
    *r = (pawl_queue_reply){0};
    return queue_pop(&b->g, b->q,
                     PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .require_ack = ack, .count = count),
                     r);
}

static pawl_status settle(struct bench *b, pawl_queue_op op, const char *lock, pawl_queue_reply *r)
{
    *r = (pawl_queue_reply){0};
    queue_settle(&b->g, b->q, PAWL_QUEUE_REQUEST(.op = op, .lock_ids = &lock, .lock_count = 1), r);
    return r->status;
}

TEST(a_push_is_one_row_and_the_queue_another)
{
    struct bench b;
    set_up(&b);
    push(&b, "a", 3);
    seal(&b);
    ck_assert_uint_eq(b.round.new_queue_count, 1);
    ck_assert_uint_eq(b.round.entry_count, 1);
    ck_assert_uint_eq(b.round.update_count + b.round.drop_entry_count + b.round.forget_count, 0);
    ck_assert_uint_eq(b.round.new_queues[0].ready, 1);
    ck_assert_int_eq(b.round.entries[0].priority, 3);
    ck_assert_uint_eq(b.round.entries[0].place, b.round.entries[0].id);
    push(&b, "b", 3);
    seal(&b);
    ck_assert_uint_eq(b.round.new_queue_count, 0);
    ck_assert_uint_eq(b.round.queue_count, 1);
    tear_down(&b);
}

TEST(pushed_and_popped_in_one_group_is_no_row_at_all)
{
    struct bench b;
    pawl_queue_reply r;
    set_up(&b);
    push(&b, "a", 0);
    ck_assert_int_eq(pop(&b, false, 1, &r), QUEUE_DONE);
    ck_assert(pawl_str_is(r.messages[0].data, "a"));
    push(&b, "b", 0);
    ck_assert_int_eq(pop(&b, true, 1, &r), QUEUE_DONE);
    seal(&b);
    ck_assert_uint_eq(b.round.entry_count, 1); /* b, inserted as locked */
    ck_assert_int_eq(b.round.entries[0].state, PAWL_QUEUE_LOCKED);
    ck_assert_uint_eq(b.round.update_count + b.round.drop_entry_count, 0);
    ck_assert_uint_eq(b.round.new_lock_count, 1);
    ck_assert_uint_eq(b.round.new_locks[0].entries[0], b.round.entries[0].id);
    tear_down(&b);
}

TEST(pop_ack_and_expiry_change_only_their_rows)
{
    struct bench b;
    pawl_queue_reply r;
    set_up(&b);
    for (int i = 0; i < 3; i++)
        push(&b, "x", i);
    seal(&b);
    ck_assert_int_eq(pop(&b, true, 2, &r), QUEUE_DONE);
    pawl_str lock = r.lock_id;
    ck_assert_uint_eq(lock.len, 11);
    seal(&b);
    ck_assert_uint_eq(b.round.update_count, 2);
    ck_assert_int_eq(b.round.updates[0].state, PAWL_QUEUE_LOCKED);
    ck_assert_uint_eq(b.round.updates[0].deliveries, 1);
    ck_assert_int_eq(b.round.queues[0].due_ms, b.g.now_ms + 30000);
    ck_assert_int_eq(pop(&b, false, 1, &r), QUEUE_LOCKED);
    ck_assert_int_eq(r.locked_until_ms, b.g.now_ms + 30000);
    b.g.now_ms += 30000;
    queue_tick(&b.g, b.q);
    seal(&b);
    ck_assert_uint_eq(b.round.drop_lock_count, 1);
    ck_assert_uint_eq(b.round.past_count, 1);
    ck_assert_uint_eq(b.round.update_count, 2);
    ck_assert_int_eq(b.round.queues[0].due_ms, 0);
    ck_assert_int_eq(settle(&b, PAWL_QUEUE_ACK, "nobody", &r), PAWL_NOT_FOUND);
    ck_assert_int_eq(settle(&b, PAWL_QUEUE_ACK, "remembered", &r), PAWL_LOST);
    ck_assert_int_eq(settle(&b, PAWL_QUEUE_RELEASE, "unreadable.7", &r), PAWL_UNAVAILABLE);
    ck_assert_int_eq(r.outcomes[0].status, PAWL_UNAVAILABLE);
    ck_assert_int_eq(settle(&b, PAWL_QUEUE_EXTEND, "remembered", &r), PAWL_LOST);
    ck_assert_int_eq(pop(&b, true, 1, &r), QUEUE_BODIES); /* bytes are not kept for returns */
    uint64_t ids[4];
    ck_assert_uint_eq(queue_hollow(b.q, 1, ids, 4), 1);
    queue_fill(b.q, &(pawl_queue_entry){.id = ids[0], .data = pawl_s("x")});
    ck_assert_int_eq(pop(&b, true, 1, &r), QUEUE_DONE);
    ck_assert_uint_eq(r.messages[0].delivery_count, 2);
    ck_assert_int_eq(settle(&b, PAWL_QUEUE_ACK, "nobody", &r), PAWL_INVALID);
    tear_down(&b);
}

/* Rows as the store would have them: ids 101.. in order, each with its number. */
static pawl_queue_entry *rows_of(struct bench *b, size_t count)
{
    pawl_queue_entry *rows = calloc(count, sizeof(*rows));
    for (size_t i = 0; i < b->round.entry_count; i++) {
        pawl_queue_entry *to = &rows[b->round.entries[i].id - 101];
        *to = b->round.entries[i];
        to->data = arena_dup(&b->mem, to->data);
    }
    return rows;
}

TEST(the_window_is_bounded_and_refilled_in_order)
{
    struct bench b;
    pawl_queue_reply r;
    set_up(&b);
    for (int i = 0; i < 3000; i++) {
        push(&b, pawl_mem_printf(&b.mem, "%d", i).ptr, 0);
        ck_assert_uint_le(b.q->count, QUEUE_WINDOW_MAX);
    }
    queue_check(b.q);
    ck_assert(!b.q->complete);
    queue_group_seal(&b.g, &b.round);
    ck_assert_uint_eq(b.round.entry_count, 3000);
    pawl_queue_entry *rows = rows_of(&b, 3000);
    queue_group_done(&b.g);
    size_t seen = 0, refills = 0;
    while (seen < 3000) {
        enum queue_verdict v = pop(&b, false, 7, &r);
        if (v == QUEUE_REFILL) {
            size_t from = (size_t)(b.q->bound_place - 101), some = 3000 - from;
            some = some > 500 ? 500 : some;
            queue_refill(b.q, rows + from, some, from + some < 3000);
            refills++;
            continue;
        }
        ck_assert_int_eq(v, QUEUE_DONE);
        for (size_t i = 0; i < r.count; i++, seen++)
            ck_assert_str_eq(r.messages[i].data.ptr, pawl_mem_printf(&b.mem, "%zu", seen).ptr);
        seal(&b);
    }
    ck_assert_uint_ge(refills, 4);
    ck_assert_int_eq(pop(&b, false, 1, &r), QUEUE_EMPTY);
    free(rows);
    tear_down(&b);
}

TEST(large_entries_leave_the_window_by_their_bytes)
{
    struct bench b;
    set_up(&b);
    char *big = malloc(1 << 20);
    memset(big, 'x', 1 << 20);
    for (int i = 0; i < 20; i++) {
        pawl_queue_item item = {
            .data = {big, 1 << 20}
        };
        pawl_queue_reply r = {0};
        queue_push(&b.g, b.q, PAWL_QUEUE_REQUEST(.items = &item, .item_count = 1), NULL, &r);
        seal(&b);
    }
    ck_assert_uint_le(b.q->count, 4);
    ck_assert_uint_eq(b.q->row.ready, 20);
    ck_assert_uint_eq(b.q->row.bytes, 20 << 20);
    free(big);
    tear_down(&b);
}

/* Items of any size, all asked for at once: each answer has one at least, and there is an end. */
TEST(a_pop_of_more_than_the_window_holds_gives_what_fits)
{
    static const size_t sizes[6] = {100000, 1 << 20, 300000, 0, 4 << 20, 1};
    struct bench b;
    pawl_queue_reply r;
    set_up(&b);
    char *big = malloc(4 << 20);
    memset(big, 'x', 4 << 20);
    for (size_t i = 0; i < 90; i++) {
        pawl_queue_item item = {
            .data = {big, sizes[i % 6]}
        };
        r = (pawl_queue_reply){0};
        queue_push(&b.g, b.q, PAWL_QUEUE_REQUEST(.items = &item, .item_count = 1), NULL, &r);
    }
    queue_group_seal(&b.g, &b.round);
    pawl_queue_entry *rows = rows_of(&b, 90);
    queue_group_done(&b.g);
    size_t seen = 0, empty_handed = 0;
    while (seen < 90) {
        enum queue_verdict v = pop(&b, false, 100, &r);
        if (v == QUEUE_REFILL) {
            size_t from = (size_t)(b.q->bound_place - 101), before = b.q->count;
            queue_refill(b.q, rows + from, 90 - from > 10 ? 10 : 90 - from, 90 - from > 10);
            empty_handed += b.q->count == before;
            ck_assert_uint_le(empty_handed, seen + 1);
            continue;
        }
        ck_assert_int_eq(v, QUEUE_DONE);
        size_t bytes = 0;
        for (size_t i = 0; i < r.count; i++, seen++) {
            ck_assert_uint_eq(r.messages[i].data.len, sizes[seen % 6]);
            bytes += r.messages[i].data.len;
        }
        ck_assert(r.count == 1 || (r.count && bytes <= PAWL_QUEUE_POP_BYTES));
        seal(&b);
    }
    ck_assert_int_eq(pop(&b, false, 100, &r), QUEUE_EMPTY);
    ck_assert_uint_ge(empty_handed, 1);
    free(rows);
    free(big);
    tear_down(&b);
}

TEST(too_many_deliveries_move_the_entry_in_the_same_round)
{
    struct bench b;
    pawl_queue_reply r;
    set_up(&b);
    pawl_queue_config config = pawl_queue_config_default();
    config.max_deliveries = 1;
    queue_configure(&b.g, b.q, &config);
    push(&b, "x", 4);
    seal(&b);
    ck_assert_int_eq(pop(&b, true, 1, &r), QUEUE_DONE);
    seal(&b);
    b.g.now_ms += 60000;
    queue_tick(&b.g, b.q);
    seal(&b);
    ck_assert_uint_eq(b.round.new_queue_count, 1); /* the dead letter queue begins here */
    ck_assert_uint_eq(b.round.update_count, 1);
    ck_assert_uint_eq(b.round.updates[0].qid, b.dead->row.qid);
    ck_assert_uint_eq(b.round.updates[0].deliveries, 1);
    ck_assert(pawl_str_is(b.round.updates[0].note,
                          pawl_mem_printf(&b.mem,
                                          "{\"source\":\"q\",\"reason\":\"delivered too often\","
                                          "\"died_ms\":%lld}",
                                          (long long)b.g.now_ms)
                              .ptr));
    ck_assert_uint_eq(b.q->row.ready + b.q->row.locked + b.q->row.bytes, 0);
    ck_assert_uint_eq(b.dead->row.ready, 1);
    tear_down(&b);
}

/* They are words of a command line. */
TEST(a_lock_id_never_begins_with_a_dash)
{
    struct bench b;
    pawl_queue_reply r;
    set_up(&b);
    pawl_queue_config config = pawl_queue_config_default();
    config.max_locks = 0;
    queue_configure(&b.g, b.q, &config);
    for (int i = 0; i < 256 + 300; i++) { /* every first byte, and keys */
        push(&b, "a", 0);
        char key[16];
        (void)snprintf(key, sizeof(key), "k%d", i);
        r = (pawl_queue_reply){0};
        ck_assert_int_eq(queue_pop(&b.g, b.q,
                                   PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .require_ack = true,
                                                      .key = i < 256 ? NULL : key),
                                   &r),
                         QUEUE_DONE);
        ck_assert_uint_eq(r.lock_id.len, PAWL_QUEUE_LOCK_CHARS);
        ck_assert(r.lock_id.ptr[0] != '-');
    }
    tear_down(&b);
}

/* LOCK.ENTRY: it settles this one and leaves the others locked. */
TEST(each_item_of_a_lock_has_a_name_of_its_own)
{
    static const uint64_t ids[] = {1, 9, 10, 99, 100, 12345678901, INT64_MAX - 2};
    struct bench b;
    pawl_queue_reply r, acked;
    set_up(&b);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        b.next_id = ids[i];
        push(&b, "a", 0);
        push(&b, "b", 0);
        ck_assert_int_eq(pop(&b, true, 2, &r), QUEUE_DONE);
        for (uint64_t n = 0; n < 2; n++) {
            char want[64];
            (void)snprintf(want, sizeof(want), "%s.%llu", r.lock_id.ptr,
                           (unsigned long long)r.messages[n].id);
            ck_assert_uint_ge(r.messages[n].id, ids[i]);
            ck_assert_str_eq(r.messages[n].lock_id.ptr, want);
            ck_assert_uint_eq(r.messages[n].lock_id.len, strlen(want));
            ck_assert_int_eq(settle(&b, PAWL_QUEUE_ACK, want, &acked), PAWL_OK);
            ck_assert_uint_eq(acked.count, 1);
            ck_assert_uint_eq(b.q->row.locked, 1 - n);
        }
    }
    tear_down(&b);
}

TEST(a_configuration_reads_back_what_was_written)
{
    static const int64_t backoff[] = {5, 10};
    pawl_mem mem;
    arena_init(&mem);
    pawl_queue_config c = pawl_queue_config_default();
    ck_assert_uint_eq(queue_config_write(&c, &mem).len, 0);
    c.max_locks = 0;
    c.max_deliveries = 3;
    c.default_ttl_ms = 1000;
    c.max_lock_ms = 2000;
    c.expire_to_back = true;
    c.dead_letter_queue = pawl_s("d\"q");
    c.retry_backoff = backoff;
    c.retry_backoff_count = 2;
    c.dedup_window_ms = 0;
    c.message_ttl_ms = 9;
    c.dead_letter_expired = true;
    c.max_length = 8;
    c.max_bytes = 7;
    c.default_priority = 6;
    c.orchestration = pawl_s("Order");
    c.version = pawl_s("1.0.0");
    pawl_queue_config got = queue_config_read(queue_config_write(&c, &mem), &mem);
    ck_assert_uint_eq(got.max_locks, 0);
    ck_assert_uint_eq(got.max_deliveries, 3);
    ck_assert_int_eq(got.default_ttl_ms, 1000);
    ck_assert_int_eq(got.max_lock_ms, 2000);
    ck_assert(got.expire_to_back && got.dead_letter_expired);
    ck_assert(pawl_str_is(got.dead_letter_queue, "d\"q"));
    ck_assert(got.retry_backoff_count == 2 && got.retry_backoff[1] == 10);
    ck_assert_int_eq(got.dedup_window_ms, 0);
    ck_assert_int_eq(got.message_ttl_ms, 9);
    ck_assert(got.max_length == 8 && got.max_bytes == 7 && got.default_priority == 6);
    ck_assert(pawl_str_is(got.orchestration, "Order") && pawl_str_is(got.version, "1.0.0"));
    struct queue_totals t = {.pushed = 5, .started = 1}, back;
    back = queue_totals_read(queue_totals_write(&t, &mem));
    ck_assert(back.pushed == 5 && back.started == 1 && back.acked == 0);
    arena_deinit(&mem);
}
