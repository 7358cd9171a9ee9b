/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_limits.c -- S30: both sides of every limit, and bad input. */
#include "scene.h"

#include "base/attr.h"
#include "pawl/queue.h"

#include <stdio.h>
#include <stdlib.h>

/* `n` letters in s->mem. */
static char *letters(struct scene *s, size_t n)
{
    char *text = pawl_mem_alloc(s->mem, n + 1);
    memset(text, 'x', n);
    return text;
}

static pawl_result echo_flow(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

SCENARIO(s30_instance_id_of_512_bytes)
{
    scene_flow(s, "Flow", echo_flow);
    expect_is(scene_try_start(s, "Flow", letters(s, 512), ""), PAWL_OK);
    scene_expect(s, letters(s, 512), PAWL_COMPLETED, "");
    expect_is(scene_try_start(s, "Flow", letters(s, 513), ""), PAWL_LIMIT);
    expect_text(s->reply.error.text, "513 bytes, the limit is 512");
    expect_is(scene_depths(s).instances, 1);
}

SCENARIO(s30_instance_ids_that_are_none)
{
    static const char *const bad[] = {"", "a\nb", "a\x7f", "\x01", "\xc3\x28", "a\tb"};
    static const char *const good[] = {"a/b", "ü", "\xf0\x9f\x98\x80", " ", "a:1:1", "..", "'\"\\"};
    scene_flow(s, "Flow", echo_flow);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_is(scene_try_start(s, "Flow", bad[i], ""), PAWL_INVALID);
        expect_is(scene_try_raise(s, bad[i], "Go", ""), PAWL_INVALID);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        scene_start(s, "Flow", good[i], good[i]);
        scene_expect(s, good[i], PAWL_COMPLETED, good[i]);
    }
}

SCENARIO(s30_names_of_255_bytes)
{
    pawl_app *app = pawl_app_new();
    expect_is(pawl_register_orchestration(app, letters(s, 255), "1.0.0", echo_flow), PAWL_OK);
    expect_is(pawl_register_orchestration(app, letters(s, 256), "1.0.0", echo_flow), PAWL_LIMIT);
    pawl_error err;
    ck_assert_ptr_null(pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:"), &err));
    expect_text(err.text, "256 bytes");
    pawl_app_free(app);
    scene_flow(s, letters(s, 255), echo_flow);
    scene_start(s, letters(s, 255), "i", "x");
    scene_expect(s, "i", PAWL_COMPLETED, "x");
    expect_is(scene_try_start(s, letters(s, 256), "j", ""), PAWL_LIMIT);
    expect_is(scene_try_start(s, "a/b", "j", ""), PAWL_INVALID);
    expect_is(scene_try_raise(s, "i", letters(s, 256), ""), PAWL_LIMIT);
    expect_is(scene_try_raise(s, "i", "", ""), PAWL_INVALID);
}

SCENARIO(s30_stack_sizes)
{
    static const struct {
        size_t bytes;
        pawl_status status;
    } sizes[] = {
        {16 * 1024,            PAWL_OK   },
        {16 * 1024 - 1,        PAWL_LIMIT},
        {64 * 1024 * 1024,     PAWL_OK   },
        {64 * 1024 * 1024 + 1, PAWL_LIMIT},
    };
    for (size_t i = 0; i < 4; i++) {
        pawl_app *app = pawl_app_new();
        expect_is(
            pawl_register_orchestration_with(app, "F", "1.0.0", echo_flow,
                                             PAWL_REGISTER_OPTS(.stack_bytes = sizes[i].bytes)),
            sizes[i].status);
        pawl_app_free(app);
    }
    (void)s;
}

SCENARIO(s30_payload_at_the_limit_and_over)
{
    s->opts.max_payload = 1000;
    scene_flow(s, "Flow", echo_flow);
    scene_start(s, "Flow", "i", letters(s, 1000));
    scene_expect(s, "i", PAWL_COMPLETED, letters(s, 1000));
    expect_is(scene_try_start(s, "Flow", "j", letters(s, 1001)), PAWL_LIMIT);
    expect_text(s->reply.error.text, "1001 bytes is over the limit of 1000");
    expect_text(s->reply.error.text, "--max-payload");
    expect_is(scene_try_raise(s, "i", "Go", letters(s, 1001)), PAWL_LIMIT);
    expect_is(scene_depths(s).instances, 1);
}

SCENARIO(s30_two_mebibytes_by_default)
{
    scene_flow(s, "Flow", echo_flow);
    scene_start(s, "Flow", "i", letters(s, 2 << 20));
    scene_expect(s, "i", PAWL_COMPLETED, letters(s, 2 << 20));
    expect_is(scene_try_start(s, "Flow", "j", letters(s, (2 << 20) + 1)), PAWL_LIMIT);
}

static pawl_result fill(pawl_activity *act, pawl_str input)
{
    size_t n = (size_t)atoi(input.ptr);
    char *text = pawl_mem_alloc(pawl_activity_mem(act), n + 1);
    scene_count(act);
    memset(text, 'x', n);
    return pawl_ok(act, text);
}

static pawl_result big_things(pawl_ctx *ctx, pawl_str input)
{
    char *big = pawl_alloc(ctx, 1002);
    memset(big, 'x', 1001);
    pawl_result fits = pawl_call(ctx, "Fill", pawl_s("1000"));
    pawl_result over = pawl_call_with(ctx, "Fill", pawl_s("1001"), PAWL_CALL_OPTS(.attempts = 3));
    pawl_result in = pawl_call(ctx, "Echo", pawl_s(big));
    pawl_result kid = pawl_call_child(ctx, "Kid", pawl_s(big), NULL);
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, input.ptr)));
    return pawl_donef(ctx, "%d %d %d %d %s", fits.ok, over.ok, in.ok, kid.ok, in.value.ptr);
}

/* A refused call takes an id and is recorded as scheduled and failed. */
SCENARIO(s30_refused_calls_replay_when_the_limit_has_changed)
{
    s->opts.max_payload = 1000;
    scene_activity(s, "Fill", fill);
    scene_flow(s, "Flow", big_things);
    scene_flow(s, "Kid", echo_flow);
    scene_start(s, "Flow", "i", "Go");
    scene_events(s, "i",
                 "OrchestrationStarted ActivityScheduled#1 ActivityCompleted#1 "
                 "ActivityScheduled#2 ActivityFailed#2 ActivityScheduled#3 ActivityFailed#3 "
                 "SubOrchestrationScheduled#4 SubOrchestrationFailed#4 ExternalSubscribed#5");
    expect_is(scene_ran(s, "Fill"), 2); /* too large is final */
    expect_is(scene_ran(s, "Echo"), 0);
    scene_down(s);
    s->opts.max_payload = 100000;
    scene_raise(s, "i", "Go", "");
    scene_settle(s);
    pawl_info info = scene_info(s, "i");
    expect_is(info.state, PAWL_COMPLETED);
    expect_text(info.output.ptr, "1 0 0 0 ");
    expect_text(info.output.ptr, "1001");
}

/* How long the payload of each kind of step is: the limit, and a byte more. */
static pawl_result each_payload(pawl_ctx *ctx, pawl_str input)
{
    char *text = pawl_alloc(ctx, 1002), got[200] = "";
    size_t n = (size_t)atoi(input.ptr);
    if (n == 0) /* the second execution */
        return pawl_donef(ctx, "%zu", input.len);
    memset(text, '0', n);
    text[n] = 0;
    pawl_str data = {text, n};
    bool ok[] = {pawl_call(ctx, "Echo", data).ok, pawl_call_child(ctx, "Kid", data, NULL).ok,
                 pawl_start_detached(ctx, "Kid", data, PAWL_CHILD_OPTS(.instance = "alone")).ok,
                 pawl_queue_push(ctx, "q", data, NULL).ok};
    for (size_t i = 0; i < COUNT_OF(ok); i++)
        got[i] = ok[i] ? 'y' : 'n';
    pawl_set_status(ctx, got);
    return pawl_execution(ctx) == 1 ? pawl_continue_as_new(ctx, data, NULL) : pawl_done(ctx, "?");
}

SCENARIO(s30_every_payload_of_code_may_be_as_long_as_the_limit)
{
    s->opts.max_payload = 1000;
    scene_flow(s, "Flow", each_payload);
    scene_flow(s, "Kid", echo_flow);
    scene_start(s, "Flow", "fits", "1000");
    scene_expect(s, "fits", PAWL_COMPLETED, "1000");
    ck_assert_str_eq(scene_info(s, "fits").custom_status.ptr,
                     s->kind == SCENE_JSONL ? "yyyn" : "yyyy"); /* it has no queues */
}

static pawl_result many_steps(pawl_ctx *ctx, pawl_str input)
{
    for (int i = 0; i < atoi(input.ptr); i++)
        pawl_ignore(pawl_call(ctx, "Echo", input));
    return pawl_done(ctx, "all");
}

SCENARIO(s30_history_limit_blocks_and_a_raised_limit_goes_on)
{
    s->opts.max_history = 22;
    scene_flow(s, "Flow", many_steps);
    scene_start(s, "Flow", "fits", "10"); /* 2 + 2 × 10 */
    scene_expect(s, "fits", PAWL_COMPLETED, "all");
    scene_start(s, "Flow", "i", "20");
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    expect_text(scene_info(s, "i").finding.ptr, "22");
    ck_assert(scene_info(s, "i").history_length <= 22);
    scene_steer(s, PAWL_OP_RETRY, "i");
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    int ran = scene_ran(s, "Echo");
    scene_down(s);
    s->opts.max_history = 100;
    scene_steer(s, PAWL_OP_RETRY, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "all");
    expect_is(scene_ran(s, "Echo"), ran + 20 - (ran - 10));
    expect_is(scene_kind_count(s, "i", "ActivityCompleted"), 20);
}

static pawl_result long_child(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_child(ctx, "Chain", input, NULL);
    return r.ok ? pawl_donef(ctx, ".%s", r.value.ptr) : r;
}

/* A child of a child of …: "{parent}:1:1" grows by four bytes a generation. */
static pawl_result chain(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_instance(ctx).len + 4 > 1024) {
        pawl_result r = pawl_call_child(ctx, "Chain", input, NULL);
        return pawl_donef(ctx, "%zu %d %s", pawl_instance(ctx).len, r.ok, r.value.ptr);
    }
    return long_child(ctx, input);
}

SCENARIO(s30_auto_child_ids_up_to_1024_bytes)
{
    scene_flow(s, "Chain", chain);
    scene_start(s, "Chain", letters(s, 512), "");
    scene_settle(s);
    pawl_info info = scene_info(s, letters(s, 512));
    expect_is(info.state, PAWL_COMPLETED);
    expect_text(info.output.ptr, "1024 0 ");
    expect_text(info.output.ptr, "1028");
    expect_is(scene_depths(s).instances, 1 + (1024 - 512) / 4);
}

static pawl_result own_child_id(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r =
        pawl_call_child(ctx, "Flow", pawl_s("in"), PAWL_CHILD_OPTS(.instance = input.ptr));
    return pawl_donef(ctx, "%d", r.ok);
}

SCENARIO(s30_own_child_ids_up_to_512_bytes)
{
    scene_flow(s, "Flow", echo_flow);
    scene_flow(s, "Parent", own_child_id);
    scene_start(s, "Parent", "a", letters(s, 512));
    scene_expect(s, "a", PAWL_COMPLETED, "1");
    scene_start(s, "Parent", "b", letters(s, 513));
    scene_expect(s, "b", PAWL_COMPLETED, "0");
    scene_start(s, "Parent", "c", "a\nb");
    scene_expect(s, "c", PAWL_COMPLETED, "0");
}

static pawl_result bad_calls(pawl_ctx *ctx, pawl_str input)
{
    char *name = pawl_alloc(ctx, 257);
    memset(name, 'n', 256);
    int bad = 0;
    bad += !pawl_call(ctx, name, input).ok;
    bad += !pawl_call(ctx, "", input).ok;
    bad += !pawl_call(ctx, "a/b", input).ok;
    bad += !pawl_await(ctx, pawl_wait_event(ctx, name)).ok;
    bad += !pawl_sleep(ctx, -1).ok;
    bad += !pawl_call_child(ctx, name, input, NULL).ok;
    bad += !pawl_call_child(ctx, "Flow", input, PAWL_CHILD_OPTS(.version = "x")).ok;
    bad += !pawl_start_detached(ctx, "a/b", input, NULL).ok;
    bad += !pawl_await(ctx, (pawl_task){.id = 77}).ok;
    bad += !pawl_await(ctx, (pawl_task){0}).ok;
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    return pawl_donef(ctx, "%d", bad);
}

SCENARIO(s30_bad_calls_fail_by_value_and_replay)
{
    scene_flow(s, "Flow", bad_calls);
    scene_start(s, "Flow", "i", "");
    scene_crash(s);
    scene_raise(s, "i", "Go", "");
    scene_expect(s, "i", PAWL_COMPLETED, "10");
    expect_is(scene_depths(s).instances, 1);
    scene_expect_empty(s);
}

SCENARIO(s30_keys_and_reasons)
{
    scene_flow(s, "Flow", bad_calls);
    scene_start(s, "Flow", "i", "");
    pawl_request raise = {
        .size = sizeof(raise), .op = PAWL_OP_RAISE, .instance = "i", .name = "Mail"};
    raise.idempotency_key = letters(s, 128);
    expect_is(scene_do(s, &raise), PAWL_OK);
    raise.idempotency_key = letters(s, 129);
    expect_is(scene_do(s, &raise), PAWL_LIMIT);
    raise.idempotency_key = "";
    expect_is(scene_do(s, &raise), PAWL_INVALID);
    pawl_request cancel = {.size = sizeof(cancel), .op = PAWL_OP_CANCEL, .instance = "i"};
    cancel.reason = letters(s, 4097);
    expect_is(scene_do(s, &cancel), PAWL_LIMIT);
    cancel.reason = letters(s, 4096);
    expect_is(scene_do(s, &cancel), PAWL_OK);
    scene_expect(s, "i", PAWL_CANCELLED, letters(s, 4096));
}

static pawl_result big_status(pawl_ctx *ctx, pawl_str input)
{
    size_t n = (size_t)atoi(input.ptr);
    char *text = pawl_alloc(ctx, n + 1);
    memset(text, 's', n);
    pawl_set_status(ctx, "before");
    pawl_set_status(ctx, text);
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

SCENARIO(s30_custom_status_of_256_kib)
{
    scene_flow(s, "Flow", big_status);
    scene_start(s, "Flow", "fits", "262144");
    expect_is(scene_info(s, "fits").custom_status.len, 262144);
    scene_start(s, "Flow", "over", "262145");
    ck_assert_str_eq(scene_info(s, "over").custom_status.ptr, "before");
    ck_assert(scene_logged(s, "custom status refused; the one before stands"));
    scene_start(s, "Flow", "none", "0");
    expect_is(scene_info(s, "none").custom_status.len, 0);
    scene_crash(s);
    scene_raise(s, "over", "Go", "went");
    scene_expect(s, "over", PAWL_COMPLETED, "went");
}

/* ---- Mailboxes and depth ------------------------------------------------------------- */

/* Takes "Go" twice, when told to begin. */
static pawl_result take_two(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Begin")));
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    return pawl_await(ctx, pawl_wait_event(ctx, "End"));
}

static void expect_full(struct scene *s, const char *id)
{
    uint64_t before = scene_depths(s).messages;
    expect_is(scene_try_raise(s, id, "Go", "over"), PAWL_CONFLICT);
    expect_text(s->reply.error.text, "mailbox is full");
    expect_text(s->reply.error.text, "--max-mailbox");
    expect_is(scene_depths(s).messages, before);
}

SCENARIO(s30_a_mailbox_keeps_so_many_events_and_has_room_when_they_are_taken)
{
    s->opts.max_mailbox = 3;
    scene_flow(s, "Flow", take_two);
    scene_start(s, "Flow", "i", "");
    for (int n = 0; n < 3; n++)
        scene_raise(s, "i", "Go", "x");
    expect_full(s, "i");
    scene_crash(s);
    expect_full(s, "i");
    scene_raise(s, "i", "Begin", ""); /* waited for: a full mailbox does not keep it out */
    expect_is(scene_info(s, "i").mailbox_count, 1);
    scene_raise(s, "i", "Go", "y");
    scene_raise(s, "i", "Go", "z");
    expect_full(s, "i");
    scene_raise(s, "i", "End", "done");
    scene_expect(s, "i", PAWL_COMPLETED, "done");
    scene_expect_empty(s);
}

SCENARIO(s30_mail_of_an_instance_that_rests_has_the_same_limit)
{
    s->opts.max_mailbox = 3;
    scene_flow(s, "Flow", take_two);
    scene_start(s, "Flow", "i", "");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    for (int n = 0; n < 3; n++)
        scene_raise(s, "i", "Go", "x");
    expect_full(s, "i");
    scene_crash(s);
    expect_full(s, "i");
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_raise(s, "i", "Begin", "");
    scene_advance(s, 2000);
    scene_raise(s, "i", "Go", "y");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_raise(s, "i", "Go", "z"); /* counted again: there is room */
    expect_full(s, "i");
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_raise(s, "i", "End", "done");
    scene_expect(s, "i", PAWL_COMPLETED, "done");
}

SCENARIO(s30_mail_for_a_start_has_the_same_limit)
{
    s->opts.max_mailbox = 2;
    scene_flow(s, "Flow", take_two);
    pawl_request early = {.size = sizeof(early),
                          .op = PAWL_OP_RAISE,
                          .instance = "i",
                          .name = "Go",
                          .await_start = true,
                          .idempotency_key = "first"};
    expect_is(scene_do(s, &early), PAWL_OK);
    early.idempotency_key = "second";
    expect_is(scene_do(s, &early), PAWL_OK);
    early.idempotency_key = "third";
    expect_is(scene_do(s, &early), PAWL_CONFLICT);
    expect_text(s->reply.error.text, "mailbox is full");
    early.idempotency_key = "first"; /* happened already */
    expect_is(scene_do(s, &early), PAWL_OK);
    scene_start(s, "Flow", "i", "");
    scene_raise(s, "i", "Begin", "");
    scene_raise(s, "i", "End", "done");
    scene_expect(s, "i", PAWL_COMPLETED, "done");
    scene_expect_empty(s);
}

static void count_accepted(void *arg, const pawl_reply *reply)
{
    *(int *)arg += reply->status == PAWL_OK;
}

/* All that is raised before the next commit counts, too: for names, and for who rests. */
SCENARIO(s30_mail_that_comes_at_once_has_the_same_limit)
{
    static const char *const ids[] = {"i", "j", "k", "longer", "rests"};
    int accepted[COUNT_OF(ids)] = {0};
    s->opts.max_mailbox = 3;
    scene_flow(s, "Flow", take_two);
    scene_start(s, "Flow", "rests", "");
    scene_steer(s, PAWL_OP_SUSPEND, "rests");
    scene_crash(s);
    for (size_t n = 0; n < 7 * COUNT_OF(ids); n++) {
        size_t i = n % COUNT_OF(ids);
        expect_is(pawl_client_submit(s->c,
                                     PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = ids[i],
                                                  .name = "Go", .await_start = true),
                                     count_accepted, &accepted[i], NULL),
                  PAWL_OK);
    }
    scene_settle(s);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        expect_is(accepted[i], 3);
}

SCENARIO(s30_a_mailbox_has_a_limit_of_bytes_too)
{
    s->opts.max_payload = 1000;
    scene_flow(s, "Flow", take_two);
    scene_start(s, "Flow", "i", "");
    for (int n = 0; n < 64; n++)
        scene_raise(s, "i", "Go", letters(s, 1000));
    expect_full(s, "i");
}

/* A child with an id of its own, which has one, which has one … */
static pawl_result deep(pawl_ctx *ctx, pawl_str input)
{
    int level = atoi(input.ptr);
    pawl_str id = pawl_printf(ctx, "level%d", level + 1);
    pawl_result r = pawl_call_child(ctx, "Flow", pawl_printf(ctx, "%d", level + 1),
                                    PAWL_CHILD_OPTS(.instance = id.ptr));
    return r.ok ? r : pawl_donef(ctx, "%d: %s", level, r.value.ptr);
}

SCENARIO(s30_children_of_children_fail_beyond_the_limit)
{
    s->opts.max_depth = 5;
    scene_flow(s, "Flow", deep);
    scene_start(s, "Flow", "level1", "1");
    scene_settle(s);
    scene_expect(s, "level1", PAWL_COMPLETED, NULL);
    expect_text(scene_info(s, "level1").output.ptr,
                "5: child 'level6' was not started: 5 instances deep is the limit (--max-depth)");
    expect_is(scene_depths(s).instances, 5);
    scene_expect_empty(s);
}

/* ---- Memory ------------------------------------------------------------------------------------- */

static pawl_result asks(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call(ctx, "Echo", input);
    memset(pawl_alloc(ctx, (size_t)atoll(input.ptr)), 1, 1);
    return r;
}

SCENARIO(s30_a_turn_that_asks_for_too_much_blocks_its_instance_alone)
{
    scene_flow(s, "Asks", asks);
    scene_start(s, "Asks", "absurd", "-8");
    scene_start(s, "Asks", "large", "300000000");
    scene_start(s, "Asks", "small", "3000000");
    scene_expect(s, "small", PAWL_COMPLETED, "3000000");
    expect_is(scene_info(s, "absurd").state, PAWL_BLOCKED);
    expect_text(scene_info(s, "absurd").finding.ptr,
                "its turn asked for 18446744073709551608 bytes; limit 268435456 (--turn-memory)");
    scene_crash(s);
    expect_is(scene_info(s, "large").state, PAWL_BLOCKED);
    scene_steer(s, PAWL_OP_RETRY, "large");
    expect_is(scene_info(s, "large").state, PAWL_BLOCKED);
    s->opts.turn_memory = (size_t)400 << 20;
    scene_crash(s);
    scene_steer(s, PAWL_OP_RETRY, "large");
    scene_expect(s, "large", PAWL_COMPLETED, "300000000");
    expect_is(scene_ran(s, "Echo"), 3);
}

/* Before it ever waited: its start waits as a row. */
static pawl_result asks_at_once(pawl_ctx *ctx, pawl_str input)
{
    memset(pawl_alloc(ctx, (size_t)atoll(input.ptr)), 1, 1);
    return pawl_done(ctx, "had it");
}

SCENARIO(s30_a_first_turn_that_asks_for_too_much)
{
    s->opts.turn_memory = 1 << 20;
    scene_flow(s, "Asks", asks_at_once);
    scene_start(s, "Asks", "i", "3000000");
    expect_is(scene_info(s, "i").state, PAWL_BLOCKED);
    s->opts.turn_memory = 8 << 20;
    scene_crash(s);
    expect_is(scene_info(s, "i").state, PAWL_BLOCKED);
    scene_steer(s, PAWL_OP_RETRY, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "had it");
}
