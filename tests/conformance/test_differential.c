/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/test_differential.c -- the same random operations through the
 * memory store and another one must give the same answers and the same contents.
 *
 *     test_differential [SEED [STEPS]]
 *
 * What the contract leaves open is not asked: removed instances are purged before
 * the next fetch, the clock does not step back, work has its event's rid as its
 * id and is dropped when its execution ends.
 */
#include "dump.h"
#include "stores.h"

#include "base/attr.h"
#include "store/fault/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTANCES_MAX 12
#define RECENT        256 /* message ids remembered */
#define WORK_MAX      64  /* live work rows */
#define DUMP_MAX      (16 << 20)
#define SEEDS         4
#define STEPS         2500
#define FULL_EVERY    25 /* steps between comparisons of everything */

struct job {
    uint64_t id, uid;
};

struct world {
    uint64_t random;
    int64_t now;
    const char *names[2];
    pawl_conformance_factory factories[2];
    pawl_store *stores[2];
    pawl_fence fences[2];
    uint64_t next_id;
    uint64_t uids[INSTANCES_MAX];
    size_t uid_count;
    uint64_t messages[RECENT];
    struct job jobs[WORK_MAX], timers[WORK_MAX]; /* rows with the id of an event of uid */
    size_t job_count, timer_count;
    unsigned name_no;
    pawl_mem *mem;
    struct buf out[2];
    bool failed;
};

/* A round and room for its parts. */
struct plan {
    pawl_round round;
    pawl_row row;
    pawl_event events[8];
    pawl_message messages[8];
    pawl_work work[8];
    uint64_t drop_messages[WORK_MAX + 4], drop_work[WORK_MAX + 4], need_work[2];
    pawl_message_update message_updates[4];
    pawl_work_update work_updates[4];
    pawl_quarantine quarantine[2];
    pawl_str keys[2];
};

static uint64_t draw(struct world *w, uint64_t below)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (w->random >> 11) % below;
}

static bool chance(struct world *w, uint64_t percent)
{
    return draw(w, 100) < percent;
}

static pawl_str word(struct world *w)
{
    static const char *const words[] = {"", "x", "hello", "{\"a\":1}", "Grüße", "a\nb", "'--"};
    return pawl_s(words[draw(w, COUNT_OF(words))]);
}

static pawl_str activity(struct world *w)
{
    static const char *const names[] = {"charge", "ship", "mail"};
    return pawl_s(names[draw(w, 3)]);
}

static int64_t some_time(struct world *w)
{
    return chance(w, 50) ? 0 : w->now + (int64_t)draw(w, 60) - 20;
}

static uint64_t some_message(struct world *w)
{
    uint64_t id = w->messages[draw(w, RECENT)];
    return id ? id : UINT64_C(1) << 40; /* nobody's */
}

static uint64_t some_job(struct world *w)
{
    return w->job_count && chance(w, 90) ? w->jobs[draw(w, w->job_count)].id : draw(w, 1000) + 1;
}

/* ---- Building rounds ------------------------------------------------------- */

static pawl_event *add_event(struct world *w, struct plan *p)
{
    pawl_event *e = &p->events[p->round.event_count++];
    *e = (pawl_event){.rid = w->next_id++,
                      .execution = p->row.execution,
                      .seq = p->row.last_seq + 1,
                      .ref = draw(w, 9),
                      .kind = (int)draw(w, 70) + 1,
                      .name = word(w),
                      .data = word(w),
                      .attrs = word(w),
                      .at_ms = w->now};
    p->row.last_seq = e->seq;
    p->row.last_rid = e->rid;
    if (e->seq == 1)
        p->row.first_rid = e->rid;
    return e;
}

static void add_work(struct world *w, struct plan *p, uint64_t rid)
{
    pawl_work *work = &p->work[p->round.work_count++];
    bool leased = chance(w, 20);
    *work = (pawl_work){.id = rid,
                        .uid = p->row.uid,
                        .execution = p->row.execution,
                        .name = activity(w),
                        .input = word(w),
                        .attrs = word(w),
                        .visible_ms = some_time(w),
                        .scheduled_ms = w->now,
                        .deadline_ms = some_time(w),
                        .lock_token = pawl_s(leased ? "token" : ""),
                        .lock_until_ms = leased ? w->now + (int64_t)draw(w, 50) : 0};
    if (chance(w, 40) && work->visible_ms <= w->now)
        work->lock_epoch = w->fences[0].epoch;
    w->jobs[w->job_count++] = (struct job){.id = rid, .uid = p->row.uid};
}

static void add_message(struct world *w, struct plan *p, uint64_t id)
{
    pawl_message *m = &p->messages[p->round.message_count++];
    *m = (pawl_message){.id = id,
                        .kind = (int)draw(w, 13) + 1,
                        .execution = draw(w, 3),
                        .ref = draw(w, 5),
                        .name = word(w),
                        .data = word(w),
                        .attrs = word(w),
                        .visible_ms = some_time(w),
                        .created_ms = w->now,
                        .attempt = (uint32_t)draw(w, 3),
                        .mailbox = chance(w, 15)};
    if (w->uid_count && chance(w, 85))
        m->uid = w->uids[draw(w, w->uid_count)];
    else
        m->instance = pawl_s(chance(w, 50) ? "nobody" : "i1");
    w->messages[draw(w, RECENT)] = id;
}

static void add_timer(struct world *w, struct plan *p, uint64_t rid)
{
    add_message(w, p, rid);
    pawl_message *m = &p->messages[p->round.message_count - 1];
    m->uid = p->row.uid;
    m->instance = (pawl_str){0};
    w->timers[w->timer_count++] = (struct job){.id = rid, .uid = m->uid};
}

static void add_parts(struct world *w, struct plan *p)
{
    pawl_round *r = &p->round;
    for (uint64_t n = draw(w, 3); n > 0; n--)
        add_message(w, p, w->next_id++);
    for (uint64_t n = draw(w, 3); n > 0; n--)
        p->drop_messages[r->drop_message_count++] = some_message(w);
    for (uint64_t n = draw(w, 2); n > 0; n--)
        p->message_updates[r->message_update_count++] =
            (pawl_message_update){.id = some_message(w),
                                  .visible_ms = some_time(w),
                                  .attempt = (uint32_t)draw(w, 5),
                                  .mailbox = chance(w, 20)};
    if (chance(w, 3))
        p->quarantine[r->quarantine_count++] =
            (pawl_quarantine){.id = some_message(w), .reason = word(w)};
    if (chance(w, 20))
        p->need_work[r->need_work_count++] = some_job(w);
    if (chance(w, 20))
        p->drop_work[r->drop_work_count++] = some_job(w);
    for (uint64_t n = draw(w, 2); n > 0; n--) {
        bool leased = chance(w, 30);
        pawl_work_update u = {.id = some_job(w),
                              .attempt = (uint32_t)draw(w, 5),
                              .crashes = (uint32_t)draw(w, 3),
                              .visible_ms = some_time(w),
                              .deadline_ms = some_time(w),
                              .last_error = word(w),
                              .lock_token = pawl_s(leased ? "again" : ""),
                              .lock_until_ms = leased ? w->now + (int64_t)draw(w, 50) : 0};
        if (chance(w, 40) && u.visible_ms <= w->now)
            u.lock_epoch = w->fences[0].epoch;
        p->work_updates[r->work_update_count++] = u;
    }
    if (r->uid && chance(w, 20))
        p->keys[r->key_count++] = word(w);
}

/* Break a round in one of the ways of C3. */
static void spoil(struct world *w, struct plan *p)
{
    pawl_round *r = &p->round;
    bool on_row = r->uid && r->change != PAWL_ROW_INSERT;
    switch (on_row ? draw(w, 6) : 3 + draw(w, 3)) {
    case 0:
        r->base_seq++;
        break;
    case 1:
        r->execution++;
        break;
    case 2:
        r->uid += 1000000;
        break;
    case 3:
        if (r->message_count > 0)
            p->messages[0].id = w->messages[0] ? w->messages[0] : p->messages[0].id;
        break;
    case 4:
        if (r->event_count > 1)
            p->events[1].rid = p->events[0].rid;
        break;
    default:
        p->need_work[r->need_work_count < 2 ? r->need_work_count++ : 0] = w->next_id + 5;
        break;
    }
}

static void start_instance(struct world *w, struct plan *p)
{
    char name[24];
    snprintf(name, sizeof(name), "i%u", w->name_no++ % 40); /* sometimes taken */
    p->row = (pawl_row){.uid = w->next_id++,
                        .id = pawl_mem_dup(w->mem, pawl_s(name)),
                        .orchestration = activity(w),
                        .version = pawl_s(chance(w, 50) ? "" : "1.0.0"),
                        .state = PAWL_PENDING,
                        .execution = 1,
                        .created_ms = w->now,
                        .parent_uid = draw(w, 4),
                        .parent_id = word(w)};
    p->round.change = PAWL_ROW_INSERT;
    if (w->uid_count < INSTANCES_MAX)
        w->uids[w->uid_count++] = p->row.uid;
}

static void continue_as_new(struct world *w, struct plan *p)
{
    add_event(w, p);
    p->row.execution++;
    p->row.last_seq = 0;
    p->row.version = word(w);
    add_event(w, p);
    for (size_t i = 0; i < w->job_count; i++) { /* as an engine does */
        if (w->jobs[i].uid == p->row.uid)
            p->drop_work[p->round.drop_work_count++] = w->jobs[i].id;
    }
    for (size_t i = 0; i < w->timer_count; i++) {
        if (w->timers[i].uid == p->row.uid)
            p->drop_messages[p->round.drop_message_count++] = w->timers[i].id;
    }
}

static void plan_round(struct world *w, struct plan *p)
{
    memset(p, 0, sizeof(*p));
    uint64_t what = draw(w, 100);
    if (w->uid_count == 0 || (what < 12 && w->uid_count < INSTANCES_MAX)) {
        start_instance(w, p);
    } else if (what < 85) {
        uint64_t uid = w->uids[draw(w, w->uid_count)];
        if (w->stores[0]->ops->find_uid(w->stores[0], uid, w->mem, &p->row, NULL) != PAWL_OK)
            p->row = (pawl_row){.uid = uid, .id = pawl_s("never"), .execution = 1};
        p->round.change = what < 20 || p->row.last_seq == 0 ? PAWL_ROW_ALL
                          : what < 25                       ? PAWL_ROW_NONE
                                                            : PAWL_ROW_LAST;
    }
    pawl_round *r = &p->round;
    r->uid = p->row.uid;
    r->execution = p->row.execution;
    r->base_seq = p->row.last_seq;
    r->base_rid = p->row.last_rid;
    p->row.updated_ms = w->now;
    if (r->uid && r->change != PAWL_ROW_NONE) {
        r->row = &p->row;
        for (uint64_t n = draw(w, 4); n > 0; n--) {
            uint64_t rid = add_event(w, p)->rid;
            if (chance(w, 40) && w->job_count < WORK_MAX)
                add_work(w, p, rid);
            else if (chance(w, 30) && w->timer_count < WORK_MAX)
                add_timer(w, p, rid);
        }
        if (r->change == PAWL_ROW_ALL) {
            p->row.custom_status = word(w);
            p->row.state = (pawl_state)draw(w, 7);
            if (chance(w, 60))
                continue_as_new(w, p);
        }
    }
    add_parts(w, p);
    if (chance(w, 8))
        spoil(w, p);
}

static void finish_plan(struct plan *p)
{
    pawl_round *r = &p->round;
    r->events = p->events;
    r->messages = p->messages;
    r->work = p->work;
    r->drop_messages = p->drop_messages;
    r->drop_work = p->drop_work;
    r->need_work = p->need_work;
    r->message_updates = p->message_updates;
    r->work_updates = p->work_updates;
    r->quarantine = p->quarantine;
    r->keys = p->keys;
}

/* ---- Operations: each writes its answer of store i into out[i] --------------- */

/* A store that says BUSY is asked again: nothing happened. */
#define ASK(call)                                                                                  \
    pawl_status status;                                                                            \
    do                                                                                             \
        status = (call);                                                                           \
    while (status == PAWL_BUSY);                                                                   \
    buf_printf(&w->out[i], "%s\n", pawl_status_code(status))

/* Group numbers by how far they moved: the stores need different numbers of purges. */
static void dump_fence(struct world *w, int i, uint64_t group_before)
{
    buf_printf(&w->out[i], "fence %" PRIu64 " +%" PRIu64 " %" PRIu64 "\n", w->fences[i].epoch,
               w->fences[i].group_no - group_before, w->fences[i].next_id);
}

static void do_commit(struct world *w)
{
    size_t count = draw(w, 4) + (chance(w, 5) ? 0 : 1);
    struct plan *plans = pawl_mem_alloc(w->mem, (count + 1) * sizeof(*plans));
    pawl_round *rounds = pawl_mem_alloc(w->mem, (count + 1) * sizeof(*rounds));
    for (size_t n = 0; n < count; n++) {
        plan_round(w, &plans[n]);
        finish_plan(&plans[n]);
    }
    for (int i = 0; i < 2; i++) {
        for (size_t n = 0; n < count; n++)
            rounds[n] = plans[n].round;
        w->fences[i].next_id = w->next_id;
        uint64_t group = w->fences[i].group_no;
        ASK(w->stores[i]->ops->commit(w->stores[i], &w->fences[i], rounds, count, w->now, NULL));
        for (size_t n = 0; n < count; n++)
            buf_printf(&w->out[i], "round %zu of %" PRIu64 ": %s\n", n, rounds[n].uid,
                       pawl_status_code(rounds[n].result));
        for (size_t n = 0; n < count; n++)
            dump_instance(&w->out[i], w->stores[i], rounds[n].uid, w->mem);
        dump_fence(w, i, group);
    }
}

static void do_fetch(struct world *w)
{
    uint32_t limit = (uint32_t)draw(w, 6) + 1;
    pawl_str names[2] = {activity(w), activity(w)};
    uint64_t which = draw(w, 4), name_count = draw(w, 3);
    for (int i = 0; i < 2; i++) {
        pawl_store *s = w->stores[i];
        pawl_message_list messages = {0};
        pawl_work_list work = {0};
        int64_t due = 0;
        ASK(which == 0 ? s->ops->fetch_messages(s, w->now, limit, w->mem, &messages, NULL)
            : which == 1
                ? s->ops->fetch_work(s, w->now, names, name_count, limit, w->mem, &work, NULL)
            : which == 2 ? s->ops->fetch_deadlines(s, w->now, limit, w->mem, &work, NULL)
                         : s->ops->next_due(s, w->now, &due, NULL));
        dump_messages(&w->out[i], &messages);
        dump_work(&w->out[i], &work);
        buf_printf(&w->out[i], "due %" PRId64 "\n", due);
    }
}

static void do_abandon(struct world *w)
{
    uint64_t messages[4], work[4];
    for (int n = 0; n < 4; n++) {
        messages[n] = some_message(w);
        work[n] = some_job(w);
    }
    for (int i = 0; i < 2; i++) {
        w->stores[i]->ops->abandon_messages(w->stores[i], messages, 4);
        w->stores[i]->ops->abandon_work(w->stores[i], work, 4);
    }
}

static void purge_both(struct world *w)
{
    for (int i = 0; i < 2; i++) {
        bool left = true;
        while (left) {
            ASK(w->stores[i]->ops->purge(w->stores[i], &w->fences[i], 10, &left, NULL));
            if (status != PAWL_OK)
                break;
            buf_reset(&w->out[i]); /* how many calls it takes is the store's affair */
        }
    }
}

static size_t forget(struct job *jobs, size_t count, uint64_t uid)
{
    size_t kept = 0;
    for (size_t n = 0; n < count; n++) {
        if (jobs[n].uid != uid)
            jobs[kept++] = jobs[n];
    }
    return kept;
}

static void do_remove(struct world *w)
{
    if (w->uid_count == 0)
        return;
    size_t n = draw(w, w->uid_count);
    pawl_row row = {0};
    uint64_t uid = w->uids[n];
    if (w->stores[0]->ops->find_uid(w->stores[0], uid, w->mem, &row, NULL) == PAWL_OK) {
        for (int i = 0; i < 2; i++) {
            pawl_round r = {.uid = uid,
                            .execution = row.execution,
                            .base_seq = row.last_seq,
                            .base_rid = row.last_rid,
                            .change = PAWL_ROW_REMOVE};
            ASK(w->stores[i]->ops->commit(w->stores[i], &w->fences[i], &r, 1, w->now, NULL));
            buf_printf(&w->out[i], "removed %s\n", pawl_status_code(r.result));
            dump_instance(&w->out[i], w->stores[i], 0, w->mem);
        }
        purge_both(w);
        w->job_count = forget(w->jobs, w->job_count, uid);
        w->timer_count = forget(w->timers, w->timer_count, uid);
    }
    w->uids[n] = w->uids[--w->uid_count];
}

static void do_prune(struct world *w)
{
    if (w->uid_count == 0)
        return;
    uint64_t uid = w->uids[draw(w, w->uid_count)], before = draw(w, 6);
    for (int i = 0; i < 2; i++) {
        uint64_t count = 0;
        ASK(w->stores[i]->ops->prune_executions(w->stores[i], &w->fences[i], uid, before, &count,
                                                NULL));
        buf_printf(&w->out[i], "pruned %" PRIu64 "\n", count);
        dump_instance(&w->out[i], w->stores[i], uid, w->mem);
    }
    if (chance(w, 50))
        purge_both(w);
}

static void do_take(struct world *w)
{
    bool dead = chance(w, 20);
    for (int i = 0; i < 2; i++) {
        pawl_error err = {0};
        if (dead)
            w->stores[i] = w->factories[i].reopen(w->factories[i].user, w->stores[i], &err);
        uint64_t group = w->fences[i].group_no;
        ASK(w->stores[i]->ops->take(w->stores[i], w->now, &w->fences[i], NULL));
        dump_fence(w, i, group);
    }
}

/* Work rows that are gone make room for new ones. */
static void sweep_jobs(struct world *w)
{
    size_t kept = 0;
    for (size_t n = 0; n < w->job_count; n++) {
        pawl_work_list list = {0};
        if (w->stores[0]->ops->read_work(w->stores[0], &w->jobs[n].id, 1, w->mem, &list, NULL) ==
                PAWL_OK &&
            list.count == 1)
            w->jobs[kept++] = w->jobs[n];
    }
    w->job_count = kept;
}

static void compare_all(struct world *w)
{
    uint64_t ids[WORK_MAX];
    for (size_t n = 0; n < w->job_count; n++)
        ids[n] = w->jobs[n].id;
    for (int i = 0; i < 2; i++)
        dump_store(&w->out[i], w->stores[i], ids, w->job_count, w->now, w->mem);
}

static void step(struct world *w, uint64_t n)
{
    uint64_t what = draw(w, 100);
    buf_reset(&w->out[0]);
    buf_reset(&w->out[1]);
    w->now += (int64_t)draw(w, 4);
    if (what < 45)
        do_commit(w);
    else if (what < 82)
        do_fetch(w);
    else if (what < 90)
        do_abandon(w);
    else if (what < 94)
        do_remove(w);
    else if (what < 97)
        do_prune(w);
    else
        do_take(w);
    if (w->job_count > WORK_MAX - 8 * 4)
        sweep_jobs(w);
    if (n % FULL_EVERY == 0 || what >= 90)
        compare_all(w);
}

/* ---- Running ----------------------------------------------------------------- */

static bool run(const pawl_conformance_factory *a, const pawl_conformance_factory *b, uint64_t seed,
                uint64_t steps)
{
    struct world w = {
        .random = seed * UINT64_C(0x9E3779B97F4A7C15) | 1,
        .now = 1000000,
        .names = {a->name, b->name},
        .factories = {*a,      *b     },
        .mem = pawl_mem_new()
    };
    for (int i = 0; i < 2; i++) {
        pawl_error err = {0};
        buf_init(&w.out[i], DUMP_MAX);
        w.stores[i] = w.factories[i].open(w.factories[i].user, &err);
        if (!w.stores[i] ||
            w.stores[i]->ops->take(w.stores[i], w.now, &w.fences[i], &err) != PAWL_OK) {
            printf("FAIL %s: %s\n", w.names[i], err.text);
            return false;
        }
    }
    w.next_id = w.fences[0].next_id;
    uint64_t n = 1;
    for (; n <= steps && !w.failed; n++) {
        step(&w, n);
        w.failed = dump_differ(&w.out[0], &w.out[1], w.names);
        pawl_mem_reset(w.mem);
    }
    if (w.failed)
        printf("FAIL %s and %s differ at step %" PRIu64 "; repeat with test_differential %" PRIu64
               " %" PRIu64 "\n",
               a->name, b->name, n - 1, seed, steps);
    for (int i = 0; i < 2; i++) {
        w.factories[i].close(w.factories[i].user, w.stores[i]);
        buf_deinit(&w.out[i]);
    }
    pawl_mem_free(w.mem);
    return !w.failed;
}

/* Memory behind a decorator that often says BUSY. */

static struct fault sometimes_busy(void *user, enum fault_op op, uint64_t call)
{
    (void)user;
    bool reader = op >= FAULT_OP_find && op <= FAULT_OP_read_quarantine;
    bool busy = !reader && op != FAULT_OP_take && call % 3 == 0;
    return (struct fault){.kind = busy ? FAULT_BEFORE : FAULT_NONE, .status = PAWL_BUSY};
}

static pawl_store *busy_open(void *user, pawl_error *reterr)
{
    (void)user, (void)reterr;
    return fault_store(pawl_memory_store(), sometimes_busy, NULL);
}

static pawl_store *busy_reopen(void *user, pawl_store *s, pawl_error *reterr)
{
    (void)user, (void)reterr;
    return s;
}

static void busy_close(void *user, pawl_store *s)
{
    (void)user;
    s->ops->close(s);
}

int main(int argc, char **argv)
{
    pawl_conformance_factory all[STORES_MAX + 1];
    size_t count = stores(all);
    all[count++] = (pawl_conformance_factory){.size = sizeof(all[0]),
                                              .name = "busy",
                                              .open = busy_open,
                                              .reopen = busy_reopen,
                                              .close = busy_close};
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t seeds = argc > 1 ? 1 : SEEDS, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : STEPS;
    int passed = 0, failed = 0;
    for (size_t i = 1; i < count; i++) {
        for (uint64_t n = 0; n < seeds; n++) {
            bool same = run(&all[0], &all[i], seed + n, steps);
            passed += same;
            failed += !same;
        }
    }
    printf("test_differential: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
