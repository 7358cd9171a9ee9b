/* SPDX-License-Identifier: MIT */
/*
 * scenario/test_ahead.c -- a pass asks the store for all it needs with one call (ahead.h).
 *
 * The store under test has load(); its single reads are counted while requests are delivered.
 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

#define MANY 20

static const pawl_store_ops *real;
static pawl_store_ops counted;
static unsigned loads, questions, singles;

static pawl_status load(pawl_store *s, pawl_wanted *wanted, size_t count, size_t max_bytes,
                        pawl_mem *mem, pawl_error *reterr)
{
    (void)max_bytes;
    loads++;
    questions += (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        pawl_wanted *w = &wanted[i];
        if (w->key_only) {
            w->key_status = real->has_key(s, w->uid, w->key, reterr);
            w->status = PAWL_OK;
            continue;
        }
        pawl_row *row = pawl_mem_alloc(mem, sizeof(*row));
        w->status = w->uid ? real->find_uid(s, w->uid, mem, row, reterr)
                           : real->find(s, w->id, mem, row, reterr);
        w->row = row;
        if (w->status == PAWL_OK && w->key.len)
            w->key_status = real->has_key(s, row->uid, w->key, reterr);
    }
    return PAWL_OK;
}

static pawl_status find(pawl_store *s, pawl_str id, pawl_mem *mem, pawl_row *ret, pawl_error *err)
{
    singles++;
    return real->find(s, id, mem, ret, err);
}

static pawl_status find_uid(pawl_store *s, uint64_t uid, pawl_mem *mem, pawl_row *ret,
                            pawl_error *err)
{
    singles++;
    return real->find_uid(s, uid, mem, ret, err);
}

static pawl_status has_key(pawl_store *s, uint64_t uid, pawl_str key, pawl_error *err)
{
    singles++;
    return real->has_key(s, uid, key, err);
}

static bool make_far; /* whatever the store says */
static bool is_far;

static void caps(pawl_store *s, pawl_store_caps *ret)
{
    real->caps(s, ret);
    ret->far = ret->far || make_far;
    is_far = ret->far && ret->atomic_rounds;
}

static void count_reads(pawl_store *outer)
{
    real = outer->ops;
    counted = *real;
    counted.caps = caps;
    counted.load = load;
    counted.find = find;
    counted.find_uid = find_uid;
    counted.has_key = has_key;
    outer->ops = &counted;
}

static pawl_result waits(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static int answered;

static void on_reply(void *arg, const pawl_reply *reply)
{
    (void)arg;
    expect_is(reply->status, PAWL_OK);
    answered++;
}

/* Hand in the same for each instance, then let one pass after the other deliver it. */
static void submit_all(struct scene *s, pawl_request request, char ids[MANY][16])
{
    request.size = sizeof(request);
    answered = 0;
    loads = questions = singles = 0;
    for (int i = 0; i < MANY; i++) {
        request.instance = ids[i];
        expect_is(pawl_client_submit(s->c, &request, on_reply, ids[i], NULL), PAWL_OK);
    }
    scene_settle(s);
    expect_is(answered, MANY);
}

/* Rows and keys of everything in a pass come with one call, and no delivery reads one by itself. */
SCENARIO(starts_and_keyed_raises_of_a_pass_are_read_at_once)
{
    char ids[MANY][16];
    for (int i = 0; i < MANY; i++)
        (void)snprintf(ids[i], sizeof(ids[i]), "i%d", i);
    s->decorate = count_reads;
    scene_flow(s, "Flow", waits);
    scene_up(s);
    make_far = false;
    submit_all(s, (pawl_request){.op = PAWL_OP_START, .name = "Flow"}, ids);
    expect_is(loads, is_far ? 0 : 1);
    expect_is(questions, is_far ? 0 : MANY);
    expect_is(singles, 0);
    pawl_request raise = {.op = PAWL_OP_RAISE, .name = "Other", .idempotency_key = "k"};
    submit_all(s, raise, ids);
    expect_is(loads, 1);
    expect_is(questions, MANY);
    expect_is(singles, 0);
    submit_all(s, raise, ids); /* known: answered, and not kept twice */
    expect_is(singles, 0);
    for (int i = 0; i < MANY; i++) {
        scene_raise(s, ids[i], "Go", "on");
        scene_expect(s, ids[i], PAWL_COMPLETED, "on");
    }
}

/* Where a look costs as much as a commit a start is inserted at once.  An id that exists refuses it,
 * and only then is it looked for; the other rounds of the group stay, and the next starts look. */
SCENARIO(far_away_a_start_is_inserted_without_a_look)
{
    char ids[MANY][16], mixed[MANY][16];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "i%d", i);
        (void)snprintf(mixed[i], sizeof(mixed[i]), i % 5 ? "n%d" : "i%d", i);
    }
    make_far = true;
    s->decorate = count_reads;
    scene_flow(s, "Flow", waits);
    scene_up(s);
    submit_all(s, (pawl_request){.op = PAWL_OP_START, .name = "Flow"}, ids);
    expect_is(loads, is_far ? 0 : 1); /* without whole rounds there is no refusal (K2) */
    expect_is(singles, 0);
    scene_crash(s); /* nothing is in memory */
    submit_all(s, (pawl_request){.op = PAWL_OP_START, .name = "Flow"}, mixed);
    if (is_far)
        expect_is(questions, MANY / 5);
    expect_is(scene_depths(s).instances, MANY + MANY - MANY / 5);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i1",
                                       .data = pawl_s("other"))),
              PAWL_EXISTS);
    loads = 0;
    scene_start(s, "Flow", "late", "");
    expect_is(loads, 1); /* ids that exist came lately */
    for (int i = 0; i < MANY; i++) {
        scene_raise(s, mixed[i], "Go", "on");
        scene_expect(s, mixed[i], PAWL_COMPLETED, "on");
    }
    make_far = false;
}

/* ---- Histories ---------------------------------------------------------------------------- */

static pawl_status read_history(pawl_store *s, uint64_t uid, uint64_t execution, uint64_t after,
                                uint32_t limit, pawl_mem *mem, pawl_event_list *ret,
                                pawl_error *err)
{
    singles++;
    return real->read_history(s, uid, execution, after, limit, mem, ret, err);
}

static pawl_status read_messages(pawl_store *s, uint64_t uid, pawl_str instance, pawl_mem *mem,
                                 pawl_message_list *ret, pawl_error *err)
{
    singles++;
    return real->read_messages(s, uid, instance, mem, ret, err);
}

static unsigned histories, wanted_histories, left_out;

/* Every left_out-th is not answered. */
static pawl_status load_histories(pawl_store *s, pawl_wanted_history *wanted, size_t count,
                                  size_t max_bytes, pawl_mem *mem, pawl_error *reterr)
{
    (void)max_bytes;
    histories++;
    for (size_t i = 0; i < count; i++) {
        pawl_wanted_history *w = &wanted[i];
        if (left_out && ++wanted_histories % left_out == 0)
            continue;
        w->status = real->read_history(s, w->uid, w->execution, 0, 0, mem, &w->events, reterr);
        if (w->status == PAWL_OK)
            w->status = real->read_messages(s, w->uid, (pawl_str){0}, mem, &w->messages, reterr);
    }
    return PAWL_OK;
}

static void count_histories(pawl_store *outer)
{
    count_reads(outer);
    counted.read_history = read_history;
    counted.read_messages = read_messages;
    counted.load_histories = load_histories;
}

static int ran;

static pawl_result step(pawl_activity *act, pawl_str input)
{
    (void)input;
    ran++;
    return pawl_ok(act, "done");
}

static pawl_result sleeps(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result early = pawl_await(ctx, pawl_wait_event(ctx, "Early"));
    pawl_result slept = pawl_sleep(ctx, PAWL_SECONDS(60));
    pawl_result r = slept.ok ? pawl_call(ctx, "Step", early.value) : slept;
    pawl_result kept = pawl_await(ctx, pawl_wait_event(ctx, "Kept"));
    return r.ok ? kept : r;
}

/* Sleepers of an earlier process, each with an event in its mailbox, wake at one moment.  How often
 * the store was asked for one thing alone. */
static unsigned wake_all(struct scene *s)
{
    scene_flow(s, "Flow", sleeps);
    scene_activity(s, "Step", step);
    scene_up(s);
    for (int i = 0; i < MANY; i++) {
        const char *id = scene_id(s, "s", i);
        scene_start(s, "Flow", id, "0");
        scene_raise(s, id, "Kept", "kept");
        scene_raise(s, id, "Early", "early");
    }
    scene_settle(s);
    scene_down(s);
    scene_up(s);
    loads = singles = histories = wanted_histories = 0;
    ran = 0;
    scene_advance(s, 60000);
    scene_settle(s);
    expect_is(ran, MANY);
    unsigned alone =
        s->kind == SCENE_JSONL ? 0 : singles; /* which looks for half-done rounds, too */
    for (int i = 0; i < MANY; i++)
        scene_expect(s, scene_id(s, "s", i), PAWL_COMPLETED, "kept");
    return alone;
}

SCENARIO(histories_of_a_pass_are_read_at_once)
{
    s->decorate = count_histories;
    s->opts.hostile = false;
    left_out = 0;
    expect_is(wake_all(s), 0);
    expect_is(histories, 1);
    expect_is(loads, s->kind == SCENE_JSONL ? 0 : 1);
}

SCENARIO(histories_that_a_store_leaves_out_are_read_alone)
{
    s->decorate = count_histories;
    s->opts.hostile = false;
    left_out = 4;
    unsigned alone = wake_all(s); /* its history and its messages */
    expect_is(alone, s->kind == SCENE_JSONL ? 0 : 2 * MANY / 4);
}

/* An id that the engine makes up is not looked for. */
SCENARIO(a_start_without_an_id_reads_nothing)
{
    s->decorate = count_reads;
    scene_flow(s, "Flow", waits);
    scene_up(s);
    loads = singles = 0;
    const pawl_request *start = PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow");
    expect_is(pawl_client_submit(s->c, start, on_reply, NULL, NULL), PAWL_OK);
    scene_settle(s);
    expect_is(loads + singles, 0);
}

/* ---- Answers that are large, late or missing -------------------------------------------- */

#define LARGE 1500000

static int refused;

static void on_any_reply(void *arg, const pawl_reply *reply)
{
    (void)arg;
    refused += reply->status == PAWL_CONFLICT;
    answered++;
}

static pawl_result large(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    char *text = pawl_alloc(ctx, LARGE);
    memset(text, '1', LARGE);
    return pawl_done_str(ctx, (pawl_str){text, LARGE});
}

/* All answers together are larger than a group: it takes letters all the same. */
SCENARIO(large_rows_that_are_read_ahead_do_not_fill_the_group)
{
    scene_flow(s, "Large", large);
    scene_up(s);
    scene_start(s, "Large", "l", "0");
    scene_settle(s);
    const pawl_request *raise = PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "l", .name = "E",
                                             .data = pawl_s("1"), .idempotency_key = "k");
    answered = refused = 0;
    for (int i = 0; i < MANY; i++)
        expect_is(pawl_client_submit(s->c, raise, on_any_reply, NULL, NULL), PAWL_OK);
    for (int i = 0; i < 100 && answered < MANY; i++)
        (void)pawl_runtime_step(s->rt, 0);
    expect_is(answered, MANY);
    expect_is(refused, MANY); /* it has ended */
}

static pawl_result huge(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    char *text = pawl_alloc(ctx, 18 << 20);
    memset(text, '1', 18 << 20);
    return pawl_done_str(ctx, (pawl_str){text, 18 << 20});
}

/* One row alone is larger than a group may get. */
SCENARIO(a_huge_row_that_is_read_ahead_does_not_fill_the_group)
{
    s->opts.max_payload = 20 << 20;
    scene_flow(s, "Huge", huge);
    scene_up(s);
    scene_start(s, "Huge", "h", "0");
    scene_settle(s);
    scene_down(s); /* so that its row is not in memory */
    scene_up(s);
    answered = refused = 0;
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "h", .name = "E",
                                              .data = pawl_s("1"), .idempotency_key = "k"),
                                 on_any_reply, NULL, NULL),
              PAWL_OK);
    for (int i = 0; i < 100 && !answered; i++)
        (void)pawl_runtime_step(s->rt, 0);
    expect_is(refused, 1);
}

/* One question that the store does not answer is enough: the others would wait as long. */
SCENARIO(a_store_that_does_not_answer_is_asked_no_further)
{
    scene_up(s);
    for (int i = 0; i < 500; i++)
        expect_is(
            pawl_client_submit(s->c,
                               PAWL_REQUEST(.op = PAWL_OP_RAISE, .name = "E",
                                            .instance = scene_id(s, "n", i), .data = pawl_s("1")),
                               on_any_reply, NULL, NULL),
            PAWL_OK);
    scene_fail(s, FAULT_OP_find, 0, 100000, FAULT_BEFORE, PAWL_UNAVAILABLE);
    (void)pawl_runtime_step(s->rt, 0);
    expect_is(100000 - s->fault.left <= 2, true); /* ahead, and by the first letter */
    scene_fail(s, FAULT_OP_find, 0, 0, FAULT_BEFORE, PAWL_UNAVAILABLE);
}

static pawl_status answers_nothing(pawl_store *s, pawl_wanted *wanted, size_t count,
                                   size_t max_bytes, pawl_mem *mem, pawl_error *reterr)
{
    (void)s, (void)wanted, (void)count, (void)max_bytes, (void)mem, (void)reterr;
    return PAWL_OK;
}

static void answer_nothing(pawl_store *outer)
{
    real = outer->ops;
    counted = *real;
    counted.load = answers_nothing;
    outer->ops = &counted;
}

/* What a store leaves out is no answer: it is read where it is needed. */
SCENARIO(a_question_that_a_store_leaves_out_is_asked_alone)
{
    s->decorate = answer_nothing;
    scene_flow(s, "Flow", waits);
    scene_up(s);
    scene_start(s, "Flow", "w", "0");
    expect_is(pawl_client_raise(s->c, "w", "Go", pawl_s("on"),
                                PAWL_RAISE_OPTS(.idempotency_key = "k"), NULL),
              PAWL_OK);
    scene_expect(s, "w", PAWL_COMPLETED, "on");
}
