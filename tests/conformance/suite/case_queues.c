/* SPDX-License-Identifier: MIT */
/* suite/case_queues.c -- queues as stores keep them: Q2..Q13 of pawl/queue_store.h. */
#include "suite.h"

#include "store/store_queue.h"

#include <stdio.h>
#include <string.h>

/* A round being put together: one list of each kind is enough for a test. */
struct queue_draft {
    pawl_queue_round part;
    pawl_queue_row queue;
    pawl_queue_entry entries[40];
    pawl_entry_update updates[8];
    uint64_t drops[40];
    pawl_queue_lock locks[4];
    uint64_t held[4][4];
    pawl_queue_past pasts[8];
    pawl_queue_key keys[4];
    pawl_queue_forget forget;
};

static const pawl_queue_ops *ops(struct probe *t)
{
    if (!caps_of(t).queues)
        probe_skip(t);
    return t->store->ops->queues;
}

static struct queue_draft *begin(struct probe *t)
{
    (void)ops(t);
    return pawl_mem_alloc(t->mem, sizeof(struct queue_draft));
}

static pawl_status commit_part(struct probe *t, struct queue_draft *d)
{
    struct draft *round = free_round(t);
    d->part.entries = d->entries;
    d->part.updates = d->updates;
    d->part.drop_entries = d->drops;
    d->part.pasts = d->pasts;
    d->part.keys = d->keys;
    round->round.queue = &d->part;
    return commit(round);
}

static pawl_queue_entry *add(struct probe *t, struct queue_draft *d, uint64_t qid, const char *data,
                             int64_t priority)
{
    pawl_queue_entry *e = &d->entries[d->part.entry_count++];
    *e = (pawl_queue_entry){.id = new_id(t),
                            .qid = qid,
                            .priority = priority,
                            .enqueued_ms = t->now,
                            .data = pawl_s(data),
                            .bytes = strlen(data)};
    e->place = e->id;
    return e;
}

/* A queue with a name, committed. */
static pawl_queue_row make_queue(struct probe *t, const char *name)
{
    struct queue_draft *d = begin(t);
    d->queue = (pawl_queue_row){.qid = new_id(t), .name = pawl_s(name), .created_ms = t->now};
    d->part.new_queues = &d->queue;
    d->part.new_queue_count = 1;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    return d->queue;
}

static const char *entries(struct probe *t, pawl_entry_query q)
{
    pawl_entry_list list = {0};
    pawl_str text = {"", 0};
    if (!q.limit)
        q.limit = 100;
    CHECK_STATUS(ops(t)->query_entries(t->store, &q, t->mem, &list, NULL), PAWL_OK);
    for (size_t i = 0; i < list.count; i++)
        text = pawl_mem_printf(t->mem, "%s%s%.*s", text.ptr, i ? " " : "",
                               PAWL_FMT(list.items[i].data));
    return list.more ? pawl_mem_printf(t->mem, "%s +", text.ptr).ptr : text.ptr;
}

#define READY(q, ...) entries(t, (pawl_entry_query){.qid = (q).qid, __VA_ARGS__})

static void q2_q7_entries_come_back_in_order_as_they_were(struct probe *t)
{
    pawl_queue_row a = make_queue(t, "a"), b = make_queue(t, "b");
    struct queue_draft *d = begin(t);
    add(t, d, a.qid, "a3", 5);
    add(t, d, a.qid, "a1", 0);
    add(t, d, b.qid, "b1", 0);
    add(t, d, a.qid, "a2", 0);
    pawl_queue_entry *late = add(t, d, a.qid, "late", 0);
    late->state = 1;
    late->visible_ms = t->now + 50;
    pawl_queue_entry *all = add(t, d, a.qid, "all", 9);
    *all = (pawl_queue_entry){
        .id = all->id,
        .qid = a.qid,
        .priority = INT64_MAX,
        .place = all->id,
        .expires_ms = t->now + 99,
        .enqueued_ms = 7,
        .deliveries = 3,
        .bytes = 9,
        .data = {"\0\xff", 2},
        .attrs = pawl_s("{\"a\":1}"),
        .note = pawl_s("note")
    };
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    die(t);
    take(t);
    pawl_entry_list list = {0};
    pawl_entry_query q = {.qid = a.qid, .priority = 6, .limit = 9};
    CHECK_STATUS(ops(t)->query_entries(t->store, &q, t->mem, &list, NULL), PAWL_OK);
    CHECK_NUMBER(list.count, 1);
    const pawl_queue_entry *e = &list.items[0];
    CHECK(e->id == all->id && e->qid == a.qid && e->state == 0 && e->priority == INT64_MAX);
    CHECK(e->place == all->id && e->expires_ms == t->now + 99 && e->enqueued_ms == 7);
    CHECK(e->deliveries == 3 && e->bytes == 9 && pawl_str_eq(e->data, all->data));
    CHECK(pawl_str_eq(e->attrs, all->attrs) && pawl_str_is(e->note, "note"));
    CHECK_TEXT(READY(a, .limit = 3), "a1 a2 a3 +");
    CHECK_TEXT(READY(a, .place = d->entries[1].id + 1, .limit = 2), "a2 a3 +");
    CHECK_TEXT(READY(b, .limit = 99), "b1");
    CHECK_TEXT(READY(a, .order = PAWL_ENTRIES_DELAYED), "late");
    CHECK_TEXT(READY(b, .order = PAWL_ENTRIES_BY_ID), "b1");
    CHECK_TEXT(READY(a, .order = PAWL_ENTRIES_BY_ID, .state = 2), "late");
    CHECK_TEXT(READY(a, .order = PAWL_ENTRIES_BY_ID, .has_priority = true, .limit = 9),
               "a1 a2 late");
    CHECK_TEXT(READY(a, .heads = true, .limit = 1), " +");
    CHECK_TEXT(READY(a, .bytes_max = 3), "a1 a2 +");
    pawl_level_list levels = {0};
    CHECK_STATUS(ops(t)->levels(t->store, a.qid, 2, t->mem, &levels, NULL), PAWL_OK);
    CHECK(levels.count == 2 && levels.items[0].count == 2 && levels.items[1].priority == 5);
}

static void q2_q7_updates_move_entries_between_orders_and_queues(struct probe *t)
{
    pawl_queue_row a = make_queue(t, "a"), b = make_queue(t, "b");
    struct queue_draft *d = begin(t);
    for (int i = 0; i < 4; i++)
        add(t, d, a.qid, (const char *[]){"w", "x", "y", "z"}[i], 0)->expires_ms = 1000 + i;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    uint64_t id[4] = {d->entries[0].id, d->entries[1].id, d->entries[2].id, d->entries[3].id};
    d = begin(t);
    d->updates[0] = (pawl_entry_update){
        .id = id[0], .qid = a.qid, .state = 2, .place = id[0], .deliveries = 1, .expires_ms = 1000};
    d->updates[1] = (pawl_entry_update){
        .id = id[1], .qid = a.qid, .state = 1, .place = id[1], .visible_ms = 55};
    d->updates[2] = (pawl_entry_update){
        .id = id[2], .qid = b.qid, .place = 1, .has_note = true, .note = pawl_s("moved")};
    d->part.update_count = 3;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    CHECK_TEXT(READY(a, .limit = 99), "z");
    CHECK_TEXT(READY(b, .limit = 99), "y");
    CHECK_TEXT(READY(a, .order = PAWL_ENTRIES_DELAYED), "x");
    CHECK_TEXT(READY(a, .order = PAWL_ENTRIES_EXPIRING), "z"); /* a locked one does not expire */
    pawl_entry_list list = {0};
    uint64_t ask[] = {id[2], 999999, id[0]};
    CHECK_STATUS(ops(t)->read_entries(t->store, ask, 3, false, t->mem, &list, NULL), PAWL_OK);
    CHECK_NUMBER(list.count, 2);
    CHECK(list.items[0].qid == b.qid && pawl_str_is(list.items[0].note, "moved"));
    CHECK(list.items[1].state == 2 && list.items[1].deliveries == 1);
    CHECK_STATUS(ops(t)->read_entries(t->store, ask, 3, true, t->mem, &list, NULL), PAWL_OK);
    CHECK(list.count == 2 && list.items[0].data.len == 0 && list.items[0].bytes == 1);
}

static void q3_what_breaks_the_contract_is_refused_whole(struct probe *t)
{
    pawl_queue_row a = make_queue(t, "a");
    struct queue_draft *d = begin(t);
    uint64_t there = add(t, d, a.qid, "there", 0)->id;
    d->locks[0] = (pawl_queue_lock){.number = new_id(t), .qid = a.qid, .id = pawl_s("l")};
    d->part.new_locks = d->locks;
    d->part.new_lock_count = 1;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    pawl_queue_lock lock = d->locks[0];
    for (int way = 0; way < 8; way++) {
        d = begin(t);
        add(t, d, a.qid, "new", 0);
        d->queue = a;
        d->locks[0] = lock;
        switch (way) {
        case 0:
            d->entries[0].id = there;
            break;
        case 1:
            d->part.new_queues = &d->queue;
            d->part.new_queue_count = 1;
            break;
        case 2:
            d->queue.qid = 888888;
            d->part.queues = &d->queue;
            d->part.queue_count = 1;
            break;
        case 3:
            d->updates[0] = (pawl_entry_update){.id = 888888, .qid = a.qid};
            d->part.update_count = 1;
            break;
        case 4:
            d->drops[0] = d->drops[1] = there;
            d->part.drop_entry_count = 2;
            break;
        case 5:
            d->part.new_locks = d->locks;
            d->part.new_lock_count = 1;
            break;
        case 6:
            d->locks[0].number = 888888;
            d->part.drop_locks = d->locks;
            d->part.drop_lock_count = 1;
            break;
        default:
            d->locks[0].number = 888888;
            d->part.locks = d->locks;
            d->part.lock_count = 1;
            break;
        }
        CHECK_STATUS(commit_part(t, d), PAWL_CONFLICT);
        CHECK_TEXT(READY(a, .limit = 9), "there");
    }
}

static void q4_q5_queues_are_found_and_listed(struct probe *t)
{
    static const char *const names[] = {"b2", "a", "b10", "c", "b"};
    pawl_queue_row row;
    for (int i = 0; i < 5; i++)
        (void)make_queue(t, names[i]);
    CHECK_STATUS(ops(t)->find_queue(t->store, pawl_s("no"), t->mem, &row, NULL), PAWL_NOT_FOUND);
    CHECK_STATUS(ops(t)->find_queue(t->store, pawl_s("b2"), t->mem, &row, NULL), PAWL_OK);
    struct queue_draft *d = begin(t);
    d->queue = row;
    d->queue.paused = true;
    d->queue.ready = 1;
    d->queue.delayed = 2;
    d->queue.locked = 3;
    d->queue.locks = 4;
    d->queue.bytes = 5;
    d->queue.due_ms = 6;
    d->queue.config = pawl_s("{\"max_locks\":0}");
    d->queue.totals = pawl_s("{}");
    d->part.queues = &d->queue;
    d->part.queue_count = 1;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    die(t);
    take(t);
    CHECK_STATUS(ops(t)->find_queue(t->store, pawl_s("b2"), t->mem, &row, NULL), PAWL_OK);
    CHECK(row.paused && row.ready == 1 && row.delayed == 2 && row.locked == 3 && row.locks == 4);
    CHECK(row.bytes == 5 && row.due_ms == 6 && pawl_str_is(row.config, "{\"max_locks\":0}"));
    CHECK(pawl_str_is(row.totals, "{}") && row.created_ms == d->queue.created_ms);
    pawl_str text = {"", 0}, after = {0};
    for (pawl_queue_row_list list = {.count = 2}; list.count == 2;) {
        CHECK_STATUS(ops(t)->list_queues(t->store, pawl_s("b"), after, 2, t->mem, &list, NULL),
                     PAWL_OK);
        for (size_t i = 0; i < list.count; i++) {
            text = pawl_mem_printf(t->mem, "%s %.*s", text.ptr, PAWL_FMT(list.items[i].name));
            after = list.items[i].name;
        }
    }
    CHECK_TEXT(text.ptr, " b b10 b2");
}

static void q6_due_queues_and_next_due(struct probe *t)
{
    const int64_t due[] = {t->now + 100, 0, t->now + 50, t->now - 5};
    for (int i = 0; i < 4; i++) {
        pawl_queue_row row = make_queue(t, (const char *[]){"a", "b", "c", "d"}[i]);
        struct queue_draft *d = begin(t);
        d->queue = row;
        d->queue.due_ms = due[i];
        d->part.queues = &d->queue;
        d->part.queue_count = 1;
        CHECK_STATUS(commit_part(t, d), PAWL_OK);
    }
    pawl_queue_row_list list = {0};
    CHECK_STATUS(ops(t)->due_queues(t->store, t->now + 50, 9, t->mem, &list, NULL), PAWL_OK);
    CHECK(list.count == 2 && pawl_str_is(list.items[0].name, "d"));
    CHECK_STATUS(ops(t)->due_queues(t->store, t->now + 200, 2, t->mem, &list, NULL), PAWL_OK);
    CHECK(list.count == 2 && pawl_str_is(list.items[1].name, "c"));
    CHECK_NUMBER(next_due(t, t->now), t->now + 50);
    CHECK_NUMBER(next_due(t, t->now + 50), t->now + 100);
    CHECK(next_due(t, t->now + 100) == INT64_MAX);
}

static void q2_a_lock_may_say_all_of_its_entry(struct probe *t)
{
    pawl_queue_row a = make_queue(t, "a");
    struct queue_draft *d = begin(t);
    for (int i = 0; i < 3; i++)
        add(t, d, a.qid, (const char *[]){"x", "y", "z"}[i], 0)->expires_ms = 1000 + i;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    uint64_t id[3] = {d->entries[0].id, d->entries[1].id, d->entries[2].id};
    for (int i = 0; i < 2; i++) {
        d = begin(t);
        d->updates[0] = (pawl_entry_update){.id = id[i],
                                            .qid = a.qid,
                                            .state = 2,
                                            .place = id[i],
                                            .expires_ms = 1000 + i,
                                            .deliveries = 1};
        d->part.update_count = 1;
        d->locks[0] = (pawl_queue_lock){.number = id[i],
                                        .qid = a.qid,
                                        .id = pawl_s(i ? "L2" : "L1"),
                                        .entries = &id[i],
                                        .entry_count = 1};
        d->part.new_locks = d->locks;
        d->part.new_lock_count = 1;
        CHECK_STATUS(commit_part(t, d), PAWL_OK);
    }
    die(t);
    take(t);
    CHECK_TEXT(READY(a, .limit = 99), "z");
    CHECK_TEXT(READY(a, .order = PAWL_ENTRIES_EXPIRING), "z");
    CHECK_TEXT(READY(a, .order = PAWL_ENTRIES_BY_ID, .state = 3, .limit = 99), "x y");
    CHECK_TEXT(READY(a, .order = PAWL_ENTRIES_BY_ID, .state = 1, .limit = 99), "z");
    pawl_entry_list list = {0};
    CHECK_STATUS(ops(t)->read_entries(t->store, id, 3, true, t->mem, &list, NULL), PAWL_OK);
    CHECK(list.count == 3 && list.items[0].state == 2 && list.items[0].deliveries == 1);
    CHECK(list.items[2].state == 0 && list.items[2].deliveries == 0);
    pawl_level_list levels = {0};
    CHECK_STATUS(ops(t)->levels(t->store, a.qid, 9, t->mem, &levels, NULL), PAWL_OK);
    CHECK(levels.count == 1 && levels.items[0].count == 1);
    d = begin(t); /* one is acknowledged, one comes back */
    d->updates[0] = (pawl_entry_update){.id = id[1], .qid = a.qid, .place = id[1], .deliveries = 1};
    d->part.update_count = 1;
    d->drops[0] = id[0];
    d->part.drop_entry_count = 1;
    d->locks[0] = (pawl_queue_lock){.number = id[0], .qid = a.qid};
    d->locks[1] = (pawl_queue_lock){.number = id[1], .qid = a.qid};
    d->part.drop_locks = d->locks;
    d->part.drop_lock_count = 2;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    CHECK_TEXT(READY(a, .limit = 99), "y z");
    CHECK_STATUS(ops(t)->read_entries(t->store, id, 3, true, t->mem, &list, NULL), PAWL_OK);
    CHECK(list.count == 2 && list.items[0].state == 0 && list.items[0].deliveries == 1);
}

static void q2_locks_name_their_entries(struct probe *t)
{
    pawl_queue_row a = make_queue(t, "a"), b = make_queue(t, "b");
    struct queue_draft *d = begin(t);
    uint64_t ids[100];
    for (int i = 0; i < 100; i++)
        ids[i] = UINT64_C(1000000000000) + (uint64_t)i;
    d->locks[0] = (pawl_queue_lock){.number = new_id(t),
                                    .qid = a.qid,
                                    .id = pawl_s("one-lock_id"),
                                    .created_ms = 1,
                                    .until_ms = 2,
                                    .entries = ids,
                                    .entry_count = 100};
    d->locks[1] = (pawl_queue_lock){
        .number = new_id(t), .qid = a.qid, .id = pawl_s("two"), .entries = ids, .entry_count = 1};
    d->locks[2] = (pawl_queue_lock){.number = new_id(t), .qid = b.qid, .id = pawl_s("two")};
    d->part.new_locks = d->locks;
    d->part.new_lock_count = 3;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    die(t);
    take(t);
    struct queue_draft *c = begin(t);
    c->locks[0] = d->locks[1];
    c->locks[0].until_ms = 77;
    c->locks[0].entries = ids + 5;
    c->part.locks = c->locks;
    c->part.lock_count = 1;
    CHECK_STATUS(commit_part(t, c), PAWL_OK);
    pawl_lock_list list = {0};
    CHECK_STATUS(ops(t)->read_locks(t->store, a.qid, 0, t->mem, &list, NULL), PAWL_OK);
    CHECK_NUMBER(list.count, 2);
    CHECK(pawl_str_is(list.items[0].id, "one-lock_id") && list.items[0].created_ms == 1);
    CHECK(list.items[0].entry_count == 100 && list.items[0].entries[99] == ids[99]);
    CHECK(list.items[1].until_ms == 77 && list.items[1].entries[0] == ids[5]);
    c = begin(t);
    c->part.drop_locks = d->locks;
    c->part.drop_lock_count = 1;
    CHECK_STATUS(commit_part(t, c), PAWL_OK);
    CHECK_STATUS(ops(t)->read_locks(t->store, a.qid, 1, t->mem, &list, NULL), PAWL_OK);
    CHECK(list.count == 1 && pawl_str_is(list.items[0].id, "two"));
}

static void q9_q10_past_locks_and_keys_last_until_forgotten(struct probe *t)
{
    pawl_queue_row a = make_queue(t, "a"), b = make_queue(t, "b");
    struct queue_draft *d = begin(t);
    for (int i = 0; i < 5; i++)
        d->pasts[i] = (pawl_queue_past){
            new_id(t), a.qid, pawl_s((const char *[]){"p0", "p1", "p2", "p3", "p4"}[i]), 100 + i};
    d->part.past_count = 5;
    d->keys[0] = (pawl_queue_key){a.qid, pawl_s("k"), 7, 100};
    d->keys[1] = (pawl_queue_key){b.qid, pawl_s("k"), 8, 200};
    d->keys[2] = (pawl_queue_key){a.qid, pawl_s("k"), 9, 150};
    d->part.key_count = 3;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    die(t);
    take(t);
    pawl_queue_key key;
    CHECK_STATUS(ops(t)->has_past(t->store, a.qid, pawl_s("p0"), NULL), PAWL_OK);
    CHECK_STATUS(ops(t)->has_past(t->store, b.qid, pawl_s("p0"), NULL), PAWL_EMPTY);
    CHECK_STATUS(ops(t)->find_key(t->store, a.qid, pawl_s("k"), &key, NULL), PAWL_OK);
    CHECK(key.entry == 9 && key.expires_ms == 150);
    d = begin(t);
    d->forget = (pawl_queue_forget){.qid = a.qid, .before_ms = 101, .keep = 3, .now_ms = 149};
    d->part.forgets = &d->forget;
    d->part.forget_count = 1;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    static const int left[] = {0, 0, 1, 1, 1};
    for (int i = 0; i < 5; i++)
        CHECK_STATUS(ops(t)->has_past(t->store, a.qid,
                                      pawl_s((const char *[]){"p0", "p1", "p2", "p3", "p4"}[i]),
                                      NULL),
                     left[i] ? PAWL_OK : PAWL_EMPTY);
    CHECK_STATUS(ops(t)->find_key(t->store, a.qid, pawl_s("k"), &key, NULL), PAWL_OK);
    d->forget.now_ms = 150;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    CHECK_STATUS(ops(t)->find_key(t->store, a.qid, pawl_s("k"), &key, NULL), PAWL_EMPTY);
    CHECK_STATUS(ops(t)->find_key(t->store, b.qid, pawl_s("k"), &key, NULL), PAWL_OK);
    CHECK_NUMBER(key.entry, 8);
}

/* A client chooses a dedup id when it pushes, and sends a lock id when it acknowledges. */
static void q9_q10_past_locks_and_keys_are_any_bytes(struct probe *t)
{
    static const pawl_str odd[] = {
        {"a\0b",     3},
        {"a\0c",     3},
        {"a",        1},
        {"\xff\xfe", 2}
    };
    pawl_queue_row a = make_queue(t, "a");
    pawl_queue_key key;
    struct queue_draft *d = begin(t);
    for (int i = 0; i < 3; i++) {
        d->keys[i] = (pawl_queue_key){a.qid, odd[i + (i == 2)], new_id(t), 100 + i};
        d->pasts[i] = (pawl_queue_past){new_id(t), a.qid, odd[i + (i == 2)], 100};
    }
    d->part.key_count = d->part.past_count = 3;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    for (int i = 0; i < 4; i++) {
        pawl_status there = i == 2 ? PAWL_EMPTY : PAWL_OK;
        CHECK_STATUS(ops(t)->find_key(t->store, a.qid, odd[i], &key, NULL), there);
        CHECK_STATUS(ops(t)->has_past(t->store, a.qid, odd[i], NULL), there);
        CHECK(i == 2 || key.expires_ms == (i == 3 ? 102 : 100 + i));
    }
}

static void q13_many_keys_are_answered_as_one(struct probe *t)
{
    pawl_queue_row a = make_queue(t, "a"), b = make_queue(t, "b");
    struct queue_draft *d = begin(t);
    d->keys[0] = (pawl_queue_key){a.qid, pawl_s("k"), 7, 100};
    d->keys[1] = (pawl_queue_key){
        a.qid, (pawl_str){"a\0b", 3},
         8, 200
    };
    d->keys[2] = (pawl_queue_key){b.qid, pawl_s("other"), 9, 300};
    d->part.key_count = 3;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    const pawl_str keys[] = {
        pawl_s("other"), {"a\0b", 3},
         pawl_s("k"), pawl_s("a"), pawl_s("k")
    };
    static const uint64_t entries[] = {0, 8, 7, 0, 7};
    pawl_queue_key found[5];
    CHECK_STATUS(store_find_keys(t->store, a.qid, keys, 5, found, NULL), PAWL_OK);
    for (int i = 0; i < 5; i++)
        CHECK_NUMBER(found[i].entry, entries[i]);
    CHECK_NUMBER(found[1].expires_ms, 200);
    CHECK_STATUS(store_find_keys(t->store, a.qid, keys, 0, found, NULL), PAWL_OK);
}

static void q2_c2_the_queue_part_goes_with_its_round(struct probe *t)
{
    pawl_queue_row a = make_queue(t, "a");
    pawl_row i = make(t, "i"), stale = i;
    append(t, &i, "x");
    struct queue_draft *d = begin(t), *e = begin(t);
    add(t, d, a.qid, "no", 0);
    add(t, e, a.qid, "yes", 0);
    struct draft *rounds[] = {change(t, &stale), free_round(t)};
    draft_event(rounds[0], "late");
    d->part.entries = d->entries;
    e->part.entries = e->entries;
    rounds[0]->round.queue = &d->part;
    rounds[1]->round.queue = &e->part;
    CHECK_STATUS(commit_all(t, rounds, 2), PAWL_OK);
    CHECK_STATUS(rounds[0]->round.result, PAWL_CONFLICT);
    CHECK_STATUS(rounds[1]->round.result, PAWL_OK);
    CHECK_TEXT(READY(a, .limit = 99), "yes");
}

static void q8_a_long_queue_costs_what_is_asked_of_it(struct probe *t)
{
    pawl_queue_row a = make_queue(t, "a");
    char text[8];
    for (int n = 0; n < 50; n++) {
        struct queue_draft *d = begin(t);
        for (int i = 0; i < 40; i++) {
            (void)snprintf(text, sizeof(text), "%d", n * 40 + i);
            add(t, d, a.qid, pawl_mem_dup(t->mem, pawl_s(text)).ptr, i % 2);
        }
        CHECK_STATUS(commit_part(t, d), PAWL_OK);
    }
    CHECK_TEXT(READY(a, .limit = 3), "0 2 4 +");
    CHECK_TEXT(READY(a, .priority = 1, .limit = 2), "1 3 +");
    uint64_t after = 0, seen = 0;
    for (pawl_entry_list list = {.more = true}; list.more;) {
        pawl_entry_query q = {
            .qid = a.qid, .order = PAWL_ENTRIES_BY_ID, .after = after, .limit = 700};
        CHECK_STATUS(ops(t)->query_entries(t->store, &q, t->mem, &list, NULL), PAWL_OK);
        seen += list.count;
        after = list.last_id;
    }
    CHECK_NUMBER(seen, 2000);
}

/* The pages of an order, three rows each; between them others come and go. */
static const char *pages(struct probe *t, pawl_entry_query q, uint64_t victim)
{
    pawl_str text = {"", 0};
    q.limit = 3;
    for (pawl_entry_list list = {.more = true}; list.more;) {
        CHECK_STATUS(ops(t)->query_entries(t->store, &q, t->mem, &list, NULL), PAWL_OK);
        for (size_t i = 0; i < list.count; i++)
            text = pawl_mem_printf(t->mem, "%s%.*s ", text.ptr, PAWL_FMT(list.items[i].data));
        q.after_key = q.priority = list.last_key;
        q.after = list.last_id;
        q.place = list.last_id + 1;
        if (victim) { /* the cursor's own row goes, one comes that lies before it */
            struct queue_draft *d = begin(t);
            add(t, d, q.qid, "new", 0)->place = 1;
            d->drops[d->part.drop_entry_count++] = victim;
            CHECK_STATUS(commit_part(t, d), PAWL_OK);
            victim = 0;
        }
    }
    return text.ptr;
}

static void q8_q11_pages_go_on_where_they_were(struct probe *t)
{
    pawl_queue_row a = make_queue(t, "a");
    struct queue_draft *d = begin(t);
    static const char *const names[] = {"r0", "r1", "r2", "r3", "r4", "d0", "d1", "d2",
                                        "d3", "d4", "m0", "m1", "m2", "m3", "t0"};
    uint64_t id[15];
    for (size_t i = 0; i < 15; i++) {
        pawl_queue_entry *e = add(t, d, a.qid, names[i], i < 5 ? (int64_t)(4 - i) / 2 : 1);
        id[i] = e->id;
        e->state = i < 5 || i == 14 ? 0 : i < 10 ? 1 : 2;
        e->visible_ms = e->state == 1 ? t->now + (i == 9 ? 5 : 7) : 0;
    }
    for (size_t i = 0; i < 2; i++)
        d->locks[i] = (pawl_queue_lock){.number = new_id(t), .qid = a.qid, .entry_count = 2};
    d->locks[0].id = pawl_s("L0"), d->locks[1].id = pawl_s("L1");
    d->locks[0].entries = (uint64_t[]){id[13], id[11]};
    d->locks[1].entries = (uint64_t[]){id[10], id[12]};
    d->part.new_locks = d->locks;
    d->part.new_lock_count = 2;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    d = begin(t);
    d->updates[0] = (pawl_entry_update){
        .id = id[14], .qid = a.qid, .state = 2, .place = id[14], .deliveries = 1};
    d->part.update_count = 1;
    d->locks[0] = (pawl_queue_lock){
        .number = id[14], .qid = a.qid, .id = pawl_s("T"), .entries = &id[14], .entry_count = 1};
    d->part.new_locks = d->locks;
    d->part.new_lock_count = 1;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    CHECK_TEXT(READY(a, .order = PAWL_ENTRIES_LOCKED), "t0 m1 m3 m0 m2");
    CHECK_TEXT(READY(a, .order = PAWL_ENTRIES_LOCKED, .has_priority = true), "");
    CHECK_TEXT(
        READY(a, .order = PAWL_ENTRIES_DELAYED, .has_priority = true, .priority = 1, .limit = 2),
        "d4 d0 +");
    CHECK_TEXT(READY(a, .has_priority = true, .priority = 1), "r1 r2");
    CHECK_TEXT(READY(a, .has_priority = true, .priority = 1, .limit = 2), "r1 r2");
    CHECK_TEXT(pages(t, (pawl_entry_query){.qid = a.qid}, id[1]), "r3 r4 r1 r2 r0 ");
    CHECK_TEXT(pages(t, (pawl_entry_query){.qid = a.qid, .order = PAWL_ENTRIES_DELAYED}, id[6]),
               "d4 d0 d1 d2 d3 ");
    CHECK_TEXT(pages(t, (pawl_entry_query){.qid = a.qid, .order = PAWL_ENTRIES_LOCKED}, id[13]),
               "t0 m1 m3 m0 m2 ");
    pawl_entry_list list = {0};
    pawl_entry_query q = {.qid = a.qid, .order = PAWL_ENTRIES_LOCKED, .limit = 9};
    CHECK_STATUS(ops(t)->query_entries(t->store, &q, t->mem, &list, NULL), PAWL_OK);
    CHECK(list.count == 4 && list.items[0].state == 2 && list.items[0].deliveries == 1);
}

static void drop(struct probe *t, uint64_t qid, pawl_status want)
{
    struct queue_draft *d = begin(t);
    d->drops[0] = qid;
    d->part.drop_queues = d->drops;
    d->part.drop_queue_count = 1;
    CHECK_STATUS(commit_part(t, d), want);
}

/* A queue with rows of every kind; their ids. */
static void fill_queue(struct probe *t, const pawl_queue_row *q, uint64_t id[8])
{
    struct queue_draft *d = begin(t);
    for (size_t i = 0; i < 8; i++) {
        pawl_queue_entry *e = add(t, d, q->qid, "x", 0);
        id[i] = e->id;
        e->state = i < 3 || i == 7 ? 0 : i < 5 ? 1 : 2;
        e->visible_ms = e->state == 1 ? t->now + 9 : 0;
    }
    d->queue = *q;
    d->queue.due_ms = t->now + 1;
    d->part.queues = &d->queue;
    d->part.queue_count = 1;
    d->locks[0] = (pawl_queue_lock){
        .number = new_id(t), .qid = q->qid, .id = pawl_s("L"), .entries = &id[5], .entry_count = 2};
    d->part.new_locks = d->locks;
    d->part.new_lock_count = 1;
    for (size_t i = 0; i < 4; i++) {
        pawl_str text = pawl_mem_printf(t->mem, "p%zu", i);
        d->pasts[i] = (pawl_queue_past){new_id(t), q->qid, text, t->now};
        d->keys[i] = (pawl_queue_key){q->qid, text, id[0], t->now + 99};
    }
    d->part.past_count = d->part.key_count = 4;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
    d = begin(t);
    d->updates[0] = (pawl_entry_update){
        .id = id[7], .qid = q->qid, .state = 2, .place = id[7], .deliveries = 1};
    d->part.update_count = 1;
    d->locks[0] = (pawl_queue_lock){
        .number = id[7], .qid = q->qid, .id = pawl_s("T"), .entries = &id[7], .entry_count = 1};
    d->part.new_locks = d->locks;
    d->part.new_lock_count = 1;
    CHECK_STATUS(commit_part(t, d), PAWL_OK);
}

static size_t still_there(struct probe *t, const uint64_t id[8])
{
    pawl_entry_list list = {0};
    CHECK_STATUS(ops(t)->read_entries(t->store, id, 8, true, t->mem, &list, NULL), PAWL_OK);
    return list.count;
}

static void q12_a_dropped_queue_is_gone_at_once_and_its_rows_with_purge(struct probe *t)
{
    pawl_queue_row a = make_queue(t, "a"), b = make_queue(t, "b"), row;
    pawl_queue_row_list list = {0};
    pawl_queue_key key;
    uint64_t of_a[8], of_b[8];
    int pieces = 0;
    fill_queue(t, &a, of_a);
    fill_queue(t, &b, of_b);
    drop(t, new_id(t), PAWL_CONFLICT);
    drop(t, a.qid, PAWL_OK);
    drop(t, a.qid, PAWL_CONFLICT);
    die(t);
    take(t);
    CHECK_STATUS(ops(t)->find_queue(t->store, pawl_s("a"), t->mem, &row, NULL), PAWL_NOT_FOUND);
    CHECK_STATUS(ops(t)->list_queues(t->store, pawl_s(""), pawl_s(""), 9, t->mem, &list, NULL),
                 PAWL_OK);
    CHECK_NUMBER(list.count, 1);
    CHECK_STATUS(ops(t)->due_queues(t->store, t->now + 5, 9, t->mem, &list, NULL), PAWL_OK);
    CHECK_NUMBER(list.count, 1);
    pawl_queue_row again = make_queue(t, "a");
    CHECK_TEXT(READY(again, .limit = 9), "");
    for (bool left = true; left; pieces++)
        CHECK_STATUS(t->store->ops->purge(t->store, &t->fence, 4, &left, NULL), PAWL_OK);
    CHECK(pieces >= 4); /* a few rows a commit */
    CHECK_NUMBER(still_there(t, of_a), 0);
    CHECK_STATUS(ops(t)->has_past(t->store, a.qid, pawl_s("p3"), NULL), PAWL_EMPTY);
    CHECK_STATUS(ops(t)->find_key(t->store, a.qid, pawl_s("p3"), &key, NULL), PAWL_EMPTY);
    pawl_lock_list locks = {0};
    CHECK_STATUS(ops(t)->read_locks(t->store, a.qid, 0, t->mem, &locks, NULL), PAWL_OK);
    CHECK_NUMBER(locks.count, 0);
    CHECK_NUMBER(still_there(t, of_b), 8);
    CHECK_STATUS(ops(t)->has_past(t->store, b.qid, pawl_s("p3"), NULL), PAWL_OK);
    CHECK_STATUS(ops(t)->find_queue(t->store, pawl_s("a"), t->mem, &row, NULL), PAWL_OK);
    CHECK(row.qid == again.qid);
}

const struct probe_case cases_queues[] = {
    CASE(q2_q7_entries_come_back_in_order_as_they_were),
    CASE(q2_q7_updates_move_entries_between_orders_and_queues),
    CASE(q3_what_breaks_the_contract_is_refused_whole),
    CASE(q4_q5_queues_are_found_and_listed),
    CASE(q6_due_queues_and_next_due),
    CASE(q2_locks_name_their_entries),
    CASE(q2_a_lock_may_say_all_of_its_entry),
    CASE(q9_q10_past_locks_and_keys_last_until_forgotten),
    CASE(q9_q10_past_locks_and_keys_are_any_bytes),
    CASE(q13_many_keys_are_answered_as_one),
    CASE(q2_c2_the_queue_part_goes_with_its_round),
    CASE(q8_a_long_queue_costs_what_is_asked_of_it),
    CASE(q8_q11_pages_go_on_where_they_were),
    CASE(q12_a_dropped_queue_is_gone_at_once_and_its_rows_with_purge),
    CASES_END,
};
