/* SPDX-License-Identifier: MIT */
/*
 * fiber/sanitize.h -- what ASan, LSan and TSan must be told about a switch.
 *
 * Order of calls for one round trip, with the stack they run on:
 *
 *     resumer   shadow_before_resume     fiber   shadow_on_entry (first time)
 *     resumer   shadow_after_switch      fiber   shadow_before_yield / shadow_after_yield
 *                                        fiber   shadow_before_finish (last time)
 *
 * A fiber that is forgotten while suspended is told by shadow_drop().  In builds
 * without a sanitizer all of it is nothing.
 */
#ifndef PAWL_FIBER_SANITIZE_H
#define PAWL_FIBER_SANITIZE_H

#include "base/asan.h"

#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_THREAD__)
#define HAVE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAVE_TSAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#ifdef HAVE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* Instrumented frames are several times larger than those of a normal build. */
#if defined(HAVE_ASAN) || defined(HAVE_TSAN)
#define SANITIZER_STACK_FACTOR ((size_t)4)
#else
#define SANITIZER_STACK_FACTOR ((size_t)1)
#endif

/* A real call would be entered on one stack and left on another, by TSan's count. */
#define SHADOW static inline __attribute__((always_inline))

struct shadow {
    const void *bottom; /* of the fiber's stack */
    size_t bytes;
#ifdef HAVE_ASAN
    void *fake;       /* the fiber's fake stack while it is suspended */
    void *their_fake; /* the resumer's, while the fiber runs */
    const void *their_bottom;
    size_t their_bytes;
#endif
#ifdef HAVE_TSAN
    void *tsan;
    void *their_tsan;
#endif
};

/* A stack is about to be used by a new fiber. */
static inline void shadow_create(struct shadow *s, void *bottom, size_t bytes)
{
    *s = (struct shadow){.bottom = bottom, .bytes = bytes};
#ifdef HAVE_ASAN
    /* Heap memory may be known to a suspended stack only; that is no leak. */
    __lsan_register_root_region(bottom, bytes);
#endif
#ifdef HAVE_TSAN
    s->tsan = __tsan_create_fiber(0);
#endif
}

SHADOW void shadow_before_resume(struct shadow *s)
{
#ifdef HAVE_ASAN
    __sanitizer_start_switch_fiber(&s->their_fake, s->bottom, s->bytes);
#endif
#ifdef HAVE_TSAN
    s->their_tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(s->tsan, 0);
#endif
    (void)s;
}

SHADOW void shadow_after_switch(struct shadow *s)
{
#ifdef HAVE_ASAN
    __sanitizer_finish_switch_fiber(s->their_fake, NULL, NULL);
#endif
    (void)s;
}

SHADOW void shadow_on_entry(struct shadow *s)
{
#ifdef HAVE_ASAN
    __sanitizer_finish_switch_fiber(NULL, &s->their_bottom, &s->their_bytes);
#endif
    (void)s;
}

SHADOW void shadow_before_yield(struct shadow *s)
{
#ifdef HAVE_ASAN
    __sanitizer_start_switch_fiber(&s->fake, s->their_bottom, s->their_bytes);
#endif
#ifdef HAVE_TSAN
    __tsan_switch_to_fiber(s->their_tsan, 0);
#endif
    (void)s;
}

SHADOW void shadow_after_yield(struct shadow *s)
{
#ifdef HAVE_ASAN
    __sanitizer_finish_switch_fiber(s->fake, &s->their_bottom, &s->their_bytes);
    s->fake = NULL;
#endif
    (void)s;
}

SHADOW void shadow_before_finish(struct shadow *s)
{
#ifdef HAVE_ASAN
    __sanitizer_start_switch_fiber(NULL, s->their_bottom, s->their_bytes); /* NULL: for good */
#endif
#ifdef HAVE_TSAN
    __tsan_switch_to_fiber(s->their_tsan, 0);
#endif
    (void)s;
}

/*
 * The stack is used no more, suspended or not.  Fake frames of a suspended fiber
 * are only freed by the fiber itself leaving for good, so it is played here:
 * arrive on its stack, leave it for good, arrive back.
 */
#ifdef HAVE_ASAN
__attribute__((no_sanitize_address))
#endif
static inline void
shadow_drop(struct shadow *s)
{
#ifdef HAVE_ASAN
    if (s->fake) {
        void *mine = NULL;
        const void *bottom = NULL;
        size_t bytes = 0;
        __sanitizer_start_switch_fiber(&mine, s->bottom, s->bytes);
        __sanitizer_finish_switch_fiber(s->fake, &bottom, &bytes);
        __sanitizer_start_switch_fiber(NULL, bottom, bytes);
        __sanitizer_finish_switch_fiber(mine, NULL, NULL);
        s->fake = NULL;
    }
    __lsan_unregister_root_region(s->bottom, s->bytes);
    /* Frames that never returned left their red zones behind. */
    asan_unpoison(s->bottom, s->bytes);
#endif
#ifdef HAVE_TSAN
    __tsan_destroy_fiber(s->tsan);
    s->tsan = NULL;
#endif
    (void)s;
}

#endif
