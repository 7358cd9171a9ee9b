/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_queue_tie.c -- queues and orchestrations in one transaction.
 *
 * A push is part of its turn, a popped item is a recorded answer, a message of a
 * bound queue is a start; with death before and after every commit.
 */
#include "queue_verbs.h"

#include <stdio.h>

/* ---- Push ----------------------------------------------------------------------- */

static pawl_result pusher(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call(ctx, "Echo", input);
    pawl_result first = pawl_queue_push(ctx, "out", r.value, PAWL_PUSH_OPTS(.priority = 2));
    if (!first.ok)
        return first;
    pawl_result again = pawl_queue_push(ctx, "out", pawl_s("second"), NULL);
    pawl_ignore(pawl_call(ctx, "Echo", pawl_s("after")));
    return again.ok ? pawl_done_str(ctx, pawl_s("done")) : again;
}

QUEUE_SCENARIO(a_push_is_part_of_the_turn)
{
    scene_flow(s, "Push", pusher);
    scene_start(s, "Push", "i", "hello");
    scene_expect(s, "i", PAWL_COMPLETED, "done");
    scene_events(s, "i",
                 "OrchestrationStarted ActivityScheduled#1 ActivityCompleted#1 QueuePushed "
                 "QueuePushed ActivityScheduled#2 ActivityCompleted#2 OrchestrationCompleted");
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "out", .count = 9));
    expect_is(r->count, 2);
    expect_str(r->messages[0].data.ptr, "second");
    expect_str(r->messages[1].data.ptr, "hello");
    expect_is(r->messages[1].priority, 2);
    scene_expect_empty(s);
}

static unsigned told_out, told_other;

static void count_queues(void *arg, const pawl_change *changes, size_t count)
{
    (void)arg;
    for (size_t i = 0; i < count; i++) {
        if (!changes[i].queue.len)
            continue;
        expect_str(changes[i].instance.ptr, "");
        *(pawl_str_is(changes[i].queue, "out") ? &told_out : &told_other) += 1;
    }
}

QUEUE_SCENARIO(the_feed_names_a_queue_that_an_orchestration_changed)
{
    told_out = told_other = 0;
    scene_flow(s, "Push", pusher);
    scene_up(s);
    ck_assert(pawl_client_feed(s->c, count_queues, NULL) != 0);
    scene_start(s, "Push", "i", "hello");
    scene_expect(s, "i", PAWL_COMPLETED, "done");
    ck_assert_uint_ge(told_out, 1);
    expect_is(told_other, 0);
}

/* Start it, and go on for as long as commits work. */
static void submit_start(struct scene *s, const char *name, const char *id, const char *input)
{
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = name, .instance = id,
                                              .data = pawl_s(input)),
                                 NULL, NULL, NULL),
              PAWL_OK);
    for (int i = 0; i < 20; i++)
        (void)pawl_runtime_step(s->rt, 0);
}

/* Start it, die before or after the n-th commit from here, come back, go on to its end. */
static void start_with_death(struct scene *s, const char *name, const char *id, const char *input,
                             int n, enum fault_kind when)
{
    scene_fail(s, FAULT_OP_commit, n, 1000, when, PAWL_UNAVAILABLE);
    submit_start(s, name, id, input);
    s->fault.left = 0;
    scene_down(s);
    scene_up(s);
    expect_is(scene_try_start(s, name, id, input), PAWL_OK);
    scene_finish(s, id);
    scene_settle(s);
}

/* Two items, whatever commit it was. */
static void push_with_death(struct scene *s, enum fault_kind when)
{
    scene_flow(s, "Push", pusher);
    for (int n = 0; n < 8; n++) {
        scene_up(s);
        scene_settle(s);
        start_with_death(s, "Push", scene_id(s, "i", n), "x", n, when);
        expect_str(q_counts(s, "out"), "2 0 0 0");
        expect_str(q_pop(s, "out", 9), "second x");
    }
}

QUEUE_SCENARIO(death_before_any_commit_pushes_once)
{
    push_with_death(s, FAULT_BEFORE);
}

QUEUE_SCENARIO(death_after_any_commit_pushes_once)
{
    push_with_death(s, FAULT_AFTER);
}

static int changed;

static pawl_result shifty(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_queue_push(ctx, changed == 1 ? "other" : "out",
                                pawl_s(changed == 2 ? "b" : "a"), NULL));
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "go")));
    return pawl_done_str(ctx, pawl_s("done"));
}

QUEUE_SCENARIO(replay_compares_queue_and_bytes)
{
    scene_flow(s, "Shifty", shifty);
    for (int now = 1; now < 3; now++) {
        const char *id = scene_id(s, "i", now);
        changed = 0;
        scene_start(s, "Shifty", id, "");
        scene_settle(s);
        scene_down(s);
        changed = now;
        scene_raise(s, id, "go", "");
        expect_is(scene_info(s, id).state, PAWL_BLOCKED);
        expect_text(scene_info(s, id).finding.ptr, "nondeterministic");
    }
}

static pawl_result refused(pawl_ctx *ctx, pawl_str input)
{
    static char big[PAWL_QUEUE_ITEM_BYTES + 1];
    pawl_result r = pawl_str_is(input, "big")
                        ? pawl_queue_push(ctx, "q", (pawl_str){big, sizeof(big)}, NULL)
                        : pawl_queue_push(ctx, "a/b", pawl_s("x"), NULL);
    pawl_ignore(pawl_call(ctx, "Echo", pawl_s(""))); /* hostile and crashes: replayed from here */
    return r.ok ? pawl_done_str(ctx, pawl_s("ok")) : pawl_fail(ctx, r.value.ptr);
}

SCENARIO(a_bad_push_is_refused_and_stays_refused)
{
    scene_flow(s, "Refused", refused);
    scene_start(s, "Refused", "i", "name");
    scene_settle(s);
    scene_crash(s);
    expect_is(scene_info(s, "i").state, PAWL_FAILED);
    scene_start(s, "Refused", "j", "big");
    scene_settle(s);
    expect_is(scene_info(s, "j").state, PAWL_FAILED);
    expect_is(scene_kind_count(s, "i", "QueuePushed"), 1);
}

/* ---- Pop and acknowledge ---------------------------------------------------------- */

static pawl_result worker(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result got = pawl_await(ctx, pawl_queue_pop(ctx, "in", PAWL_SECONDS(60), 0));
    if (!got.ok || pawl_str_is(got.value, "null"))
        return got;
    pawl_mem *mem = pawl_ctx_mem(ctx);
    pawl_str item = pawl_json_get(got.value, "/item");
    pawl_str lock = pawl_json_text(mem, got.value, "/lock_id", "");
    pawl_ignore(pawl_call(ctx, "Echo", item));
    pawl_result acked = pawl_await(ctx, pawl_queue_ack(ctx, "in", lock));
    return acked.ok ? pawl_done_str(ctx, item) : acked;
}

QUEUE_SCENARIO(a_popped_item_is_a_recorded_answer)
{
    scene_flow(s, "Worker", worker);
    q_push(s, "in", "{\"n\": 1.0}", 0);
    scene_start(s, "Worker", "w", "");
    scene_finish(s, "w");
    scene_expect(s, "w", PAWL_COMPLETED, "{\"n\": 1.0}");
    expect_str(q_counts(s, "in"), "0 0 0 0");
    scene_start(s, "Worker", "w2", "");
    scene_finish(s, "w2");
    scene_expect(s, "w2", PAWL_COMPLETED, "null");
    scene_crash(s);
    scene_expect(s, "w", PAWL_COMPLETED, "{\"n\": 1.0}");
}

/* The item is popped, and acknowledged once, whatever commit it was. */
static void pop_with_death(struct scene *s, enum fault_kind when)
{
    scene_flow(s, "Worker", worker);
    for (int n = 0; n < 10; n++) {
        const char *id = scene_id(s, "w", n);
        scene_up(s);
        scene_settle(s);
        q_push(s, "in", "7", 0);
        start_with_death(s, "Worker", id, "", n, when);
        scene_expect(s, id, PAWL_COMPLETED, "7");
        expect_str(q_counts(s, "in"), "0 0 0 0");
    }
}

QUEUE_SCENARIO(death_before_any_commit_pops_and_acks_once)
{
    pop_with_death(s, FAULT_BEFORE);
}

QUEUE_SCENARIO(death_after_any_commit_pops_and_acks_once)
{
    pop_with_death(s, FAULT_AFTER);
}

static pawl_result pop_from(pawl_ctx *ctx, pawl_str input)
{
    return pawl_await(ctx, pawl_queue_pop(ctx, input.ptr, PAWL_SECONDS(60), PAWL_SECONDS(20)));
}

/* Its answer lost, the pop comes again, and the item, delivered often enough, is buried; the pop
 * waits on, and the commit of all that fails: where it buries has to be looked up again. */
QUEUE_SCENARIO(a_pop_that_comes_again_buries_also_after_a_failed_commit)
{
    scene_flow(s, "Pop", pop_from);
    for (int n = 0; n < 24; n++) {
        const char *queue = scene_id(s, "q", n), *id = scene_id(s, "w", n);
        pawl_queue_config c = pawl_queue_config_default();
        c.max_deliveries = 1;
        q_config(s, queue, c);
        q_push(s, queue, "7", 0);
        scene_fail(s, FAULT_OP_commit, n / 4, 1000, FAULT_AFTER, PAWL_UNAVAILABLE);
        submit_start(s, "Pop", id, queue);
        scene_down(s);
        scene_fail(s, FAULT_OP_commit, n % 4, 1, FAULT_BEFORE, PAWL_BUSY);
        scene_up(s);
        expect_is(scene_try_start(s, "Pop", id, queue), PAWL_OK);
        scene_finish(s, id);
        bool got = pawl_json_int(scene_info(s, id).output, "/item", 0) == 7;
        const char *buried = q_pop(s, pawl_mem_printf(s->mem, "%s-deadletter", queue).ptr, 9);
        ck_assert_msg(got == (buried[0] == 0), "%d: '%s'", n, buried);
    }
}

static pawl_result patient(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result got =
        pawl_await(ctx, pawl_queue_pop(ctx, "in", PAWL_SECONDS(60), PAWL_SECONDS(20)));
    if (!got.ok || pawl_str_is(got.value, "null"))
        return got;
    pawl_str lock = pawl_json_text(pawl_ctx_mem(ctx), got.value, "/lock_id", "");
    pawl_result acked = pawl_await(ctx, pawl_queue_ack(ctx, "in", lock));
    return acked.ok ? pawl_done_str(ctx, pawl_json_get(got.value, "/item")) : acked;
}

QUEUE_SCENARIO(a_pop_waits_by_the_clock_of_the_runtime)
{
    scene_flow(s, "Patient", patient);
    scene_start(s, "Patient", "p", "");
    scene_start(s, "Patient", "p2", "");
    scene_advance(s, PAWL_SECONDS(10));
    scene_expect(s, "p", PAWL_RUNNING, NULL);
    q_push(s, "in", "1", 0);
    scene_settle(s);
    scene_expect(s, "p", PAWL_COMPLETED, "1");
    scene_expect(s, "p2", PAWL_RUNNING, NULL);
    scene_advance(s, PAWL_SECONDS(11));
    scene_expect(s, "p2", PAWL_COMPLETED, "null");
}

static pawl_result hasty(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_task t[] = {pawl_queue_pop(ctx, "in", PAWL_SECONDS(60), PAWL_SECONDS(20)),
                     pawl_timer(ctx, PAWL_SECONDS(1))};
    int won = pawl_race(ctx, t, 2);
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    return pawl_donef(ctx, "%d", won);
}

/* What comes after the race was lost is for others. */
QUEUE_SCENARIO(a_pop_that_lost_a_race_takes_nothing)
{
    scene_flow(s, "Hasty", hasty);
    scene_flow(s, "Patient", patient);
    scene_start(s, "Hasty", "h", "");
    scene_start(s, "Patient", "cancelled", "");
    scene_settle(s);
    scene_cancel(s, "cancelled", "enough");
    scene_expect(s, "cancelled", PAWL_CANCELLED, NULL);
    scene_advance(s, PAWL_SECONDS(2));
    q_push(s, "in", "1", 0);
    scene_settle(s);
    expect_str(q_counts(s, "in"), "1 0 0 0");
    scene_raise(s, "h", "Go", "");
    scene_expect(s, "h", PAWL_COMPLETED, "1");
    expect_str(q_pop(s, "in", 1), "1");
    scene_expect_empty(s);
}

static const char *ending;

static void end_before_pop(void *user, const char *point)
{
    const char *id = ending;
    if (!id || strcmp(point, "activity.before") != 0)
        return;
    ending = NULL;
    scene_cancel(user, id, "enough"); /* a worker has the call already */
    scene_expect(user, id, PAWL_CANCELLED, NULL);
}

QUEUE_SCENARIO(a_pop_that_is_cancelled_on_its_way_takes_nothing)
{
    s->env.point = end_before_pop;
    scene_flow(s, "Patient", patient);
    q_push(s, "in", "1", 0);
    ending = "p";
    scene_start(s, "Patient", "p", "");
    scene_settle(s);
    ck_assert_ptr_null(ending);
    expect_str(q_counts(s, "in"), "1 0 0 0");
    expect_str(q_pop(s, "in", 1), "1");
    scene_expect_empty(s);
}

/* More of them than jobs fit in memory: an activity still finds its place. */
QUEUE_SCENARIO(waiting_pops_do_not_fill_the_backlog)
{
    scene_flow(s, "Patient", patient);
    scene_flow(s, "Push", pusher);
    scene_up(s);
    for (int i = 0; i < 9000; i++)
        expect_is(pawl_client_submit(s->c,
                                     PAWL_REQUEST(.op = PAWL_OP_START, .name = "Patient",
                                                  .instance = scene_id(s, "p", i)),
                                     NULL, NULL, NULL),
                  PAWL_OK);
    scene_settle(s);
    scene_start(s, "Push", "i", "x");
    scene_settle(s);
    scene_expect(s, "i", PAWL_COMPLETED, "done");
}

/* Neither an end in order nor any number of deaths is the fault of who only waits. */
QUEUE_SCENARIO(a_waiting_pop_outlives_every_end_of_the_process)
{
    s->opts.max_attempts = 2;
    scene_flow(s, "Patient", patient);
    scene_start(s, "Patient", "p", "");
    for (int i = 0; i < 5; i++) {
        scene_settle(s);
        scene_restart(s);
        scene_settle(s);
        scene_crash(s);
    }
    scene_settle(s);
    scene_expect(s, "p", PAWL_RUNNING, NULL);
    q_push(s, "in", "1", 0);
    scene_finish(s, "p");
    scene_expect(s, "p", PAWL_COMPLETED, "1");
    expect_is(scene_kind_count(s, "p", "ActivityFailed"), 0);
    scene_expect_empty(s);
}

/* More of them than there are workers: everybody else goes on. */
QUEUE_SCENARIO(waiting_pops_hold_no_worker)
{
    pawl_info info;
    pawl_error err;
    scene_threads(s);
    s->opts.workers = 2;
    scene_flow(s, "Patient", patient);
    scene_flow(s, "Push", pusher);
    for (int i = 0; i < 6; i++)
        scene_start(s, "Patient", scene_id(s, "p", i), "");
    scene_start(s, "Push", "i", "x");
    expect_is(pawl_client_wait(s->c, "i", 0, 15000, s->mem, &info, &err), PAWL_OK);
    scene_restart(s);
    pawl_queue_config many = pawl_queue_config_default();
    many.max_locks = 0;
    q_config(s, "in", many);
    for (int i = 0; i < 6; i++)
        q_push(s, "in", "1", 0);
    for (int i = 0; i < 6; i++) {
        expect_is(pawl_client_wait(s->c, scene_id(s, "p", i), 0, 15000, s->mem, &info, &err),
                  PAWL_OK);
        expect_is(info.state, PAWL_COMPLETED);
        expect_str(info.output.ptr, "1");
    }
}

/* ---- Bound queues ------------------------------------------------------------------- */

static void bind_orders(struct scene *s, const char *orchestration)
{
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_BIND, .queue = "orders",
                                             .orchestration = orchestration))
                  ->status,
              PAWL_OK);
}

static pawl_result order(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, pawl_call(ctx, "Echo", input).value);
}

QUEUE_SCENARIO(each_message_of_a_bound_queue_starts_an_instance)
{
    scene_flow(s, "Order", order);
    q_push(s, "orders", "before", 0);
    bind_orders(s, "Order");
    uint64_t id = 0;
    pawl_queue_item item = {
        .data = {"after", 5}
    };
    id = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "orders", .items = &item,
                                        .item_count = 1))
             ->pushed[0]
             .id;
    scene_settle(s);
    const char *name = pawl_mem_printf(s->mem, "queue~orders~%llu", (unsigned long long)id).ptr;
    scene_expect(s, name, PAWL_COMPLETED, "after");
    expect_str(q_counts(s, "orders"), "0 0 0 0");
    expect_is(q_stats(s, "orders").started, 2);
    expect_is(scene_depths(s).instances, 2);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_BIND, .queue = "orders"))->status,
              PAWL_OK);
    q_push(s, "orders", "stays", 0);
    expect_str(q_counts(s, "orders"), "1 0 0 0");
}

static void bound_with_death(struct scene *s, enum fault_kind when)
{
    scene_flow(s, "Order", order);
    bind_orders(s, "Order");
    uint64_t want = 0;
    for (int n = 0; n < 6; n++) {
        pawl_queue_item item = {
            .data = {"x", 1},
              .dedup_id = pawl_s(scene_id(s, "k", n))
        };
        const pawl_queue_request *push =
            PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "orders", .items = &item,
                               .item_count = 1);
        scene_up(s);
        scene_settle(s);
        scene_fail(s, FAULT_OP_commit, n, 1000, when, PAWL_UNAVAILABLE);
        expect_is(pawl_queue_submit(s->c, push, NULL, NULL, NULL), PAWL_OK);
        for (int i = 0; i < 20; i++)
            (void)pawl_runtime_step(s->rt, 0);
        s->fault.left = 0;
        scene_down(s);
        (void)queue_do(s, push); /* the client asks again */
        scene_settle(s);
        expect_is(scene_depths(s).instances, ++want);
        expect_is(q_stats(s, "orders").started, want);
        expect_str(q_counts(s, "orders"), "0 0 0 0");
        scene_expect_empty(s);
    }
}

QUEUE_SCENARIO(death_before_any_commit_starts_once)
{
    bound_with_death(s, FAULT_BEFORE);
}

QUEUE_SCENARIO(death_after_any_commit_starts_once)
{
    bound_with_death(s, FAULT_AFTER);
}

QUEUE_SCENARIO(a_bound_queue_starts_thousands_in_order)
{
    scene_flow(s, "Order", order);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PAUSE, .queue = "orders"))->status,
              PAWL_OK);
    bind_orders(s, "Order");
    pawl_queue_item *items = pawl_mem_alloc(s->mem, 1000 * sizeof(*items));
    for (int i = 0; i < 1000; i++)
        items[i] = (pawl_queue_item){.data = pawl_mem_printf(s->mem, "%d", i)};
    for (int i = 0; i < 3; i++)
        expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "orders",
                                                 .items = items, .item_count = 1000))
                      ->status,
                  PAWL_OK);
    scene_settle(s);
    expect_is(scene_depths(s).instances, 0);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RESUME, .queue = "orders"))->status,
              PAWL_OK);
    scene_settle(s);
    expect_is(scene_depths(s).instances, 3000);
    expect_str(q_counts(s, "orders"), "0 0 0 0");
}

/* ---- The ids of what bound queues start ------------------------------------------------- */

static const char *id_of(struct scene *s, uint64_t message)
{
    return pawl_mem_printf(s->mem, "queue~orders~%llu", (unsigned long long)message).ptr;
}

/* The message and its headers wait in the paused queue. */
static uint64_t push_paused(struct scene *s, const char *data)
{
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PAUSE, .queue = "orders"))->status,
              PAWL_OK);
    pawl_queue_item item = {
        .data = pawl_s(data), .priority = 3, .group = pawl_s("g"), .headers = pawl_s("{\"h\":1}")};
    return queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "orders", .items = &item,
                                          .item_count = 1))
        ->pushed[0]
        .id;
}

static void resume_orders(struct scene *s)
{
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RESUME, .queue = "orders"))->status,
              PAWL_OK);
    scene_settle(s);
}

QUEUE_SCENARIO(a_message_whose_instance_id_is_taken_is_a_dead_letter)
{
    scene_flow(s, "Order", order);
    scene_flow(s, "Other", order);
    bind_orders(s, "Order");
    uint64_t id = push_paused(s, "mine");
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_START,
                                   .instance = pawl_s(id_of(s, id)),
                                   .execution = 1,
                                   .name = pawl_s("Other"),
                                   .data = pawl_s("theirs")});
    resume_orders(s);
    scene_expect(s, id_of(s, id), PAWL_COMPLETED, "theirs");
    expect_str(q_counts(s, "orders"), "0 0 0 0");
    pawl_queue_stats t = q_stats(s, "orders");
    expect_is(t.started, 0);
    expect_is(t.id_taken, 1);
    expect_is(t.dead_lettered, 1);
    pawl_queue_messages list;
    pawl_error err;
    expect_is(pawl_queue_browse_messages(s->c, "orders-deadletter", PAWL_QUEUE_BROWSE(.limit = 9),
                                         s->mem, &list, &err),
              PAWL_OK);
    expect_is(list.count, 1);
    const pawl_queue_message *m = &list.items[0];
    expect_str(m->data.ptr, "mine");
    expect_str(m->source.ptr, "orders");
    expect_text(m->reason.ptr, id_of(s, id));
    expect_is(m->priority, 3);
    expect_str(m->group.ptr, "g");
    expect_str(pawl_mem_dup(s->mem, m->headers).ptr, "{\"h\":1}");
    expect_is(
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_REDRIVE, .queue = "orders-deadletter"))
            ->count,
        1);
    scene_settle(s);
    expect_is(q_stats(s, "orders").started, 1);
    expect_is(scene_depths(s).instances, 2);
    scene_expect_empty(s);
}

QUEUE_SCENARIO(a_dead_letter_of_a_bound_queue_outlives_death_before_any_commit)
{
    scene_flow(s, "Order", order);
    scene_flow(s, "Other", order);
    bind_orders(s, "Order");
    for (int n = 0; n < 6; n++) {
        uint64_t id = push_paused(s, "mine");
        scene_inject(s, (pawl_message){.kind = PAWL_MSG_START,
                                       .instance = pawl_s(id_of(s, id)),
                                       .execution = 1,
                                       .name = pawl_s("Other")});
        scene_up(s);
        scene_fail(s, FAULT_OP_commit, n, 1000, n % 2 ? FAULT_AFTER : FAULT_BEFORE,
                   PAWL_UNAVAILABLE);
        expect_is(pawl_queue_submit(s->c,
                                    PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RESUME, .queue = "orders"),
                                    NULL, NULL, NULL),
                  PAWL_OK);
        for (int i = 0; i < 20; i++)
            (void)pawl_runtime_step(s->rt, 0);
        s->fault.left = 0;
        scene_down(s);
        resume_orders(s);
        expect_is(q_stats(s, "orders").id_taken, n + 1);
        expect_is(q_stats(s, "orders-deadletter").ready, n + 1);
        expect_is(q_stats(s, "orders").started, 0);
        scene_expect_empty(s);
    }
}

/* The same start once more, and starts written before ids had this form. */
QUEUE_SCENARIO(a_start_delivered_twice_starts_once_and_an_old_one_starts)
{
    scene_flow(s, "Order", order);
    bind_orders(s, "Order");
    uint64_t id = push_paused(s, "mine");
    resume_orders(s);
    scene_expect(s, id_of(s, id), PAWL_COMPLETED, "mine");
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_START,
                                   .instance = pawl_s(id_of(s, id)),
                                   .execution = 1,
                                   .name = pawl_s("Order"),
                                   .data = pawl_s("mine"),
                                   .attrs = pawl_s("{\"queue\":\"orders\"}")});
    scene_settle(s);
    expect_is(scene_depths(s).instances, 1);
    expect_is(q_stats(s, "orders").id_taken, 0);
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_START,
                                   .instance = pawl_s("orders-17"),
                                   .execution = 1,
                                   .name = pawl_s("Order"),
                                   .data = pawl_s("old")});
    scene_settle(s);
    scene_expect(s, "orders-17", PAWL_COMPLETED, "old");
    scene_expect_empty(s);
}

/* Children whose ids follow from the id of a bound instance are fine; that form itself is not. */
static pawl_result choosy(pawl_ctx *ctx, pawl_str input)
{
    static const char *const chosen[] = {"queue~orders~1", "queue~a~b~22"};
    for (size_t i = 0; i < 2; i++) {
        pawl_task t = pawl_start_child(ctx, "Order", input, PAWL_CHILD_OPTS(.instance = chosen[i]));
        if (pawl_await(ctx, t).ok)
            return pawl_fail(ctx, "a child has the id of a bound queue's");
    }
    const char *mine = pawl_printf(ctx, "%s-payment-1", pawl_instance(ctx).ptr).ptr;
    pawl_task named = pawl_start_child(ctx, "Order", input, PAWL_CHILD_OPTS(.instance = mine));
    pawl_task made = pawl_start_child(ctx, "Order", input, NULL);
    if (!pawl_await(ctx, named).ok || !pawl_await(ctx, made).ok)
        return pawl_fail(ctx, "a child of a bound instance was refused");
    return pawl_done(ctx, "fine");
}

QUEUE_SCENARIO(nobody_can_choose_the_id_of_a_bound_queues_instance)
{
    static const char *const taken[] = {"queue~orders~1", "queue~~9",
                                        "queue~a~b~18446744073709551615"};
    static const char *const free_ones[] = {"queue~orders", "queue~1",        "queue~orders~",
                                            "orders-1",     "queue~orders~x", "queue~orders~1-2"};
    scene_flow(s, "Order", order);
    scene_flow(s, "Choosy", choosy);
    for (size_t i = 0; i < 3; i++) {
        expect_is(scene_try_start(s, "Order", taken[i], "x"), PAWL_INVALID);
        expect_text(s->reply.error.text, "choose another id");
    }
    for (size_t i = 0; i < 6; i++)
        expect_is(scene_try_start(s, "Order", free_ones[i], "x"), PAWL_OK);
    expect_is(scene_try_raise(s, "queue~orders~1", "Go", ""), PAWL_NOT_FOUND);
    bind_orders(s, "Choosy");
    uint64_t id = push_paused(s, "x");
    resume_orders(s);
    scene_expect(s, id_of(s, id), PAWL_COMPLETED, "fine");
}

QUEUE_SCENARIO(binding_to_what_nobody_has_is_done_and_said)
{
    scene_flow_at(s, "Order", "1.0.0", order);
    pawl_queue_reply *r = queue_do(
        s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_BIND, .queue = "orders", .orchestration = "Oredr"));
    expect_is(r->status, PAWL_OK);
    expect_text(r->warning.ptr, "orchestration 'Oredr' is not registered here");
    expect_text(q_stats(s, "orders").warning.ptr, "'Oredr' is not registered");
    r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_BIND, .queue = "orders",
                                       .orchestration = "Order", .version = "2.0.0"));
    expect_text(r->warning.ptr, "'Order' has no version 2.0.0 here");
    pawl_queue_config c = pawl_queue_config_default();
    c.orchestration = pawl_s("Order");
    r = queue_do(s,
                 PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "orders", .config = &c));
    expect_is(r->status, PAWL_OK);
    expect_is(r->warning.len, 0);
    expect_is(q_stats(s, "orders").warning.len, 0);
}

static pawl_result measure(pawl_ctx *ctx, pawl_str input)
{
    return pawl_donef(ctx, "%zu", input.len);
}

/* One push of 6 MB, more than the engine holds in memory; also after a restart. */
QUEUE_SCENARIO(large_messages_of_a_bound_queue_stop_nobody)
{
    scene_flow(s, "Order", measure);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PAUSE, .queue = "orders"))->status,
              PAWL_OK);
    bind_orders(s, "Order");
    char *text = pawl_mem_alloc(s->mem, 200000);
    memset(text, '7', 200000);
    pawl_queue_item items[60];
    for (int i = 0; i < 60; i++)
        items[i] = (pawl_queue_item){
            .data = {text, 50000 + 2500 * (size_t)i}
        };
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "orders",
                                             .items = items, .item_count = 60))
                  ->status,
              PAWL_OK);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RESUME, .queue = "orders"))->status,
              PAWL_OK);
    scene_down(s);
    scene_settle(s);
    expect_is(scene_depths(s).instances, 60);
    expect_is(q_stats(s, "orders").started, 60);
    expect_str(q_counts(s, "orders"), "0 0 0 0");
}
