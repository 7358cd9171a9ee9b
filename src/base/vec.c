/* SPDX-License-Identifier: MIT */
/*
 * base/vec.c -- growth of VEC(T) arrays.
 *
 * The macros of vec.h know the type, this file only bytes.  Capacity doubles
 * from 8, so n pushes cost O(n).  After a failure the array is as it was.
 */
#include "base/vec.h"

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
