/* SPDX-License-Identifier: MIT */
/*
 * fiber/fiber.c -- functions on stacks of their own.
 *
 * switch.h does the switching, without a system call.  Fibers and their stacks are
 * recycled together, by size class: the next instance finds warm memory.
 *
 *     READY ──resume──▶ RUNNING ──yield──▶ SUSPENDED     fiber_destroy() takes all
 *                        ▲  │                 │          states but RUNNING
 *                        │  └─return─▶ FINISHED
 *                        └──────resume────────┘
 *
 * Invariants: at most one fiber runs on a thread, and it was resumed from the
 * thread's own stack (fibers do not nest); a fiber that has started is resumed
 * by one thread only.  Broken ones stop the process.  Called by engine and runtime.
 */
#undef _FORTIFY_SOURCE /* see switch.h */
#include "fiber/fiber.h"

#include "base/attr.h"
#include "base/limits.h"
#include "fiber/sanitize.h"
#include "fiber/stack.h"
#include "fiber/switch.h"

#include <stdlib.h>

#define CLASS_COUNT 13 /* 16 KiB, 32 KiB, … 64 MiB */

_Static_assert((size_t)LIMIT_STACK_MIN << (CLASS_COUNT - 1) == LIMIT_STACK_MAX, "classes double");

enum fiber_state { FIBER_READY, FIBER_RUNNING, FIBER_SUSPENDED, FIBER_FINISHED };

struct fiber {
    struct fiber_pool *pool;
    struct stack stack; /* owned */
    struct shadow shadow;
    struct resume_place place;
    enum fiber_state state;
    fiber_fn *fn;
    void *arg;
    const char *label;  /* borrowed */
    const void *thread; /* whose fiber it is; NULL until first resumed */
    unsigned size_class;
    struct fiber *next; /* in the pool's list */
};

struct fiber_pool {
    size_t spare_max;
    size_t live_count;
    struct {
        struct fiber *first; /* owned list */
        size_t count;
    } spare[CLASS_COUNT];
    struct resume_place resumer; /* where the running fiber goes back to */
};

/* initial-exec: read and written at every switch. */
static __thread struct fiber *current __attribute__((tls_model("initial-exec")));

static unsigned class_of(size_t stack_bytes);
static struct fiber *take_spare(struct fiber_pool *pool, unsigned size_class);
static struct fiber *map_fiber(struct fiber_pool *pool, unsigned size_class);
static void unmap_fiber(struct fiber *f);
static void run_current(void);

struct fiber_pool *fiber_pool_create(size_t spare)
{
    struct fiber_pool *pool = calloc(1, sizeof *pool);

    if (pool)
        pool->spare_max = spare;
    return pool;
}

void fiber_pool_destroy(struct fiber_pool *pool)
{
    if (!pool)
        return;
    assert_that(pool->live_count == 0);
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        for (struct fiber *f; (f = take_spare(pool, i));)
            unmap_fiber(f);
    free(pool);
}

struct fiber *fiber_create(struct fiber_pool *pool, size_t stack_bytes, fiber_fn *fn, void *arg,
                           const char *label)
{
    unsigned size_class = class_of(stack_bytes);
    struct fiber *f = take_spare(pool, size_class);

    if (!f)
        f = map_fiber(pool, size_class);
    if (!f)
        return NULL;
    f->state = FIBER_READY;
    f->fn = fn;
    f->arg = arg;
    f->label = label;
    f->thread = NULL;
    shadow_create(&f->shadow, f->stack.bottom, f->stack.bytes);
    place_prepare(&f->place, f->stack.bottom, f->stack.bytes, run_current);
    pool->live_count++;
    return f;
}

bool fiber_resume(struct fiber *f)
{
    assert_that(!current); /* a fiber may not resume another */
    assert_that(f->state == FIBER_READY || f->state == FIBER_SUSPENDED);
    assert_that(!f->thread || f->thread == &current);
    f->thread = &current;
    f->state = FIBER_RUNNING;
    current = f;
    guard_watch(&f->stack, f->label, fiber_stack_bytes(f));
    shadow_before_resume(&f->shadow);
    switch_to(&f->pool->resumer, &f->place);
    shadow_after_switch(&f->shadow);
    guard_watch(NULL, NULL, 0);
    current = NULL;
    return f->state == FIBER_SUSPENDED;
}

void fiber_yield(void)
{
    struct fiber *f = current;

    assert_that(f && f->state == FIBER_RUNNING);
    f->state = FIBER_SUSPENDED;
    shadow_before_yield(&f->shadow);
    switch_to(&f->place, &f->pool->resumer);
    shadow_after_yield(&f->shadow);
}

void fiber_destroy(struct fiber *f)
{
    if (!f)
        return;
    struct fiber_pool *pool = f->pool;
    assert_that(f->state != FIBER_RUNNING);
    assert_that(pool->live_count > 0);
    pool->live_count--;
    shadow_drop(&f->shadow);
    if (pool->spare[f->size_class].count >= pool->spare_max) {
        unmap_fiber(f);
        return;
    }
    stack_trim(&f->stack);
    f->next = pool->spare[f->size_class].first;
    pool->spare[f->size_class].first = f;
    pool->spare[f->size_class].count++;
}

struct fiber *fiber_current(void)
{
    return current;
}

size_t fiber_stack_bytes(const struct fiber *f)
{
    return (size_t)LIMIT_STACK_MIN << f->size_class;
}

/* The smallest class that holds `stack_bytes`; 0 asks for the default. */
static unsigned class_of(size_t stack_bytes)
{
    size_t want = stack_bytes ? stack_bytes : LIMIT_STACK_DEFAULT;
    unsigned i = 0;

    assert_that(want <= LIMIT_STACK_MAX); /* registration refuses more */
    while (((size_t)LIMIT_STACK_MIN << i) < want)
        i++;
    return i;
}

static struct fiber *take_spare(struct fiber_pool *pool, unsigned size_class)
{
    struct fiber *f = pool->spare[size_class].first;

    if (f) {
        pool->spare[size_class].first = f->next;
        pool->spare[size_class].count--;
        f->next = NULL;
    }
    return f;
}

static struct fiber *map_fiber(struct fiber_pool *pool, unsigned size_class)
{
    struct fiber *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->pool = pool;
    f->size_class = size_class;
    if (stack_map(&f->stack, fiber_stack_bytes(f) * SANITIZER_STACK_FACTOR))
        return f;
    free(f);
    return NULL;
}

static void unmap_fiber(struct fiber *f)
{
    stack_unmap(&f->stack);
    free(f);
}

/* The first function on every fiber's stack. */
static void run_current(void)
{
    switch_entered(&current->place);
    struct fiber *f = current;

    shadow_on_entry(&f->shadow);
    f->fn(f->arg);
    f->state = FIBER_FINISHED;
    shadow_before_finish(&f->shadow);
    switch_leave(&f->pool->resumer);
}
