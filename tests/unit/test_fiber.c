/* SPDX-License-Identifier: MIT */
/* tests/unit/test_fiber.c -- stacks put aside, dropped, used again, overflowed. */
#include "base/limits.h"
#include "child.h"
#include "fiber/fiber.h"
#include "fiber/sanitize.h"
#include "random.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* TSan knows at most 8,128 threads and fibers at a time. */
#ifdef HAVE_TSAN
#define MANY 2000
#else
#define MANY 10000
#endif

static struct fiber_pool *pool;

__attribute__((constructor)) static void make_pool(void)
{
    pool = fiber_pool_create(16);
}

/* ---- Running ------------------------------------------------------------ */

static void count_up(void *arg)
{
    int *n = arg;

    for (int i = 0; i < 3; i++) {
        ++*n;
        fiber_yield();
    }
    ++*n;
}

TEST(a_fiber_runs_between_resume_and_yield_until_it_returns)
{
    int n = 0;
    struct fiber *f = fiber_create(pool, 0, count_up, &n, "count");

    ck_assert_int_eq(n, 0);
    for (int i = 1; i <= 3; i++) {
        ck_assert(fiber_resume(f));
        ck_assert_int_eq(n, i);
    }
    ck_assert(!fiber_resume(f));
    ck_assert_int_eq(n, 4);
    fiber_destroy(f);
}

static void return_at_once(void *arg)
{
    *(struct fiber **)arg = fiber_current();
}

TEST(the_current_fiber_is_known_inside_and_nobody_outside)
{
    struct fiber *seen = NULL;
    struct fiber *f = fiber_create(pool, 0, return_at_once, &seen, "current");

    ck_assert_ptr_null(fiber_current());
    ck_assert(!fiber_resume(f));
    ck_assert_ptr_eq(seen, f);
    ck_assert_ptr_null(fiber_current());
    fiber_destroy(f);
}

TEST(a_fiber_that_never_ran_can_be_dropped)
{
    fiber_destroy(fiber_create(pool, 0, count_up, NULL, "unused"));
    fiber_destroy(NULL);
    fiber_pool_destroy(NULL);
}

/* Locals, floating point and errno-free arithmetic across many switches. */
static void sum_series(void *arg)
{
    double *result = arg;
    volatile double sum = 0;
    char bytes[256];

    for (int i = 1; i <= 1000; i++) {
        memset(bytes, i & 127, sizeof bytes);
        sum += 1.0 / i;
        fiber_yield();
        for (size_t k = 0; k < sizeof bytes; k++)
            if (bytes[k] != (i & 127))
                return;
    }
    *result = sum;
}

TEST(locals_survive_switches_of_interleaved_fibers)
{
    double result[8] = {0};
    struct fiber *fibers[8];

    for (int i = 0; i < 8; i++)
        fibers[i] = fiber_create(pool, 0, sum_series, &result[i], "sum");
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < 8; i++)
            if (fibers[i]) {
                bool alive = fiber_resume(fibers[i]);
                more |= alive;
                if (!alive) {
                    fiber_destroy(fibers[i]);
                    fibers[i] = NULL;
                }
            }
    }
    for (int i = 0; i < 8; i++) {
        ck_assert_double_gt(result[i], 7.4854);
        ck_assert_double_lt(result[i], 7.4855);
    }
}

/* ---- Many --------------------------------------------------------------- */

struct ticket {
    int steps;
    int done;
};

static void take_steps(void *arg)
{
    struct ticket *t = arg;
    volatile int mine = t->steps;

    while (t->done < mine) {
        t->done++;
        fiber_yield();
    }
    t->done = -mine;
}

TEST(ten_thousand_fibers_live_at_once)
{
    static struct fiber *fibers[MANY];
    static struct ticket tickets[MANY];
    size_t finished = 0;

    for (int i = 0; i < MANY; i++) {
        tickets[i].steps = i % 4;
        fibers[i] = fiber_create(pool, 16 * 1024, take_steps, &tickets[i], "many");
        ck_assert_ptr_nonnull(fibers[i]);
    }
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < MANY; i++)
            if (tickets[i].done >= 0 && round <= tickets[i].steps)
                finished += !fiber_resume(fibers[i]);
    ck_assert_uint_eq(finished, MANY);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(tickets[i].done, -tickets[i].steps);
        fiber_destroy(fibers[i]);
    }
}

TEST(when_nothing_can_be_mapped_create_says_so_and_recovers)
{
    struct fiber_pool *own = fiber_pool_create(0);
    static struct fiber *fibers[200];
    size_t count = 0;
#if !defined(HAVE_ASAN) && !defined(HAVE_TSAN) /* they need the address space themselves */
    struct rlimit before, small;

    getrlimit(RLIMIT_AS, &before);
    small = before;
    small.rlim_cur = (rlim_t)2 << 30;
    setrlimit(RLIMIT_AS, &small);
    while (count < 200 &&
           (fibers[count] = fiber_create(own, LIMIT_STACK_MAX, count_up, NULL, "big")))
        count++;
    ck_assert_uint_gt(count, 5);
    ck_assert_uint_lt(count, 40);
    fiber_destroy(fibers[--count]);
    fibers[count] = fiber_create(own, LIMIT_STACK_MAX, count_up, NULL, "again");
    ck_assert_ptr_nonnull(fibers[count++]);
    setrlimit(RLIMIT_AS, &before);
#endif
    while (count > 0)
        fiber_destroy(fibers[--count]);
    fiber_pool_destroy(own);
}

/* ---- Dropping and using again -------------------------------------------- */

static int yield_deep(int depth)
{
    char frame[300];

    memset(frame, depth, sizeof frame);
    if (depth == 0)
        fiber_yield();
    else
        depth += yield_deep(depth - 1);
    return depth + frame[7];
}

static void suspend_deep(void *arg)
{
    yield_deep(*(int *)arg);
}

TEST(suspended_fibers_are_dropped_and_their_stacks_used_again)
{
    uint64_t state = 3;

    for (int i = 0; i < 3000; i++) {
        int depth = (int)random_below(&state, 60);
        struct fiber *f = fiber_create(pool, 64 * 1024, suspend_deep, &depth, "dropped");
        ck_assert(fiber_resume(f));
        if (random_below(&state, 4) == 0)
            ck_assert(!fiber_resume(f));
        fiber_destroy(f);
    }
}

struct address {
    uintptr_t at;
};

static void note_address(void *arg)
{
    volatile char local = 0;
    struct address *a = arg;

    a->at = (uintptr_t)__builtin_frame_address(0);
    fiber_yield();
    (void)local;
}

static uintptr_t stack_of_next(struct fiber_pool *from, size_t bytes)
{
    struct address a;
    struct fiber *f = fiber_create(from, bytes, note_address, &a, "address");

    fiber_resume(f);
    fiber_destroy(f);
    return a.at;
}

TEST(a_stack_is_reused_by_the_next_fiber_of_its_size)
{
    struct fiber_pool *own = fiber_pool_create(4);
    uintptr_t small = stack_of_next(own, 64 * 1024);

    ck_assert_uint_eq(stack_of_next(own, 64 * 1024), small);
    ck_assert_uint_eq(stack_of_next(own, 40 * 1024), small); /* the same class */
    ck_assert_uint_ne(stack_of_next(own, 128 * 1024), small);
    ck_assert_uint_eq(stack_of_next(own, 64 * 1024), small);
    fiber_pool_destroy(own);
}

static size_t count_maps(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    size_t lines = 0;

    for (int c; (c = getc(maps)) != EOF;)
        lines += c == '\n';
    fclose(maps);
    return lines;
}

TEST(a_pool_keeps_no_more_than_its_spare_stacks)
{
    struct fiber_pool *own = fiber_pool_create(2);
    struct fiber *fibers[50];
    size_t before = count_maps();

    for (int i = 0; i < 50; i++)
        fibers[i] = fiber_create(own, 16 * 1024, count_up, NULL, "spare");
    ck_assert_uint_ge(count_maps(), before + 50);
    for (int i = 0; i < 50; i++)
        fiber_destroy(fibers[i]);
#ifndef HAVE_TSAN /* it maps memory for every fiber and keeps it */
    ck_assert_uint_le(count_maps(), before + 10);
#endif
    fiber_pool_destroy(own);
}

static void touch_deep(void *arg)
{
    static const size_t step = 4096;
    char *here = __builtin_frame_address(0);

    /* Dirty most of the stack the way deep calls would. */
    for (size_t down = step; down < *(size_t *)arg; down += step)
        ((volatile char *)here)[-(ptrdiff_t)down] = 1;
}

static size_t resident_bytes(void)
{
    size_t total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    ck_assert_int_eq(fscanf(f, "%zu %zu", &total, &resident), 2);
    fclose(f);
    return resident * 4096;
}

TEST(spare_large_stacks_give_their_memory_back)
{
    struct fiber_pool *own = fiber_pool_create(8);
    struct fiber *fibers[8];
    size_t reach = 7 * 1024 * 1024;

    for (int i = 0; i < 8; i++) {
        fibers[i] = fiber_create(own, 8 * 1024 * 1024, touch_deep, &reach, "large");
        fiber_resume(fibers[i]);
    }
#if !defined(HAVE_ASAN) && !defined(HAVE_TSAN) /* shadow memory blurs the numbers */
    size_t full = resident_bytes();
    for (int i = 0; i < 8; i++)
        fiber_destroy(fibers[i]);
    ck_assert_uint_lt(resident_bytes() + 40 * 1024 * 1024, full);
#else
    (void)resident_bytes;
    for (int i = 0; i < 8; i++)
        fiber_destroy(fibers[i]);
#endif
    fiber_pool_destroy(own);
}

TEST(stack_sizes_are_rounded_up_to_their_class)
{
    static const struct {
        size_t asked, got;
    } rows[] = {
        {0,                   LIMIT_STACK_DEFAULT},
        {1,                   LIMIT_STACK_MIN    },
        {LIMIT_STACK_MIN,     LIMIT_STACK_MIN    },
        {LIMIT_STACK_MIN + 1, 2 * LIMIT_STACK_MIN},
        {100000,              128 * 1024         },
        {LIMIT_STACK_MAX - 1, LIMIT_STACK_MAX    },
        {LIMIT_STACK_MAX,     LIMIT_STACK_MAX    },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fiber *f = fiber_create(pool, rows[i].asked, count_up, NULL, "size");
        ck_assert_uint_eq(fiber_stack_bytes(f), rows[i].got);
        fiber_destroy(f);
    }
}

static void use_most(void *arg)
{
    size_t *bytes = arg;
    char *here = __builtin_frame_address(0);

    for (size_t down = 64; down < *bytes; down += 64)
        ((volatile char *)here)[-(ptrdiff_t)down] = 1;
    *bytes = 0;
}

TEST(nearly_all_of_the_stack_can_be_used)
{
    for (size_t size = LIMIT_STACK_MIN; size <= 1024 * 1024; size *= 2) {
        size_t bytes = size - 1024;
        struct fiber *f = fiber_create(pool, size, use_most, &bytes, "full");
        ck_assert(!fiber_resume(f));
        ck_assert_uint_eq(bytes, 0);
        fiber_destroy(f);
    }
}

static void hold_heap(void *arg)
{
    char *volatile text = strdup("known only to this stack");

    fiber_yield();
    *(size_t *)arg = strlen(text);
    free(text);
}

TEST(memory_known_only_to_a_suspended_stack_is_no_leak)
{
    size_t len = 0;
    struct fiber *f = fiber_create(pool, 0, hold_heap, &len, "holder");

    ck_assert(fiber_resume(f));
#ifdef HAVE_ASAN
    ck_assert_int_eq(__lsan_do_recoverable_leak_check(), 0);
#endif
    ck_assert(!fiber_resume(f));
    ck_assert_uint_eq(len, 24);
    fiber_destroy(f);
}

/* ---- Threads ------------------------------------------------------------ */

static void *run_own_fibers(void *arg)
{
    struct fiber_pool *own = fiber_pool_create(2);

    fiber_guard_thread();
    for (int i = 0; i < 500; i++) {
        int n = 0;
        struct fiber *f = fiber_create(own, 0, count_up, &n, "threaded");
        while (fiber_resume(f))
            *(int *)arg += 1;
        fiber_destroy(f);
    }
    fiber_pool_destroy(own);
    return NULL;
}

TEST(each_thread_runs_its_own_fibers)
{
    pthread_t threads[4];
    int counts[4] = {0};

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_own_fibers, &counts[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(counts[i], 1500);
    }
}

static void *resume_given(void *arg)
{
    fiber_resume(arg);
    return NULL;
}

static void resume_elsewhere(void *arg)
{
    int n = 0;
    struct fiber *f = fiber_create(pool, 0, count_up, &n, "wanderer");
    pthread_t thread;

    (void)arg;
    fiber_resume(f);
    pthread_create(&thread, NULL, resume_given, f);
    pthread_join(thread, NULL);
}

TEST(a_fiber_never_changes_thread)
{
    must_abort(resume_elsewhere, NULL, "broken invariant: !f->thread || f->thread == &current");
}

/* ---- Misuse ------------------------------------------------------------- */

static void resume_arg(void *arg)
{
    fiber_resume(arg);
}

static void nest(void *arg)
{
    int n = 0;
    struct fiber *inner = fiber_create(pool, 0, count_up, &n, "inner");

    (void)arg;
    fiber_resume(fiber_create(pool, 0, resume_arg, inner, "outer"));
}

static void resume_finished(void *arg)
{
    struct fiber *seen;
    struct fiber *f = fiber_create(pool, 0, return_at_once, &seen, "over");

    (void)arg;
    fiber_resume(f);
    fiber_resume(f);
}

static void destroy_self(void *arg)
{
    (void)arg;
    fiber_destroy(fiber_current());
}

static void destroy_running(void *arg)
{
    (void)arg;
    fiber_resume(fiber_create(pool, 0, destroy_self, NULL, "self"));
}

static void yield_outside(void *arg)
{
    (void)arg;
    fiber_yield();
}

static void destroy_pool_in_use(void *arg)
{
    (void)arg;
    fiber_create(pool, 0, count_up, NULL, "left");
    fiber_pool_destroy(pool);
}

static void ask_too_much(void *arg)
{
    (void)arg;
    fiber_create(pool, LIMIT_STACK_MAX + 1, count_up, NULL, "huge");
}

TEST(misuse_stops_the_process)
{
    static const struct {
        void (*fn)(void *);
        const char *words;
    } rows[] = {
        {nest,                "broken invariant: !current"                 },
        {resume_finished,     "broken invariant: f->state == FIBER_READY"  },
        {destroy_running,     "broken invariant: f->state != FIBER_RUNNING"},
        {yield_outside,       "broken invariant: f &&"                     },
        {destroy_pool_in_use, "broken invariant: pool->live_count == 0"    },
        {ask_too_much,        "broken invariant: want <= "                 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        must_abort(rows[i].fn, NULL, rows[i].words);
}

/* ---- Overflow ----------------------------------------------------------- */

static int recurse(int depth)
{
    volatile char frame[512];

    frame[depth & 511] = (char)depth;
    return depth ? recurse(depth - 1) + frame[depth & 255] : 0;
}

static void overflow(void *arg)
{
    (void)arg;
    recurse(100000000);
}

static void overflow_in_child(void *arg)
{
    int n = 0;
    struct fiber *other = fiber_create(pool, 0, count_up, &n, "other@2.0.0");

    fiber_guard_thread();
    fiber_guard_thread(); /* twice is fine */
    fiber_resume(other);
    fiber_resume(fiber_create(pool, *(size_t *)arg, overflow, NULL, "ship-order@1.0.0"));
}

TEST(an_overflow_is_reported_with_its_label_and_kills_the_process)
{
    static const size_t sizes[] = {16 * 1024, 64 * 1024, 1024 * 1024};
    char words[120];

    for (size_t i = 0; i < 3; i++) {
        struct child_end end;
        size_t size = sizes[i];
        run_child(overflow_in_child, &size, &end);
        snprintf(words, sizeof words,
                 "pawl: stack overflow in orchestration ship-order@1.0.0 "
                 "(stack %zu bytes; raise stack_bytes at registration)\n",
                 size);
        ck_assert_msg(strstr(end.text, words), "%s", end.text);
#if !defined(HAVE_ASAN) && !defined(HAVE_TSAN) /* theirs ends the process itself */
        ck_assert_int_eq(end.signal, SIGSEGV);
#endif
        ck_assert(end.signal != 0 || end.status != 0);
    }
}

static void *overflow_on_thread(void *arg)
{
    struct fiber_pool *own = fiber_pool_create(0);

    fiber_guard_thread();
    fiber_resume(fiber_create(own, 0, overflow, NULL, "threaded@1.0.0"));
    return arg;
}

static void overflow_on_second_thread(void *arg)
{
    pthread_t thread;

    (void)arg;
    fiber_guard_thread();
    pthread_create(&thread, NULL, overflow_on_thread, NULL);
    pthread_join(thread, NULL);
}

TEST(an_overflow_on_another_thread_is_reported_too)
{
    struct child_end end;

    run_child(overflow_on_second_thread, NULL, &end);
    ck_assert_msg(strstr(end.text, "stack overflow in orchestration threaded@1.0.0"), "%s",
                  end.text);
}

static void overflow_without_label(void *arg)
{
    (void)arg;
    fiber_guard_thread();
    fiber_resume(fiber_create(pool, 0, overflow, NULL, NULL));
}

TEST(an_overflow_without_a_label_still_has_a_line)
{
    struct child_end end;

    run_child(overflow_without_label, NULL, &end);
    ck_assert_msg(strstr(end.text, "stack overflow in orchestration (no name)"), "%s", end.text);
}

/* ---- Other faults -------------------------------------------------------- */

static volatile int *volatile bad_address = (volatile int *)4096; /* never mapped */

static void write_badly(void *arg)
{
    (void)arg;
    *bad_address = 1;
}

static void fault_on_fiber(void *arg)
{
    (void)arg;
    fiber_guard_thread();
    fiber_resume(fiber_create(pool, 0, write_badly, NULL, "innocent"));
}

static void fault_outside(void *arg)
{
    fiber_guard_thread();
    write_badly(arg);
}

static void be_sent_a_fault(void *arg)
{
    (void)arg;
    fiber_guard_thread();
    raise(SIGSEGV);
}

TEST(other_faults_kill_as_ever_and_are_not_called_overflows)
{
    void (*const rows[])(void *) = {fault_on_fiber, fault_outside, be_sent_a_fault};

    for (int i = 0; i < 3; i++) {
        struct child_end end;
        run_child(rows[i], NULL, &end);
        ck_assert_ptr_null(strstr(end.text, "pawl: stack overflow"));
        ck_assert(end.signal != 0 || end.status != 0);
#if !defined(HAVE_ASAN) && !defined(HAVE_TSAN)
        ck_assert_int_eq(end.signal, SIGSEGV);
#endif
    }
}

static void exit_with_42(int number)
{
    (void)number;
    _exit(42);
}

static void exit_with_43(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    _exit(info->si_code > 0 ? 43 : 44);
}

static void fault_with_plain_handler(void *arg)
{
    signal(SIGSEGV, exit_with_42);
    fault_on_fiber(arg);
}

static void fault_with_info_handler(void *arg)
{
    struct sigaction action = {.sa_sigaction = exit_with_43, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    sigaction(SIGSEGV, &action, NULL);
    fault_on_fiber(arg);
}

static void overflow_with_info_handler(void *arg)
{
    struct sigaction action = {.sa_sigaction = exit_with_43, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    size_t size = 16 * 1024;

    (void)arg;
    sigaction(SIGSEGV, &action, NULL);
    overflow_in_child(&size);
}

static void be_sent_an_ignored_fault(void *arg)
{
    signal(SIGSEGV, SIG_IGN);
    be_sent_a_fault(arg);
    _exit(45);
}

TEST(the_handler_that_was_there_before_gets_the_fault)
{
    static const struct {
        void (*fn)(void *);
        int status;
    } rows[] = {
        {fault_with_plain_handler,   42},
        {fault_with_info_handler,    43},
        {overflow_with_info_handler, 43},
        {be_sent_an_ignored_fault,   45},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct child_end end;
        run_child(rows[i].fn, NULL, &end);
        ck_assert_msg(end.status == rows[i].status, "row %zu: %d, %s", i, end.status, end.text);
    }
}
