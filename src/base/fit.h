/* SPDX-License-Identifier: MIT */
/*
 * base/fit.h -- structs for callers whose header is older or newer than ours (decision 0040).
 *
 * The library works with its own structs only.  The functions NAME_sized fit what it returns to
 * the sizes of the caller, at the last moment; when these are ours, nothing is copied.
 */
#ifndef PAWL_BASE_FIT_H
#define PAWL_BASE_FIT_H

#include "base/arena.h"
#include "base/attr.h"
#include "pawl/types.h"

#include <string.h>

/* Is the table of sizes the same as that of this library?  It begins with its own size. */
#define FIT_IS_OURS(sizes, ours)                                                                   \
    LIKELY((sizes) && (sizes)->size == sizeof(ours) && memcmp((sizes), &(ours), sizeof(ours)) == 0)

/* The caller's table as this library knows it: sizes that a shorter one lacks are 0.  False, with
 * *err set, when there is none. */
bool fit_sizes(void *to, size_t known, const void *sizes, const char *function, pawl_error *err);
#define FIT_SIZES(to, sizes, err) fit_sizes((to), sizeof(*(to)), (sizes), __func__, err)

/* Fill in the caller's struct of `size` bytes: what both know, and zeroes in the rest. */
void fit_struct(void *to, size_t size, const void *from, size_t known);

/* The items with the caller's stride, in `mem`; as they are when the strides agree.  NULL when
 * the stride is 0: the caller does not know these items. */
const void *fit_items(pawl_mem *mem, const void *items, size_t count, size_t known, size_t stride);
#define FIT_ITEMS(mem, items, count, stride)                                                       \
    fit_items((mem), (items), (count), sizeof(*(items)), (stride))

/* Items of the caller as this library knows them, in `mem`.  NULL, with *err set, when an item of
 * a newer caller uses what this library does not know. */
const void *fit_given(pawl_mem *mem, const void *items, size_t count, size_t stride, size_t known,
                      const char *what, pawl_error *err);

#endif
