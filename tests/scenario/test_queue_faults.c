/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_queue_faults.c -- queues on a store that fails, processes that
 * die, many items and many threads.
 *
 * The measure is always the same: what was answered is true, nothing is lost,
 * nothing is delivered twice without a lock that ran out.
 */
#include "queue_verbs.h"

#include <malloc.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Failing commits and reads ---------------------------------------------------- */

QUEUE_SCENARIO(a_failed_commit_is_tried_again_and_answered_once)
{
    static const pawl_status ways[] = {PAWL_BUSY, PAWL_UNAVAILABLE, PAWL_NO_MEMORY};
    for (int i = 0; i < 3; i++) {
        scene_up(s);
        scene_fail(s, FAULT_OP_commit, 0, 2, FAULT_BEFORE, ways[i]);
        q_push(s, "q", scene_id(s, "a", i), 0);
        scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, ways[i]);
        const char *data, *lock = q_lock(s, "q", 1, 0, &data);
        expect_str(data, scene_id(s, "a", i));
        scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, ways[i]);
        expect_is(q_ack(s, "q", lock), PAWL_OK);
    }
    pawl_queue_stats t = q_stats(s, "q");
    expect_is(t.pushed, 3);
    expect_is(t.popped, 3);
    expect_is(t.acked, 3);
    expect_str(q_counts(s, "q"), "0 0 0 0");
}

QUEUE_SCENARIO(failing_reads_are_tried_again)
{
    pawl_queue_config c = pawl_queue_config_default();
    c.max_deliveries = 3;
    q_config(s, "q", c);
    q_push_item(s, "q",
                (pawl_queue_item){
                    .data = {"a", 1},
                      .dedup_id = {"k", 1}
    });
    for (int skip = 0; skip < 6; skip++) {
        scene_crash(s); /* everything is read anew */
        scene_up(s);
        scene_fail(s, FAULT_OP_queue_read, skip, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
        pawl_queue_item twin = {
            .data = {"b", 1},
              .dedup_id = {"k", 1}
        };
        pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q",
                                                             .items = &twin, .item_count = 1));
        expect_is(r->pushed[0].duplicate, true);
        const char *data, *lock = q_lock(s, "q", 1, 0, &data);
        expect_str(data, "a");
        expect_is(q_settle(s, PAWL_QUEUE_EXTEND, "q", lock), PAWL_OK);
        s->fault.left = 0;
        c.max_deliveries = 0;
        q_config(s, "q", c);
        expect_is(q_settle(s, PAWL_QUEUE_RELEASE, "q", lock), PAWL_OK);
    }
}

QUEUE_SCENARIO(a_purge_whose_reads_fail_is_tried_again)
{
    for (int skip = 0; skip < 4; skip++) {
        for (int i = 0; i < 3; i++)
            q_push(s, "q", scene_id(s, "a", i), 0);
        q_push_item(s, "q",
                    (pawl_queue_item){
                        .data = {"late", 4},
                          .delay_ms = 1000000
        });
        scene_fail(s, FAULT_OP_queue_read, skip, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
        pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PURGE, .queue = "q"));
        expect_is(r->status, PAWL_OK);
        expect_is(r->count, 4);
        s->fault.left = 0;
        expect_str(q_counts(s, "q"), "0 0 0 0");
    }
}

/* A store that refuses every round of queues, whatever is in it. */
static const pawl_store_ops *obedient;
static pawl_store_ops stubborn_ops;
static int stubborn;
static int refusals = -1; /* so many, then it obeys; -1: for ever */

static pawl_status refuse_rounds(pawl_store *store, pawl_fence *fence, pawl_round *rounds,
                                 size_t count, int64_t now_ms, pawl_error *reterr)
{
    if (!stubborn || refusals == 0)
        return obedient->commit(store, fence, rounds, count, now_ms, reterr);
    static const uint64_t nothing = UINT64_C(1) << 60;
    for (size_t i = 0; i < count; i++) { /* needs a row that is not there */
        rounds[i].need_work = &nothing;
        rounds[i].need_work_count = 1;
    }
    stubborn++;
    refusals -= refusals > 0;
    return obedient->commit(store, fence, rounds, count, now_ms, reterr);
}

static void make_stubborn(pawl_store *outer)
{
    obedient = outer->ops;
    stubborn_ops = *outer->ops;
    stubborn_ops.commit = refuse_rounds;
    outer->ops = &stubborn_ops;
}

QUEUE_SCENARIO(a_call_that_the_store_refuses_for_ever_is_told_so)
{
    s->decorate = make_stubborn;
    stubborn = 0;
    scene_up(s);
    stubborn = 1;
    pawl_queue_item item = {
        .data = {"a", 1}
    };
    pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q",
                                                         .items = &item, .item_count = 1));
    expect_is(r->status, PAWL_CONFLICT);
    expect_text(r->error.text, "again and again");
    ck_assert(stubborn > 2 && stubborn < 50);
    stubborn = 0;
    q_push(s, "q", "b", 0);
    expect_str(q_pop(s, "q", 9), "b");
}

static pawl_result waits_here(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

/* Eight times it is tried again; the ninth refusal is told.  What was refused did not happen. */
static void refused_so_often(struct scene *s, const pawl_request *request, int times)
{
    stubborn = 1;
    refusals = times;
    pawl_status rc = scene_do(s, request);
    stubborn = 0;
    refusals = -1;
    expect_is(rc, times > 8 ? PAWL_CONFLICT : PAWL_OK);
    if (times > 8)
        expect_text(s->reply.error.text, "again and again");
    scene_settle(s);
}

SCENARIO(calls_that_the_store_refuses_are_tried_eight_times_more)
{
    if (s->kind == SCENE_JSONL) /* it skips what is there, and refuses nothing */
        return;
    s->decorate = make_stubborn;
    stubborn = 0;
    scene_flow(s, "Waits", waits_here);
    for (int times = 8; times <= 9; times++) {
        const char *id = scene_id(s, "i", times), *other = scene_id(s, "j", times);
        scene_start(s, "Waits", id, "");
        scene_settle(s);
        refused_so_often(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Waits", .instance = other),
                         times);
        expect_is(pawl_client_get(s->c, other, 0, s->mem, &(pawl_info){0}, NULL),
                  times > 8 ? PAWL_NOT_FOUND : PAWL_OK);
        refused_so_often(s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .name = "Other", .instance = id),
                         times);
        expect_is(scene_info(s, id).mailbox_count, times > 8 ? 0 : 1);
        refused_so_often(s, PAWL_REQUEST(.op = PAWL_OP_SUSPEND, .instance = id), times);
        expect_is(scene_info(s, id).state, times > 8 ? PAWL_RUNNING : PAWL_SUSPENDED);
        refused_so_often(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = id, .force = true),
                         times);
        expect_is(pawl_client_get(s->c, id, 0, s->mem, &(pawl_info){0}, NULL),
                  times > 8 ? PAWL_OK : PAWL_NOT_FOUND);
    }
}

QUEUE_SCENARIO(pushes_that_the_store_refuses_are_tried_eight_times_more)
{
    s->decorate = make_stubborn;
    stubborn = 0;
    scene_up(s);
    for (int times = 8; times <= 9; times++) {
        pawl_queue_item item = {.data = pawl_s("a")};
        stubborn = 1;
        refusals = times;
        pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q",
                                                             .items = &item, .item_count = 1));
        stubborn = 0;
        refusals = -1;
        expect_is(r->status, times > 8 ? PAWL_CONFLICT : PAWL_OK);
        expect_str(q_counts(s, "q"), "1 0 0 0");
    }
}

static void every_query(struct scene *s, const char *name, pawl_status want)
{
    pawl_error err;
    pawl_queue_stats stats;
    pawl_queue_config config;
    pawl_queue_messages messages;
    pawl_queue_message message;
    pawl_queue_locks locks;
    expect_is(pawl_queue_get_stats(s->c, name, s->mem, &stats, &err), want);
    expect_is(pawl_queue_get_config(s->c, name, s->mem, &config, &err), want);
    expect_is(pawl_queue_browse_messages(s->c, name, PAWL_QUEUE_BROWSE(.limit = 1), s->mem,
                                         &messages, &err),
              want);
    expect_is(pawl_queue_get_message(s->c, name, 1, s->mem, &message, &err), want);
    expect_is(pawl_queue_get_locks(s->c, name, s->mem, &locks, &err), want);
    expect_is(err.status, want);
}

SCENARIO(queries_of_queues_refuse_what_is_no_queue)
{
    scene_up(s);
    pawl_error err;
    pawl_queue_page page;
    bool has = pawl_queue_list(s->c, NULL, NULL, 9, s->mem, &page, &err) == PAWL_OK;
    expect_is(has || err.status == PAWL_UNSUPPORTED, true);
    every_query(s, "a/b", has ? PAWL_INVALID : PAWL_UNSUPPORTED);
    every_query(s, "", has ? PAWL_INVALID : PAWL_UNSUPPORTED);
    every_query(s, ".", has ? PAWL_INVALID : PAWL_UNSUPPORTED);
    every_query(s, "..", has ? PAWL_INVALID : PAWL_UNSUPPORTED);
}

QUEUE_SCENARIO(a_lock_that_could_not_be_looked_up_is_not_said_to_be_expired)
{
    q_push(s, "q", "a", 0);
    const char *lock = q_lock(s, "q", 1, 5000, NULL);
    scene_advance(s, 5000);
    scene_settle(s);
    scene_fail(s, FAULT_OP_queue_read, 0, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
    expect_is(q_ack(s, "q", "never_given"), PAWL_UNAVAILABLE);
    expect_is(q_ack(s, "q", "never_given"), PAWL_NOT_FOUND);
    expect_is(q_ack(s, "q", lock), PAWL_LOST);
}

/* Two items in the dead letters of "q", one from "q" and one from "p". */
static void bury_two(struct scene *s)
{
    pawl_queue_config c = pawl_queue_config_default();
    c.dead_letter_queue = pawl_s("dead");
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "p" : "q";
        q_config(s, name, c);
        q_push(s, name, name, 0);
        expect_is(q_settle(s, PAWL_QUEUE_DEADLETTER, name, q_lock(s, name, 1, 0, NULL)), PAWL_OK);
    }
    expect_str(q_all(s, "dead"), "q:ready p:ready");
}

QUEUE_SCENARIO(a_redrive_is_put_off_while_its_target_cannot_be_read)
{
    bury_two(s);
    for (int skip = 0; skip < 8; skip++) { /* dead (three and the piece), then q, p */
        scene_crash(s);
        scene_fail(s, FAULT_OP_queue_read, skip, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
        pawl_queue_reply *r =
            queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = "dead"));
        s->fault.left = 0;
        expect_is(r->status, PAWL_OK);
        expect_is(r->count, 2);
        expect_str(q_all(s, "dead"), "");
        for (int i = 0; i < 2; i++) {
            const char *name = i ? "p" : "q";
            expect_str(q_all(s, name), i ? "p:ready" : "q:ready");
            expect_is(q_settle(s, PAWL_QUEUE_DEADLETTER, name, q_lock(s, name, 1, 0, NULL)),
                      PAWL_OK);
        }
    }
}

QUEUE_SCENARIO(a_full_disk_refuses_pushes_and_lets_acks_pass)
{
    q_push(s, "q", "a", 0);
    const char *lock = q_lock(s, "q", 1, 0, NULL);
    scene_fail(s, FAULT_OP_space, 0, 1, FAULT_BEFORE, PAWL_DISK_FULL);
    pawl_queue_item item = {
        .data = {"b", 1}
    };
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = &item,
                                             .item_count = 1))
                  ->status,
              PAWL_DISK_FULL);
    s->fault.left = 0;
    expect_is(q_ack(s, "q", lock), PAWL_OK);
    expect_str(q_counts(s, "q"), "0 0 0 0");
}

/* ---- Damage in one queue ------------------------------------------------------------- */

/* A store in which the rows of one queue cannot be read. */
static struct {
    const pawl_store_ops *real;
    pawl_store_ops ops;
    pawl_queue_ops queues;
    uint64_t entries; /* of this queue; 0: none */
    const char *row;  /* queues whose name begins so; NULL: none */
    bool due;         /* the list of those that are due */
    uint64_t lost;    /* the entry with this id is not there; 0: none */
    int met;
} damage;

static pawl_status say_damaged(pawl_error *reterr)
{
    damage.met++;
    reterr->status = PAWL_CORRUPT;
    (void)snprintf(reterr->text, sizeof(reterr->text), "a page is torn");
    return PAWL_CORRUPT;
}

static pawl_status damaged_query(pawl_store *s, const pawl_entry_query *query, pawl_mem *mem,
                                 pawl_entry_list *ret, pawl_error *reterr)
{
    if (damage.entries && query->qid == damage.entries && !query->heads)
        return say_damaged(reterr);
    return damage.real->queues->query_entries(s, query, mem, ret, reterr);
}

static pawl_status damaged_find(pawl_store *s, pawl_str name, pawl_mem *mem, pawl_queue_row *ret,
                                pawl_error *reterr)
{
    if (damage.row && strncmp(name.ptr, damage.row, strlen(damage.row)) == 0)
        return say_damaged(reterr);
    return damage.real->queues->find_queue(s, name, mem, ret, reterr);
}

static pawl_status damaged_due(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                               pawl_queue_row_list *ret, pawl_error *reterr)
{
    if (damage.due)
        return say_damaged(reterr);
    return damage.real->queues->due_queues(s, now_ms, limit, mem, ret, reterr);
}

static pawl_status damaged_read(pawl_store *s, const uint64_t *ids, size_t count, bool heads,
                                pawl_mem *mem, pawl_entry_list *ret, pawl_error *reterr)
{
    uint64_t *left = pawl_mem_alloc(mem, (count + 1) * sizeof(*left));
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] != damage.lost)
            left[n++] = ids[i];
    damage.met += n < count;
    return damage.real->queues->read_entries(s, left, n, heads, mem, ret, reterr);
}

static void put_damage(pawl_store *outer)
{
    damage.real = outer->ops;
    damage.ops = *outer->ops;
    damage.queues = *outer->ops->queues;
    damage.queues.query_entries = damaged_query;
    damage.queues.find_queue = damaged_find;
    damage.queues.due_queues = damaged_due;
    damage.queues.read_entries = damaged_read;
    damage.ops.queues = &damage.queues;
    outer->ops = &damage.ops;
}

static void can_damage(struct scene *s)
{
    memset(&damage, 0, sizeof(damage));
    s->decorate = put_damage;
    scene_up(s);
}

static uint64_t id_of_queue(struct scene *s, const char *name)
{
    pawl_queue_row row = {0};
    pawl_error err;
    expect_is(s->store->ops->queues->find_queue(s->store, pawl_s(name), s->mem, &row, &err),
              PAWL_OK);
    return row.qid;
}

static int times_logged(const struct scene *s, const char *text)
{
    int n = 0;
    for (const char *at = s->log; (at = strstr(at, text)); at++)
        n++;
    return n;
}

static pawl_result one_step(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Echo", input);
}

static void count_fine(void *arg, const pawl_queue_reply *r)
{
    *(int *)arg += r->status == PAWL_OK && r->count == 100;
}

static void expect_healthy(struct scene *s)
{
    char why[PAWL_TROUBLE_BYTES] = "";
    ck_assert_msg(pawl_runtime_healthy(s->rt, why), "%s", why);
}

QUEUE_SCENARIO(a_damaged_item_of_a_bound_queue_is_no_trouble_of_others)
{
    int fine = 0;
    pawl_error err;
    scene_flow(s, "Step", one_step);
    can_damage(s);
    q_push(s, "bad", "x", 0);
    for (int i = 0; i < 1000; i++)
        q_push(s, "big", "y", 0);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PAUSE, .queue = "bad"))->status, 0);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_BIND, .queue = "bad",
                                             .orchestration = "Step"))
                  ->status,
              PAWL_OK);
    scene_crash(s); /* nothing is in memory */
    damage.entries = id_of_queue(s, "bad");
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RESUME, .queue = "bad"))->status, 0);
    scene_settle(s);
    expect_is(damage.met > 0, true);
    expect_healthy(s);
    int64_t mono = s->mono;
    q_push(s, "ok", "z", 0); /* at once: the engine does not wait */
    expect_is(s->mono, mono);
    const pawl_queue_request *pop =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "big", .count = 100);
    for (int i = 0; i < 8; i++) /* some must wait for the commit, with nothing read meanwhile */
        expect_is(pawl_queue_submit(s->c, pop, count_fine, &fine, &err), PAWL_OK);
    scene_settle(s);
    expect_is(fine, 8);
    expect_is(s->mono, mono);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "bad"))->status,
              PAWL_CORRUPT);
    damage.met = 0;
    scene_advance(s, 600000); /* ever more seldom */
    ck_assert_msg(damage.met >= 10 && damage.met <= 20, "looked %d times", damage.met);
    int said = times_logged(s, "rows are damaged");
    ck_assert_msg(said >= 2 && said <= 12, "logged %d times", said);
    expect_healthy(s);
    damage.entries = 0; /* mended: nobody asks, it is seen */
    scene_advance(s, 60000);
    expect_is(q_stats(s, "bad").started, 1);
}

/* ---- Health: the oldest call without an answer is young -------------------------------- */

static void expect_unhealthy(struct scene *s, const char *text)
{
    char why[PAWL_TROUBLE_BYTES] = "";
    ck_assert(!pawl_runtime_healthy(s->rt, why));
    expect_str(why, text);
}

/* A read of the store during which time goes by; it is no commit, and no turn. */
static struct {
    struct scene *s;
    const pawl_store_ops *real;
    pawl_store_ops ops;
    pawl_queue_ops queues;
    bool slow, early, late;
} stuck;

static pawl_status stuck_query(pawl_store *store, const pawl_entry_query *query, pawl_mem *mem,
                               pawl_entry_list *ret, pawl_error *reterr)
{
    char why[PAWL_TROUBLE_BYTES];
    if (stuck.slow) {
        stuck.s->mono += 9000;
        stuck.early = pawl_runtime_healthy(stuck.s->rt, why);
        stuck.s->mono += 3000;
        stuck.late = pawl_runtime_healthy(stuck.s->rt, why);
    }
    stuck.slow = false;
    return stuck.real->queues->query_entries(store, query, mem, ret, reterr);
}

static void put_stuck(pawl_store *outer)
{
    stuck.real = outer->ops;
    stuck.ops = *outer->ops;
    stuck.queues = *outer->ops->queues;
    stuck.queues.query_entries = stuck_query;
    stuck.ops.queues = &stuck.queues;
    outer->ops = &stuck.ops;
}

QUEUE_SCENARIO(s25_a_pass_that_does_not_end_is_bad_health)
{
    memset(&stuck, 0, sizeof(stuck));
    stuck.s = s;
    s->decorate = put_stuck;
    q_push(s, "q", "a", 0);
    scene_crash(s); /* nothing is in memory */
    scene_up(s);
    stuck.slow = true;
    expect_str(q_pop(s, "q", 1), "a");
    ck_assert(stuck.early && !stuck.late);
    expect_healthy(s);
}

/* Whoever should have taken them: nobody came, or it always finds a reason not to act. */
QUEUE_SCENARIO(s25_a_call_that_waits_for_an_engine_is_bad_health)
{
    pawl_error err;
    scene_flow(s, "Step", one_step);
    scene_up(s);
    for (int kind = 0; kind < 2; kind++) {
        if (kind)
            expect_is(pawl_queue_submit(s->c,
                                        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q"),
                                        NULL, NULL, &err),
                      PAWL_OK);
        else
            expect_is(pawl_client_submit(
                          s->c, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Step", .instance = "i"),
                          NULL, NULL, &err),
                      PAWL_OK);
        s->mono += 9999;
        expect_healthy(s);
        s->mono += 2001;
        expect_unhealthy(s, "engine: a call has no answer for 12 s");
        scene_settle(s);
        expect_healthy(s);
    }
}

QUEUE_SCENARIO(s25_who_waits_by_his_own_wish_is_no_bad_health)
{
    struct q_poll p;
    q_poll(s, "q", 30000, false, &p);
    s->mono += 20000;
    expect_healthy(s);
    q_push(s, "q", "a", 0);
    expect_str(p.data, "a");
    expect_healthy(s);
}

QUEUE_SCENARIO(a_damaged_list_of_what_is_due_is_read_again_ever_more_seldom)
{
    can_damage(s);
    pawl_queue_item late = {
        .data = {"late", 4},
          .delay_ms = 5000
    };
    damage.due = true;
    q_push_item(s, "q", late);
    scene_advance(s, 600000);
    ck_assert_msg(damage.met >= 8 && damage.met <= 20, "looked %d times", damage.met);
    expect_healthy(s);
    expect_str(q_counts(s, "q"), "0 1 0 0");
    damage.due = false;
    scene_advance(s, 60000);
    expect_str(q_counts(s, "q"), "1 0 0 0");
}

QUEUE_SCENARIO(many_damaged_queues_let_the_engine_rest)
{
    can_damage(s);
    for (int i = 0; i < 150; i++)
        q_push_item(s, scene_id(s, "bad", i),
                    (pawl_queue_item){
                        .data = {"x", 1},
                          .delay_ms = 5000
        });
    scene_crash(s);
    damage.row = "bad";
    scene_advance(s, 600000); /* which ends: the engine comes to rest each time */
    expect_healthy(s);
    ck_assert_msg(damage.met >= 1000 && damage.met <= 4500, "looked %d times", damage.met);
    damage.row = NULL;
    scene_advance(s, 60000);
    for (int i = 0; i < 150; i++)
        expect_str(q_counts(s, scene_id(s, "bad", i)), "1 0 0 0");
}

QUEUE_SCENARIO(a_lost_row_of_one_lock_leaves_other_locks_whole)
{
    pawl_queue_config c = pawl_queue_config_default();
    const char *locks[3];
    c.max_locks = 10;
    can_damage(s);
    q_config(s, "q", c);
    for (int i = 0; i < 6; i++)
        q_push(s, "q", scene_id(s, "a", i), 0);
    pawl_queue_reply *r = queue_do(
        s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .require_ack = true, .count = 2));
    locks[0] = r->lock_id.ptr;
    locks[1] = q_lock(s, "q", 2, 0, NULL);
    locks[2] = q_lock(s, "q", 2, 0, NULL);
    damage.lost = r->messages[0].id;
    scene_crash(s);
    for (int i = 2; i >= 0; i--)
        expect_is(q_ack(s, "q", locks[i]), PAWL_OK);
    expect_is(damage.met > 0, true);
    expect_str(q_counts(s, "q"), "0 0 1 0"); /* a0, which nobody could read, is under no lock */
}

QUEUE_SCENARIO(a_redrive_to_a_damaged_queue_says_so)
{
    can_damage(s);
    bury_two(s);
    scene_crash(s);
    damage.row = "p";
    const pawl_queue_request *redrive =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = "dead");
    expect_is(queue_do(s, redrive)->status, PAWL_CORRUPT);
    scene_settle(s);
    expect_str(q_all(s, "q"), "q:ready"); /* what was moved before is moved */
    expect_str(q_all(s, "dead"), "p:ready");
    damage.row = NULL;
    expect_is(queue_do(s, redrive)->count, 1);
    expect_str(q_all(s, "p"), "p:ready");
}

static pawl_result push_one(pawl_ctx *ctx, pawl_str input)
{
    return pawl_queue_push(ctx, "bad", input, NULL);
}

QUEUE_SCENARIO(a_push_of_an_orchestration_waits_for_a_damaged_queue_alone)
{
    scene_flow(s, "Push", push_one);
    scene_flow(s, "Step", one_step);
    can_damage(s);
    damage.row = "bad";
    scene_start(s, "Push", "i", "x");
    int64_t mono = s->mono;
    scene_start(s, "Step", "j", "y");
    scene_settle(s);
    scene_expect(s, "j", PAWL_COMPLETED, "y");
    expect_is(s->mono, mono);
    expect_healthy(s);
    scene_advance(s, 600000);
    ck_assert_msg(damage.met >= 10 && damage.met <= 40, "looked %d times", damage.met);
    damage.row = NULL;
    scene_advance(s, 60000);
    expect_str(q_all(s, "bad"), "x:ready");
}

QUEUE_SCENARIO(who_waits_for_a_damaged_queue_is_told)
{
    struct q_poll waiting;
    pawl_queue_item item = {
        .data = {"a", 1}
    };
    can_damage(s);
    q_push(s, "bad", "a", 0);
    expect_str(q_pop(s, "bad", 1), "a");
    q_poll(s, "bad", 60000, false, &waiting);
    scene_settle(s);
    expect_is(waiting.done, false);
    damage.row = "bad"; /* the failed commit throws out what is in memory */
    scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_BUSY);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "bad", .items = &item,
                                             .item_count = 1))
                  ->status,
              PAWL_CORRUPT);
    scene_settle(s);
    expect_is(waiting.done, true);
    expect_is(waiting.status, PAWL_CORRUPT);
}

/* ---- Death before and after each commit --------------------------------------------- */

struct step {
    pawl_status status; /* 1: no answer came */
    char lock[16];
};

static void take_step(void *arg, const pawl_queue_reply *r)
{
    struct step *at = arg;
    at->status = r->status;
    (void)snprintf(at->lock, sizeof(at->lock), "%.*s", PAWL_FMT(r->lock_id));
}

/* Hand a request to a process that dies before (after) its commit is on disk. */
static void die_in(struct scene *s, const pawl_queue_request *req, enum fault_kind when)
{
    struct step at = {.status = (pawl_status)1};
    pawl_error err;
    scene_up(s);
    scene_settle(s);
    scene_fail(s, FAULT_OP_commit, 0, 100, when, PAWL_UNAVAILABLE);
    expect_is(pawl_queue_submit(s->c, req, take_step, &at, &err), PAWL_OK);
    (void)pawl_runtime_step(s->rt, 0);
    s->fault.left = 0;
    scene_down(s);
    ck_assert(at.status == PAWL_SHUTDOWN || at.status == (pawl_status)1);
}

QUEUE_SCENARIO(death_between_every_two_steps_loses_and_doubles_nothing)
{
    pawl_queue_config c = pawl_queue_config_default();
    c.max_deliveries = 1;
    q_config(s, "q", c);
    pawl_queue_item item = {
        .data = {"a", 1},
          .dedup_id = {"k", 1}
    };
    const pawl_queue_request *push =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = &item, .item_count = 1);
    die_in(s, push, FAULT_BEFORE);
    expect_str(q_all(s, "q"), "");
    die_in(s, push, FAULT_AFTER);
    expect_str(q_all(s, "q"), "a:ready");
    expect_is(queue_do(s, push)->pushed[0].duplicate, true); /* the client asks again */

    const pawl_queue_request *pop =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .require_ack = true, .ttl_ms = 5000);
    die_in(s, pop, FAULT_BEFORE);
    expect_str(q_all(s, "q"), "a:ready");
    const char *data, *lock = q_lock(s, "q", 1, 5000, &data);
    const pawl_queue_request *bury = PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_DEADLETTER, .queue = "q",
                                                        .lock_ids = &lock, .lock_count = 1);
    die_in(s, bury, FAULT_BEFORE);
    expect_str(q_all(s, "q"), "a:locked");
    die_in(s, bury, FAULT_AFTER);
    expect_str(q_all(s, "q"), "");
    expect_str(q_all(s, "q-deadletter"), "a:ready");
    expect_is(q_ack(s, "q", lock), PAWL_NOT_FOUND);

    const pawl_queue_request *back =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = "q-deadletter");
    die_in(s, back, FAULT_BEFORE);
    expect_str(q_all(s, "q"), "");
    die_in(s, back, FAULT_AFTER);
    expect_str(q_all(s, "q"), "a:ready");

    die_in(s, pop, FAULT_AFTER); /* locked by nobody who knows: it runs out and is buried */
    expect_str(q_all(s, "q"), "a:locked");
    scene_advance(s, 5000);
    expect_str(q_all(s, "q"), "");
    expect_str(q_all(s, "q-deadletter"), "a:ready");
    expect_str(q_counts(s, "q"), "0 0 0 0");
    expect_str(q_counts(s, "q-deadletter"), "1 0 0 0");
}

/* Each time the answer was lost; what the pop before held is given back. */
QUEUE_SCENARIO(a_pop_that_comes_again_and_again_holds_one_message)
{
    pawl_queue_config c = pawl_queue_config_default();
    c.max_locks = 0;
    q_config(s, "q", c);
    q_push(s, "q", "a", 0);
    q_push(s, "q", "b", 0);
    pawl_str last = {0};
    for (int i = 1; i <= 5; i++) {
        pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q",
                                                             .require_ack = true, .key = "k"));
        expect_is(r->status, PAWL_OK);
        expect_text(r->messages[0].data.ptr, "a");
        expect_is(r->messages[0].delivery_count, i);
        ck_assert(!pawl_str_eq(r->lock_id, last));
        if (last.len)
            expect_is(q_ack(s, "q", last.ptr), PAWL_LOST);
        last = pawl_mem_dup(s->mem, r->lock_id);
        expect_str(q_counts(s, "q"), "1 0 1 1");
        if (i % 2)
            scene_crash(s);
    }
    expect_is(q_ack(s, "q", last.ptr), PAWL_OK);
    expect_str(q_counts(s, "q"), "1 0 0 0");
}

/* The lock alone says that it was delivered once more, until something else does. */
QUEUE_SCENARIO(deliveries_are_counted_over_crashes_releases_and_ends)
{
    q_push(s, "q", "a", 0);
    for (uint32_t i = 1; i <= 9; i++) {
        const pawl_queue_request *pop = PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q",
                                                           .require_ack = true, .ttl_ms = 5000);
        pawl_queue_reply *r = queue_do(s, pop);
        expect_is(r->message_count, 1);
        expect_is(r->messages[0].delivery_count, i);
        const char *lock = pawl_mem_dup(s->mem, r->lock_id).ptr;
        if (i % 3 != 1)
            scene_crash(s);
        expect_str(q_all(s, "q"), "a:locked");
        if (i % 2)
            scene_advance(s, 6000);
        else
            expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RELEASE, .queue = "q",
                                                     .lock_ids = &lock, .lock_count = 1))
                          ->status,
                      PAWL_OK);
        expect_str(q_all(s, "q"), "a:ready");
        if (i % 4 == 0)
            scene_crash(s);
    }
    expect_str(q_counts(s, "q"), "1 0 0 0");
}

/* ---- Random operations against a model ------------------------------------------------ */

/* A lock as the consumer sees it. */
struct out {
    char lock[16];
    int64_t until;
    int count;
};

static uint64_t dice(uint64_t *seed, uint64_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % n;
}

/* Of every size: mostly small, at times more than a page, or as much as may be. */
static pawl_str any_item(uint64_t *seed)
{
    static const uint64_t sizes[] = {11, 11, 11, 11, 5000, 200000, PAWL_QUEUE_ITEM_BYTES + 1};
    static char text[PAWL_QUEUE_ITEM_BYTES];
    memset(text, 'x', sizeof(text));
    return (pawl_str){text, (size_t)dice(seed, sizes[dice(seed, 7)])};
}

QUEUE_SCENARIO(whatever_happens_every_item_is_in_one_place)
{
    uint64_t seed = 7;
    uint64_t pushed = 0, taken = 0;
    struct out outs[8] = {0};
    pawl_queue_config c = pawl_queue_config_default();
    c.max_locks = 8;
    q_config(s, "q", c);
    for (int step = 0; step < 1500; step++) {
        struct out *o = &outs[dice(&seed, 8)];
        switch (dice(&seed, 9)) {
        case 0:
        case 1:
        case 2:
            q_push_item(s, "q",
                        (pawl_queue_item){.data = any_item(&seed),
                                          .priority = (int64_t)dice(&seed, 3),
                                          .delay_ms = dice(&seed, 4) ? 0 : 700});
            pushed++;
            break;
        case 3:
        case 4: {
            pawl_queue_reply *r = queue_do(
                s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .require_ack = !o->count,
                                      .count = (uint32_t)dice(&seed, dice(&seed, 5) ? 4 : 100) + 1,
                                      .ttl_ms = 2000));
            if (r->locked) {
                (void)snprintf(o->lock, sizeof(o->lock), "%s", r->lock_id.ptr);
                o->until = r->locked_until_ms;
                o->count = (int)r->count;
            } else {
                taken += r->count;
            }
            break;
        }
        case 5:
        case 6:
            if (o->count) {
                pawl_queue_op op = dice(&seed, 3) ? PAWL_QUEUE_ACK : PAWL_QUEUE_RELEASE;
                bool live = s->now < o->until;
                expect_is(q_settle(s, op, "q", o->lock), live ? PAWL_OK : PAWL_LOST);
                taken += live && op == PAWL_QUEUE_ACK ? (uint64_t)o->count : 0;
                o->count = 0;
            }
            break;
        case 7:
            scene_advance(s, (int64_t)dice(&seed, 900));
            break;
        default:
            if (dice(&seed, 6) == 0)
                scene_crash(s);
            else if (dice(&seed, 4) == 0)
                scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_BUSY);
            break;
        }
        if (step % 100 == 0) {
            s->fault.left = 0;
            pawl_queue_stats t = q_stats(s, "q");
            expect_is(t.ready + t.delayed + t.locked, pushed - taken);
        }
    }
    s->fault.left = 0;
    scene_advance(s, 5000);
    pawl_queue_stats t = q_stats(s, "q");
    expect_is(t.ready, pushed - taken);
    expect_is(t.locked + t.delayed + t.locks, 0);
    while (queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 100))->count)
        ;
    expect_is(q_stats(s, "q").bytes, 0);
    expect_is(q_stats(s, "q").popped >= pushed, true);
}

/* ---- Length -------------------------------------------------------------------------- */

/* Heap in use, without SQLite's page cache, which has a limit of its own. */
static size_t heap_kb(void)
{
    return (mallinfo2().uordblks - (size_t)sqlite3_memory_used()) / 1024;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

TEST(two_hundred_thousand_items_leave_memory_bounded)
{
    struct scene *s = scene_open(SCENE_SQLITE);
    static char body[200];
    pawl_queue_item *items = calloc(1000, sizeof(*items));
    pawl_mem *mem = pawl_mem_new();
    pawl_queue_reply r;
    memset(body, 'x', sizeof(body));
    scene_up(s);
    size_t before = 0;
    for (int i = 0; i < 200; i++) {
        for (int j = 0; j < 1000; j++)
            items[j] = (pawl_queue_item){
                .data = {body, sizeof(body)},
                  .priority = j % 3
            };
        expect_is(pawl_queue_call(s->c,
                                  PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q",
                                                     .items = items, .item_count = 1000),
                                  mem, &r),
                  PAWL_OK);
        pawl_mem_reset(mem);
        if (i == 10)
            before = heap_kb();
    }
    size_t after = heap_kb(); /* means nothing under a sanitizer */
    ck_assert_msg(SANITIZED || after < before + 1024, "from %zu to %zu KiB over 38 MB of items",
                  before, after);
    expect_str(q_counts(s, "q"), "200000 0 0 0");
    uint64_t last = 0, seen = 0;
    int64_t priority = 0;
    for (;;) {
        expect_is(pawl_queue_call(
                      s->c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 100),
                      mem, &r),
                  PAWL_OK);
        if (!r.count)
            break;
        for (size_t i = 0; i < r.count; i++, seen++) {
            ck_assert(r.messages[i].priority > priority || r.messages[i].id > last);
            priority = r.messages[i].priority;
            last = r.messages[i].id;
        }
        pawl_mem_reset(mem);
    }
    expect_is(seen, 200000);
    expect_str(q_counts(s, "q"), "0 0 0 0");
    pawl_mem_free(mem);
    free(items);
    scene_close(s);
}

QUEUE_SCENARIO(thousands_of_queues_come_and_go)
{
    for (int i = 0; i < 3000; i++)
        q_push(s, scene_id(s, "q", i), scene_id(s, "x", i), 0);
    for (int i = 0; i < 3000; i += 7)
        expect_str(q_pop(s, scene_id(s, "q", i), 1), scene_id(s, "x", i));
}

/* ---- Threads -------------------------------------------------------------------------- */

struct crowd {
    struct scene *s;
    atomic_int pushed, got;
    atomic_uchar seen[4000];
};

static void *producer(void *arg)
{
    struct crowd *c = arg;
    for (int n; (n = atomic_fetch_add(&c->pushed, 1)) < 4000;) {
        char text[16];
        pawl_error err;
        (void)snprintf(text, sizeof(text), "%d", n);
        ck_assert(pawl_client_push(c->s->c, "q", pawl_s(text), NULL, NULL, &err) == PAWL_OK);
    }
    return NULL;
}

static void *consumer(void *arg)
{
    struct crowd *c = arg;
    pawl_mem *mem = pawl_mem_new();
    while (atomic_load(&c->got) < 4000) {
        pawl_queue_message m;
        pawl_error err;
        pawl_mem_reset(mem);
        pawl_status rc = pawl_client_pop_locked(c->s->c, "q", 30000, 200, mem, &m, &err);
        if (rc == PAWL_EMPTY)
            continue;
        ck_assert_msg(rc == PAWL_OK, "%s", err.text);
        ck_assert(atomic_fetch_add(&c->seen[atoi(m.data.ptr)], 1) == 0);
        ck_assert(pawl_client_ack(c->s->c, "q", m.lock_id.ptr, &err) == PAWL_OK);
        atomic_fetch_add(&c->got, 1);
    }
    pawl_mem_free(mem);
    return NULL;
}

QUEUE_SCENARIO(a_crowd_of_threads_gets_each_item_once)
{
    pthread_t threads[12];
    struct crowd *c = calloc(1, sizeof(*c));
    c->s = s;
    scene_threads(s);
    scene_up(s);
    pawl_queue_config config = pawl_queue_config_default();
    config.max_locks = 0;
    q_config(s, "q", config);
    for (int i = 0; i < 12; i++)
        ck_assert(pthread_create(&threads[i], NULL, i % 2 ? producer : consumer, c) == 0);
    for (int i = 0; i < 12; i++)
        pthread_join(threads[i], NULL);
    expect_str(q_counts(s, "q"), "0 0 0 0");
    expect_is(q_stats(s, "q").acked, 4000);
    free(c);
}

/* ---- Blocking calls on a stepped runtime -------------------------------------------- */

/* A request on its way must not be answered into the caller's memory later. */
QUEUE_SCENARIO(a_blocking_call_on_a_dead_runtime_leaves_nothing_behind)
{
    pawl_error err = {0};
    struct q_poll waiting;
    q_push(s, "q", "a", 0);
    q_poll(s, "nothing", 5000, false, &waiting);
    scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_FENCED);
    expect_is(pawl_client_push(s->c, "q", pawl_s("b"), NULL, NULL, &err), PAWL_FENCED);
    expect_text(err.text, "has stopped");
    expect_is(waiting.done, true);
    expect_is(waiting.status, PAWL_SHUTDOWN);
    expect_is(pawl_client_push(s->c, "q", pawl_s("c"), NULL, NULL, &err), PAWL_FENCED);
    s->fault.left = 0;
    scene_down(s);
    expect_str(q_all(s, "q"), "a:ready");
}

/* The clock is the caller's and stands still: a store in trouble is tried all the same. */
QUEUE_SCENARIO(a_blocking_call_outlives_trouble_of_the_store_on_a_clock_that_stands_still)
{
    pawl_error err = {0};
    scene_up(s);
    scene_fail(s, FAULT_OP_commit, 0, 3, FAULT_BEFORE, PAWL_UNAVAILABLE);
    expect_is(pawl_client_push(s->c, "q", pawl_s("a"), NULL, NULL, &err), PAWL_OK);
    expect_is(s->fault.left, 0);
    expect_str(q_all(s, "q"), "a:ready");
}

QUEUE_SCENARIO(a_blocking_wait_ends_on_a_clock_that_stands_still)
{
    pawl_queue_message m;
    pawl_error err = {0};
    struct q_poll other;
    scene_up(s);
    q_poll(s, "q", 5000, false, &other);
    expect_is(pawl_client_pop(s->c, "q", 5000, s->mem, &m, &err), PAWL_EMPTY);
    expect_is(other.done, false); /* only its own */
    q_push(s, "q", "a", 0);
    expect_is(other.done, true);
    expect_is(pawl_client_push(s->c, "q", pawl_s("b"), NULL, NULL, &err), PAWL_OK);
    expect_is(pawl_client_pop_locked(s->c, "q", 0, 5000, s->mem, &m, &err), PAWL_OK);
    expect_str(m.data.ptr, "b");
}
