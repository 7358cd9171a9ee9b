/* SPDX-License-Identifier: MIT */
/*
 * base/attr.h -- attributes, always-on assertions, small macros.
 *
 * assert_that() stays in release builds: a broken invariant must stop the
 * process before it reaches the disk; a restart is always safe.
 */
#ifndef PAWL_BASE_ATTR_H
#define PAWL_BASE_ATTR_H

#include "pawl/types.h"

#include <stddef.h>
#include <string.h>

#define NORETURN                        __attribute__((noreturn))
#define UNUSED                          __attribute__((unused))
#define NOINLINE                        __attribute__((noinline))
#define INLINED                         static inline __attribute__((always_inline))
#define LIKELY(x)                       __builtin_expect(!!(x), 1)
#define UNLIKELY(x)                     __builtin_expect(!!(x), 0)
#define COUNT_OF(a)                     (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* The body of a public function for our own calls; the function itself is in types.c.  The length of
 * a literal is known at compile time then. */
extern inline __attribute__((gnu_inline)) pawl_str pawl_s(const char *text)
{
    return (pawl_str){.ptr = text, .len = text ? strlen(text) : 0};
}

NORETURN void assert_failed(const char *what, const char *file, int line);

/* The caller broke a rule in a way that cannot be answered: a line with the rule, then abort(). */
NORETURN void rule_stop(const char *rule);

NORETURN void memory_gone(const char *file, int line);

#define assert_that(cond)                                                                          \
    do {                                                                                           \
        if (UNLIKELY(!(cond)))                                                                     \
            assert_failed(#cond, __FILE__, __LINE__);                                              \
    } while (0)

/* For an allocation that the caller cannot do without: the process stops with a line that says
 * so, and the next process continues from what was committed. */
#define need_memory(cond)                                                                          \
    do {                                                                                           \
        if (UNLIKELY(!(cond)))                                                                     \
            memory_gone(__FILE__, __LINE__);                                                       \
    } while (0)

#endif
