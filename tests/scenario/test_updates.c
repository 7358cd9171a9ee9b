/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_updates.c -- S61 to S66: requests that code answers. */
#include "scene.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call that was submitted, and what came of it. */
struct asked {
    int answers;
    pawl_status status;
    bool answered, rejected, repeated;
    char update[140], value[200], error[500];
};

static void note(void *arg, const pawl_reply *r)
{
    struct asked *a = arg;
    a->answers++;
    a->status = r->status;
    a->answered = r->answered;
    a->rejected = r->rejected;
    a->repeated = r->repeated;
    (void)snprintf(a->update, sizeof(a->update), "%.*s", PAWL_FMT(r->update));
    (void)snprintf(a->value, sizeof(a->value), "%.*s", PAWL_FMT(r->value));
    (void)snprintf(a->error, sizeof(a->error), "%s", r->error.text);
}

/* Submit, and see how far it gets without the clock. */
static void ask_key(struct scene *s, struct asked *a, const char *id, const char *name,
                    const char *data, const char *key, int64_t wait_ms)
{
    pawl_error err;
    *a = (struct asked){0};
    scene_up(s);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_UPDATE, .instance = id, .name = name,
                                              .data = pawl_s(data), .idempotency_key = key,
                                              .wait_ms = wait_ms),
                                 note, a, &err),
              PAWL_OK);
    scene_settle(s);
}

static void ask(struct scene *s, struct asked *a, const char *id, const char *name,
                const char *data)
{
    ask_key(s, a, id, name, data, NULL, 60000);
}

static void expect_answer(const struct asked *a, const char *value)
{
    ck_assert_msg(a->answers == 1, "%d answers", a->answers);
    ck_assert_msg(a->status == PAWL_OK, "%s", a->error);
    ck_assert(a->answered && !a->rejected);
    ck_assert_str_eq(a->value, value);
}

static void expect_rejected(const struct asked *a, const char *text)
{
    expect_is(a->answers, 1);
    ck_assert_msg(a->status == PAWL_OK, "%s", a->error);
    ck_assert(a->answered && a->rejected);
    ck_assert_str_eq(a->value, text);
}

static void expect_refused(const struct asked *a, pawl_status status, const char *text)
{
    expect_is(a->answers, 1);
    expect_is(a->status, status);
    expect_text(a->error, text);
}

/* What a client gets that asks for it later. */
static pawl_status look(struct scene *s, const char *id, const char *update, const char *data,
                        pawl_result *ret, pawl_error *err)
{
    pawl_str asked = pawl_s(data);
    scene_up(s);
    *err = (pawl_error){0};
    return pawl_client_update_result(s->c, id, update, data ? &asked : NULL, 0, s->mem, ret, err);
}

static void expect_found(struct scene *s, const char *id, const char *update, bool ok,
                         const char *value)
{
    pawl_result r;
    pawl_error err;
    pawl_status rc = look(s, id, update, NULL, &r, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    expect_is(r.ok, ok);
    ck_assert_str_eq(r.value.ptr, value);
}

static bool is_number(const void *arg, pawl_str data, char *why, size_t size)
{
    if (data.len && strspn(data.ptr, "0123456789") == data.len)
        return true;
    (void)snprintf(why, size, "%s: '%.*s' is no number", (const char *)arg, PAWL_FMT(data));
    return false;
}

/* Adds, answers with the sum; "stop" ends it; every `input` updates it continues as new. */
static pawl_result counter(pawl_ctx *ctx, pawl_str input)
{
    pawl_str was = pawl_state_get(ctx, "total");
    long total = was.ptr ? atol(was.ptr) : 0, most = input.len ? atol(input.ptr) : 1000000;
    pawl_task stop = pawl_wait_event(ctx, "stop");
    for (long n = 0; n < most; n++) {
        pawl_task add = pawl_wait_update_checked(ctx, "add", is_number, "add");
        if (pawl_await_any(ctx, (pawl_task[]){add, stop}, 2) != 0)
            return pawl_donef(ctx, "%ld", total);
        total += atol(pawl_await(ctx, add).value.ptr);
        pawl_str now = pawl_printf(ctx, "%ld", total);
        ck_assert(pawl_state_set(ctx, "total", now).ok);
        pawl_answer(ctx, add, now);
    }
    return pawl_continue_as_new(ctx, input, NULL);
}

SCENARIO(s61_an_update_is_answered_in_one_commit)
{
    struct asked a;
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "");
    scene_settle(s);
    unsigned long long before = scene_stats(s).commits;
    ask(s, &a, "i", "add", "5");
    expect_answer(&a, "5");
    ck_assert_uint_eq(scene_stats(s).commits, before + 1);
    ck_assert_uint_eq(strlen(a.update), 36);
    scene_events(s, "i",
                 "OrchestrationStarted ExternalSubscribed#1 UpdateWaited#2 UpdateAccepted#2 "
                 "StateChanged UpdateAnswered#2 UpdateWaited#3");
    expect_found(s, "i", a.update, true, "5");
    scene_crash(s);
    ask(s, &a, "i", "add", "7");
    expect_answer(&a, "12");
    scene_raise(s, "i", "stop", "");
    scene_expect(s, "i", PAWL_COMPLETED, "12");
    expect_found(s, "i", a.update, true, "12");
    scene_expect_empty(s);
}

/* Takes nothing until "go"; then answers one by one. */
static pawl_result late(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result go = pawl_await(ctx, pawl_wait_event(ctx, "go"));
    for (int i = 0; go.ok && i < atoi(go.value.ptr); i++) {
        pawl_task u = pawl_wait_update(ctx, "N");
        pawl_result r = pawl_await(ctx, u);
        if (!r.ok)
            return r;
        pawl_answer(ctx, u, pawl_printf(ctx, "%d:%.*s", i, PAWL_FMT(r.value)));
    }
    return pawl_done(ctx, "done");
}

SCENARIO(s61_without_a_wait_it_is_mail_and_survives)
{
    struct asked a, b, c;
    pawl_result r;
    pawl_error err;
    scene_flow(s, "Late", late);
    scene_start(s, "Late", "i", "");
    ask_key(s, &a, "i", "N", "x", "k-1", 0);
    expect_is(a.answers, 1); /* durable, and no more */
    ck_assert(a.status == PAWL_OK && !a.answered && !a.repeated);
    ck_assert_str_eq(a.update, "k-1");
    ask(s, &b, "i", "N", "y");
    ask_key(s, &c, "i", "other", "z", "k-3", 500);
    expect_is(b.answers + c.answers, 0);
    expect_is(scene_info(s, "i").update_count, 3);
    expect_is(look(s, "i", "k-1", "x", &r, &err), PAWL_TIMEOUT);
    ck_assert_str_eq(r.value.ptr, "k-1");
    scene_advance(s, 1000);
    scene_settle(s);
    expect_is(c.answers, 1); /* its time is over */
    ck_assert(c.status == PAWL_OK && !c.answered);
    scene_raise(s, "i", "go", "2");
    scene_settle(s);
    expect_answer(&b, "1:y");
    expect_found(s, "i", "k-1", true, "0:x");
    scene_expect(s, "i", PAWL_COMPLETED, "done");
    expect_is(look(s, "i", "k-3", "z", &r, &err), PAWL_LOST); /* it was not taken */
    scene_expect_empty(s);
}

SCENARIO(s61_mail_of_updates_comes_back_after_a_crash_in_order)
{
    struct asked a;
    scene_flow(s, "Late", late);
    scene_start(s, "Late", "i", "");
    ask_key(s, &a, "i", "N", "x", "k-1", 0);
    ask_key(s, &a, "i", "N", "y", "k-2", 0);
    scene_crash(s);
    ask_key(s, &a, "i", "N", "z", "k-3", 0);
    scene_raise(s, "i", "go", "3");
    scene_crash(s);
    scene_expect(s, "i", PAWL_COMPLETED, "done");
    expect_found(s, "i", "k-1", true, "0:x");
    expect_found(s, "i", "k-2", true, "1:y");
    expect_found(s, "i", "k-3", true, "2:z");
    scene_expect_empty(s);
}

SCENARIO(s62_the_same_key_is_one_update)
{
    struct asked a, b;
    pawl_result r;
    pawl_error err;
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "");
    ask_key(s, &a, "i", "add", "5", "k", 60000);
    expect_answer(&a, "5");
    ask_key(s, &b, "i", "add", "5", "k", 60000);
    expect_is(b.answers, 1);
    ck_assert(b.status == PAWL_OK && b.repeated && !b.answered);
    scene_crash(s);
    expect_is(pawl_client_update(s->c, "i", "add", pawl_s("5"),
                                 PAWL_UPDATE_OPTS(.idempotency_key = "k"), 1000, s->mem, &r, &err),
              PAWL_OK);
    ck_assert(r.ok);
    ck_assert_str_eq(r.value.ptr, "5");
    expect_is(pawl_client_update(s->c, "i", "add", pawl_s("6"),
                                 PAWL_UPDATE_OPTS(.idempotency_key = "k"), 1000, s->mem, &r, &err),
              PAWL_CONFLICT);
    expect_text(err.text, "the key 'k' was used with other data");
    scene_raise(s, "i", "k", "a raise with that key is another thing");
    expect_is(scene_kind_count(s, "i", "UpdateAccepted"), 1);
    scene_raise(s, "i", "stop", "");
    scene_settle(s);
    expect_is(pawl_client_update(s->c, "i", "add", pawl_s("5"),
                                 PAWL_UPDATE_OPTS(.idempotency_key = "k"), 1000, s->mem, &r, &err),
              PAWL_OK); /* also after the end */
    ck_assert_str_eq(r.value.ptr, "5");
}

SCENARIO(s62_two_calls_with_one_key_at_once_are_one_event)
{
    struct asked a[8];
    pawl_error err;
    int repeated = 0, answered = 0;
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "");
    scene_settle(s);
    for (int k = 0; k < 8; k++) {
        a[k] = (struct asked){0};
        expect_is(pawl_client_submit(s->c,
                                     PAWL_REQUEST(.op = PAWL_OP_UPDATE, .instance = "i",
                                                  .name = "add", .data = pawl_s("3"),
                                                  .idempotency_key = "k", .wait_ms = 1000),
                                     note, &a[k], &err),
                  PAWL_OK);
    }
    scene_settle(s);
    for (int k = 0; k < 8; k++) {
        expect_is(a[k].answers, 1);
        answered += a[k].answered;
        repeated += a[k].repeated;
    }
    expect_is(answered, 1);
    expect_is(repeated, 7);
    expect_is(scene_kind_count(s, "i", "UpdateAccepted"), 1);
    expect_found(s, "i", "k", true, "3");
}

/* Takes one, and a timer wins before the code looks; the next execution serves it. */
static pawl_result racer(pawl_ctx *ctx, pawl_str input)
{
    pawl_task u = pawl_wait_update(ctx, "N");
    if (!input.len) {
        pawl_task timer = pawl_timer(ctx, 10);
        pawl_ignore(pawl_await(ctx, pawl_timer(ctx, 1000)));
        ck_assert_int_eq(pawl_race(ctx, (pawl_task[]){timer, u}, 2), 0);
        return pawl_continue_as_new(ctx, pawl_s("again"), NULL);
    }
    pawl_result r = pawl_await(ctx, u);
    pawl_ignore(pawl_sleep(ctx, 1000));
    pawl_answer(ctx, u, pawl_printf(ctx, "0 %.*s", PAWL_FMT(r.value)));
    return pawl_done_str(ctx, r.value);
}

SCENARIO(s63_what_no_code_saw_goes_back_and_to_the_next_execution)
{
    struct asked a;
    pawl_result r;
    pawl_error err;
    scene_flow(s, "Racer", racer);
    scene_start(s, "Racer", "i", "");
    scene_settle(s);
    scene_advance(s, 20);
    ask_key(s, &a, "i", "N", "one", "k-1", 0);
    ask_key(s, &a, "i", "N", "two", "k-2", 0);
    scene_advance(s, 1000); /* given back, and taken by the next execution */
    scene_crash(s);
    expect_is(look(s, "i", "k-1", "one", &r, &err), PAWL_TIMEOUT);
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "one");
    expect_found(s, "i", "k-1", true, "0 one");
    expect_is(look(s, "i", "k-2", NULL, &r, &err), PAWL_LOST);
    scene_expect_empty(s);
}

/* Its wait takes one, is given up unseen, and nothing takes it before the end. */
static pawl_result gives_back(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_task u = pawl_wait_update(ctx, "N"), go = pawl_wait_event(ctx, "go");
    pawl_ignore(pawl_await(ctx, go));
    pawl_cancel(ctx, u);
    return pawl_await(ctx, pawl_wait_event(ctx, "end"));
}

SCENARIO(s65_one_that_was_given_back_is_lost_at_the_end)
{
    struct asked a, b;
    pawl_result r;
    pawl_error err;
    scene_flow(s, "Back", gives_back);
    scene_start(s, "Back", "i", "");
    scene_steer(s, PAWL_OP_SUSPEND, "i"); /* both come in one turn */
    ask_key(s, &a, "i", "N", "one", "k", 3600000);
    scene_raise(s, "i", "go", "");
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_settle(s);
    expect_is(scene_kind_count(s, "i", "UpdateAccepted"), 1);
    expect_is(scene_kind_count(s, "i", "UpdateWaitCancelled"), 1);
    expect_is(look(s, "i", "k", NULL, &r, &err), PAWL_TIMEOUT);
    scene_raise(s, "i", "end", "");
    scene_finish(s, "i");
    expect_refused(&a, PAWL_LOST, "the instance ended before it took the update");
    expect_is(look(s, "i", "k", NULL, &r, &err), PAWL_LOST); /* and not open for ever */
    ask_key(s, &b, "i", "N", "one", "k", 0);
    ck_assert(b.repeated);
    expect_is(look(s, "i", "k", "one", &r, &err), PAWL_LOST);
}

/* The next execution takes what came in this one. */
static pawl_result passes_on(pawl_ctx *ctx, pawl_str input)
{
    if (!input.len) {
        pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "go")));
        return pawl_continue_as_new(ctx, pawl_s("again"), NULL);
    }
    pawl_task u = pawl_wait_update(ctx, "N");
    pawl_answer(ctx, u, pawl_await(ctx, u).value);
    return pawl_await(ctx, pawl_wait_event(ctx, "end"));
}

static void go_on(struct scene *s)
{
    scene_raise(s, "i", "go", "");
    scene_settle(s);
}

SCENARIO(s62_an_answer_is_found_while_the_instance_continues_as_new)
{
    struct asked a;
    pawl_result r;
    pawl_error err;
    scene_flow(s, "Passes", passes_on);
    scene_start(s, "Passes", "i", "");
    ask_key(s, &a, "i", "N", "one", "k", 0);
    s->before_mail = go_on; /* between the look at the row and the look at the mail */
    expect_is(look(s, "i", "k", NULL, &r, &err), PAWL_OK);
    ck_assert_str_eq(r.value.ptr, "one");
}

/* Looking for an answer reads a history in pieces: it may be larger than memory. */
SCENARIO(s62_an_answer_is_found_in_a_long_history)
{
    struct asked a;
    pawl_result r;
    pawl_error err;
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "");
    for (int k = 0; k < 70; k++) { /* some events each: more than four pieces */
        char key[16];
        (void)snprintf(key, sizeof(key), "k%d", k);
        ask_key(s, &a, "i", "add", "1", key, 1000);
    }
    expect_found(s, "i", "k0", true, "1");
    expect_found(s, "i", "k15", true, "16");
    expect_found(s, "i", "k33", true, "34");
    expect_found(s, "i", "k69", true, "70");
    uint64_t before = fault_store_calls(s->store, FAULT_OP_read_history);
    expect_is(look(s, "i", "none", NULL, &r, &err), PAWL_NOT_FOUND);
    ck_assert(fault_store_calls(s->store, FAULT_OP_read_history) >= before + 4);
}

SCENARIO(s64_a_check_refuses_and_leaves_no_trace)
{
    struct asked a;
    pawl_result r;
    pawl_error err;
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "");
    ask_key(s, &a, "i", "add", "five", "k", 1000);
    expect_refused(&a, PAWL_INVALID, "add: 'five' is no number");
    scene_events(s, "i", "OrchestrationStarted ExternalSubscribed#1 UpdateWaited#2");
    expect_is(look(s, "i", "k", NULL, &r, &err), PAWL_NOT_FOUND);
    expect_text(err.text, "has no update 'k'");
    ask_key(s, &a, "i", "add", "5", "k", 1000); /* the key was not used up */
    expect_answer(&a, "5");
    expect_is(scene_info(s, "i").update_count, 0);
}

/* A call first, so that updates are mail when the wait opens. */
static pawl_result checks_mail(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "go")));
    pawl_task u = pawl_wait_update_checked(ctx, "add", is_number, "add");
    pawl_str value = pawl_await(ctx, u).value;
    pawl_answer(ctx, u, value);
    return pawl_done_str(ctx, value);
}

SCENARIO(s64_mail_that_a_check_refuses_is_gone)
{
    struct asked a, b;
    pawl_result r;
    pawl_error err;
    scene_flow(s, "Checks", checks_mail);
    scene_start(s, "Checks", "i", "");
    ask_key(s, &a, "i", "add", "x", "k", 60000);
    ask(s, &b, "i", "add", "7");
    scene_raise(s, "i", "go", "");
    scene_settle(s);
    expect_refused(&a, PAWL_INVALID, "add: 'x' is no number");
    expect_answer(&b, "7");
    ask_key(s, &a, "i", "add", "8", "k", 60000); /* its key stays used, and that is told */
    ck_assert(a.repeated);
    expect_is(look(s, "i", "k", "8", &r, &err), PAWL_LOST);
    scene_expect(s, "i", PAWL_COMPLETED, "7");
    expect_is(scene_kind_count(s, "i", "UpdateAccepted"), 1);
    scene_expect_empty(s);
}

/* Takes "A" and does not answer; ends on "go": "as-new", or with that. */
static pawl_result silent(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_await(ctx, pawl_wait_update(ctx, "A")));
    pawl_result go = pawl_await(ctx, pawl_wait_event(ctx, "go"));
    if (go.ok && pawl_str_is(go.value, "as-new"))
        return pawl_continue_as_new(ctx, input, NULL);
    return go;
}

static size_t memory_in_use(void)
{
    struct mallinfo2 m = mallinfo2(); /* with a sanitizer all 0 */
    return m.uordblks + m.hblkhd;
}

/* How much an update of a megabyte takes, while its client waits so long. */
static size_t memory_of(struct scene *s, const char *id, const char *data, int64_t wait_ms,
                        struct asked *a)
{
    scene_start(s, "Silent", id, "");
    scene_settle(s);
    size_t before = memory_in_use();
    ask_key(s, a, id, "A", data, NULL, wait_ms);
    return memory_in_use() - before;
}

SCENARIO(s61_a_client_that_waits_holds_no_copy_of_what_it_asked)
{
    static char data[1 << 20];
    struct asked a, b, c;
    memset(data, 'x', sizeof(data) - 1);
    scene_flow(s, "Silent", silent);
    (void)memory_of(s, "warm", data, 0, &a);
    size_t plain = memory_of(s, "i", data, 0, &b), waits = memory_of(s, "j", data, 60000, &c);
    ck_assert_msg(waits < plain + sizeof(data) / 2, "%zu bytes more", waits - plain);
    expect_is(c.answers, 0);
    scene_steer(s, PAWL_OP_TERMINATE, "j");
    scene_settle(s);
    expect_is(c.answers, 1);
}

SCENARIO(s65_the_end_rejects_what_is_not_answered)
{
    struct asked a, b;
    scene_flow(s, "Silent", silent);
    scene_start(s, "Silent", "i", "");
    ask(s, &a, "i", "A", "x");
    ask(s, &b, "i", "B", "y");
    scene_raise(s, "i", "go", "end");
    scene_settle(s);
    expect_rejected(&a, "orchestration completed");
    expect_refused(&b, PAWL_LOST, "the instance ended before it took the update");
    scene_events(s, "i",
                 "OrchestrationStarted UpdateWaited#1 UpdateAccepted#1 ExternalSubscribed#2 "
                 "ExternalEvent#2 UpdateAnswered#1 OrchestrationCompleted");
    ask(s, &a, "i", "A", "late");
    expect_refused(&a, PAWL_LOST, "instance 'i' is already completed");
    scene_expect_empty(s);
}

SCENARIO(s65_continue_as_new_rejects_and_carries)
{
    struct asked a, b;
    scene_flow(s, "Silent", silent);
    scene_start(s, "Silent", "i", "");
    ask(s, &a, "i", "A", "x");
    ask(s, &b, "i", "A", "y");
    scene_raise(s, "i", "go", "as-new");
    scene_settle(s);
    expect_rejected(&a, "orchestration continued as new");
    expect_is(b.answers, 0); /* taken by the next execution */
    scene_crash(s);
    scene_raise(s, "i", "go", "end");
    scene_settle(s);
    expect_found(s, "i", a.update, false, "orchestration continued as new");
    expect_is(scene_kind_count(s, "i", "UpdateAnswered"), 1);
    scene_expect_empty(s);
}

SCENARIO(s65_terminate_and_remove_tell_those_who_wait)
{
    struct asked a, b, c;
    scene_flow(s, "Silent", silent);
    scene_start(s, "Silent", "i", "");
    ask(s, &a, "i", "A", "x");
    ask(s, &b, "i", "B", "y");
    scene_steer(s, PAWL_OP_TERMINATE, "i");
    scene_settle(s);
    expect_rejected(&a, "orchestration terminated");
    expect_refused(&b, PAWL_LOST, "ended before it took the update");
    scene_start(s, "Silent", "j", "");
    ask(s, &c, "j", "B", "y");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "j", .force = true)),
              PAWL_OK);
    scene_settle(s);
    expect_refused(&c, PAWL_LOST, "was removed");
    ask(s, &c, "none", "B", "y");
    expect_refused(&c, PAWL_NOT_FOUND, "instance 'none' does not exist");
}

SCENARIO(s65_suspended_it_waits)
{
    struct asked a;
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "");
    scene_settle(s);
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    ask(s, &a, "i", "add", "5");
    expect_is(a.answers, 0);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_settle(s);
    expect_answer(&a, "5");
    scene_expect_empty(s);
}

SCENARIO(s65_a_full_mailbox_refuses)
{
    struct asked a;
    s->opts.max_mailbox = 2;
    scene_flow(s, "Late", late);
    scene_start(s, "Late", "i", "");
    for (int k = 0; k < 2; k++)
        ask_key(s, &a, "i", "N", "x", NULL, 0);
    ask(s, &a, "i", "N", "x");
    expect_refused(&a, PAWL_CONFLICT, "its mailbox is full");
}

SCENARIO(s66_read_modify_write_over_crashes_and_continue_as_new)
{
    struct asked a;
    char sum[24];
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "3");
    for (int k = 1; k <= 20; k++) {
        ask(s, &a, "i", "add", "2");
        (void)snprintf(sum, sizeof(sum), "%d", 2 * k);
        expect_answer(&a, sum);
        if (k % 4 == 0)
            scene_crash(s);
    }
    ck_assert_uint_eq(scene_info(s, "i").execution, 7);
    scene_raise(s, "i", "stop", "");
    scene_expect(s, "i", PAWL_COMPLETED, "40");
}

SCENARIO(s66_shutdown_answers_those_who_wait)
{
    struct asked a;
    scene_flow(s, "Late", late);
    scene_start(s, "Late", "i", "");
    ask_key(s, &a, "i", "N", "x", "k", 60000);
    scene_restart(s);
    expect_is(a.answers, 1);
    expect_is(a.status, PAWL_SHUTDOWN);
    scene_raise(s, "i", "go", "1");
    scene_settle(s);
    expect_found(s, "i", "k", true, "0:x"); /* it was durable */
}

SCENARIO(s61_bad_calls_are_refused_at_once)
{
    pawl_error err;
    scene_up(s);
    static const struct {
        const char *instance, *name, *key;
        int64_t wait_ms;
        const char *error;
    } bad[] = {
        {"i", "",    NULL,   0,  "update name"             },
        {"i", "a/b", NULL,   0,  "update name"             },
        {"",  "a",   NULL,   0,  "instance id"             },
        {"i", "a",   "",     0,  "idempotency key is empty"},
        {"i", "a",   "\xff", 0,  "not UTF-8"               },
        {"i", "a",   NULL,   -1, "wait_ms is -1"           },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert(
            pawl_client_submit(s->c,
                               PAWL_REQUEST(.op = PAWL_OP_UPDATE, .instance = bad[i].instance,
                                            .name = bad[i].name, .idempotency_key = bad[i].key,
                                            .wait_ms = bad[i].wait_ms),
                               note, NULL, &err) != PAWL_OK);
        expect_text(err.text, bad[i].error);
    }
}

/* Keys of updates and of inputs are kept beside those of raises: no raise can take one of them. */
SCENARIO(s62_a_raise_cannot_use_up_the_key_of_an_update)
{
    struct asked a;
    const char *key = "\x01update:k";
    const pawl_raise_item item = {.event = "other", .idempotency_key = key};
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "other",
                                       .idempotency_key = key)),
              PAWL_INVALID);
    ck_assert(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .instance = "j", .name = "Counter",
                                       .raises = &item, .raise_count = 1)) != PAWL_OK);
    ask_key(s, &a, "i", "add", "5", "k", 1000);
    expect_answer(&a, "5");
}

/* ---- S67: with a start ------------------------------------------------------------------------ */

static pawl_status start_with(struct scene *s, const char *id, const char *input, const char *data,
                              const char *key, pawl_if_exists if_exists)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .instance = id, .name = "Counter",
                                    .data = pawl_s(input), .if_exists = if_exists, .update = "add",
                                    .update_data = pawl_s(data), .update_key = key));
}

/* A store without atomic rounds cannot. */
static bool cannot(struct scene *s)
{
    if (s->kind != SCENE_JSONL)
        return false;
    scene_flow(s, "Counter", counter);
    expect_is(start_with(s, "i", "", "1", NULL, 0), PAWL_UNSUPPORTED);
    expect_text(s->reply.error.text, "update it after the start");
    return true;
}

SCENARIO(s67_a_start_and_its_update_are_one_commit)
{
    if (cannot(s))
        return;
    scene_flow(s, "Counter", counter);
    scene_up(s);
    unsigned long long before = scene_stats(s).commits;
    expect_is(start_with(s, "i", "", "5", NULL, 0), PAWL_OK);
    ck_assert_uint_eq(scene_stats(s).commits, before + 1);
    ck_assert(s->reply.created);
    expect_found(s, "i", "start", true, "5");
    expect_is(start_with(s, "i", "", "5", NULL, 0), PAWL_OK); /* its twin: the same answer */
    ck_assert(!s->reply.created);
    scene_crash(s);
    expect_is(start_with(s, "i", "", "5", NULL, 0), PAWL_OK);
    expect_found(s, "i", "start", true, "5");
    expect_is(scene_kind_count(s, "i", "UpdateAccepted"), 1);
    expect_is(scene_kind_count(s, "i", "UpdateAnswered"), 1);
}

SCENARIO(s67_an_existing_instance_gets_the_update_once_by_its_key)
{
    if (cannot(s))
        return;
    scene_flow(s, "Counter", counter);
    expect_is(start_with(s, "i", "", "1", NULL, PAWL_IF_EXISTS_USE), PAWL_INVALID);
    expect_text(s->reply.error.text, "give this one a key");
    const char *keys[] = {"k\"1\\", "k\t2", "k3", "k3"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        expect_is(start_with(s, "i", "", "2", keys[i], PAWL_IF_EXISTS_USE), PAWL_OK);
        scene_settle(s);
    }
    expect_found(s, "i", "k\"1\\", true, "2");
    expect_found(s, "i", "k\t2", true, "4");
    expect_found(s, "i", "k3", true, "6");
    expect_is(scene_kind_count(s, "i", "UpdateAnswered"), 3);
    scene_raise(s, "i", "stop", "");
    scene_expect(s, "i", PAWL_COMPLETED, "6");
    expect_is(start_with(s, "i", "", "2", "k4", PAWL_IF_EXISTS_USE), PAWL_CONFLICT);
    expect_is(start_with(s, "i", "", "2", "k5", PAWL_IF_EXISTS_RERUN), PAWL_OK);
    scene_settle(s);
    expect_found(s, "i", "k5", true, "8"); /* published state goes on */
}

SCENARIO(s67_what_the_check_refuses_is_gone_and_the_start_stands)
{
    pawl_result r;
    pawl_error err;
    if (cannot(s))
        return;
    scene_flow(s, "Counter", counter);
    expect_is(start_with(s, "i", "", "five", NULL, 0), PAWL_OK);
    scene_settle(s);
    expect_is(look(s, "i", "start", NULL, &r, &err), PAWL_NOT_FOUND);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .instance = "j", .name = "Counter",
                                       .update = "a/b")),
              PAWL_INVALID);
    expect_is(start_with(s, "j", "", "1", "", 0), PAWL_INVALID);
    expect_is(start_with(s, "j", "", "1", "\xff", 0), PAWL_INVALID);
    pawl_info info;
    expect_is(pawl_client_get(s->c, "j", 0, s->mem, &info, NULL), PAWL_NOT_FOUND);
}

SCENARIO(s67_a_delayed_start_keeps_its_update)
{
    if (cannot(s))
        return;
    scene_flow(s, "Counter", counter);
    expect_is(
        scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .instance = "i", .name = "Counter",
                                 .delay_ms = 60000, .update = "add", .update_data = pawl_s("3"))),
        PAWL_OK);
    scene_crash(s);
    scene_advance(s, 61000);
    expect_found(s, "i", "start", true, "3");
}
