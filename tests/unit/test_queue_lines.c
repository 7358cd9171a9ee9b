/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_queue_lines.c -- order within a group, against a model.
 *
 * The model is a store: it has every entry that was sealed, and says which may go.  Random pushes,
 * pops, acknowledgements, releases, losses, expiries, removals and crashes run on a queue whose
 * memory for what is behind is anything from nothing to enough.
 */
#include "../harness.h"

#include "base/arena.h"
#include "base/attr.h"
#include "queue/queue.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>

#define ENTRIES 4000
#define LOCKS   4000
#define GROUPS  5
#define PIECE   7

struct kept {
    bool there;
    int group; /* -1: none */
    pawl_queue_entry row;
    char attrs[24];
};

struct bench {
    struct queue_group g;
    struct queue *q;
    pawl_mem mem;
    uint64_t next_id, dice;
    size_t behind_max;
    struct kept entries[ENTRIES];
    size_t count;
    struct {
        bool there;
        pawl_queue_lock row;
        uint64_t ids[4];
        char id[16];
    } locks[LOCKS];
    size_t lock_count;
    pawl_queue_row row;
    char config[128];
};

static void *alloc(size_t size)
{
    return calloc(1, size);
}

static const struct queue_env env = {alloc, free};

static struct queue *open_queue(void *user, pawl_str name)
{
    (void)user;
    (void)name;
    return NULL;
}

static bool was_lock(void *user, const struct queue *q, pawl_str id)
{
    (void)user;
    (void)q;
    (void)id;
    return false;
}

static void some_bytes(void *user, void *to, size_t n)
{
    struct bench *b = user;
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)to)[i] = (uint8_t)next_random(&b->dice);
}

static size_t any(struct bench *b, size_t n)
{
    return (size_t)(next_random(&b->dice) % n);
}

/* ---- The store -------------------------------------------------------------------- */

static struct kept *find(struct bench *b, uint64_t id)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->entries[i].there && b->entries[i].row.id == id)
            return &b->entries[i];
    return NULL;
}

static void add(struct bench *b, const pawl_queue_entry *row)
{
    ck_assert_uint_lt(b->count, ENTRIES);
    struct kept *k = &b->entries[b->count++];
    *k = (struct kept){.there = true, .group = -1, .row = *row};
    memcpy(k->attrs, row->attrs.ptr, row->attrs.len);
    if (row->attrs.len)
        k->group = k->attrs[strlen("{\"group\":\"g")] - '0';
    k->row.data = pawl_s("x");
    k->row.attrs = pawl_s(k->attrs);
    k->row.note = pawl_s("");
}

static void change(struct bench *b, const pawl_entry_update *u)
{
    struct kept *k = find(b, u->id);
    ck_assert(k);
    k->row.state = u->state;
    k->row.place = u->place;
    k->row.visible_ms = u->visible_ms;
    k->row.deliveries = u->deliveries;
}

static void add_lock(struct bench *b, const pawl_queue_lock *row)
{
    ck_assert_uint_lt(b->lock_count, LOCKS);
    size_t at = b->lock_count++;
    b->locks[at].there = true;
    b->locks[at].row = *row;
    memcpy(b->locks[at].id, row->id.ptr, row->id.len);
    for (size_t i = 0; i < row->entry_count; i++) {
        b->locks[at].ids[i] = row->entries[i];
        find(b, row->entries[i])->row.state = PAWL_QUEUE_LOCKED;
    }
}

static size_t lock_at(struct bench *b, uint64_t number)
{
    for (size_t i = 0; i < b->lock_count; i++)
        if (b->locks[i].there && b->locks[i].row.number == number)
            return i;
    ck_abort_msg("no such lock");
    return 0;
}

static void commit(struct bench *b)
{
    pawl_queue_round r;
    queue_check(b->q);
    queue_group_seal(&b->g, &r);
    for (size_t i = 0; i < r.drop_lock_count; i++)
        b->locks[lock_at(b, r.drop_locks[i].number)].there = false;
    for (size_t i = 0; i < r.entry_count; i++)
        add(b, &r.entries[i]);
    for (size_t i = 0; i < r.update_count; i++)
        change(b, &r.updates[i]);
    for (size_t i = 0; i < r.drop_entry_count; i++)
        find(b, r.drop_entries[i])->there = false;
    for (size_t i = 0; i < r.new_lock_count; i++)
        add_lock(b, &r.new_locks[i]);
    for (size_t i = 0; i < r.lock_count; i++) {
        size_t at = lock_at(b, r.locks[i].number);
        b->locks[at].row.entry_count = r.locks[i].entry_count;
        for (size_t k = 0; k < r.locks[i].entry_count; k++)
            b->locks[at].ids[k] = r.locks[i].entries[k];
    }
    b->row = b->q->row;
    b->row.name = pawl_s("q");
    b->row.totals = (pawl_str){0};
    b->row.config = pawl_s(b->config);
    queue_group_done(&b->g);
    queue_check(b->q);
    arena_reset(&b->mem);
}

/* Rows of one state in the order of ready ones, from (priority, place) on. */
static size_t ready_from(struct bench *b, int64_t priority, uint64_t place, pawl_queue_entry *to,
                         size_t max)
{
    size_t n = 0;
    while (n < max) {
        const pawl_queue_entry *best = NULL;
        for (size_t i = 0; i < b->count; i++) {
            const pawl_queue_entry *e = &b->entries[i].row;
            bool after = e->priority > priority || (e->priority == priority && e->place >= place);
            if (b->entries[i].there && e->state == PAWL_QUEUE_READY && after &&
                (!best || e->priority < best->priority ||
                 (e->priority == best->priority && e->place < best->place)))
                best = e;
        }
        if (!best)
            break;
        to[n++] = *best;
        priority = best->priority;
        place = best->place + 1;
    }
    return n;
}

static void refill(struct bench *b)
{
    pawl_queue_entry rows[PIECE];
    size_t n = ready_from(b, b->q->bound_priority, b->q->bound_place, rows, PIECE);
    queue_refill(b->q, rows, n, n == PIECE);
}

static void load(struct bench *b)
{
    pawl_queue_entry list[4];
    b->q = queue_create(&env, &b->row);
    b->q->behind_max = b->behind_max;
    for (size_t i = 0; i < b->lock_count; i++) {
        if (!b->locks[i].there)
            continue;
        pawl_queue_lock row = b->locks[i].row;
        row.id = pawl_s(b->locks[i].id);
        row.entries = b->locks[i].ids;
        for (size_t k = 0; k < row.entry_count; k++)
            list[k] = find(b, row.entries[k])->row;
        queue_add_lock(b->q, &row, list, row.entry_count);
    }
    for (size_t i = 0; i < b->count; i++) {
        const pawl_queue_entry *e = &b->entries[i].row;
        int64_t *first = &b->q->next_delayed_ms;
        if (b->entries[i].there && e->state == PAWL_QUEUE_DELAYED &&
            (!*first || e->visible_ms < *first))
            *first = e->visible_ms;
    }
}

static void crash(struct bench *b)
{
    queue_destroy(b->q);
    load(b);
}

/* ---- What may go --------------------------------------------------------------------- */

static bool is_out(struct bench *b, int group)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->entries[i].there && b->entries[i].group == group &&
            b->entries[i].row.state == PAWL_QUEUE_LOCKED)
            return true;
    return false;
}

static bool is_first(struct bench *b, const struct kept *k)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct kept *o = &b->entries[i];
        if (o->there && o->group == k->group && o->row.state == PAWL_QUEUE_READY &&
            (o->row.priority < k->row.priority ||
             (o->row.priority == k->row.priority && o->row.place < k->row.place)))
            return false;
    }
    return true;
}

static bool may_go(struct bench *b, const struct kept *k)
{
    return k->group < 0 || (!is_out(b, k->group) && is_first(b, k));
}

/* The first that may go; NULL: none. */
static struct kept *next_to_go(struct bench *b)
{
    static pawl_queue_entry rows[ENTRIES];
    size_t n = ready_from(b, INT64_MIN, 0, rows, ENTRIES);
    for (size_t i = 0; i < n; i++)
        if (may_go(b, find(b, rows[i].id)))
            return find(b, rows[i].id);
    return NULL;
}

static void one_of_each_group_is_out(struct bench *b)
{
    int out[GROUPS] = {0};
    for (size_t i = 0; i < b->count; i++)
        if (b->entries[i].there && b->entries[i].group >= 0 &&
            b->entries[i].row.state == PAWL_QUEUE_LOCKED)
            ck_assert_int_eq(++out[b->entries[i].group], 1);
}

/* ---- Calls ---------------------------------------------------------------------------- */

static void push(struct bench *b)
{
    char group[3] = {'g', (char)('0' + any(b, GROUPS)), 0};
    pawl_queue_item items[3];
    size_t n = 1 + any(b, 3);
    pawl_queue_reply r = {0};
    for (size_t i = 0; i < n; i++)
        items[i] = (pawl_queue_item){
            .data = {"x", 1},
            .priority = (int64_t)any(b, 2),
            .delay_ms = any(b, 8) ? 0 : (int64_t)any(b, 400),
            .group = pawl_s(any(b, 5) ? group : "")
        };
    queue_push(&b->g, b->q, PAWL_QUEUE_REQUEST(.items = items, .item_count = n), NULL, &r);
    ck_assert_int_eq(r.status, PAWL_OK);
}

static enum queue_verdict try_pop(struct bench *b, const pawl_queue_request *req,
                                  pawl_queue_reply *r)
{
    for (;;) {
        *r = (pawl_queue_reply){0};
        enum queue_verdict v = queue_pop(&b->g, b->q, req, r);
        if (v == QUEUE_REFILL) {
            if (b->q->dirty)
                commit(b); /* as the runtime: the next pass */
            else
                refill(b);
        } else if (v == QUEUE_BODIES) {
            uint64_t ids[4];
            size_t n = queue_hollow(b->q, queue_reach(b->q, req), ids, 4);
            for (size_t i = 0; i < n; i++)
                queue_fill(b->q, &find(b, ids[i])->row);
        } else {
            return v;
        }
    }
}

static void pop(struct bench *b)
{
    pawl_queue_reply r;
    bool ack = any(b, 4) != 0;
    struct kept *next = b->q->dirty ? NULL : next_to_go(b);
    bool clean = !b->q->dirty;
    enum queue_verdict v =
        try_pop(b,
                PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .require_ack = ack,
                                   .count = (uint32_t)(1 + any(b, 3)), .ttl_ms = 5000),
                &r);
    if (clean && v != QUEUE_LOCKED) /* none waits for nothing, and none goes before its turn */
        ck_assert_int_eq(v == QUEUE_DONE, next != NULL);
    if (v != QUEUE_DONE)
        return;
    if (clean)
        ck_assert_uint_eq(r.messages[0].id, next->row.id);
    for (size_t i = 1; i < r.message_count; i++)
        for (size_t k = 0; ack && k < i; k++)
            ck_assert(!r.messages[i].group.len ||
                      !pawl_str_eq(r.messages[i].group, r.messages[k].group));
}

/* Nobody knows the id of a lock before it is committed. */
static void settle(struct bench *b)
{
    static const pawl_queue_op ops[] = {PAWL_QUEUE_ACK, PAWL_QUEUE_ACK, PAWL_QUEUE_ACK,
                                        PAWL_QUEUE_RELEASE, PAWL_QUEUE_EXTEND};
    const char *lock = NULL;
    struct lock *l;
    size_t left = any(b, b->q->locks.count + 1);
    for (size_t cursor = 0; (l = map_next(&b->q->locks, &cursor));)
        if (l->id[0] != '~' && !l->fresh && (!lock || left-- > 0))
            lock = l->id;
    if (!lock)
        return;
    char name[48];
    l = map_gets(&b->q->locks, pawl_s(lock));
    (void)snprintf(name, sizeof(name), any(b, 3) ? "%s" : "%s.%llu", lock,
                   (unsigned long long)l->entries[any(b, l->count)].id);
    const char *names[] = {name};
    pawl_queue_reply r = {0};
    queue_settle(&b->g, b->q,
                 PAWL_QUEUE_REQUEST(.op = ops[any(b, COUNT_OF(ops))], .lock_ids = names,
                                    .lock_count = 1, .has_delay = true,
                                    .delay_ms = any(b, 2) ? (int64_t)any(b, 600) : 0),
                 &r);
    ck_assert_int_eq(r.status, PAWL_OK);
}

/* Delayed ones are due, as the runtime does it: on a clean queue, with heads. */
static void promote(struct bench *b)
{
    for (size_t i = 0; i < b->count; i++) {
        struct kept *k = &b->entries[i];
        if (!k->there || k->row.state != PAWL_QUEUE_DELAYED || k->row.visible_ms > b->g.now_ms)
            continue;
        pawl_queue_entry head = k->row;
        head.data = head.attrs = (pawl_str){0};
        queue_promote(&b->g, b->q, &head);
    }
}

static void remove_one(struct bench *b)
{
    struct kept *k = b->count ? &b->entries[any(b, b->count)] : NULL;
    if (!k || !k->there || k->row.state == PAWL_QUEUE_LOCKED)
        return;
    pawl_queue_entry row = k->row;
    if (any(b, 2))
        row.data = row.attrs = (pawl_str){0};
    queue_purge(&b->g, b->q, &row);
}

static void step(struct bench *b)
{
    size_t what = any(b, 20);
    b->g.now_ms += (int64_t)any(b, 200);
    queue_tick(&b->g, b->q);
    if (what < 6)
        push(b);
    else if (what < 13)
        pop(b);
    else
        settle(b);
    if (any(b, 3))
        return; /* the next one is in the same commit */
    commit(b);
    one_of_each_group_is_out(b);
    promote(b);
    commit(b);
    if (!any(b, 8))
        remove_one(b);
    commit(b);
    if (b->q->stale || !any(b, 60))
        crash(b);
}

static void run(uint64_t seed, size_t behind_max)
{
    static struct bench b;
    memset(&b, 0, sizeof(b));
    arena_init(&b.mem);
    b.next_id = 100;
    b.dice = seed;
    b.behind_max = behind_max;
    b.g = (struct queue_group){.now_ms = 1000000,
                               .next_id = &b.next_id,
                               .mem = &b.mem,
                               .user = &b,
                               .open = open_queue,
                               .was_lock = was_lock,
                               .random = some_bytes};
    queue_group_begin(&b.g);
    (void)snprintf(b.config, sizeof(b.config), "{\"groups\":1,\"max_locks\":%d}", seed % 3 ? 0 : 3);
    b.row = (pawl_queue_row){.name = pawl_s("q"), .config = pawl_s(b.config)};
    load(&b);
    for (int i = 0; i < 1200; i++)
        step(&b);
    commit(&b);
    queue_destroy(b.q);
    arena_deinit(&b.mem);
}

TEST(one_of_a_group_is_out_and_it_is_the_first_whatever_happens)
{
    for (uint64_t seed = 1; seed <= 40; seed++)
        run(seed, QUEUE_BEHIND_BYTES);
}

TEST(a_group_that_does_not_fit_into_memory_keeps_its_order)
{
    for (uint64_t seed = 1; seed <= 40; seed++)
        run(seed, seed % 4 * sizeof(struct entry));
}
