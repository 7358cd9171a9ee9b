/* SPDX-License-Identifier: MIT */
/*
 * fiber/switch.h -- from one stack to another.
 *
 * swapcontext saves the signal mask, which is a system call each way; a turn has
 * two to four switches.  So ucontext only makes the first entry of a fresh stack.
 * From then on _setjmp and _longjmp go back and forth (they keep no mask), and a
 * stack that is used again is entered at the same place, at its very bottom: that
 * frame is never left, so jumping to it is right however the last life of the
 * stack ended.  There is no assembly to own, and nothing here knows the machine.
 *
 * Sanitizers follow _longjmp in their own way and would refuse ours; under them
 * every switch is ucontext's.  Code that runs on a fiber must not change the
 * signal mask or the rounding mode: neither is switched.
 *
 * Included by fiber.c only, which undefines _FORTIFY_SOURCE before anything: its
 * longjmp stops the process for leaving the stack, which is the whole purpose.
 */
#ifndef PAWL_FIBER_SWITCH_H
#define PAWL_FIBER_SWITCH_H

#include "base/attr.h"
#include "fiber/sanitize.h"

#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

/* Where a stack goes on. */
struct resume_place {
    ucontext_t context;
    jmp_buf at;
    jmp_buf bottom; /* first line of switch_entered() */
    bool has_bottom;
    bool is_new; /* not entered in this life */
};

/* `entry` runs on the stack when it is switched to; it never returns. */
static inline void place_prepare(struct resume_place *p, void *stack, size_t bytes,
                                 void (*entry)(void))
{
    p->is_new = true;
    if (p->has_bottom)
        return;
    assert_that(getcontext(&p->context) == 0);
    p->context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = bytes};
    p->context.uc_link = NULL;
    makecontext(&p->context, entry, 0);
}

#if defined(HAVE_ASAN) || defined(HAVE_TSAN)

#define switch_to(from, to)  assert_that(swapcontext(&(from)->context, &(to)->context) == 0)
#define switch_entered(self) ((void)(self))

static inline _Noreturn void switch_leave(struct resume_place *to)
{
    (void)setcontext(&to->context); /* returns only when it fails */
    abort();
}

#else

static inline _Noreturn void switch_leave(struct resume_place *to)
{
    bool is_new = to->is_new;

    to->is_new = false;
    if (!is_new)
        _longjmp(to->at, 1);
    if (to->has_bottom)
        _longjmp(to->bottom, 1);
    (void)setcontext(&to->context);
    abort();
}

/* A frame of its own: what it was called with is not used after the jump. */
static __attribute__((noinline)) void switch_to(struct resume_place *from, struct resume_place *to)
{
    if (_setjmp(from->at) == 0)
        switch_leave(to);
}

/* At the bottom of a stack: later lives begin here.  A macro, for its frame must stay. */
#define switch_entered(self)                                                                       \
    do {                                                                                           \
        (self)->has_bottom = true;                                                                 \
        (void)_setjmp((self)->bottom);                                                             \
    } while (0)

#endif
#endif
