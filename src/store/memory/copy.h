/* SPDX-License-Identifier: MIT */
/*
 * store/memory/copy.h -- copying stored structs with all their strings.
 *
 * A shape lists where the strings of a struct are, so that one function copies
 * any of them: into the heap to keep, or into a caller's pawl_mem to give away.
 * Out of memory stops the process, as an arena does.
 */
#ifndef PAWL_STORE_MEMORY_COPY_H
#define PAWL_STORE_MEMORY_COPY_H

#include "pawl/provider.h"

#define SHAPE_STRINGS_MAX 12

struct row_shape {
    size_t size;
    size_t count;
    size_t at[SHAPE_STRINGS_MAX]; /* offsets of pawl_str members */
};

extern const struct row_shape shape_row, shape_message, shape_work, shape_event;

void *copy_alloc(size_t size); /* zeroed, from the heap, never NULL */
/* Copy `from`, its strings into the heap. */
void copy_keep(const struct row_shape *shape, void *to, const void *from);
/* Free the strings of what copy_keep made. */
void copy_drop(const struct row_shape *shape, void *kept);
/* Copy `from`, its strings into `mem`. */
void copy_give(const struct row_shape *shape, void *to, const void *from, pawl_mem *mem);
/* Replace one kept string. */
void copy_set(pawl_str *kept, pawl_str value);

#endif
