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
    void *items;
    memcpy(&items, items_field, sizeof items);
    void *grown = realloc(items, want * size);
    if (!grown)
        return false;
    memcpy(items_field, &grown, sizeof grown);
    *cap = want;
    return true;
}
