/* SPDX-License-Identifier: MIT */
/*
 * tests/story/flows.c -- the orchestrations of the story.
 *
 * Each one's output follows from its input and from what clients did to it, so that the
 * checker can say what it has to be.  "Step" is an activity here, with a line in the file
 * STORY_EFFECTS each time it runs; "Charge" is for remote workers.
 *
 *   StoryChain   n steps                        StoryAsk    gathers events until the last
 *   StoryRemote  remote, local, remote          StoryLong   waits to be cancelled
 *   StoryFan     n children, each a step        StoryPush   pushes n items in its turns
 *   StoryNap     a timer                        StoryPop    pops, steps, acknowledges
 *   StoryRound   continues as new, n times      StoryOrder  of a bound queue
 */
#include <fcntl.h>
#include <pawl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RECORD 128 /* never over the end of a page, where kill -9 could tear it */

/* The outside world: one line a run, by one write, which no crash takes back. */
static pawl_result step(pawl_activity *act, pawl_str input)
{
    static int fd = -1;
    char line[RECORD + 1];
    if (fd < 0)
        fd = open(getenv("STORY_EFFECTS"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int n = snprintf(line, sizeof(line), "%s %-30u", pawl_activity_key(act),
                     pawl_activity_attempt(act));
    if (n < 0 || n >= RECORD)
        return pawl_err(act, "the key is too long");
    (void)snprintf(line + n, sizeof(line) - (size_t)n, "%*s", RECORD - n, "\n");
    if (fd < 0 || write(fd, line, RECORD) != RECORD)
        return pawl_err(act, "cannot write STORY_EFFECTS");
    return pawl_ok_str(act, input);
}

static pawl_result chain(pawl_ctx *ctx, pawl_str input)
{
    int64_t n = pawl_json_int(input, "/n", 0), sum = 0;
    for (int64_t i = 1; i <= n; i++) {
        pawl_result r = pawl_call(ctx, "Step", pawl_printf(ctx, "%lld", (long long)i));
        if (!r.ok)
            return r;
        sum += pawl_json_int(r.value, "", 0);
    }
    return pawl_donef(ctx, "%lld", (long long)sum);
}

static pawl_result remote(pawl_ctx *ctx, pawl_str input)
{
    pawl_result a = pawl_call(ctx, "Charge", input);
    if (!a.ok)
        return a;
    pawl_result s = pawl_call(ctx, "Step", input);
    if (!s.ok)
        return s;
    pawl_result b = pawl_call(ctx, "Charge", input);
    if (!b.ok)
        return b;
    return pawl_done_str(ctx,
                         pawl_printf(ctx, "[%.*s,%.*s]", PAWL_FMT(a.value), PAWL_FMT(b.value)));
}

static pawl_result leaf(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Step", input);
}

static pawl_result fan(pawl_ctx *ctx, pawl_str input)
{
    int64_t n = pawl_json_int(input, "/n", 0), sum = 0;
    pawl_task tasks[16];
    for (int64_t i = 0; i < n && i < 16; i++)
        tasks[i] = pawl_start_child(ctx, "StoryLeaf", pawl_printf(ctx, "%lld", (long long)i), NULL);
    for (int64_t i = 0; i < n && i < 16; i++) {
        pawl_result r = pawl_await(ctx, tasks[i]);
        if (!r.ok)
            return r;
        sum += pawl_json_int(r.value, "", 0);
    }
    return pawl_donef(ctx, "%lld", (long long)sum);
}

static pawl_result nap(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_sleep(ctx, pawl_json_int(input, "/n", 0)));
    return pawl_done_str(ctx, pawl_json_get(input, "/n"));
}

static pawl_result round_again(pawl_ctx *ctx, pawl_str input)
{
    int64_t n = pawl_json_int(input, "/n", 0), at = pawl_json_int(input, "/at", 0);
    pawl_result r = pawl_call(ctx, "Step", input);
    if (!r.ok)
        return r;
    if (at + 1 >= n)
        return pawl_donef(ctx, "%lld", (long long)n);
    return pawl_continue_as_new(
        ctx, pawl_printf(ctx, "{\"n\":%lld,\"at\":%lld}", (long long)n, (long long)at + 1), NULL);
}

static pawl_result ask(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_json *w = pawl_json_new(pawl_ctx_mem(ctx));
    pawl_json_array(w);
    for (;;) {
        pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Item"));
        if (!r.ok)
            return r;
        pawl_json_raw(w, pawl_json_get(r.value, "/nonce"));
        if (pawl_json_bool(r.value, "/last", false))
            break;
    }
    pawl_json_end(w);
    return pawl_done_str(ctx, pawl_json_done(w));
}

static pawl_result wait_long(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "Never"));
}

static pawl_result push(pawl_ctx *ctx, pawl_str input)
{
    int64_t n = pawl_json_int(input, "/n", 0);
    for (int64_t i = 0; i < n; i++) {
        pawl_str item =
            pawl_printf(ctx, "{\"u\":\"%.*s/%lld\"}", PAWL_FMT(pawl_instance(ctx)), (long long)i);
        pawl_result r = pawl_queue_push(ctx, "from-flows", item, PAWL_PUSH_OPTS(.priority = i));
        if (r.ok && i % 2)
            r = pawl_call(ctx, "Step", input);
        if (!r.ok)
            return r;
    }
    return pawl_donef(ctx, "%lld", (long long)n);
}

static pawl_result pop(pawl_ctx *ctx, pawl_str input)
{
    pawl_result got = pawl_await(
        ctx, pawl_queue_pop(ctx, "to-flows", PAWL_SECONDS(3), pawl_json_int(input, "/n", 0)));
    if (!got.ok || pawl_str_is(got.value, "null"))
        return got;
    pawl_str lock = pawl_json_text(pawl_ctx_mem(ctx), got.value, "/lock_id", "");
    pawl_result r = pawl_call(ctx, "Step", got.value);
    if (!r.ok)
        return r;
    r = pawl_await(ctx, pawl_queue_ack(ctx, "to-flows", lock));
    pawl_json *w = pawl_json_new(pawl_ctx_mem(ctx));
    pawl_json_object(w);
    pawl_json_key(w, "u");
    pawl_json_raw(w, pawl_json_get(got.value, "/item/u"));
    pawl_json_key(w, "acked");
    pawl_json_truth(w, r.ok);
    pawl_json_key(w, "why");
    pawl_json_str(w, r.ok ? pawl_s("") : r.value);
    pawl_json_end(w);
    return pawl_done_str(ctx, pawl_json_done(w));
}

static pawl_result order(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Step", input);
}

static void register_all(pawl_app *app)
{
    pawl_register_activity(app, "Step", step);
    pawl_register_orchestration(app, "StoryChain", "1.0.0", chain);
    pawl_register_orchestration(app, "StoryRemote", "1.0.0", remote);
    pawl_register_orchestration(app, "StoryLeaf", "1.0.0", leaf);
    pawl_register_orchestration(app, "StoryFan", "1.0.0", fan);
    pawl_register_orchestration(app, "StoryNap", "1.0.0", nap);
    pawl_register_orchestration(app, "StoryRound", "1.0.0", round_again);
    pawl_register_orchestration(app, "StoryAsk", "1.0.0", ask);
    pawl_register_orchestration(app, "StoryLong", "1.0.0", wait_long);
    pawl_register_orchestration(app, "StoryPush", "1.0.0", push);
    pawl_register_orchestration(app, "StoryPop", "1.0.0", pop);
    pawl_register_orchestration(app, "StoryOrder", "1.0.0", order);
}

PAWL_MODULE(register_all)
