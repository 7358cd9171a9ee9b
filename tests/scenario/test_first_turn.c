/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_first_turn.c -- a start that a worker decides before it is stored, and what may
 * come in between (src/runtime/instance/first_turn.h).
 *
 * Real threads: a stepped engine does not wait inside a pass.  The wait for the answer is made long, so
 * that nothing here depends on how fast the machine is; two tests make it short.
 */
#include "pawl/turns.h"
#include "runtime/core/parts.h"
#include "runtime/remote/remotes.h"
#include "scene.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST(name)                                                                                \
    static void scene_##name(struct scene *s);                                                     \
    SCENE_TEST(name, memory, SCENE_MEMORY)                                                         \
    SCENE_TEST(name, sqlite, SCENE_SQLITE)                                                         \
    static void scene_##name(struct scene *s)

/* One call of the worker. */
struct asked {
    atomic_bool replied;
    pawl_status status;
    size_t count; /* of turns */
    char token[PAWL_TURNS_TOKEN_BYTES], instance[24], kind[40];
    size_t messages;
    pawl_turn_status answered;
    uint64_t seq;
};

/* One call of a client. */
struct called {
    atomic_bool replied;
    pawl_status status;
};

static const pawl_turn_code flow[] = {
    {{"Flow", 4}, {"1.0.0", 5}}
};

static void on_turns(void *arg, const pawl_turns_reply *reply)
{
    struct asked *a = arg;
    a->status = reply->status;
    a->count = reply->turn_count;
    if (reply->turn_count) {
        const pawl_turn *t = reply->turns;
        (void)snprintf(a->token, sizeof(a->token), "%.*s", PAWL_FMT(t->token));
        (void)snprintf(a->instance, sizeof(a->instance), "%.*s", PAWL_FMT(t->instance));
        a->messages = t->message_count;
    }
    if (reply->answered_count) {
        a->answered = reply->answered[0].status;
        a->seq = reply->answered[0].seq;
    }
    atomic_store(&a->replied, true);
}

static void on_reply(void *arg, const pawl_reply *reply)
{
    struct called *a = arg;
    a->status = reply->status;
    atomic_store(&a->replied, true);
}

static void until(const atomic_bool *done)
{
    for (int i = 0; i < 40000 && !atomic_load(done); i++)
        usleep(500);
    ck_assert(atomic_load(done));
}

/* Nothing is replied, for a while. */
static void not_yet(const atomic_bool *done)
{
    usleep(50000);
    ck_assert(!atomic_load(done));
}

static void post(struct scene *s, struct asked *a, pawl_turns q)
{
    pawl_error err = {0};
    q.protocol = PAWL_TURNS_PROTOCOL;
    q.session = pawl_s("session-0123456789");
    *a = (struct asked){0};
    expect_is(pawl_turns_exchange(s->c, &q, on_turns, a, &err), PAWL_OK);
}

static void exchange(struct scene *s, struct asked *a, pawl_turns q)
{
    post(s, a, q);
    until(&a->replied);
    expect_is(a->status, PAWL_OK);
}

static void call(struct scene *s, struct called *a, const pawl_request *request)
{
    pawl_error err = {0};
    *a = (struct called){0};
    expect_is(pawl_client_submit(s->c, request, on_reply, a, &err), PAWL_OK);
}

static void start(struct scene *s, struct called *a, const char *id)
{
    call(s, a,
         PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = id, .data = pawl_s("1")));
}

/* A worker's call waits; the wait for the answer to a start is `first_ms`. */
static void serve(struct scene *s, struct asked *turns, int64_t first_ms)
{
    struct asked told;
    if (!s->rt) {
        scene_threads(s);
        scene_up(s);
    }
    s->rt->hands.remotes->first_ms = first_ms;
    exchange(s, &told, (pawl_turns){.has_code = true, .code = flow, .code_count = 1});
    post(s, turns, (pawl_turns){.max = 1, .wait_ms = 60000});
    exchange(s, &told, (pawl_turns){.max = 0}); /* behind it */
}

#define LONG_MS 60000

/* The turn of a start that is not stored. */
static void given(struct scene *s, struct asked *turns, struct called *started, int64_t first_ms)
{
    serve(s, turns, first_ms);
    start(s, started, "i");
    until(&turns->replied);
    expect_is(turns->count, 1);
    expect_is(turns->messages, 1);
    ck_assert_str_eq(turns->instance, "i");
}

static void answer_with(struct scene *s, struct asked *a, const char *token, uint64_t seq,
                        const pawl_decision *d, bool ends)
{
    const uint64_t ref = 1;
    const pawl_turn_step step = {.message = 1, .seq = seq, .decisions = d, .count = 1};
    const pawl_turn_answer one = {.token = pawl_s(token),
                                  .form = PAWL_TURN_STEPS,
                                  .steps = &step,
                                  .step_count = 1,
                                  .wait = ends ? PAWL_TURN_WAIT_NONE : PAWL_TURN_WAIT_ANY,
                                  .refs = &ref,
                                  .ref_count = !ends};
    exchange(s, a, (pawl_turns){.answers = &one, .answer_count = 1});
}

static pawl_turn_status finish(struct scene *s, const char *token)
{
    const pawl_decision end = {.deed = PAWL_DEED_FINISH,
                               .end = PAWL_DEED_COMPLETED,
                               .data = pawl_s("2"),
                               .has_data = true};
    struct asked a;
    answer_with(s, &a, token, 1, &end, true);
    return a.answered;
}

static pawl_turn_status wait_go(struct scene *s, const char *token)
{
    const pawl_decision go = {.deed = PAWL_DEED_EVENT, .ref = 1, .name = pawl_s("Go")};
    struct asked a;
    answer_with(s, &a, token, 1, &go, false);
    return a.answered;
}

static pawl_turn_status say(struct scene *s, const char *token, pawl_turn_form form)
{
    const pawl_turn_answer one = {
        .token = pawl_s(token), .form = form, .text = pawl_s("it is wrong")};
    struct asked a;
    exchange(s, &a, (pawl_turns){.answers = &one, .answer_count = 1});
    return a.answered;
}

static void answered(struct called *a, pawl_status status)
{
    until(&a->replied);
    expect_is(a->status, status);
}

static void completed(struct scene *s)
{
    scene_expect(s, "i", PAWL_COMPLETED, "2");
    scene_events(s, "i", "OrchestrationStarted OrchestrationCompleted");
    scene_expect_empty(s);
}

FIRST(start_and_first_decisions_are_one_commit)
{
    struct asked turns;
    struct called started;
    given(s, &turns, &started, LONG_MS);
    uint64_t before = scene_stats(s).commits;
    not_yet(&started.replied);
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    answered(&started, PAWL_OK);
    expect_is(scene_stats(s).commits - before, 1);
    completed(s);
    expect_is(finish(s, turns.token), PAWL_TURN_LOST);
}

FIRST(a_slow_worker_does_not_keep_a_start)
{
    struct asked turns;
    struct called started;
    given(s, &turns, &started, 20);
    answered(&started, PAWL_OK);
    scene_expect(s, "i", PAWL_PENDING, NULL);
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    completed(s);
}

FIRST(after_a_wait_in_vain_some_starts_do_not_wait)
{
    struct asked turns;
    struct called started;
    given(s, &turns, &started, 20);
    answered(&started, PAWL_OK);
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    for (int i = 0; i < 7; i++) { /* these would wait for a minute */
        serve(s, &turns, LONG_MS);
        start(s, &started, scene_id(s, "n", i));
        answered(&started, PAWL_OK);
        until(&turns.replied);
        expect_is(finish(s, turns.token), PAWL_TURN_OK);
    }
}

FIRST(the_same_start_again_is_answered_with_it)
{
    struct asked turns;
    struct called started, again, other;
    given(s, &turns, &started, LONG_MS);
    start(s, &again, "i");
    answered(&started, PAWL_OK);
    answered(&again, PAWL_OK);
    call(s, &other,
         PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i", .data = pawl_s("3")));
    answered(&other, PAWL_EXISTS);
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    completed(s);
}

FIRST(a_start_of_another_instance_takes_it_along)
{
    struct asked turns;
    struct called started, other;
    given(s, &turns, &started, LONG_MS);
    start(s, &other, "j");
    answered(&other, PAWL_OK);
    answered(&started, PAWL_OK);
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "2");
    scene_expect(s, "j", PAWL_PENDING, NULL);
}

FIRST(a_raise_finds_it)
{
    struct asked turns;
    struct called started, raised;
    given(s, &turns, &started, LONG_MS);
    call(s, &raised, PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Go"));
    answered(&started, PAWL_OK);
    answered(&raised, PAWL_OK);
    expect_is(wait_go(s, turns.token), PAWL_TURN_OK);
    exchange(s, &turns, (pawl_turns){.max = 1, .wait_ms = 60000});
    expect_is(turns.messages, 1);
    scene_events(s, "i", "OrchestrationStarted ExternalSubscribed#1");
}

/* Ended before its code ever ran: the turn is void. */
static void ends_by(struct scene *s, pawl_op op, pawl_state state)
{
    struct asked turns;
    struct called started, ended;
    given(s, &turns, &started, LONG_MS);
    call(s, &ended, PAWL_REQUEST(.op = op, .instance = "i", .reason = "why"));
    answered(&started, PAWL_OK);
    answered(&ended, PAWL_OK);
    expect_is(finish(s, turns.token), PAWL_TURN_LOST);
    expect_is(scene_info(s, "i").state, state);
    scene_expect_empty(s);
}

FIRST(terminate_finds_it)
{
    ends_by(s, PAWL_OP_TERMINATE, PAWL_CANCELLED);
}

FIRST(cancel_finds_it)
{
    ends_by(s, PAWL_OP_CANCEL, PAWL_CANCELLED);
}

FIRST(suspend_finds_it_and_resume_gives_it_again)
{
    struct asked turns;
    struct called started, done;
    s->opts.turn_lease_ms = 1000;
    given(s, &turns, &started, LONG_MS);
    call(s, &done, PAWL_REQUEST(.op = PAWL_OP_SUSPEND, .instance = "i"));
    answered(&started, PAWL_OK);
    answered(&done, PAWL_OK);
    expect_is(finish(s, turns.token), PAWL_TURN_LOST);
    call(s, &done, PAWL_REQUEST(.op = PAWL_OP_RESUME, .instance = "i"));
    answered(&done, PAWL_OK);
    exchange(s, &turns, (pawl_turns){.max = 1, .wait_ms = 60000});
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "2");
}

FIRST(remove_finds_it)
{
    struct asked turns;
    struct called started, removed;
    pawl_info info;
    pawl_error err;
    given(s, &turns, &started, LONG_MS);
    call(s, &removed, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "i", .force = true));
    answered(&started, PAWL_OK);
    answered(&removed, PAWL_OK);
    expect_is(finish(s, turns.token), PAWL_TURN_LOST);
    expect_is(pawl_client_get(s->c, "i", 0, s->mem, &info, &err), PAWL_NOT_FOUND);
    scene_expect_empty(s);
}

FIRST(a_refused_answer_leaves_the_token_good)
{
    const pawl_decision go = {.deed = PAWL_DEED_EVENT, .ref = 7, .name = pawl_s("Go")};
    struct asked turns, a;
    struct called started;
    given(s, &turns, &started, LONG_MS);
    answer_with(s, &a, turns.token, 1, &go, false);
    expect_is(a.answered, PAWL_TURN_REFUSED);
    answered(&started, PAWL_OK); /* it does not wait for the worker's second try */
    scene_expect(s, "i", PAWL_PENDING, NULL);
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    completed(s);
}

FIRST(a_bug_in_the_first_turn_blocks_it)
{
    struct asked turns;
    struct called started;
    given(s, &turns, &started, LONG_MS);
    expect_is(say(s, turns.token, PAWL_TURN_BUG), PAWL_TURN_BLOCKED);
    answered(&started, PAWL_OK);
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    scene_steer(s, PAWL_OP_RETRY, "i");
    exchange(s, &turns, (pawl_turns){.max = 1, .wait_ms = 60000});
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    completed(s);
}

FIRST(a_turn_given_back_is_given_again)
{
    struct asked turns;
    struct called started;
    given(s, &turns, &started, LONG_MS);
    expect_is(say(s, turns.token, PAWL_TURN_RELEASE), PAWL_TURN_RELEASED);
    answered(&started, PAWL_OK);
    exchange(s, &turns, (pawl_turns){.max = 1, .wait_ms = 60000});
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    completed(s);
}

FIRST(a_worker_that_dies_costs_its_lease)
{
    struct asked turns;
    struct called started;
    s->opts.turn_lease_ms = 1000;
    given(s, &turns, &started, 20);
    answered(&started, PAWL_OK);
    exchange(s, &turns, (pawl_turns){.max = 1, .wait_ms = 60000});
    expect_is(turns.messages, 1);
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    completed(s);
}

FIRST(close_stores_it)
{
    struct asked turns;
    struct called started;
    char token[PAWL_TURNS_TOKEN_BYTES];
    given(s, &turns, &started, LONG_MS);
    (void)snprintf(token, sizeof(token), "%s", turns.token);
    scene_restart(s);
    answered(&started, PAWL_OK);
    serve(s, &turns, LONG_MS);
    until(&turns.replied);
    expect_is(finish(s, token), PAWL_TURN_LOST); /* it is of the runtime before */
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    completed(s);
}

FIRST(a_commit_that_fails_is_tried_again)
{
    struct asked turns;
    struct called started;
    given(s, &turns, &started, LONG_MS);
    scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
    expect_is(finish(s, turns.token), PAWL_TURN_LOST); /* the start comes again, as another */
    answered(&started, PAWL_OK);
    exchange(s, &turns, (pawl_turns){.max = 1, .wait_ms = 60000});
    expect_is(finish(s, turns.token), PAWL_TURN_OK);
    completed(s);
}

FIRST(a_start_with_a_raise_is_stored_first)
{
    const pawl_raise_item go = {.event = "Go"};
    struct asked turns;
    struct called started;
    serve(s, &turns, LONG_MS);
    call(s, &started,
         PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i", .data = pawl_s("1"),
                      .raises = &go, .raise_count = 1));
    answered(&started, PAWL_OK);
    until(&turns.replied);
    expect_is(wait_go(s, turns.token), PAWL_TURN_OK);
}
