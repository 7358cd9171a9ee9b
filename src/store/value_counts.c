/* SPDX-License-Identifier: MIT */
/* store/value_counts.c -- see the header. */
#include "store/value_counts.h"
#include "base/attr.h"
#include "base/str.h"

#include <string.h>

void value_counts_init(struct value_counts *v, size_t max, pawl_mem *mem)
{
    assert_that(max > 0);
    *v = (struct value_counts){.max = max, .mem = mem};
    v->items = pawl_mem_alloc(mem, max * sizeof(*v->items));
}

/* Where the key is, or belongs. */
static size_t place_of(const struct value_counts *v, pawl_str key)
{
    size_t low = 0, high = v->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (str_compare(v->items[mid].key, key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool value_counts_add(struct value_counts *v, pawl_str key, uint64_t count)
{
    size_t at = place_of(v, key);
    if (at < v->count && pawl_str_eq(v->items[at].key, key)) {
        v->items[at].count += count;
        return true;
    }
    if (v->count == v->max) {
        v->more = true;
        if (at == v->max)
            return false;
        v->count--; /* the last one makes room */
    }
    memmove(&v->items[at + 1], &v->items[at], (v->count - at) * sizeof(v->items[0]));
    v->items[at] = (pawl_value_count){.key = pawl_mem_dup(v->mem, key), .count = count};
    v->count++;
    return true;
}
