/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_callbacks.c -- callbacks that misbehave: a blocking call, a step or a close
 * inside a reply or a feed is refused at once and says what to do; nobody hangs, and what was
 * asked goes on.  A feed may end itself.
 */
#include "scene.h"

#include "pawl/queue.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

static pawl_result echo_flow(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

/* ---- What a rude callback tries ------------------------------------------------------- */

struct rude {
    struct scene *s;
    int calls, refused, told; /* blocking calls; of them MISUSE; with the cure in the text */
    int ends;                 /* close and step */
    bool once;
    sem_t done;
};

static void count(struct rude *r, pawl_status rc, const pawl_error *err)
{
    r->calls++;
    r->refused += rc == PAWL_MISUSE;
    r->told += strstr(err->text, "another thread") != NULL;
}

static void be_rude(struct rude *r)
{
    struct scene *s = r->s;
    pawl_reply reply = {0};
    pawl_info info;
    pawl_error err = {0};
    uint64_t id;
    pawl_mem *mem = pawl_mem_new();
    count(r, pawl_client_start(s->c, "Flow", pawl_s("x"), NULL, &reply), &reply.error);
    count(r, pawl_client_raise(s->c, "i", "Go", pawl_s("1"), NULL, &err), &err);
    count(r, pawl_client_remove(s->c, "i", true, &reply), &reply.error);
    count(r, pawl_client_call(s->c, PAWL_REQUEST(.op = PAWL_OP_RETRY, .instance = "i"), &reply),
          &reply.error);
    count(r, pawl_client_wait(s->c, "i", 0, 60000, mem, &info, &err), &err);
    count(r, pawl_client_push(s->c, "q", pawl_s("1"), NULL, &id, &err), &err);
    r->ends += pawl_runtime_step(s->rt, 1000) < 0;
    pawl_runtime_close(s->rt);
    pawl_mem_free(mem);
}

static void rude_reply(void *arg, const pawl_reply *reply)
{
    struct rude *r = arg;
    if (reply->status == PAWL_OK)
        be_rude(r);
    sem_post(&r->done);
}

static void rude_feed(void *arg, const pawl_change *changes, size_t count)
{
    struct rude *r = arg;
    (void)changes, (void)count;
    if (r->once)
        return;
    r->once = true;
    be_rude(r);
    sem_post(&r->done);
}

static void rude_queue_reply(void *arg, const pawl_queue_reply *reply)
{
    (void)reply;
    be_rude(arg);
    sem_post(&((struct rude *)arg)->done);
}

static void expect_refused(struct scene *s, struct rude *r)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    if (!s->threads)
        scene_settle(s);
    ck_assert_msg(sem_timedwait(&r->done, &until) == 0, "the callback hangs");
    expect_is(r->calls, 6);
    expect_is(r->refused, 6);
    expect_is(r->told, 6);
    expect_is(r->ends, 1);
    ck_assert(scene_logged(s, "call it from the thread that opened the runtime"));
}

static void submit_start(struct scene *s, struct rude *r, const char *id)
{
    pawl_error err;
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = id),
                                 r ? rude_reply : NULL, r, &err),
              PAWL_OK);
}

static void reply_is_refused(struct scene *s)
{
    struct rude r = {.s = s};
    sem_init(&r.done, 0, 0);
    scene_flow(s, "Flow", echo_flow);
    scene_up(s);
    submit_start(s, &r, "i");
    expect_refused(s, &r);
    expect_is(scene_try_start(s, "Flow", "after", ""), PAWL_OK); /* and it runs on */
}

static void feed_is_refused(struct scene *s)
{
    struct rude r = {.s = s};
    sem_init(&r.done, 0, 0);
    scene_flow(s, "Flow", echo_flow);
    scene_up(s);
    uint64_t feed = pawl_client_feed(s->c, rude_feed, &r);
    submit_start(s, NULL, "i");
    expect_refused(s, &r);
    pawl_client_unfeed(s->c, feed);
    expect_is(scene_try_start(s, "Flow", "after", ""), PAWL_OK);
}

SCENARIO(s30_a_blocking_call_inside_a_reply_is_misuse)
{
    reply_is_refused(s);
}

SCENARIO(s30_a_blocking_call_inside_a_reply_is_misuse_with_threads)
{
    scene_threads(s);
    reply_is_refused(s);
}

SCENARIO(s30_a_blocking_call_inside_a_feed_is_misuse)
{
    feed_is_refused(s);
}

SCENARIO(s30_a_blocking_call_inside_a_feed_is_misuse_with_threads)
{
    scene_threads(s);
    feed_is_refused(s);
}

SCENARIO(s30_a_blocking_call_inside_a_reply_of_a_queue_is_misuse)
{
    if (s->kind == SCENE_JSONL) /* has no queues */
        return;
    struct rude r = {.s = s};
    pawl_queue_item item = {.data = pawl_s("1")};
    pawl_error err;
    sem_init(&r.done, 0, 0);
    scene_threads(s);
    scene_flow(s, "Flow", echo_flow);
    scene_up(s);
    expect_is(pawl_queue_submit(s->c,
                                PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q",
                                                   .items = &item, .item_count = 1),
                                rude_queue_reply, &r, &err),
              PAWL_OK);
    expect_refused(s, &r);
}

/* ---- Feeds that come and go ------------------------------------------------------------ */

static uint64_t first, second;
static int heard[3];

static void third_feed(void *arg, const pawl_change *changes, size_t count)
{
    (void)arg, (void)changes, (void)count;
    heard[2]++;
}

static void second_feed(void *arg, const pawl_change *changes, size_t count)
{
    struct scene *s = arg;
    (void)changes, (void)count;
    heard[1]++;
    pawl_client_unfeed(s->c, second); /* itself, */
    pawl_client_unfeed(s->c, first);  /* one that comes after it, */
    (void)pawl_client_feed(s->c, third_feed, s);
}

static void first_feed(void *arg, const pawl_change *changes, size_t count)
{
    (void)arg, (void)changes, (void)count;
    heard[0]++;
}

SCENARIO(e15_a_feed_may_end_itself_and_others)
{
    memset(heard, 0, sizeof(heard));
    scene_flow(s, "Flow", echo_flow);
    scene_up(s);
    first = pawl_client_feed(s->c, first_feed, s);
    second = pawl_client_feed(s->c, second_feed, s);
    scene_start(s, "Flow", "a", "");
    expect_is(heard[0], 0);
    expect_is(heard[1], 1);
    expect_is(heard[2], 0); /* from the next commit on */
    scene_start(s, "Flow", "b", "");
    expect_is(heard[1], 1);
    expect_is(heard[2], 1);
}

/* ---- What an activity leaves to be called when it is cancelled -------------------------- */

static sem_t began, called, over;
static pawl_activity *running;
static pawl_status in_callback;
static atomic_int calls;
static struct scene *stage;

static bool wait_for(sem_t *sem)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    return sem_timedwait(sem, &until) == 0;
}

/* Takes itself back, and asks the engine for something: both hung. */
static void rude_cancel(void *arg)
{
    pawl_reply reply = {0};
    (void)arg;
    atomic_fetch_add(&calls, 1);
    pawl_activity_on_cancel(running, NULL, NULL);
    in_callback = pawl_client_start(stage->c, "Flow", pawl_s("x"),
                                    PAWL_START_OPTS(.instance = "by the callback"), &reply);
    sem_post(&called);
}

static pawl_result until_called(pawl_activity *act, pawl_str input)
{
    (void)input;
    running = act;
    pawl_activity_on_cancel(act, rude_cancel, NULL);
    sem_post(&began);
    bool ok = wait_for(&called);
    sem_post(&over);
    return pawl_okf(act, "%d", ok);
}

static pawl_result race_it(pawl_ctx *ctx, pawl_str input)
{
    pawl_task both[] = {pawl_start(ctx, "Slow", input), pawl_wait_event(ctx, "Go")};
    return pawl_donef(ctx, "%d", pawl_race(ctx, both, 2));
}

static void fresh(struct scene *s)
{
    stage = s;
    sem_init(&began, 0, 0);
    sem_init(&called, 0, 0);
    sem_init(&over, 0, 0);
    atomic_store(&calls, 0);
    in_callback = PAWL_SHUTDOWN;
    scene_threads(s);
    scene_flow(s, "Flow", echo_flow);
    scene_flow(s, "Race", race_it);
}

SCENARIO(s09_a_callback_of_a_cancelled_activity_may_call_anything)
{
    fresh(s);
    scene_activity(s, "Slow", until_called);
    scene_start(s, "Race", "i", "");
    ck_assert(wait_for(&began));
    scene_raise(s, "i", "Go", "");
    ck_assert_msg(wait_for(&over), "the callback hangs");
    expect_is(in_callback, PAWL_OK);
    expect_is(atomic_load(&calls), 1);
    expect_is(scene_row(s, "by the callback").uid != 0, 1);
}

/* One that blocks keeps neither the engine nor other callbacks waiting. */
static sem_t stuck, entered;

static void blocks(void *arg)
{
    (void)arg;
    sem_post(&began);
    sem_post(&entered);
    while (sem_wait(&stuck) != 0)
        ;
}

static pawl_result blocked_in_callback(pawl_activity *act, pawl_str input)
{
    (void)input;
    pawl_activity_on_cancel(act, blocks, NULL);
    sem_post(&began);
    (void)wait_for(&entered); /* one that has returned is not called any more */
    return pawl_ok(act, "");
}

static pawl_result race_named(pawl_ctx *ctx, pawl_str input)
{
    pawl_task both[] = {pawl_start(ctx, input.ptr, pawl_s("")), pawl_wait_event(ctx, "Go")};
    return pawl_donef(ctx, "%d", pawl_race(ctx, both, 2));
}

SCENARIO(s09_a_callback_that_blocks_stops_nobody_else)
{
    fresh(s);
    sem_init(&stuck, 0, 0);
    sem_init(&entered, 0, 0);
    scene_activity(s, "Slow", until_called);
    scene_activity(s, "Stuck", blocked_in_callback);
    scene_flow(s, "RaceNamed", race_named);
    scene_start(s, "RaceNamed", "a", "Stuck");
    ck_assert(wait_for(&began));
    scene_raise(s, "a", "Go", "");
    ck_assert(wait_for(&began)); /* it blocks now */
    scene_start(s, "RaceNamed", "b", "Slow");
    ck_assert(wait_for(&began));
    scene_raise(s, "b", "Go", "");
    ck_assert_msg(wait_for(&over) && atomic_load(&calls) == 1, "it waits for another's callback");
    sem_post(&stuck);
}

/* What the callback works with is the activity's: its thread goes on when that is over, too. */
static atomic_int in_call, met_call;

static void takes_its_time(void *arg)
{
    (void)arg;
    atomic_store(&in_call, 1);
    sem_post(&entered);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    atomic_store(&in_call, 0);
}

static pawl_result returns_meanwhile(pawl_activity *act, pawl_str input)
{
    (void)input;
    pawl_activity_on_cancel(act, takes_its_time, NULL);
    sem_post(&began);
    (void)wait_for(&entered);
    return pawl_ok(act, "");
}

static pawl_result comes_next(pawl_activity *act, pawl_str input)
{
    (void)input;
    atomic_store(&met_call, atomic_load(&in_call));
    sem_post(&over);
    return pawl_ok(act, "");
}

SCENARIO(s09_the_thread_of_an_activity_goes_on_after_its_callback)
{
    s->opts.workers = 1;
    fresh(s);
    sem_init(&entered, 0, 0);
    scene_activity(s, "Slow", returns_meanwhile);
    scene_activity(s, "Next", comes_next);
    scene_flow(s, "RaceNamed", race_named);
    scene_start(s, "RaceNamed", "a", "Slow");
    ck_assert(wait_for(&began));
    scene_start(s, "RaceNamed", "b", "Next");
    scene_raise(s, "a", "Go", "");
    ck_assert(wait_for(&over));
    expect_is(atomic_load(&met_call), 0);
}

/* Cancelled before it asks to be told: told at once. */
static pawl_result asks_too_late(pawl_activity *act, pawl_str input)
{
    (void)input;
    sem_post(&began);
    for (int i = 0; i < 20000 && !pawl_activity_cancelled(act); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    running = act;
    pawl_activity_on_cancel(act, rude_cancel, NULL);
    sem_post(&over);
    return pawl_ok(act, "");
}

SCENARIO(s09_cancelled_already_means_called_at_once)
{
    fresh(s);
    scene_activity(s, "Slow", asks_too_late);
    scene_start(s, "Race", "i", "");
    ck_assert(wait_for(&began));
    scene_raise(s, "i", "Go", "");
    ck_assert(wait_for(&over));
    expect_is(atomic_load(&calls), 1);
    expect_is(in_callback, PAWL_OK);
}
