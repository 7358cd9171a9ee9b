/* SPDX-License-Identifier: MIT */
/* tests/unit/test_client_memory.c -- a call of a client that finds no memory says so in words. */
#include "../harness.h"

#include "pawl/queue.h"
#include "pawl/runtime.h"
#include "pawl/worker.h"

#include <stdlib.h>

static bool none_left;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_malloc(size_t n)
{
    return none_left ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return none_left ? NULL : __real_calloc(n, size);
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
    told(pawl_worker_abandon(c, "w1.0", 1000, never, NULL, &err), &err);
    none_left = false;
    pawl_runtime_close(rt);
    pawl_app_free(app);
}
