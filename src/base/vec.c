/* SPDX-License-Identifier: MIT */
/*
 * base/vec.c -- growth of VEC(T) and LIST(T) arrays.
 *
 * The macros of vec.h know the type, this file only bytes.  Capacity doubles
 * from 8 (in an arena from 4: most lists of a stage are short), so n pushes cost O(n).  After a
 * failure the array is as it was.
 */
#include "base/vec.h"

#include "base/arena.h"

#include <stdint.h>

bool vec_grow(void *items_field, size_t *cap, size_t count, size_t size)
{
    if (count < *cap)
        return true;
    size_t want = *cap ? *cap * 2 : 8;
    if (*cap > SIZE_MAX / 4 / size)
        return false;
    /* The field has type T *; copying its bytes keeps clear of aliasing rules. */
    void *items[1];
    memcpy(items, items_field, sizeof items);
    void *grown = realloc(items[0], want * size);
    if (!grown)
        return false;
    items[0] = grown;
    memcpy(items_field, items, sizeof items);
    *cap = want;
    return true;
}

void list_grow(pawl_mem *mem, void *items_field, size_t *cap, size_t count, size_t size)
{
    size_t more = *cap ? *cap * 2 : 4;
    void *items[1];
    memcpy(items, items_field, sizeof items);
    void *grown = arena_alloc(mem, more * size);
    if (count)
        memcpy(grown, items[0], count * size);
    items[0] = grown;
    memcpy(items_field, items, sizeof items);
    *cap = more;
}
