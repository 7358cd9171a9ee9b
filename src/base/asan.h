/* SPDX-License-Identifier: MIT */
/*
 * base/asan.h -- tell AddressSanitizer which of our memory is in use.
 *
 * Nothing at all in other builds.
 */
#ifndef PAWL_BASE_ASAN_H
#define PAWL_BASE_ASAN_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#define asan_unpoison(ptr, n) __asan_unpoison_memory_region((ptr), (n))

static inline void asan_poison(void *ptr, size_t n)
{
    /* gcc takes the const parameter for a read of memory not yet written. */
    __asm__("" : "+r"(ptr));
    __asan_poison_memory_region(ptr, n);
}
#else
#define asan_poison(ptr, n)   ((void)(ptr), (void)(n))
#define asan_unpoison(ptr, n) ((void)(ptr), (void)(n))
#endif

#endif
