/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_queue_bench.c -- how fast queues are in process; figures on request.
 *
 * PAWL_BENCH=DIR runs the full measure with the database in DIR, with
 * PAWL_BENCH_CLIENTS requests at once (32); otherwise a short run only checks that every
 * item comes out once.
 */
#include "../harness.h"

#include "base/attr.h"

#include "pawl/provider.h"
#include "pawl/queue.h"
#include "pawl/runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 1024

/* One client: a chain of requests, each sent by the answer of the one before. */
struct client {
    struct bench *b;
    int todo;
    bool popping;
    char lock[16];
};

struct bench {
    pawl_client *c;
    struct client clients[CLIENTS_MAX];
    int count; /* of them */
    atomic_int left;
    atomic_long done;
    bool acks;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void next(struct client *me);

static void answered(void *arg, const pawl_queue_reply *r)
{
    struct client *me = arg;
    assert_that(r->status == PAWL_OK);
    if (me->b->acks && !me->popping) {
        assert_that(r->locked);
        (void)snprintf(me->lock, sizeof(me->lock), "%.*s", PAWL_FMT(r->lock_id));
        me->popping = true;
    } else {
        me->popping = false;
        me->todo--;
        atomic_fetch_add_explicit(&me->b->done, 1, memory_order_relaxed);
    }
    next(me);
}

static void next(struct client *me)
{
    static const pawl_queue_item item = {
        .data = {"{\"order\":12345,\"amount\":99.5,\"customer\":\"somebody\"}", 51}
    };
    const char *lock = me->lock;
    pawl_queue_request *push = PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "bench",
                                                  .items = &item, .item_count = 1);
    pawl_queue_request *pop =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "bench", .require_ack = true);
    pawl_queue_request *ack = PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_ACK, .queue = "bench",
                                                 .lock_ids = &lock, .lock_count = 1);
    if (me->todo == 0) {
        atomic_fetch_sub(&me->b->left, 1);
        return;
    }
    pawl_status rc = pawl_queue_submit(me->b->c,
                                       !me->b->acks  ? push
                                       : me->popping ? ack
                                                     : pop,
                                       answered, me, NULL);
    assert_that(rc == PAWL_OK);
}

static double run(struct bench *b, bool acks, int each)
{
    b->acks = acks;
    atomic_store(&b->left, b->count);
    double began = now_s();
    for (int i = 0; i < b->count; i++) {
        b->clients[i] = (struct client){.b = b, .todo = each};
        next(&b->clients[i]);
    }
    while (atomic_load(&b->left))
        usleep(200);
    return b->count * each / (now_s() - began);
}

static void measure(const char *what, const char *store, const char *dir, int each)
{
    pawl_error err = {0};
    pawl_app *app = pawl_app_new();
    struct bench *b = calloc(1, sizeof(*b));
    pawl_runtime *rt = pawl_runtime_open(app, PAWL_OPTIONS(.store = store, .data = dir), &err);
    ck_assert_msg(rt != NULL, "%s", err.text);
    ck_assert_int_eq(pawl_runtime_start(rt, &err), PAWL_OK);
    b->c = pawl_runtime_client(rt);
    b->count = getenv("PAWL_BENCH_CLIENTS") ? atoi(getenv("PAWL_BENCH_CLIENTS")) : 32;
    ck_assert_int_le(b->count, CLIENTS_MAX);
    each = each * 32 / b->count;
    pawl_queue_config config = pawl_queue_config_default();
    config.max_locks = 0;
    pawl_mem *mem = pawl_mem_new();
    pawl_queue_reply reply;
    ck_assert_int_eq(pawl_queue_call(b->c,
                                     PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE,
                                                        .queue = "bench", .config = &config),
                                     mem, &reply),
                     PAWL_OK);
    double pushes = run(b, false, each), pops = run(b, true, each);
    pawl_stats stats;
    pawl_runtime_stats(rt, &stats);
    pawl_queue_stats t;
    ck_assert_int_eq(pawl_queue_get_stats(b->c, "bench", mem, &t, &err), PAWL_OK);
    ck_assert_uint_eq(t.ready + t.locked, 0);
    ck_assert_uint_eq(t.acked, (unsigned)(b->count * each));
    if (getenv("PAWL_BENCH"))
        printf("%s: %.0f pushes/s, %.0f pop+ack/s, %llu commits of %.0f us\n", what, pushes, pops,
               (unsigned long long)stats.commits,
               (double)stats.commit_us / (double)(stats.commits ? stats.commits : 1));
    pawl_mem_free(mem);
    pawl_runtime_close(rt);
    pawl_app_free(app);
    free(b);
}

TEST(every_item_comes_out_once_however_fast)
{
    const char *dir = getenv("PAWL_BENCH");
    measure("memory", "memory:", NULL, dir ? 20000 : 300);
    if (dir) {
        measure("sqlite", NULL, dir, 5000);
        return;
    }
    char made[] = "/tmp/pawl-queue-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(made));
    measure("sqlite", NULL, made, 100);
    char command[100];
    (void)snprintf(command, sizeof(command), "rm -rf %s", made);
    ck_assert_int_eq(system(command), 0);
}
