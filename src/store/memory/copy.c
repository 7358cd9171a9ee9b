/* SPDX-License-Identifier: MIT */
/* store/memory/copy.c -- see the header. */
#include "store/memory/copy.h"

#include "base/attr.h"

#include <stdlib.h>
#include <string.h>

const struct row_shape shape_row = {
    sizeof(pawl_row),
    7,
    {offsetof(pawl_row, id), offsetof(pawl_row, orchestration), offsetof(pawl_row, version),
      offsetof(pawl_row, parent_id), offsetof(pawl_row, output), offsetof(pawl_row, custom_status),
      offsetof(pawl_row, finding)}
};
const struct row_shape shape_message = {
    sizeof(pawl_message),
    4,
    {offsetof(pawl_message, instance), offsetof(pawl_message, name), offsetof(pawl_message, data),
      offsetof(pawl_message, attrs)}
};
const struct row_shape shape_work = {
    sizeof(pawl_work),
    6,
    {offsetof(pawl_work, instance), offsetof(pawl_work, name), offsetof(pawl_work, input),
      offsetof(pawl_work, attrs), offsetof(pawl_work, last_error), offsetof(pawl_work, lock_token)}
};
const struct row_shape shape_event = {
    sizeof(pawl_event),
    3,
    {offsetof(pawl_event, name), offsetof(pawl_event, data), offsetof(pawl_event, attrs)}
};

static pawl_str *string_at(const struct row_shape *shape, void *item, size_t i)
{
    return (pawl_str *)(void *)((char *)item + shape->at[i]);
}

static pawl_str keep(pawl_str s)
{
    if (s.len == 0)
        return (pawl_str){0};
    char *ptr = copy_alloc(s.len);
    memcpy(ptr, s.ptr, s.len);
    return (pawl_str){.ptr = ptr, .len = s.len};
}

static void drop(pawl_str s)
{
    free((void *)(uintptr_t)s.ptr);
}

void *copy_alloc(size_t size)
{
    void *p = calloc(1, size);
    need_memory(p != NULL);
    return p;
}

void copy_keep(const struct row_shape *shape, void *to, const void *from)
{
    memcpy(to, from, shape->size);
    for (size_t i = 0; i < shape->count; i++)
        *string_at(shape, to, i) = keep(*string_at(shape, to, i));
}

void copy_drop(const struct row_shape *shape, void *kept)
{
    for (size_t i = 0; i < shape->count; i++)
        drop(*string_at(shape, kept, i));
}

void copy_give(const struct row_shape *shape, void *to, const void *from, pawl_mem *mem)
{
    memcpy(to, from, shape->size);
    for (size_t i = 0; i < shape->count; i++)
        *string_at(shape, to, i) = pawl_mem_dup(mem, *string_at(shape, to, i));
}

void copy_set(pawl_str *kept, pawl_str value)
{
    pawl_str old = *kept;
    *kept = keep(value);
    drop(old);
}
