/* SPDX-License-Identifier: MIT */
/*
 * fiber/fiber.h -- stacks that can be put aside.
 *
 * A fiber is a function on its own stack (mmap, guard page below, pooled).  It
 * runs only inside fiber_resume() and leaves by fiber_yield() or by returning.
 * It never changes thread: compilers cache the address of errno and other
 * thread-locals across a switch.  Dropping a suspended fiber runs no clean-up:
 * its owner keeps what must be freed elsewhere.  ASan and TSan are told of
 * every switch.
 *
 * States: READY -> RUNNING <-> SUSPENDED -> FINISHED   [fiber_create, _resume, _yield, return]
 */
#ifndef PAWL_FIBER_FIBER_H
#define PAWL_FIBER_FIBER_H

#include <stdbool.h>
#include <stddef.h>

struct fiber;
struct fiber_pool;

typedef void fiber_fn(void *arg);

/* A pool keeps up to `spare` free stacks of each size class.  One thread. */
struct fiber_pool *fiber_pool_create(size_t spare);
void fiber_pool_destroy(struct fiber_pool *pool); /* all fibers must be gone; NULL is fine */

/* NULL when no stack can be mapped (the caller evicts and tries again).
 * `label` is borrowed while the fiber lives: named when the guard page is hit. */
struct fiber *fiber_create(struct fiber_pool *pool, size_t stack_bytes, fiber_fn *fn, void *arg,
                           const char *label);
/* Run until it yields or returns; true while it can be resumed again. */
bool fiber_resume(struct fiber *f);
/* Only on a fiber: go back to the resumer. */
void fiber_yield(void);
/* Put the stack back.  Suspended fibers are simply forgotten.  NULL is fine. */
void fiber_destroy(struct fiber *f);
/* The fiber running on this thread; NULL outside. */
struct fiber *fiber_current(void);
size_t fiber_stack_bytes(const struct fiber *f);

/* Install handlers for faults (on an alternate stack of this thread) that tell a
 * stack overflow by its guard page, print the label, and let the process die.
 * Other faults go to the handler that was there before. */
void fiber_guard_thread(void);
/* Call `hook`, which must be async-signal-safe, on the thread that faults or aborts, before
 * anything else; `sent`: by this process itself, as abort() does.  True: that was all, go on. */
void fiber_on_fault(bool (*hook)(int number, bool sent));
/* The handlers stay until the last hold is released; that puts back the handlers that were there
 * before, unless others were installed on top. */
void fiber_guard_hold(void);
void fiber_guard_release(void);
/* Would the signal come to us, not to a handler that was put on top, or to none? */
bool fiber_guard_has(int number);
/* This thread needs its alternate stack no longer. */
void fiber_unguard_thread(void);

#endif
