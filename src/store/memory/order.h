/* SPDX-License-Identifier: MIT */
/*
 * store/memory/order.h -- an ordered set of embedded nodes, by (key, tie).
 *
 * The memory store's only index: lookup, first at or after, next, previous and
 * removal in O(log n), no allocation, so applying a change cannot fail.  A treap
 * whose priorities are a hash of the key: the same rows give the same tree.
 *
 * Invariants (order_check): (key, tie) grows from left to right and is unique;
 * a parent's priority is not below its children's; `in` of a node is its set.
 */
#ifndef PAWL_STORE_MEMORY_ORDER_H
#define PAWL_STORE_MEMORY_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order;

struct order_node {
    int64_t key;
    uint64_t tie;
    struct order *in; /* NULL: in no set */
    struct order_node *up, *left, *right;
};

struct order {
    struct order_node *root;
    struct order_node *first, *last; /* most rows come at the end and leave at the front */
    size_t count;
};

/* Put a node that is in no set into `o`. */
void order_add(struct order *o, struct order_node *node, int64_t key, uint64_t tie);
/* Take a node out of its set; in none: nothing. */
void order_remove(struct order_node *node);

struct order_node *order_find(const struct order *o, int64_t key, uint64_t tie);
/* The first node at or after (key, tie), or NULL. */
struct order_node *order_from(const struct order *o, int64_t key, uint64_t tie);
struct order_node *order_first(const struct order *o);
struct order_node *order_last(const struct order *o);
struct order_node *order_next(const struct order_node *node);
struct order_node *order_prev(const struct order_node *node);
void order_check(const struct order *o);

#endif
