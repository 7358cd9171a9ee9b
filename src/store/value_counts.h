/* SPDX-License-Identifier: MIT */
/*
 * store/value_counts.h -- counts by key, in the order of the keys, of the first ones only.
 *
 * Memory does not grow with the number of keys: one that sorts behind those that are kept is not
 * counted, and the list says that there is more.
 *
 * Called by store/sql/count.c, which merges segments of an index, and by runtime/api/count_client.c,
 * which counts rows one by one.
 */
#ifndef PAWL_STORE_VALUE_COUNTS_H
#define PAWL_STORE_VALUE_COUNTS_H

#include "pawl/provider.h"

/* Invariant: `items` are in the order of their keys, each once, at most `max`. */
struct value_counts {
    pawl_value_count *items;
    size_t count, max;
    bool more;     /* a key was left out */
    pawl_mem *mem; /* of the items and their keys */
};

void value_counts_init(struct value_counts *v, size_t max, pawl_mem *mem);
/* False: this key, and every key behind it, is behind those that are kept. */
bool value_counts_add(struct value_counts *v, pawl_str key, uint64_t count);

#endif
