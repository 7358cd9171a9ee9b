/* SPDX-License-Identifier: MIT */
/*
 * base/vec.h -- a growable array of anything, on the heap.
 *
 * VEC(T) declares the struct; push returns a pointer to the new, zeroed element
 * or NULL when out of memory.
 */
#ifndef PAWL_BASE_VEC_H
#define PAWL_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *items;                                                                                  \
        size_t count;                                                                              \
        size_t cap;                                                                                \
    }

/* Make room for one more element of `size`; false when out of memory. */
bool vec_grow(void *items_field, size_t *cap, size_t count, size_t size);

#define vec_push(v)                                                                                \
    ((v)->count < (v)->cap || vec_grow(&(v)->items, &(v)->cap, (v)->count, sizeof(*(v)->items))    \
         ? (memset(&(v)->items[(v)->count], 0, sizeof(*(v)->items)), &(v)->items[(v)->count++])    \
         : NULL)
#define vec_reset(v)  ((v)->count = 0)
#define vec_deinit(v) (free((v)->items), (v)->items = NULL, (v)->count = (v)->cap = 0)

#endif
