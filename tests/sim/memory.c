/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/memory.c -- an allocation of a step fails (--wrap=malloc … and abort).
 *
 * Only the runtime's own allocations fail: what the simulator does inside a callback, and what the
 * store does, is the world outside and has memory.  Code may answer NO_MEMORY and go on; or it
 * stops the process, which is what abort() means here: the step is left by a jump, nothing of that
 * runtime is touched again (it is leaked), and the next node opens the store.  Code on a fiber is
 * left alone: a jump would not bring its stack back.
 */
#undef _FORTIFY_SOURCE /* its longjmp() does not know of fibers */

#include "memory.h"

#include "fiber/fiber.h"
#include "runtime/core/runtime.h"

#include <setjmp.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
NORETURN void __real_abort(void);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
NORETURN void __wrap_abort(void);

static struct {
    bool armed; /* a step runs */
    bool hit;   /* one failed */
    int paused; /* callbacks and store calls, one in another */
    uint64_t left;
    struct sim *sim;
    jmp_buf out;
} state;

static bool fails(void)
{
    if (!state.armed || state.paused || state.hit || fiber_current() || --state.left)
        return false;
    state.hit = true;
    state.sim->shortages++; /* at once: activities step, and see what came of it */
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

void __wrap_abort(void)
{
    if (state.armed && state.hit && !state.paused && !fiber_current())
        longjmp(state.out, 1);
    __real_abort();
}

void memory_pause(void)
{
    state.paused++;
}

void memory_resume(void)
{
    state.paused--;
}

bool memory_step(struct node *n, uint64_t nth, int *retdone)
{
    state.hit = false;
    state.paused = 0;
    state.left = nth;
    state.sim = n->sim;
    if (setjmp(state.out)) {
        state.armed = false;
        state.sim->shortages--; /* it did not go on */
        return false;
    }
    state.armed = true;
    *retdone = pawl_runtime_step(n->rt, 0);
    state.armed = false;
    if (state.hit)
        sim_trace(n->sim, "an allocation failed, and the step went on");
    return true;
}
