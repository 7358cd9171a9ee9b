/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_lend.c -- the engine lent to the thread that has the requests
 * (src/runtime/loop/lend.h).  Real threads and the real clock; the test is the borrower.
 */
#include "queue_verbs.h"
#include "runtime/loop/lend.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static sem_t called, began, go_on;
static pthread_t turned_on;

struct answer {
    atomic_bool done;
    pawl_status status;
    pthread_t on;
    uint64_t id; /* of what was pushed */
    int nap_ms;  /* before it is taken in: a pass that lasts */
    char data[32];
};

static void come(void *arg)
{
    (void)arg;
    sem_post(&called);
}

static bool wait_for(sem_t *sem)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    while (sem_timedwait(sem, &until) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

static void on_reply(void *arg, const pawl_queue_reply *reply)
{
    struct answer *a = arg;
    usleep((useconds_t)a->nap_ms * 1000);
    a->status = reply->status;
    a->on = pthread_self();
    if (reply->pushed_count)
        a->id = reply->pushed[0].id;
    if (reply->message_count)
        snprintf(a->data, sizeof(a->data), "%.*s", PAWL_FMT(reply->messages[0].data));
    atomic_store(&a->done, true);
}

static void hand_in(struct scene *s, const pawl_queue_request *request, struct answer *a)
{
    pawl_queue_request copy = *request;
    pawl_error err = {0};
    copy.size = sizeof(copy);
    atomic_store(&a->done, false);
    pawl_status rc = pawl_queue_submit(s->c, &copy, on_reply, a, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
}

static void hand_in_push(struct scene *s, const char *queue, const char *data, int64_t delay_ms,
                         struct answer *a)
{
    pawl_queue_item item = {.data = pawl_s(data), .delay_ms = delay_ms};
    hand_in(s,
            &(pawl_queue_request){
                .op = PAWL_QUEUE_PUSH, .queue = queue, .items = &item, .item_count = 1},
            a);
}

static void work(struct scene *s)
{
    while (pawl_lend_work(s->c))
        ;
}

static bool is_done_within(struct answer *a, int ms)
{
    for (int i = 0; i < ms && !atomic_load(&a->done); i++)
        usleep(1000);
    return atomic_load(&a->done);
}

/* As the loop of a server: hand in, work, and come again when called. */
static void push_here(struct scene *s, const char *queue, const char *data, int64_t delay_ms,
                      struct answer *a)
{
    pawl_client_hold();
    hand_in_push(s, queue, data, delay_ms, a);
    for (int i = 0; i < 20000 && !atomic_load(&a->done); i++) {
        work(s);
        if (!atomic_load(&a->done))
            usleep(1000);
    }
    ck_assert(atomic_load(&a->done));
}

/* A store far away is not lent: the others here are near, whatever they say. */
static const pawl_store_ops *real;
static pawl_store_ops placed;
static bool is_far;

static void caps(pawl_store *s, pawl_store_caps *ret)
{
    real->caps(s, ret);
    ret->far = is_far;
}

static void place(pawl_store *outer)
{
    real = outer->ops;
    placed = *real;
    placed.caps = caps;
    outer->ops = &placed;
}

/* An engine that has just begun looks at everything once; from then on it sleeps. */
static void fresh(struct scene *s)
{
    struct answer a = {0};
    sem_init(&called, 0, 0);
    sem_init(&began, 0, 0);
    sem_init(&go_on, 0, 0);
    is_far = false;
    s->decorate = place;
    scene_threads(s);
    scene_up(s);
    ck_assert(pawl_lend_to(s->c, come, NULL));
    ck_assert(!pawl_lend_to(s->c, come, NULL)); /* one at a time */
    do
        push_here(s, "warm", "x", 0, &a);
    while (!pthread_equal(a.on, pthread_self()));
}

static pawl_info wait_end(struct scene *s, const char *id)
{
    pawl_info info = {0};
    pawl_error err = {0};
    pawl_status rc = PAWL_NOT_FOUND;
    for (int i = 0; i < 20000 && rc == PAWL_NOT_FOUND; i++) { /* it may not have begun */
        rc = pawl_client_wait(s->c, id, 0, 20000, s->mem, &info, &err);
        usleep(1000);
    }
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    return info;
}

/* ---- Where the work is done ----------------------------------------------------------- */

QUEUE_SCENARIO(requests_are_committed_by_who_hands_them_in)
{
    struct answer a = {0};
    int here = 0;
    fresh(s);
    for (int i = 0; i < 50; i++) {
        push_here(s, "q", "x", 0, &a);
        expect_is(a.status, PAWL_OK);
        here += pthread_equal(a.on, pthread_self());
    }
    ck_assert_int_ge(here, 25); /* now and then the engine is awake */
    ck_assert(pawl_lend_to(s->c, NULL, NULL));
    expect_str(q_counts(s, "q"), "50 0 0 0");
}

QUEUE_SCENARIO(without_a_borrower_the_engine_does_it)
{
    struct answer a = {0};
    fresh(s);
    ck_assert(pawl_lend_to(s->c, NULL, NULL));
    pawl_client_hold();
    hand_in_push(s, "q", "x", 0, &a);
    pawl_client_release();
    ck_assert(is_done_within(&a, 20000));
    ck_assert(!pthread_equal(a.on, pthread_self()));
}

QUEUE_SCENARIO(a_stepped_runtime_is_not_lent)
{
    scene_up(s);
    ck_assert(!pawl_lend_to(s->c, come, NULL));
}

/* ---- What only the engine thread does --------------------------------------------------- */

static pawl_result note_thread(pawl_ctx *ctx, pawl_str input)
{
    turned_on = pthread_self();
    return pawl_done_str(ctx, input);
}

/* A message of a bound queue starts an instance: its turn is the engine thread's. */
QUEUE_SCENARIO(no_turn_runs_on_the_thread_of_a_borrower)
{
    struct answer a = {0};
    scene_flow(s, "Note", note_thread);
    fresh(s);
    hand_in(s, &(pawl_queue_request){.op = PAWL_QUEUE_BIND, .queue = "q", .orchestration = "Note"},
            &a);
    ck_assert(is_done_within(&a, 20000));
    for (int i = 0; i < 10; i++) {
        push_here(s, "q", "\"x\"", 0, &a);
        expect_is(a.status, PAWL_OK);
        pawl_str id = pawl_mem_printf(s->mem, "queue~q~%llu", (unsigned long long)a.id);
        expect_is(wait_end(s, id.ptr).state, PAWL_COMPLETED);
        ck_assert(!pthread_equal(turned_on, pthread_self()));
    }
}

/* Held together with other requests they go to the engine, all of them. */
QUEUE_SCENARIO(other_requests_go_to_the_engine)
{
    struct answer a = {0};
    pawl_error err = {0};
    scene_flow(s, "Note", note_thread);
    fresh(s);
    pawl_client_hold();
    hand_in_push(s, "q", "x", 0, &a);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .instance = "i", .name = "Note"),
                                 NULL, NULL, &err),
              PAWL_OK);
    work(s);
    ck_assert(is_done_within(&a, 20000));
    expect_is(wait_end(s, "i").state, PAWL_COMPLETED);
    ck_assert(!pthread_equal(turned_on, pthread_self()));
}

/* ---- Who is woken ------------------------------------------------------------------------ */

/* The engine sleeps for a minute; what is committed here falls due much sooner. */
QUEUE_SCENARIO(what_falls_due_sooner_wakes_the_engine)
{
    struct answer waits = {0}, a = {0};
    fresh(s);
    hand_in(s, &(pawl_queue_request){.op = PAWL_QUEUE_POP, .queue = "q", .wait_ms = 60000}, &waits);
    usleep(50000);
    for (int i = 0; i < 3; i++) { /* nobody calls the engine but the clock */
        push_here(s, "q", "later", 300, &a);
        expect_is(a.status, PAWL_OK);
        ck_assert(is_done_within(&waits, 20000));
        expect_str(waits.data, "later");
        hand_in(s, &(pawl_queue_request){.op = PAWL_QUEUE_POP, .queue = "q", .wait_ms = 60000},
                &waits);
        usleep(50000);
    }
    push_here(s, "q", "now", 0, &a); /* and one that is served here, at once */
    ck_assert(is_done_within(&waits, 20000));
    expect_str(waits.data, "now");
}

static pawl_result nap(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_sleep(ctx, 200));
    return pawl_done(ctx, "1");
}

/* The engine's time comes while it is lent, and nothing comes afterwards. */
QUEUE_SCENARIO(what_falls_due_during_a_long_pass_is_not_forgotten)
{
    struct answer a = {.nap_ms = 600};
    scene_flow(s, "Nap", nap);
    fresh(s);
    scene_start(s, "Nap", "i", "1");
    usleep(50000);
    push_here(s, "q", "x", 0, &a);
    expect_is(wait_end(s, "i").state, PAWL_COMPLETED);
}

static pawl_result block(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    if (!pawl_is_replaying(ctx)) {
        sem_post(&began);
        (void)wait_for(&go_on);
    }
    return pawl_done(ctx, "1");
}

/* A push handed in while a turn runs; when that is over the borrower is called for it.  False: the
 * disk was slow just now, and the engine did it itself. */
static bool push_behind(struct scene *s, const char *id, struct answer *a)
{
    pawl_error err = {0};
    while (sem_trywait(&called) == 0)
        ; /* for one before */
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .instance = id, .name = "Block"),
                                 NULL, NULL, &err),
              PAWL_OK);
    ck_assert(wait_for(&began));
    pawl_client_hold();
    hand_in_push(s, "q", "x", 0, a);
    work(s);
    ck_assert(!is_done_within(a, 50));
    sem_post(&go_on);
    for (int i = 0; i < 20000 && !atomic_load(&a->done); i++) {
        if (sem_trywait(&called) == 0)
            return true;
        usleep(1000);
    }
    ck_assert(atomic_load(&a->done));
    return false;
}

static void push_behind_a_turn(struct scene *s, struct answer *a)
{
    scene_flow(s, "Block", block);
    fresh(s);
    for (int i = 0; i < 100; i++) {
        *a = (struct answer){0};
        if (push_behind(s, i ? scene_id(s, "i", i) : "i", a))
            return;
    }
    ck_abort_msg("the borrower is never called");
}

/* Requests that come while a turn runs: not here, and not lost. */
QUEUE_SCENARIO(a_busy_engine_calls_the_borrower_when_it_is_done)
{
    bool here = false; /* else the engine, which was called in the same moment, was quicker */
    scene_flow(s, "Block", block);
    fresh(s);
    for (int i = 0; i < 100 && !here; i++) {
        const char *id = scene_id(s, "i", i);
        struct answer a = {0};
        here = push_behind(s, id, &a);
        for (int k = 0; k < 20000 && !atomic_load(&a.done); k++) {
            work(s);
            usleep(1000);
        }
        expect_is(a.status, PAWL_OK);
        here = here && pthread_equal(a.on, pthread_self());
        expect_is(wait_end(s, id).state, PAWL_COMPLETED);
    }
    ck_assert(here);
}

QUEUE_SCENARIO(a_borrower_that_goes_leaves_its_requests_to_the_engine)
{
    struct answer a = {0};
    push_behind_a_turn(s, &a);
    ck_assert(!is_done_within(&a, 50)); /* it is waited for */
    ck_assert(pawl_lend_to(s->c, NULL, NULL));
    ck_assert(is_done_within(&a, 20000));
    expect_is(a.status, PAWL_OK);
    ck_assert(!pthread_equal(a.on, pthread_self()));
}

/* ---- Trouble -------------------------------------------------------------------------------- */

QUEUE_SCENARIO(a_commit_that_fails_here_is_tried_again_by_the_engine)
{
    struct answer a = {0};
    fresh(s);
    push_here(s, "q", "first", 0, &a);
    usleep(50000);
    scene_fail(s, FAULT_OP_commit, 0, 3, FAULT_BEFORE, PAWL_BUSY);
    pawl_client_hold();
    hand_in_push(s, "q", "second", 0, &a);
    work(s);
    ck_assert(is_done_within(&a, 20000)); /* nobody works here any more */
    expect_is(a.status, PAWL_OK);
    ck_assert(!pthread_equal(a.on, pthread_self()));
    push_here(s, "q", "third", 0, &a);
    expect_str(q_counts(s, "q"), "3 0 0 0");
}

static pawl_result listen_for_ever(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    while (pawl_await(ctx, pawl_wait_event(ctx, "Go")).ok)
        ;
    return pawl_done(ctx, "1");
}

/* A limit is met with more mail in the same group: the engine naps with letters at hand, and is
 * not to be had. */
QUEUE_SCENARIO(an_engine_that_naps_with_work_at_hand_is_not_lent)
{
    struct answer a = {0};
    pawl_error err = {0};
    s->opts.max_history = 60;
    scene_flow(s, "Listen", listen_for_ever);
    fresh(s);
    for (int round = 0; round < 5; round++) {
        char id[16];
        snprintf(id, sizeof(id), "i%d", round);
        scene_start(s, "Listen", id, "1");
        for (int batch = 0; batch < 10; batch++) {
            pawl_client_hold();
            for (int i = 0; i < 7; i++)
                expect_is(pawl_client_submit(
                              s->c, PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = id, .name = "Go"),
                              NULL, NULL, &err),
                          PAWL_OK);
            pawl_client_release();
            usleep(2000); /* the push must not get into the same pass */
            for (int i = 0; i < 10; i++)
                push_here(s, "q", "x", 0, &a);
        }
    }
    expect_str(q_counts(s, "q"), "500 0 0 0");
}

static atomic_int slow_ms;

static void be_slow(struct scene *s)
{
    (void)s;
    usleep((useconds_t)atomic_load(&slow_ms) * 1000);
}

/* Who borrows has others to serve: a disk that is slow is the engine thread's. */
QUEUE_SCENARIO(slow_commits_are_left_to_the_engine)
{
    struct answer a = {0};
    int here = 0;
    atomic_store(&slow_ms, 0);
    s->before_commit = be_slow;
    fresh(s);
    atomic_store(&slow_ms, 10);
    for (int i = 0; i < 20; i++) {
        push_here(s, "q", "x", 0, &a);
        here += pthread_equal(a.on, pthread_self());
    }
    ck_assert_int_le(here, 1);
    atomic_store(&slow_ms, 0);
    for (here = 0; !here;) { /* until it is fast again */
        push_here(s, "q", "x", 0, &a);
        here += pthread_equal(a.on, pthread_self());
    }
}

/* A commit there is a round trip, and who waits for it collects no further requests. */
QUEUE_SCENARIO(a_store_far_away_is_not_lent)
{
    struct answer a = {0};
    sem_init(&called, 0, 0);
    is_far = true;
    s->decorate = place;
    scene_threads(s);
    scene_up(s);
    ck_assert(pawl_lend_to(s->c, come, NULL));
    for (int i = 0; i < 50; i++) {
        push_here(s, "q", "x", 0, &a);
        expect_is(a.status, PAWL_OK);
        ck_assert(!pthread_equal(a.on, pthread_self()));
    }
    ck_assert(pawl_lend_to(s->c, NULL, NULL));
    expect_str(q_counts(s, "q"), "50 0 0 0");
    is_far = false;
}

/* ---- Everybody gets on ------------------------------------------------------------------------ */

static pawl_result three_naps(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    for (int i = 0; i < 3; i++) {
        pawl_ignore(pawl_sleep(ctx, 50));
        pawl_ignore(pawl_call(ctx, "Echo", pawl_s("1")));
    }
    return pawl_done(ctx, "1");
}

/* Requests without end on one thread hold up neither timers nor turns. */
QUEUE_SCENARIO(a_stream_of_requests_starves_nobody)
{
    struct answer a = {0};
    struct timespec begin, now;
    int pushed = 0;
    scene_flow(s, "Naps", three_naps);
    fresh(s);
    scene_start(s, "Naps", "i", "1");
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        push_here(s, "q", "x", 0, &a);
        expect_is(a.status, PAWL_OK);
        pushed++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < 2);
    pawl_info info = {0};
    pawl_error err = {0};
    expect_is(pawl_client_get(s->c, "i", 0, s->mem, &info, &err), PAWL_OK);
    expect_is(info.state, PAWL_COMPLETED);
    expect_str(q_counts(s, "q"), pawl_mem_printf(s->mem, "%d 0 0 0", pushed).ptr);
}
