/* SPDX-License-Identifier: MIT */
/*
 * base/vec.h -- a growable array of anything: a VEC on the heap, a LIST in an arena.
 *
 * VEC(T) declares the struct; push returns a pointer to the new, zeroed element
 * or NULL when out of memory.
 *
 * LIST(T) is for what dies with an arena.  list_add returns the new, zeroed element, never NULL,
 * and nothing frees it; outgrown items stay in the arena until then, at most as many bytes again.
 */
#ifndef PAWL_BASE_VEC_H
#define PAWL_BASE_VEC_H

#include "pawl/types.h"

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

#define LIST(T)       VEC(T)

/* Room for one more element of `size` at least. */
void list_grow(pawl_mem *mem, void *items_field, size_t *cap, size_t count, size_t size);

/* The place of the next element, not counted and not zeroed: for one that may turn out to be none. */
#define list_room(mem, l)                                                                          \
    ((l)->count < (l)->cap                                                                         \
         ? (void)0                                                                                 \
         : list_grow((mem), &(l)->items, &(l)->cap, (l)->count, sizeof(*(l)->items)),              \
     &(l)->items[(l)->count])
#define list_add(mem, l)                                                                           \
    ((void)memset(list_room((mem), (l)), 0, sizeof(*(l)->items)), &(l)->items[(l)->count++])

#endif
