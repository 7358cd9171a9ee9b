/* SPDX-License-Identifier: MIT */
/*
 * fiber/stack.h -- mapped stacks with a guard below.
 */
#ifndef PAWL_FIBER_STACK_H
#define PAWL_FIBER_STACK_H

#include <stdbool.h>
#include <stddef.h>

/*     map                bottom                    bottom + bytes
 *      | guard, PROT_NONE | stack, grows downwards <- |              */
struct stack {
    char *map; /* owned mapping */
    char *bottom;
    size_t bytes;
};

bool stack_map(struct stack *ret, size_t bytes); /* false: no memory or too many mappings */
void stack_unmap(struct stack *stack);
void stack_trim(struct stack *stack); /* give back memory deep below the top; contents are lost */

/* From now on this thread runs on `stack`, for `label`; NULL: on its own again. */
void guard_watch(const struct stack *stack, const char *label, size_t bytes);

#endif
