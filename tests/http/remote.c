/* SPDX-License-Identifier: MIT */
/*
 * tests/http/remote.c -- orchestrations for the HTTP tests.
 *
 *   RemoteOrder   one activity nobody has here: a worker outside must do it
 *   RemoteRetry   the same, three attempts without a pause
 *   RemoteTagged  the same, only for workers with the tag "gpu"
 *   Echo          returns its input
 *   Ask           waits for the event "Answer"
 *   Question      asks what its input says, for the event "Reply"
 *   Parent        runs Echo as a child
 *   Wide          as many activities side by side as its input says
 *   Texts         returns text that is no JSON, or bytes that are no UTF-8
 *   Wrong         fails
 *   Nap           an activity that takes as many ms as its input says
 *   Post          pushes its input to the queue "posted"
 *   Spin          never leaves its turn
 *   Fickle        waits for another event when $FICKLE is set: code that does not fit its history
 *   Account       answers updates "add" (a number) with the sum; -1 is rejected; "end" ends it
 *   Board         publishes what is raised as "Put" under the key "last"; "x" ends it
 */
#include <pawl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pawl_result remote_order(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Charge", input);
}

static pawl_result remote_retry(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_with(ctx, "Charge", input,
                          PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 1, .cap_ms = 1));
}

static pawl_result remote_tagged(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_with(ctx, "Charge", input, PAWL_CALL_OPTS(.tag = "gpu"));
}

static bool is_number(const void *arg, pawl_str data, char *why, size_t size)
{
    (void)arg;
    if (data.len && strspn(data.ptr, "-0123456789") == data.len)
        return true;
    (void)snprintf(why, size, "%.*s is no number", PAWL_FMT(data));
    return false;
}

static pawl_result account(pawl_ctx *ctx, pawl_str input)
{
    long total = input.len ? atol(input.ptr) : 0;
    pawl_task end = pawl_wait_event(ctx, "end");
    for (;;) {
        pawl_task add = pawl_wait_update_checked(ctx, "add", is_number, NULL);
        if (pawl_await_any(ctx, (pawl_task[]){add, end}, 2) != 0)
            return pawl_donef(ctx, "%ld", total);
        long more = atol(pawl_await(ctx, add).value.ptr);
        if (more == -1) {
            pawl_reject(ctx, add, "not minus one");
            continue;
        }
        total += more;
        pawl_answer(ctx, add, pawl_printf(ctx, "%ld", total));
        if (pawl_history_length(ctx) > 400)
            return pawl_continue_as_new(ctx, pawl_printf(ctx, "%ld", total), NULL);
    }
}

static pawl_result board(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_state_set(ctx, "first", input));
    for (;;) {
        pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Put"));
        if (!r.ok || pawl_str_is(r.value, "\"x\""))
            return r;
        pawl_ignore(pawl_state_set(ctx, "last", r.value));
        pawl_ignore(pawl_state_set(ctx, "raw \xc3\xa9", pawl_s("not JSON")));
    }
}

static pawl_result twice(pawl_activity *act, pawl_str input)
{
    return pawl_ok_str(act, input);
}

static pawl_result echo(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Twice", input);
}

static pawl_result question(pawl_ctx *ctx, pawl_str input)
{
    return pawl_await(ctx, pawl_wait_event_ask(ctx, "Reply", input));
}

static pawl_result ask(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "Answer"));
}

static pawl_result parent(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_child(ctx, "Echo", input, NULL);
}

/* So many steps and so many children, each with the same large value. */
static pawl_result heap(pawl_ctx *ctx, pawl_str input)
{
    pawl_str value = pawl_json_get(input, "/value");
    for (int64_t i = 0; i < pawl_json_int(input, "/steps", 0); i++)
        pawl_ignore(pawl_call(ctx, "Twice", value));
    for (int64_t i = 0; i < pawl_json_int(input, "/children", 0); i++)
        pawl_ignore(pawl_call_child(ctx, "Echo", value, NULL));
    return pawl_done(ctx, "a lot");
}

/* So many steps side by side. */
static pawl_result wide(pawl_ctx *ctx, pawl_str input)
{
    int64_t count = pawl_json_int(input, "", 0);
    pawl_task *tasks = pawl_mem_alloc(pawl_ctx_mem(ctx), (size_t)(count + 1) * sizeof(*tasks));
    for (int64_t i = 0; i < count; i++)
        tasks[i] = pawl_start(ctx, "Twice", pawl_s("1"));
    for (int64_t i = 0; i < count; i++)
        pawl_ignore(pawl_await(ctx, tasks[i]));
    return pawl_done(ctx, "wide");
}

static pawl_result texts(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, pawl_str_is(input, "\"bytes\"") ? (pawl_str){"\xff\xfe!", 3}
                                                              : pawl_s("plain text"));
}

static pawl_result wrong(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_fail(ctx, "it went wrong");
}

static pawl_result sleep_a_while(pawl_activity *act, pawl_str input)
{
    usleep((useconds_t)pawl_json_int(input, "", 0) * 1000);
    return pawl_ok_str(act, input);
}

static pawl_result nap(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Sleep", input);
}

static pawl_result post(pawl_ctx *ctx, pawl_str input)
{
    pawl_result pushed = pawl_queue_push(ctx, "posted", input, NULL);
    if (!pushed.ok)
        return pushed;
    return pawl_done(ctx, "pushed");
}

static pawl_result spin(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    for (volatile int i = 0;; i = i + 1)
        ;
    return pawl_done(ctx, "never");
}

static pawl_result fickle(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, getenv("FICKLE") ? "Other" : "Answer"));
}

/* Compensates until it hears that it is done. */
static pawl_result undo(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Never"));
    pawl_shield(ctx);
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Undone")));
    pawl_unshield(ctx);
    return r;
}

static pawl_result late(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_with(ctx, "Nobody", input, PAWL_CALL_OPTS(.schedule_to_start_ms = 1));
}

static void register_all(pawl_app *app)
{
    pawl_register_orchestration(app, "RemoteOrder", "1.0.0", remote_order);
    pawl_register_orchestration(app, "RemoteRetry", "1.0.0", remote_retry);
    pawl_register_orchestration(app, "RemoteTagged", "1.0.0", remote_tagged);
    pawl_register_orchestration(app, "Echo", "1.0.0", echo);
#ifdef SECOND
    pawl_register_orchestration(app, "Echo", "2.0.0", echo);
#endif
    pawl_register_orchestration(app, "Ask", "1.0.0", ask);
    pawl_register_orchestration(app, "Account", "1.0.0", account);
    pawl_register_orchestration(app, "Question", "1.0.0", question);
    pawl_register_orchestration(app, "Board", "1.0.0", board);
    pawl_register_orchestration(app, "Parent", "1.0.0", parent);
    pawl_register_orchestration(app, "Heap", "1.0.0", heap);
    pawl_register_orchestration(app, "Wide", "1.0.0", wide);
    pawl_register_orchestration(app, "Texts", "1.0.0", texts);
    pawl_register_orchestration(app, "Wrong", "1.0.0", wrong);
    pawl_register_orchestration(app, "Nap", "1.0.0", nap);
    pawl_register_orchestration(app, "Post", "1.0.0", post);
    pawl_register_orchestration(app, "Spin", "1.0.0", spin);
    pawl_register_orchestration(app, "Fickle", "1.0.0", fickle);
    pawl_register_orchestration(app, "Undo", "1.0.0", undo);
    pawl_register_orchestration(app, "Late", "1.0.0", late);
    pawl_register_activity(app, "Twice", twice);
    pawl_register_activity(app, "Sleep", sleep_a_while);
}

PAWL_MODULE(register_all)
