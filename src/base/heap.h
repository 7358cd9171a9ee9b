/* SPDX-License-Identifier: MIT */
/*
 * base/heap.h -- a binary min-heap of (time, number) with removal.
 *
 * Entries are embedded in their owners and know their place, so removal is
 * O(log n).  Ties break by `tie`, so order is deterministic.
 */
#ifndef PAWL_BASE_HEAP_H
#define PAWL_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t key;
    uint64_t tie;
    size_t place; /* index + 1 in the heap; 0: not in it */
};

struct heap {
    struct heap_node **nodes; /* owned array of borrowed nodes */
    size_t count;
    size_t cap;
};

void heap_init(struct heap *h);
void heap_deinit(struct heap *h);
bool heap_push(struct heap *h, struct heap_node *node); /* false: out of memory */
struct heap_node *heap_top(const struct heap *h);       /* NULL when empty */
struct heap_node *heap_pop(struct heap *h);
void heap_remove(struct heap *h, struct heap_node *node); /* not in it: nothing */
void heap_check(const struct heap *h);

#endif
