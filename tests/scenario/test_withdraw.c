/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_withdraw.c -- callers that go away while they wait.
 *
 * A pop or a poll whose caller has gone is answered at once with nothing, and what comes
 * afterwards is there for somebody who is alive, as if it had never waited.
 */
#include "pawl/worker.h"
#include "queue_verbs.h"

/* ---- Pops -------------------------------------------------------------------- */

QUEUE_SCENARIO(pop_of_a_caller_that_went)
{
    struct q_poll first = {0}, gone = {0}, last = {0};
    const char *data;
    q_poll(s, "q", 60000, true, &first);
    q_poll(s, "q", 60000, true, &gone);
    q_poll(s, "q", 60000, true, &last);
    scene_settle(s);
    pawl_client_withdraw(s->c, &gone);
    scene_settle(s);
    ck_assert(gone.done && !first.done && !last.done);
    expect_is(gone.status, PAWL_OK);
    expect_str(gone.data, "");
    gone.done = false;
    pawl_client_withdraw(s->c, &gone); /* it does not wait any more */
    pawl_client_withdraw(s->c, &last);
    pawl_client_withdraw(s->c, &first);
    scene_settle(s);
    ck_assert(!gone.done && first.done && last.done);
    q_push(s, "q", "a", 0);
    ck_assert_ptr_nonnull(q_lock(s, "q", 1, 30000, &data));
    expect_str(data, "a");
}

/* Whoever waits behind the one that went is served in its turn. */
QUEUE_SCENARIO(pop_behind_a_caller_that_went)
{
    struct q_poll gone = {0}, next = {0};
    q_poll(s, "q", 60000, false, &gone);
    q_poll(s, "q", 60000, false, &next);
    scene_settle(s);
    pawl_client_withdraw(s->c, &gone);
    q_push(s, "q", "a", 0);
    scene_settle(s);
    ck_assert(gone.done && next.done);
    expect_str(gone.data, "");
    expect_str(next.data, "a");
}

/* ---- Polls ------------------------------------------------------------------- */

struct heard {
    int times;
    pawl_status status;
    size_t count;
    uint32_t attempt;
};

static void polled(void *arg, const pawl_worker_reply *reply)
{
    struct heard *h = arg;
    *h = (struct heard){.times = h->times + 1, .status = reply->status, .count = reply->count};
    if (reply->count)
        h->attempt = reply->leases[0].attempt;
}

static void poll_for(struct scene *s, struct heard *h, int64_t wait_ms)
{
    const char *const names[] = {"Away"};
    pawl_error err = {0};
    scene_up(s);
    ck_assert(pawl_worker_poll(s->c,
                               PAWL_POLL(.activities = names, .activity_count = 1,
                                         .wait_ms = wait_ms, .lock_ms = 1000),
                               polled, h, &err) == PAWL_OK);
    scene_settle(s);
}

static pawl_result away(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Away", input);
}

SCENARIO(poll_of_a_caller_that_went)
{
    struct heard gone = {0}, last = {0}, live = {0};
    scene_flow(s, "Flow", away);
    poll_for(s, &gone, 60000);
    poll_for(s, &last, 60000);
    pawl_client_withdraw(s->c, &last); /* the end of the list, and then all of it */
    pawl_client_withdraw(s->c, &gone);
    scene_settle(s);
    expect_is(gone.times, 1);
    expect_is(gone.status, PAWL_OK);
    expect_is(last.times, 1);
    scene_start(s, "Flow", "i", "x");
    scene_settle(s);
    expect_is(gone.count + last.count, 0);
    poll_for(s, &live, 0);
    expect_is(live.count, 1);
    expect_is(live.attempt, 1);
}
