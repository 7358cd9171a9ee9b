/* SPDX-License-Identifier: MIT */
/* base/fit.c -- see fit.h. */
#include "base/fit.h"

#include "base/limits.h"
#include "base/misuse.h"

static size_t less(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool fit_sizes(void *to, size_t known, const void *sizes, const char *function, pawl_error *err)
{
    size_t size = 0;
    memset(to, 0, known);
    if (sizes)
        memcpy(&size, sizes, sizeof(size));
    if (!is_there(size >= sizeof(size), function, "the sizes of the caller's structs", err))
        return false;
    memcpy(to, sizes, less(size, known));
    return true;
}

void fit_struct(void *to, size_t size, const void *from, size_t known)
{
    memcpy(to, from, less(size, known));
    if (size > known)
        memset((char *)to + known, 0, size - known);
}

const void *fit_items(pawl_mem *mem, const void *items, size_t count, size_t known, size_t stride)
{
    if (stride == known || !items)
        return items;
    if (!stride)
        return NULL;
    char *list = arena_alloc(mem, (count + 1) * stride);
    for (size_t i = 0; i < count; i++)
        fit_struct(list + i * stride, stride, (const char *)items + i * known, known);
    return list;
}

const void *fit_given(pawl_mem *mem, const void *items, size_t count, size_t stride, size_t known,
                      const char *what, pawl_error *err)
{
    for (size_t i = 0; i < count; i++)
        for (size_t at = known; at < stride; at++)
            if (((const char *)items)[i * stride + at]) {
                error_set(err, PAWL_MISUSE,
                          "%s has a member that this library is too old for (%zu bytes, known are "
                          "%zu); link the library of the header",
                          what, stride, known);
                return NULL;
            }
    return fit_items(mem, items, count, stride, known);
}
