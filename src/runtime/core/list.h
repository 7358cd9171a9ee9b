/* SPDX-License-Identifier: MIT */
/* runtime/core/list.h -- growable arrays in an arena: the rows of a stage. */
#ifndef PAWL_RUNTIME_LIST_H
#define PAWL_RUNTIME_LIST_H

#include "pawl/types.h"

#define LIST(T)                                                                                    \
    struct {                                                                                       \
        T *items;                                                                                  \
        size_t count, cap;                                                                         \
    }

/* Append to a LIST in `mem`; returns the zeroed element. */
void list_grow(pawl_mem *mem, void *items_field, size_t *count, size_t *cap, size_t size);
#define list_add(mem, l)                                                                           \
    (list_grow((mem), &(l)->items, &(l)->count, &(l)->cap, sizeof(*(l)->items)),                   \
     &(l)->items[(l)->count - 1])

#endif
