/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_fork.c -- C18: processes forked from a running runtime; and activities that
 * outlive its close.  Both with real threads on a real database. */
#include "scene.h"

#include "pawl/queue.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct place {
    char dir[64];
    pawl_app *app;
    pawl_runtime *rt;
};

static pawl_result echo_flow(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

static void place_open(struct place *p, pawl_app *app)
{
    pawl_error err = {0};
    (void)snprintf(p->dir, sizeof(p->dir), "/tmp/pawl-fork-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(p->dir));
    p->app = app;
    p->rt = pawl_runtime_open(app, PAWL_OPTIONS(.data = p->dir, .drain_ms = 1), &err);
    ck_assert_msg(p->rt != NULL, "%s", err.text);
    ck_assert_msg(pawl_runtime_start(p->rt, &err) == PAWL_OK, "%s", err.text);
}

static void place_remove(const struct place *p)
{
    char command[100];
    (void)snprintf(command, sizeof(command), "rm -r %s", p->dir);
    expect_is(system(command), 0);
}

static void expect_completed(struct place *p, const char *id, pawl_mem *mem)
{
    pawl_info info = {0};
    pawl_error err = {0};
    pawl_status rc = pawl_client_wait(pawl_runtime_client(p->rt), id, 0, 20000, mem, &info, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    expect_is(info.state, PAWL_COMPLETED);
}

static void no_feed(void *arg, const pawl_change *changes, size_t count)
{
    (void)arg, (void)changes, (void)count;
}

/* What a forked child sees of the runtime of its parent: 0, or the number of what is wrong. */
static int in_child(struct place *p, pawl_mem *mem)
{
    pawl_client *c = pawl_runtime_client(p->rt);
    pawl_reply reply = {0};
    pawl_info info;
    pawl_page page;
    pawl_error err = {0};
    if (pawl_client_start(c, "Flow", pawl_s("x"), NULL, &reply) != PAWL_MISUSE ||
        !strstr(reply.error.text, "forked"))
        return 1;
    if (pawl_client_get(c, "before", 0, mem, &info, &err) != PAWL_MISUSE)
        return 2;
    if (pawl_client_list(c, NULL, mem, &page, &err) != PAWL_MISUSE)
        return 3;
    if (pawl_client_wait(c, "before", 0, -1, mem, &info, &err) != PAWL_MISUSE)
        return 4;
    uint64_t id;
    if (pawl_client_push(c, "q", pawl_s("1"), NULL, &id, &err) != PAWL_MISUSE ||
        !strstr(err.text, "forked"))
        return 5;
    pawl_queue_item item = {.data = pawl_s("1")};
    if (pawl_queue_submit(c,
                          PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = &item,
                                             .item_count = 1),
                          NULL, NULL, &err) != PAWL_MISUSE)
        return 6;
    if (pawl_client_call(c, PAWL_REQUEST(.op = PAWL_OP_CANCEL, .instance = "before"), &reply) !=
            PAWL_MISUSE ||
        !strstr(reply.error.text, "forked"))
        return 8;
    pawl_client_withdraw(c, &item);
    if (pawl_client_feed(c, no_feed, NULL) != 0)
        return 7;
    pawl_client_unfeed(c, 1);
    pawl_runtime_close(p->rt);
    return 0;
}

/* Another program, running: until its exec it holds what we hold, and a busy machine takes its time. */
static pid_t start_program(void)
{
    int ends[2];
    char none;
    expect_is(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("/bin/sleep", "sleep", "30", (char *)NULL);
        _exit(9);
    }
    (void)close(ends[1]);
    expect_is(read(ends[0], &none, 1), 0); /* closed by the exec */
    (void)close(ends[0]);
    return pid;
}

static int status_of_child(struct place *p, pawl_mem *mem)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(20); /* a call that hangs is one of the things to be seen */
        _exit(in_child(p, mem));
    }
    expect_is(waitpid(pid, &status, 0), pid);
    return status;
}

SCENARIO(c18_a_forked_child_is_told_and_hurts_nobody)
{
    if (s->kind != SCENE_SQLITE)
        return;
    struct place p;
    pawl_app *app = pawl_app_new();
    expect_is(pawl_register_orchestration(app, "Flow", "1.0.0", echo_flow), PAWL_OK);
    place_open(&p, app);
    pawl_start_opts before = {.size = sizeof(before), .instance = "before"};
    pawl_start_opts after = {.size = sizeof(after), .instance = "after"};
    pawl_client *c = pawl_runtime_client(p.rt);
    expect_is(pawl_client_start(c, "Flow", pawl_s("x"), &before, NULL), PAWL_OK);
    expect_is(status_of_child(&p, s->mem), 0);
    expect_is(pawl_client_start(c, "Flow", pawl_s("y"), &after, NULL), PAWL_OK);
    expect_completed(&p, "before", s->mem);
    expect_completed(&p, "after", s->mem);
    pid_t other = start_program();
    pawl_runtime_close(p.rt);
    pawl_error err = {0}; /* a program that was started by exec has no hold on the directory */
    p.rt = pawl_runtime_open(app, PAWL_OPTIONS(.data = p.dir), &err);
    ck_assert_msg(p.rt != NULL, "%s", err.text);
    pawl_runtime_close(p.rt);
    (void)kill(other, SIGKILL);
    (void)waitpid(other, NULL, 0);
    pawl_app_free(app);
    place_remove(&p);
}

/* ---- Close leaves an activity behind --------------------------------------------------- */

static sem_t began, go, read_again;
static pawl_status last_read, last_call;

static pawl_result outlives(pawl_activity *act, pawl_str input)
{
    (void)input;
    pawl_info info;
    sem_post(&began);
    while (sem_wait(&go) != 0)
        ;
    last_read =
        pawl_client_get(pawl_activity_client(act), "i", 0, pawl_activity_mem(act), &info, NULL);
    pawl_request late = {.size = sizeof(late), .op = PAWL_OP_CANCEL, .instance = "i"};
    last_call = pawl_client_call(pawl_activity_client(act), &late, NULL);
    sem_post(&read_again);
    return pawl_ok(act, "late");
}

static pawl_result call_it(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Outlives", input);
}

SCENARIO(b11_an_activity_that_outlives_close_may_still_read_and_not_write)
{
    if (s->kind != SCENE_SQLITE)
        return;
    struct place p;
    pawl_error err = {0};
    pawl_app *app = pawl_app_new();
    sem_init(&began, 0, 0);
    sem_init(&go, 0, 0);
    sem_init(&read_again, 0, 0);
    expect_is(pawl_register_orchestration(app, "Flow", "1.0.0", call_it), PAWL_OK);
    expect_is(pawl_register_activity(app, "Outlives", outlives), PAWL_OK);
    place_open(&p, app);
    pawl_start_opts opts = {.size = sizeof(opts), .instance = "i"};
    expect_is(pawl_client_start(pawl_runtime_client(p.rt), "Flow", pawl_s(""), &opts, NULL),
              PAWL_OK);
    expect_is(sem_wait(&began), 0);
    pawl_runtime_close(p.rt);
    ck_assert_ptr_null(pawl_runtime_open(app, PAWL_OPTIONS(.data = p.dir), &err));
    expect_text(err.text, "in use"); /* it still runs: nobody else may begin it */
    sem_post(&go);
    expect_is(sem_wait(&read_again), 0);
    expect_is(last_read, PAWL_OK);
    expect_is(last_call, PAWL_SHUTDOWN);
    place_remove(&p);
}
