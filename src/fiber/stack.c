/* SPDX-License-Identifier: MIT */
/*
 * fiber/stack.c -- memory for one fiber.
 *
 * A stack is a private mapping whose low end stays PROT_NONE.  The guard is 64
 * KiB, not a page: it costs address space only, and code compiled without stack
 * probes can step over a page with one large frame.  Pages come into being when
 * they are touched, so a large stack costs what was used of it.
 */
#include "fiber/stack.h"

#include "base/attr.h"
#include "base/limits.h"

#include <stdint.h>
#include <sys/mman.h>

#define GUARD_BYTES ((size_t)64 * 1024) /* a multiple of every page size we meet */

bool stack_map(struct stack *ret, size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE;
    char *map = mmap(NULL, GUARD_BYTES + bytes, PROT_NONE, flags, -1, 0);

    if (map == MAP_FAILED)
        return false;
    if (mprotect(map + GUARD_BYTES, bytes, PROT_READ | PROT_WRITE) != 0) {
        (void)munmap(map, GUARD_BYTES + bytes); /* nothing more can be done */
        return false;
    }
    *ret = (struct stack){.map = map, .bottom = map + GUARD_BYTES, .bytes = bytes};
    return true;
}

void stack_unmap(struct stack *stack)
{
    if (!stack->map)
        return;
    assert_that(munmap(stack->map, GUARD_BYTES + stack->bytes) == 0);
    *stack = (struct stack){0};
}

void stack_trim(struct stack *stack)
{
    if (stack->bytes <= LIMIT_STACK_DEFAULT)
        return;
    /* Advice only: when the kernel refuses, memory is held a little longer. */
    (void)madvise(stack->bottom, stack->bytes - LIMIT_STACK_DEFAULT, MADV_DONTNEED);
}
