/* SPDX-License-Identifier: MIT */
/* runtime/core/list.c -- see list.h. */
#include "runtime/core/list.h"

#include "base/arena.h"

#include <string.h>

void list_grow(pawl_mem *mem, void *items_field, size_t *count, size_t *cap, size_t size)
{
    char **items = items_field;
    if (*count == *cap) {
        size_t more = *cap ? *cap * 2 : 4;
        char *grown = arena_alloc(mem, more * size);
        if (*count)
            memcpy(grown, *items, *count * size);
        *items = grown;
        *cap = more;
    }
    char *at = *items + (*count)++ * size;
    memset(at, 0, size);
}
