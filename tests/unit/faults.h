/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/faults.h -- count allocations, make the n-th one fail.
 *
 * Included by one file of a program that is linked with $(WRAP) of tests.mk.
 *     for (int n = 0; fault_at(n); n++) { …; bool hit = fault_hit(); assertions }
 */
#ifndef PAWL_TESTS_FAULTS_H
#define PAWL_TESTS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

extern void *__real_malloc(size_t n);
extern void *__real_calloc(size_t n, size_t size);
extern void *__real_realloc(void *ptr, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *ptr, size_t n);

static long allocation_count;
static long allocation_fails_at = -1; /* -1: none */
static bool fault_fired;

static inline bool allocation_fails(void)
{
    bool fails = allocation_count++ == allocation_fails_at;

    fault_fired |= fails;
    return fails;
}

void *__wrap_malloc(size_t n)
{
    return allocation_fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *ptr, size_t n)
{
    return allocation_fails() ? NULL : __real_realloc(ptr, n);
}

/* Let the n-th allocation from now fail.  False once the body did not reach its
 * fault the last time. */
static inline bool fault_at(long n)
{
    if (n > 0 && !fault_fired)
        return false;
    allocation_count = 0;
    allocation_fails_at = n;
    fault_fired = false;
    return true;
}

/* No more faults: before the assertions, which allocate too.  True when there was one. */
static inline bool fault_hit(void)
{
    allocation_fails_at = -1;
    return fault_fired;
}

#endif
