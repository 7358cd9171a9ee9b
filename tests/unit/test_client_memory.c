/* SPDX-License-Identifier: MIT */
/* tests/unit/test_client_memory.c -- a call of a client that finds no memory says so in words. */
#include "child.h"

#include "pawl/queue.h"
#include "pawl/runtime.h"
#include "pawl/worker.h"

#include <stdio.h>
#include <stdlib.h>

static bool none_left;
static int until_none = -1; /* so many allocations more; negative: any number */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_calloc(size_t n, size_t size);

static bool is_none(void)
{
    return none_left || (until_none >= 0 && until_none-- == 0);
}

void *__wrap_malloc(size_t n)
{
    return is_none() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return is_none() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return is_none() ? NULL : __real_realloc(p, n);
}

static void never(void *arg, const pawl_worker_reply *reply)
{
    (void)arg, (void)reply;
    ck_abort_msg("a refused call is not answered");
}

static void told(pawl_status rc, pawl_error *err)
{
    none_left = false;
    ck_assert_int_eq(rc, PAWL_NO_MEMORY);
    ck_assert_int_eq(err->status, PAWL_NO_MEMORY);
    ck_assert_str_eq(err->text, "out of memory");
    *err = (pawl_error){0};
    none_left = true;
}

TEST(every_call_without_memory_has_a_text)
{
    pawl_error err = {0};
    static const char *const names[] = {"A"};
    pawl_queue_item item = {.data = pawl_s("1")};
    pawl_app *app = pawl_app_new();
    pawl_runtime *rt = pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:"), &err);
    ck_assert_msg(rt, "%s", err.text);
    pawl_client *c = pawl_runtime_client(rt);
    none_left = true;
    told(pawl_client_submit(c, PAWL_REQUEST(.op = PAWL_OP_CANCEL, .instance = "i"), NULL, NULL,
                            &err),
         &err);
    told(pawl_queue_submit(c,
                           PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = &item,
                                              .item_count = 1),
                           NULL, NULL, &err),
         &err);
    told(pawl_worker_poll(
             c, &(pawl_poll){.size = sizeof(pawl_poll), .activities = names, .activity_count = 1},
             never, NULL, &err),
         &err);
    told(pawl_worker_extend(c, "w1.0", 1000, never, NULL, &err), &err);
    told(pawl_worker_beat(c, "w1.0", 1000, pawl_s("half"), never, NULL, &err), &err);
    told(pawl_worker_abandon(c, "w1.0", 1000, never, NULL, &err), &err);
    none_left = false;
    pawl_runtime_close(rt);
    pawl_app_free(app);
}

static pawl_result nothing(pawl_activity *act, pawl_str input)
{
    return pawl_ok_str(act, input);
}

static pawl_result no_code(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

/* So many names that maps and lists grow: each allocation of each of them fails once. */
TEST(a_registration_without_memory_says_so_and_can_be_made_again)
{
    pawl_app *app = pawl_app_new();
    for (int i = 0; i < 40; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "N%d", i);
        for (int n = 0;; n++) {
            until_none = n;
            pawl_status rc = pawl_register_activity(app, name, nothing);
            bool all = until_none >= 0;
            until_none = -1;
            ck_assert_msg(rc == PAWL_OK || (rc == PAWL_NO_MEMORY && !all), "%s %d: %d", name, n,
                          rc);
            ck_assert_int_eq(pawl_app_has_activity(app, name), rc == PAWL_OK);
            if (rc == PAWL_OK)
                break;
        }
        for (int n = 0;; n++) {
            until_none = n;
            pawl_status rc = pawl_register_orchestration(app, name, "1.0.0", no_code);
            until_none = -1;
            ck_assert_msg(rc == PAWL_OK || rc == PAWL_NO_MEMORY, "%s %d: %d", name, n, rc);
            ck_assert_int_eq(pawl_app_has_orchestration(app, name, "1.0.0"), rc == PAWL_OK);
            if (rc == PAWL_OK)
                break;
        }
    }
    pawl_app_free(app);
}

static void polled(void *arg, const pawl_worker_reply *reply)
{
    (void)reply;
    *(bool *)arg = true;
}

/* Status 0: refused for want of memory, or open and whole; 1: there was memory for everything. */
static void open_with_little(void *arg)
{
    static const char *const names[] = {"A"};
    pawl_error err = {0};
    bool answered = false;
    pawl_app *app = pawl_app_new();
    until_none = *(int *)arg;
    pawl_runtime *rt = pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:"), &err);
    bool all = until_none >= 0;
    until_none = -1;
    if (!rt)
        _exit(err.status == PAWL_NO_MEMORY && err.text[0] ? 0 : 2);
    pawl_poll poll = {.size = sizeof(pawl_poll),
                      .worker = "w",
                      .activities = names,
                      .activity_count = 1,
                      .wait_ms = 0};
    if (pawl_worker_poll(pawl_runtime_client(rt), &poll, polled, &answered, &err) != PAWL_OK)
        _exit(3);
    while (!answered)
        (void)pawl_runtime_step(rt, 0);
    if (pawl_client_push(pawl_runtime_client(rt), "q", pawl_s("1"), NULL, NULL, &err) != PAWL_OK)
        _exit(4);
    pawl_runtime_close(rt);
    pawl_app_free(app);
    _exit(all);
}

/* Each allocation fails once: refused in words, stopped in words, or nothing is missing. */
TEST(opening_without_memory_says_so)
{
    struct child_end end = {0};
    for (int n = 0; end.status != 1; n++) {
        run_child(open_with_little, &n, &end);
        if (end.signal == SIGABRT)
            ck_assert_msg(strstr(end.text, "out of memory") != NULL, "%d: %s", n, end.text);
        else
            ck_assert_msg(end.signal == 0 && end.status <= 1, "%d: signal %d, status %d, %s", n,
                          end.signal, end.status, end.text);
    }
}

static pawl_result quiet(pawl_ctx *ctx, pawl_str input)
{
    (void)ctx, (void)input;
    return (pawl_result){0};
}

static pawl_result idle(pawl_activity *a, pawl_str input)
{
    (void)a, (void)input;
    return (pawl_result){0};
}

/* An author may ignore what registering returns: then opening says that code is missing. */
TEST(code_that_found_no_memory_is_reported_when_the_runtime_opens)
{
    bool whole = false;
    for (int n = 0; !whole; n++) {
        pawl_error err = {0};
        pawl_app *app = pawl_app_new();
        until_none = n;
        (void)pawl_register_orchestration(app, "Quiet", NULL, quiet);
        (void)pawl_register_activity(app, "Idle", idle);
        whole = until_none >= 0;
        until_none = -1;
        pawl_runtime *rt = pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:"), &err);
        if (!rt) {
            ck_assert_int_eq(err.status, PAWL_NO_MEMORY);
            ck_assert_msg(strstr(err.text, "': out of memory while it was registered"), "%s",
                          err.text);
        } else {
            ck_assert(pawl_app_has_orchestration(app, "Quiet", NULL));
            ck_assert(pawl_app_has_activity(app, "Idle"));
            pawl_runtime_close(rt);
        }
        pawl_app_free(app);
    }
}
