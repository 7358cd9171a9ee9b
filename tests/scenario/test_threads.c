/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_threads.c -- what needs threads: S9, E5, clients, tokens, drain. */
#include "scene.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static sem_t began, woken, told;
static atomic_int saw_cancel, finished;
static char token[64];

static void fresh(struct scene *s)
{
    sem_init(&began, 0, 0);
    sem_init(&woken, 0, 0);
    sem_init(&told, 0, 0);
    atomic_store(&saw_cancel, 0);
    atomic_store(&finished, 0);
    scene_threads(s);
}

/* Wait for a semaphore, ten seconds at most. */
static bool wait_for(sem_t *sem)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    while (sem_timedwait(sem, &until) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

static pawl_info wait_end(struct scene *s, const char *id)
{
    pawl_info info = {0};
    pawl_error err = {0};
    pawl_status rc = pawl_client_wait(s->c, id, 0, 20000, s->mem, &info, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    return info;
}

/* ---- S9: cancellation reaches a running activity at once ------------------------------ */

static pawl_result poll_flag(pawl_activity *act, pawl_str input)
{
    (void)input;
    sem_post(&began);
    for (int i = 0; i < 10000 && !pawl_activity_cancelled(act); i++)
        usleep(1000);
    atomic_store(&saw_cancel, pawl_activity_cancelled(act) && !pawl_activity_heartbeat(act));
    sem_post(&told);
    return pawl_ok(act, "nobody hears this");
}

static void wake(void *arg)
{
    (void)arg;
    sem_post(&woken);
}

static pawl_result block_until_woken(pawl_activity *act, pawl_str input)
{
    (void)input;
    pawl_activity_on_cancel(act, wake, NULL);
    sem_post(&began);
    atomic_store(&saw_cancel, wait_for(&woken));
    sem_post(&told);
    return pawl_ok(act, "late");
}

static pawl_result call_by_name(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[] = {pawl_start(ctx, input.ptr, pawl_s("")), pawl_wait_event(ctx, "Stop")};
    int first = pawl_race(ctx, t, 2);
    return pawl_donef(ctx, "%d %s", first, pawl_await(ctx, t[0]).value.ptr);
}

static void cancel_running(struct scene *s, const char *name, pawl_activity_fn *fn, bool race)
{
    fresh(s);
    scene_activity(s, name, fn);
    scene_flow(s, "Flow", call_by_name);
    scene_start(s, "Flow", "i", name);
    ck_assert(wait_for(&began));
    if (race)
        scene_raise(s, "i", "Stop", "");
    else
        scene_cancel(s, "i", "stop");
    pawl_info info = wait_end(s, "i");
    expect_is(info.state, race ? PAWL_COMPLETED : PAWL_CANCELLED);
    ck_assert(wait_for(&told));
    expect_is(atomic_load(&saw_cancel), 1);
    expect_is(scene_kind_count(s, "i", "ActivityCompleted"), 0);
}

SCENARIO(s09_cancel_sets_the_flag_of_a_running_activity_at_once)
{
    cancel_running(s, "Poll", poll_flag, false);
}

SCENARIO(s09_cancel_calls_back_on_another_thread)
{
    cancel_running(s, "Block", block_until_woken, false);
}

SCENARIO(s09_loser_of_a_race_is_told_at_once)
{
    cancel_running(s, "Block", block_until_woken, true);
}

/* Terminate, too; and the slot is free for others although the activity goes on. */
static pawl_result deaf(pawl_activity *act, pawl_str input)
{
    (void)input;
    sem_post(&began);
    (void)wait_for(&woken);
    return pawl_ok(act, "too late");
}

static pawl_result counted_deaf(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return deaf(act, input);
}

static pawl_result works_and_waits(pawl_ctx *ctx, pawl_str input)
{
    pawl_task work = pawl_start(ctx, "Deaf", input);
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    return pawl_await(ctx, work);
}

static const pawl_store_ops *knowing;

static pawl_status commit_and_forget(pawl_store *store, pawl_fence *fence, pawl_round *rounds,
                                     size_t n, int64_t now_ms, pawl_error *reterr)
{
    pawl_status rc = knowing->commit(store, fence, rounds, n, now_ms, reterr);
    fence->whole_id = 0;
    return rc;
}

static void forget_what_is_whole(pawl_store *store)
{
    static pawl_store_ops ops;
    knowing = store->ops;
    ops = *store->ops;
    ops.commit = commit_and_forget;
    store->ops = &ops;
}

/* A commit of its instance fails, and all that is stored of it is looked through again (K5: the
 * store knows nothing of what is whole). */
SCENARIO(b10_work_under_way_is_not_begun_again_when_a_commit_fails)
{
    fresh(s);
    s->decorate = forget_what_is_whole;
    scene_activity(s, "Deaf", counted_deaf);
    scene_flow(s, "Flow", works_and_waits);
    scene_start(s, "Flow", "i", "");
    ck_assert(wait_for(&began));
    for (int i = 0; i < 3; i++) {
        scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_BUSY);
        scene_raise(s, "i", i ? "More" : "Go", "");
    }
    for (int i = 0; i < 4; i++)
        sem_post(&woken);
    expect_is(wait_end(s, "i").state, PAWL_COMPLETED);
    expect_is(scene_ran(s, "Deaf"), 1);
}

SCENARIO(s09_an_activity_that_ignores_it_is_left_alone)
{
    fresh(s);
    s->opts.workers = 2;
    scene_activity(s, "Deaf", deaf);
    scene_flow(s, "Flow", call_by_name);
    scene_start(s, "Flow", "i", "Deaf");
    ck_assert(wait_for(&began));
    scene_steer(s, PAWL_OP_TERMINATE, "i");
    expect_is(wait_end(s, "i").state, PAWL_CANCELLED);
    scene_start(s, "Flow", "j", "Echo"); /* nobody waits for the deaf one */
    expect_is(wait_end(s, "j").state, PAWL_COMPLETED);
    sem_post(&woken);
    scene_down(s);
    scene_up(s);
    expect_is(scene_kind_count(s, "i", "ActivityCompleted"), 0);
}

static pawl_result call_silent(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_with(ctx, "Poll", input, PAWL_CALL_OPTS(.heartbeat_ms = 50));
}

SCENARIO(s08_silent_thread_is_timed_out_and_told)
{
    fresh(s);
    scene_activity(s, "Poll", poll_flag);
    scene_flow(s, "Flow", call_silent);
    scene_start(s, "Flow", "i", "");
    ck_assert_str_eq(wait_end(s, "i").error.ptr, "timeout: heartbeat of 50 ms");
    ck_assert(wait_for(&told));
    expect_is(atomic_load(&saw_cancel), 1);
}

/* ---- Results from another thread --------------------------------------------------------- */

static pawl_result hand_out(pawl_activity *act, pawl_str input)
{
    (void)input;
    snprintf(token, sizeof(token), "%s", pawl_activity_token(act));
    sem_post(&began);
    return pawl_pending(act);
}

static void *complete_from_elsewhere(void *arg)
{
    struct scene *s = arg;
    pawl_error err;
    pawl_status rc = PAWL_LOST;
    for (int i = 0; i < 2000 && rc == PAWL_LOST; i++) { /* the lease may not be durable yet */
        rc = pawl_client_complete(s->c, token, (pawl_result){.ok = true, .value = pawl_s("theirs")},
                                  &err);
        if (rc == PAWL_LOST)
            usleep(1000);
    }
    expect_is(rc, PAWL_OK);
    return NULL;
}

SCENARIO(s07_async_completion_from_another_thread)
{
    pthread_t thread;
    fresh(s);
    scene_activity(s, "Later", hand_out);
    scene_flow(s, "Flow", call_by_name);
    scene_start(s, "Flow", "i", "Later");
    ck_assert(wait_for(&began));
    pthread_create(&thread, NULL, complete_from_elsewhere, s);
    ck_assert_str_eq(wait_end(s, "i").output.ptr, "0 theirs");
    pthread_join(thread, NULL);
}

/* ---- Many clients ------------------------------------------------------------------------- */

#define CLIENTS 8
#define EACH    20

static pawl_result wait_go(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call(ctx, "Echo", input);
    pawl_result go = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return pawl_donef(ctx, "%s %s", r.value.ptr, go.value.ptr);
}

static void *be_a_client(void *arg)
{
    struct scene *s = arg;
    static atomic_int numbers;
    int me = atomic_fetch_add(&numbers, 1);
    pawl_mem *mem = pawl_mem_new();
    for (int i = 0; i < EACH; i++) {
        char id[40];
        pawl_reply reply;
        pawl_error err;
        pawl_info info;
        snprintf(id, sizeof(id), "c%d-%d", me, i);
        expect_is(
            pawl_client_start(s->c, "Flow", pawl_s(id), PAWL_START_OPTS(.instance = id), &reply),
            PAWL_OK);
        expect_is(pawl_client_raise(s->c, id, "Go", pawl_s("went"), NULL, &err), PAWL_OK);
        expect_is(pawl_client_wait(s->c, id, 0, 20000, mem, &info, &err), PAWL_OK);
        expect_text(info.output.ptr, id);
        pawl_mem_reset(mem);
    }
    pawl_mem_free(mem);
    return NULL;
}

SCENARIO(e14_e05_concurrency_clients_from_many_threads)
{
    pthread_t threads[CLIENTS];
    fresh(s);
    scene_flow(s, "Flow", wait_go);
    scene_up(s);
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&threads[i], NULL, be_a_client, s);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    expect_is(scene_ran(s, "Echo"), CLIENTS * EACH);
    scene_down(s);
    scene_up(s);
    expect_is(scene_depths(s).messages, 0);
    expect_is(scene_depths(s).work, 0);
}

/* Activities may be clients, too. */
static pawl_result start_another(pawl_activity *act, pawl_str input)
{
    pawl_reply reply;
    pawl_status rc = pawl_client_start(pawl_activity_client(act), "Kid", input,
                                       PAWL_START_OPTS(.instance = "kid"), &reply);
    return pawl_okf(act, "%s", pawl_status_code(rc));
}

static pawl_result kid(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

SCENARIO(e14_activities_are_clients_too)
{
    fresh(s);
    scene_activity(s, "Start", start_another);
    scene_flow(s, "Flow", call_by_name);
    scene_flow(s, "Kid", kid);
    scene_start(s, "Flow", "i", "Start");
    ck_assert_str_eq(wait_end(s, "i").output.ptr, "0 ok");
    expect_is(wait_end(s, "kid").state, PAWL_COMPLETED);
}

/* ---- Shares by name: a crowd that blocks keeps nobody else waiting ------------------------- */

static sem_t doors;

static pawl_result block(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    sem_post(&began);
    while (sem_wait(&doors) != 0)
        ;
    return pawl_ok_str(act, input);
}

static pawl_result call_many(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[40];
    for (int i = 0; i < 40; i++)
        t[i] = pawl_start(ctx, "Block", input);
    return pawl_await_all(ctx, t, 40);
}

static pawl_result call_both(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call(ctx, "Echo", input);
    return r.ok ? pawl_call(ctx, "Flaky", pawl_s("1")) : r;
}

SCENARIO(e14_calls_that_block_keep_no_other_activity_waiting)
{
    fresh(s);
    sem_init(&doors, 0, 0);
    s->opts.workers = 8;
    scene_activity(s, "Block", block);
    scene_flow(s, "Many", call_many);
    scene_flow(s, "Both", call_both);
    scene_start(s, "Many", "many", "");
    for (int i = 0; i < 7; i++)
        ck_assert(wait_for(&began));
    scene_start(s, "Both", "other", "x"); /* while they block */
    expect_is(wait_end(s, "other").state, PAWL_COMPLETED);
    expect_is(scene_ran(s, "Block"), 7);
    for (int i = 0; i < 40; i++)
        sem_post(&doors);
    expect_is(wait_end(s, "many").state, PAWL_COMPLETED);
    expect_is(scene_ran(s, "Block"), 40);
}

/* However many names wait: threads are not made beyond the limit. */
SCENARIO(e14_no_more_calls_at_once_than_threads_allowed)
{
    fresh(s);
    sem_init(&doors, 0, 0);
    s->opts.workers = 4;
    scene_activity(s, "Block", block);
    scene_activity(s, "Block2", block);
    scene_activity(s, "Block3", block);
    scene_flow(s, "Flow", call_by_name);
    for (int i = 0; i < 12; i++) {
        static const char *const names[] = {"Block", "Block2", "Block3"};
        scene_start(s, "Flow", scene_id(s, "i", i), names[i % 3]);
    }
    for (int i = 0; i < 4; i++)
        ck_assert(wait_for(&began));
    (void)usleep(100000);
    ck_assert_int_ne(sem_trywait(&began), 0); /* no fifth one */
    for (int i = 0; i < 12; i++)
        sem_post(&doors);
    for (int i = 0; i < 12; i++)
        expect_is(wait_end(s, scene_id(s, "i", i)).state, PAWL_COMPLETED);
}

/* Where no thread is kept, the name that runs least is next. */
static char order[8];

static pawl_result note(pawl_activity *act, pawl_str input)
{
    strcat(order, input.ptr);
    return pawl_ok_str(act, input);
}

static pawl_result note_too(pawl_activity *act, pawl_str input)
{
    return note(act, input);
}

static pawl_result many_then_few(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[] = {pawl_start(ctx, "Note", pawl_s("a")), pawl_start(ctx, "Note", pawl_s("b")),
                     pawl_start(ctx, "Note", pawl_s("c")), pawl_start(ctx, "Other", pawl_s("x")),
                     pawl_start(ctx, "Other", pawl_s("y"))};
    (void)input;
    return pawl_await_all(ctx, t, 5);
}

SCENARIO(e14_names_take_turns)
{
    memset(order, 0, sizeof(order));
    scene_activity(s, "Note", note);
    scene_activity(s, "Other", note_too);
    scene_flow(s, "Flow", many_then_few);
    scene_start(s, "Flow", "i", "");
    scene_finish(s, "i");
    ck_assert_str_eq(order, "axbyc");
}

/* ---- Closing ------------------------------------------------------------------------------- */

static pawl_result take_a_while(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    sem_post(&began);
    usleep(200000);
    atomic_fetch_add(&finished, 1);
    return pawl_ok_str(act, input);
}

SCENARIO(e10_close_lets_running_activities_finish)
{
    fresh(s);
    scene_activity(s, "While", take_a_while);
    scene_flow(s, "Flow", call_by_name);
    scene_start(s, "Flow", "i", "While");
    ck_assert(wait_for(&began));
    scene_down(s); /* pawl_runtime_close() */
    expect_is(atomic_load(&finished), 1);
    scene_up(s);
    expect_is(wait_end(s, "i").state, PAWL_COMPLETED);
    expect_is(scene_ran(s, "While"), 1); /* its result was recorded at closing */
}

static void *wait_for_ever(void *arg)
{
    struct scene *s = arg;
    pawl_mem *mem = pawl_mem_new();
    pawl_info info;
    pawl_error err;
    sem_post(&began);
    pawl_status rc = pawl_client_wait(s->c, "i", 0, -1, mem, &info, &err);
    ck_assert(rc != PAWL_OK);
    pawl_mem_free(mem);
    sem_post(&woken);
    return NULL;
}

/* The drain time is a moment on the clock: tenths of a second are carried into its seconds. */
SCENARIO(e10_close_waits_as_long_as_it_was_told)
{
    fresh(s);
    s->opts.drain_ms = 950;
    scene_activity(s, "Slow", take_a_while);
    scene_flow(s, "Flow", call_by_name);
    for (int i = 0; i < 3; i++) {
        scene_start(s, "Flow", scene_id(s, "i", i), "Slow");
        ck_assert(wait_for(&began));
        scene_restart(s);
        expect_is(atomic_load(&finished), i + 1);
    }
}

SCENARIO(e10_close_answers_waiting_clients)
{
    pthread_t thread;
    fresh(s);
    scene_flow(s, "Flow", wait_go);
    scene_start(s, "Flow", "i", "");
    pthread_create(&thread, NULL, wait_for_ever, s);
    ck_assert(wait_for(&began));
    usleep(20000);
    pawl_runtime_close(s->rt);
    s->rt = NULL;
    ck_assert(wait_for(&woken));
    pthread_join(thread, NULL);
}

/* ---- Threads beside a caller that steps ----------------------------------------------------- */

static void *client_beside(void *arg)
{
    struct scene *s = arg;
    pawl_mem *mem = pawl_mem_new();
    pawl_reply reply;
    pawl_info info;
    pawl_error err;
    for (int i = 0; i < 20; i++) {
        char id[20];
        snprintf(id, sizeof(id), "b%d", i);
        expect_is(
            pawl_client_start(s->c, "Flow", pawl_s("x"), PAWL_START_OPTS(.instance = id), &reply),
            PAWL_OK);
        expect_is(pawl_client_raise(s->c, id, "Go", pawl_s("y"), NULL, &err), PAWL_OK);
        expect_is(pawl_client_wait(s->c, id, 0, 20000, mem, &info, &err), PAWL_OK);
    }
    pawl_mem_free(mem);
    atomic_store(&finished, 1);
    return NULL;
}

SCENARIO(e04_clients_on_other_threads_wait_for_the_one_who_steps)
{
    pthread_t thread;
    atomic_store(&finished, 0);
    scene_flow(s, "Flow", wait_go);
    scene_settle(s); /* this thread steps */
    pthread_create(&thread, NULL, client_beside, s);
    while (!atomic_load(&finished)) {
        (void)pawl_runtime_step(s->rt, 0);
        usleep(200);
    }
    pthread_join(thread, NULL);
    expect_is(scene_ran(s, "Echo"), 20);
}

SCENARIO(e14_activities_of_a_stepping_caller_are_clients_too)
{
    scene_activity(s, "Start", start_another);
    scene_flow(s, "Flow", call_by_name);
    scene_flow(s, "Kid", kid);
    scene_start(s, "Flow", "i", "Start");
    scene_expect(s, "i", PAWL_COMPLETED, "0 ok");
    scene_expect(s, "kid", PAWL_COMPLETED, "");
}
