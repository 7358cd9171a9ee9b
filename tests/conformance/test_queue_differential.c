/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/test_queue_differential.c -- the same random changes of queues
 * through the memory store and sqlite must give the same answers and contents.
 *
 *     test_queue_differential [SEED [STEPS]] | STORE [STEPS]
 *
 * What the contract leaves open is not asked: entries and locks are of queues that exist.
 */
#include "dump.h"
#include "stores.h"
#include "stumble.h"

#include "base/buf.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS     3
#define STEPS     600
#define STEPS_FAR 250 /* of a server; 600 take half a minute */
#define PAGES_FAR 50  /* a look at everything in pages of three is hundreds of questions */
#define QUEUES    3
#define IDS_MAX   400

struct pair {
    pawl_store *stores[2];
    pawl_fence fences[2];
    pawl_conformance_factory factories[2];
    uint64_t random, next_id;
    int64_t now;
    uint64_t qids[QUEUES];
    uint64_t ids[IDS_MAX]; /* of entries, there or not */
    pawl_queue_lock locks[IDS_MAX];
    size_t id_count, lock_count;
    pawl_mem *mem; /* of one step */
    pawl_mem *keep;
    struct buf out[2];
    bool in_pages; /* in this step everything is looked at in pages, too, and every key */
};

/* A round and room for its parts. */
struct plan {
    pawl_queue_round part;
    pawl_queue_row row;
    pawl_queue_entry entries[4];
    pawl_entry_update updates[5];
    uint64_t drops[4];
    pawl_queue_lock new_locks[3], locks[1], drop_locks[3];
    pawl_queue_past pasts[2];
    pawl_queue_key keys[2];
    pawl_queue_forget forget;
};

static uint64_t draw(struct pair *p, uint64_t below)
{
    p->random ^= p->random << 13;
    p->random ^= p->random >> 7;
    p->random ^= p->random << 17;
    return p->random % below;
}

static pawl_str word(struct pair *p)
{
    return pawl_mem_printf(p->mem, "w%" PRIu64, draw(p, 12));
}

/* A word, and now and then more than a page, or a MiB, behind it. */
static pawl_str any_data(struct pair *p)
{
    static const uint64_t sizes[] = {3000, 9000, 70000, 1 << 20};
    pawl_str w = word(p);
    if (draw(p, 25))
        return w;
    size_t size = (size_t)draw(p, sizes[draw(p, 4)]) + w.len;
    char *text = pawl_mem_alloc(p->mem, size + 1);
    memset(text, 'a' + (int)draw(p, 26), size);
    memcpy(text, w.ptr, w.len);
    return (pawl_str){text, size};
}

static uint64_t some_qid(struct pair *p)
{
    return p->qids[draw(p, QUEUES)];
}

static uint64_t any_id(struct pair *p)
{
    return p->id_count && draw(p, 10) ? p->ids[draw(p, p->id_count)] : draw(p, p->next_id) + 1;
}

static bool is_taken(const pawl_queue_lock *l)
{
    return l->entry_count == 1 && l->number == l->entries[0];
}

/* Locks that say all of their entry, in the first store. */
static pawl_lock_list taken_locks(struct pair *p, uint64_t qid)
{
    pawl_lock_list list = {0};
    (void)p->stores[0]->ops->queues->read_locks(p->stores[0], qid, 0, p->mem, &list, NULL);
    pawl_queue_lock *some = pawl_mem_alloc(p->mem, (list.count + 1) * sizeof(*some));
    size_t n = 0;
    for (size_t i = 0; i < list.count; i++)
        if (is_taken(&list.items[i]))
            some[n++] = list.items[i];
    return (pawl_lock_list){some, n};
}

/* An entry, there or not, that no such lock is on: it goes with the entry only. */
static uint64_t some_id(struct pair *p)
{
    uint64_t id = any_id(p);
    for (int n = 0; n < QUEUES; n++) {
        pawl_lock_list list = taken_locks(p, p->qids[n]);
        for (size_t i = 0; i < list.count; i++)
            if (list.items[i].number == id)
                return p->next_id + 1000;
    }
    return id;
}

static void plan_entries(struct pair *p, struct plan *a)
{
    for (uint64_t n = draw(p, 5); a->part.entry_count < n;) {
        pawl_queue_entry *e = &a->entries[a->part.entry_count++];
        *e = (pawl_queue_entry){.id = draw(p, 25) ? p->next_id++ : some_id(p),
                                .qid = some_qid(p),
                                .state = (int)draw(p, 3),
                                .priority = (int64_t)draw(p, 4),
                                .visible_ms = p->now + (int64_t)draw(p, 9),
                                .expires_ms = draw(p, 2) ? 0 : p->now + (int64_t)draw(p, 9),
                                .enqueued_ms = p->now,
                                .deliveries = (uint32_t)draw(p, 5),
                                .data = any_data(p),
                                .attrs = word(p),
                                .note = word(p)};
        e->bytes = e->data.len + e->attrs.len;
        e->place = e->id;
        if (p->id_count < IDS_MAX)
            p->ids[p->id_count++] = e->id;
    }
    for (uint64_t n = draw(p, 4); a->part.update_count < n;)
        a->updates[a->part.update_count++] =
            (pawl_entry_update){.id = some_id(p),
                                .qid = some_qid(p),
                                .state = (int)draw(p, 3),
                                .place = p->next_id++,
                                .visible_ms = p->now + (int64_t)draw(p, 9),
                                .expires_ms = draw(p, 2) ? 0 : p->now + (int64_t)draw(p, 9),
                                .deliveries = (uint32_t)draw(p, 5),
                                .has_note = draw(p, 2) != 0,
                                .note = word(p)};
    for (uint64_t n = draw(p, 8) ? 0 : draw(p, 4); a->part.drop_entry_count < n;)
        a->drops[a->part.drop_entry_count++] = some_id(p);
}

static void plan_locks(struct pair *p, struct plan *a)
{
    for (uint64_t n = draw(p, 3); a->part.new_lock_count < n;) {
        uint64_t *ids = pawl_mem_alloc(p->keep, 3 * sizeof(*ids));
        for (int i = 0; i < 3; i++)
            ids[i] = some_id(p);
        pawl_queue_lock *l = &a->new_locks[a->part.new_lock_count++];
        *l = (pawl_queue_lock){.number = p->next_id++,
                               .qid = some_qid(p),
                               .id = pawl_mem_dup(p->keep, word(p)),
                               .created_ms = p->now,
                               .until_ms = p->now + 5,
                               .entries = ids,
                               .entry_count = draw(p, 4)};
        if (p->lock_count < IDS_MAX)
            p->locks[p->lock_count++] = *l;
    }
    if (p->lock_count && draw(p, 3) == 0) {
        a->locks[0] = p->locks[draw(p, p->lock_count)];
        a->locks[0].until_ms = p->now + 50;
        a->part.lock_count = 1;
    }
    if (p->lock_count && draw(p, 3) == 0)
        a->drop_locks[a->part.drop_lock_count++] = p->locks[draw(p, p->lock_count)];
}

static bool names(const struct plan *a, uint64_t id)
{
    bool named = false;
    for (size_t i = 0; i < a->part.entry_count; i++)
        named |= a->entries[i].id == id;
    for (size_t i = 0; i < a->part.update_count; i++)
        named |= a->updates[i].id == id;
    for (size_t i = 0; i < a->part.drop_entry_count; i++)
        named |= a->drops[i] == id;
    return named;
}

/* One more entry under a lock of its own number. */
static void plan_take(struct pair *p, struct plan *a)
{
    pawl_entry_query q = {.qid = some_qid(p), .limit = 4, .priority = INT64_MIN};
    pawl_entry_list list = {0};
    (void)p->stores[0]->ops->queues->query_entries(p->stores[0], &q, p->mem, &list, NULL);
    if (!list.count)
        return;
    const pawl_queue_entry *e = &list.items[draw(p, list.count)];
    if (names(a, e->id))
        return;
    uint64_t *ids = pawl_mem_alloc(p->mem, sizeof(*ids));
    ids[0] = e->id;
    a->updates[a->part.update_count++] = (pawl_entry_update){.id = e->id,
                                                             .qid = e->qid,
                                                             .state = 2,
                                                             .place = e->place,
                                                             .visible_ms = e->visible_ms,
                                                             .expires_ms = e->expires_ms,
                                                             .deliveries = e->deliveries + 1};
    a->new_locks[a->part.new_lock_count++] = (pawl_queue_lock){.number = e->id,
                                                               .qid = e->qid,
                                                               .id = word(p),
                                                               .until_ms = p->now + 5,
                                                               .entries = ids,
                                                               .entry_count = 1};
}

/* And the end of one: acknowledged, or given back in whatever state. */
static void plan_settle(struct pair *p, struct plan *a)
{
    pawl_lock_list list = taken_locks(p, some_qid(p));
    if (!list.count)
        return;
    const pawl_queue_lock *l = &list.items[draw(p, list.count)];
    if (names(a, l->number))
        return;
    a->drop_locks[a->part.drop_lock_count++] = *l;
    if (draw(p, 2))
        a->drops[a->part.drop_entry_count++] = l->number;
    else
        a->updates[a->part.update_count++] = (pawl_entry_update){.id = l->number,
                                                                 .qid = some_qid(p),
                                                                 .state = (int)draw(p, 3),
                                                                 .place = p->next_id++,
                                                                 .deliveries = 7};
}

static void plan_rest(struct pair *p, struct plan *a)
{
    if (draw(p, 2)) {
        a->row = (pawl_queue_row){.qid = draw(p, 20) ? some_qid(p) : 999999,
                                  .name = word(p),
                                  .paused = draw(p, 2) != 0,
                                  .created_ms = p->now,
                                  .due_ms = draw(p, 2) ? 0 : p->now + (int64_t)draw(p, 9),
                                  .ready = draw(p, 9),
                                  .config = word(p),
                                  .totals = word(p)};
        if (draw(p, 12) == 0) {
            a->row.qid = p->next_id++;
            a->part.new_queue_count = 1;
        } else {
            a->part.queue_count = 1;
        }
    }
    for (uint64_t n = draw(p, 3); a->part.past_count < n;)
        a->pasts[a->part.past_count++] =
            (pawl_queue_past){p->next_id++, p->qids[draw(p, QUEUES)], word(p), p->now};
    for (uint64_t n = draw(p, 3); a->part.key_count < n;)
        a->keys[a->part.key_count++] = (pawl_queue_key){p->qids[draw(p, QUEUES)], word(p),
                                                        some_id(p), p->now + (int64_t)draw(p, 9)};
    if (draw(p, 8) == 0) {
        a->forget = (pawl_queue_forget){p->qids[draw(p, QUEUES)], p->now - 20, (uint32_t)draw(p, 6),
                                        p->now};
        a->part.forget_count = 1;
    }
    a->part.new_queues = a->part.queues = &a->row;
    a->part.entries = a->entries;
    a->part.updates = a->updates;
    a->part.drop_entries = a->drops;
    a->part.new_locks = a->new_locks;
    a->part.locks = a->locks;
    a->part.drop_locks = a->drop_locks;
    a->part.pasts = a->pasts;
    a->part.keys = a->keys;
    a->part.forgets = &a->forget;
}

/* ---- Looking ------------------------------------------------------------------- */

static void dump_entries(struct pair *p, int i, pawl_entry_query q)
{
    pawl_entry_list list = {0};
    pawl_store *s = p->stores[i];
    pawl_status rc = s->ops->queues->query_entries(s, &q, p->mem, &list, NULL);
    buf_printf(&p->out[i], "order %d: %d more %d\n", (int)q.order, (int)rc, list.more);
    for (size_t n = 0; n < list.count; n++) {
        const pawl_queue_entry *e = &list.items[n];
        buf_printf(&p->out[i],
                   "  %" PRIu64 " %d p%" PRId64 " @%" PRIu64 " v%" PRId64 " x%" PRId64
                   " d%u b%" PRIu64 " %.*s %.*s %.*s\n",
                   e->id, e->state, e->priority, e->place, e->visible_ms, e->expires_ms,
                   e->deliveries, e->bytes, PAWL_FMT(e->data), PAWL_FMT(e->attrs),
                   PAWL_FMT(e->note));
    }
}

/* The same in pages of three; by id stores may end a page wherever they like. */
static void dump_pages(struct pair *p, int i, pawl_entry_query q)
{
    if (q.order == PAWL_ENTRIES_EXPIRING || q.order == PAWL_ENTRIES_BY_ID || !p->in_pages)
        return;
    pawl_entry_list list = {.more = true};
    pawl_store *s = p->stores[i];
    q.limit = 3;
    while (list.more && s->ops->queues->query_entries(s, &q, p->mem, &list, NULL) == PAWL_OK) {
        for (size_t n = 0; n < list.count; n++)
            buf_printf(&p->out[i], " %" PRIu64, list.items[n].id);
        buf_printf(&p->out[i], " to %" PRIu64 "\n", list.last_id);
        q.after_key = q.priority = list.last_key;
        q.after = list.last_id;
        q.place = list.last_id + 1;
    }
}

static void dump_rows(struct buf *out, const pawl_queue_row_list *list)
{
    for (size_t n = 0; n < list->count; n++) {
        const pawl_queue_row *q = &list->items[n];
        buf_printf(out, "queue %" PRIu64 " %.*s %d due %" PRId64 " %" PRIu64 " %.*s %.*s\n", q->qid,
                   PAWL_FMT(q->name), q->paused, q->due_ms, q->ready, PAWL_FMT(q->config),
                   PAWL_FMT(q->totals));
    }
}

static void dump_queue(struct pair *p, int i, uint64_t qid)
{
    pawl_store *s = p->stores[i];
    const pawl_queue_ops *ops = s->ops->queues;
    pawl_lock_list locks = {0};
    for (int order = 0; order <= PAWL_ENTRIES_LOCKED; order++) {
        pawl_entry_query q = {.qid = qid, .order = (pawl_entry_order)order, .limit = 5000};
        dump_entries(p, i, q);
        dump_pages(p, i, q);
        q.has_priority = order != PAWL_ENTRIES_EXPIRING;
        q.priority = 1;
        dump_entries(p, i, q);
    }
    if (ops->read_locks(s, qid, 0, p->mem, &locks, NULL) == PAWL_OK)
        for (size_t n = 0; n < locks.count; n++)
            buf_printf(&p->out[i], "lock %" PRIu64 " %.*s %" PRId64 " %zu %" PRIu64 "\n",
                       locks.items[n].number, PAWL_FMT(locks.items[n].id), locks.items[n].until_ms,
                       locks.items[n].entry_count,
                       locks.items[n].entry_count ? locks.items[n].entries[0] : 0);
    for (int w = 0; w < 12 && p->in_pages; w++) {
        pawl_str text = pawl_mem_printf(p->mem, "w%d", w);
        pawl_queue_key key = {0};
        pawl_status found = ops->find_key(s, qid, text, &key, NULL);
        buf_printf(&p->out[i], "%d %d %" PRIu64 " %" PRId64 "\n",
                   (int)ops->has_past(s, qid, text, NULL), (int)found,
                   found == PAWL_OK ? key.entry : 0, found == PAWL_OK ? key.expires_ms : 0);
    }
}

static void dump_all(struct pair *p, int i)
{
    pawl_store *s = p->stores[i];
    pawl_queue_row_list list = {0};
    pawl_level_list levels = {0};
    int64_t due = 0;
    for (int n = 0; n < QUEUES; n++) {
        dump_queue(p, i, p->qids[n]);
        if (s->ops->queues->levels(s, p->qids[n], 9, p->mem, &levels, NULL) == PAWL_OK)
            for (size_t at = 0; at < levels.count; at++)
                buf_printf(&p->out[i], "level %" PRId64 " %" PRIu64 "\n", levels.items[at].priority,
                           levels.items[at].count);
    }
    if (s->ops->queues->list_queues(s, (pawl_str){0}, (pawl_str){0}, 99, p->mem, &list, NULL) ==
        PAWL_OK)
        dump_rows(&p->out[i], &list);
    if (s->ops->queues->due_queues(s, p->now, 99, p->mem, &list, NULL) == PAWL_OK)
        dump_rows(&p->out[i], &list);
    if (s->ops->next_due(s, p->now, &due, NULL) == PAWL_OK)
        buf_printf(&p->out[i], "due %" PRId64 "\n", due);
}

/* ---- Running -------------------------------------------------------------------- */

static void commit_both(struct pair *p, const pawl_queue_round *part)
{
    for (int i = 0; i < 2; i++) {
        pawl_round round = {.queue = part};
        p->fences[i].next_id = p->next_id;
        pawl_status rc =
            p->stores[i]->ops->commit(p->stores[i], &p->fences[i], &round, 1, p->now, NULL);
        buf_printf(&p->out[i], "commit %d %d\n", (int)rc, (int)round.result);
    }
}

static void step(struct pair *p, uint64_t n)
{
    struct plan *a = pawl_mem_alloc(p->mem, sizeof(*a));
    p->now += (int64_t)draw(p, 3);
    plan_entries(p, a);
    plan_locks(p, a);
    if (draw(p, 2))
        plan_take(p, a);
    if (draw(p, 3) == 0)
        plan_settle(p, a);
    plan_rest(p, a);
    commit_both(p, &a->part);
    if (n % 50 == 0)
        for (int i = 0; i < 2; i++) {
            p->stores[i] =
                p->factories[i].reopen(p->factories[i].user, p->stores[i], &(pawl_error){0});
            (void)p->stores[i]->ops->take(p->stores[i], p->now, &p->fences[i], NULL);
        }
    for (int i = 0; i < 2; i++)
        dump_all(p, i);
}

static bool run(const pawl_conformance_factory all[2], uint64_t seed, uint64_t steps)
{
    struct pair *p = calloc(1, sizeof(*p));
    bool same = true;
    p->random = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    p->now = 1000000;
    p->next_id = 100;
    p->mem = pawl_mem_new();
    p->keep = pawl_mem_new();
    for (int i = 0; i < 2; i++) {
        pawl_error err = {0};
        p->factories[i] = all[i];
        p->stores[i] = all[i].open(all[i].user, &err);
        buf_init(&p->out[i], 16 << 20);
        same &= p->stores[i] &&
                p->stores[i]->ops->take(p->stores[i], p->now, &p->fences[i], &err) == PAWL_OK;
    }
    pawl_queue_row rows[QUEUES];
    for (int n = 0; n < QUEUES; n++) {
        p->qids[n] = p->next_id++;
        rows[n] =
            (pawl_queue_row){.qid = p->qids[n], .name = pawl_mem_printf(p->keep, "queue%d", n)};
    }
    commit_both(p, &(pawl_queue_round){.new_queues = rows, .new_queue_count = QUEUES});
    for (uint64_t n = 1; n <= steps && same; n++) {
        buf_reset(&p->out[0]);
        buf_reset(&p->out[1]);
        p->in_pages = strcmp(all[1].name, "postgres") != 0 || n % PAGES_FAR == 0 || n == 10;
        step(p, n);
        same = !dump_differ(&p->out[0], &p->out[1], (const char *[]){all[0].name, all[1].name});
        if (!same)
            printf("FAIL memory and %s differ at step %" PRIu64
                   "; repeat with test_queue_differential %" PRIu64 " %" PRIu64 "\n",
                   all[1].name, n, seed, steps);
        pawl_mem_reset(p->mem);
    }
    for (int i = 0; i < 2; i++) {
        p->factories[i].close(p->factories[i].user, p->stores[i]);
        buf_deinit(&p->out[i]);
    }
    pawl_mem_free(p->mem);
    pawl_mem_free(p->keep);
    free(p);
    return same;
}

int main(int argc, char **argv)
{
    pawl_conformance_factory all[STORES_MAX + 1];
    size_t count = stores(all);
    bool one = argc > 1 && !isdigit((unsigned char)argv[1][0]); /* a store by name */
    if (one) {
        all[1] = store_called(argv[1]);
        count = 2;
    } else {
        all[count++] = stumbling(&all[1]);
    }
    uint64_t seed = argc > 1 && !one ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t seeds = argc > 1 && !one ? 1 : SEEDS,
             steps = argc > 2 ? strtoull(argv[2], NULL, 10) : STEPS;
    if (one && argc == 2 && strcmp(argv[1], "postgres") == 0)
        steps = STEPS_FAR;
    int passed = 0, failed = 0;
    for (size_t i = 1; i < count; i++)
        for (uint64_t n = 0; n < (strcmp(all[i].name, "stumbling") ? seeds : 1) &&
                             strcmp(all[i].name, "jsonl") != 0;
             n++) {
            pawl_conformance_factory two[2] = {all[0], all[i]};
            bool same = run(two, seed + n, steps);
            passed += same;
            failed += !same;
        }
    if (!one && !stumble_count()) {
        printf("FAIL the database always answered\n");
        failed++;
    }
    printf("test_queue_differential: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
