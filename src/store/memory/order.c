/* SPDX-License-Identifier: MIT */
/* store/memory/order.c -- see the header. */
#include "store/memory/order.h"

#include "base/attr.h"

static bool before(const struct order_node *node, int64_t key, uint64_t tie)
{
    return node->key != key ? node->key < key : node->tie < tie;
}

static uint64_t priority(const struct order_node *node)
{
    uint64_t h = (uint64_t)node->key * UINT64_C(0x9E3779B97F4A7C15) + node->tie;
    h = (h ^ (h >> 31)) * UINT64_C(0xBF58476D1CE4E5B9);
    h = (h ^ (h >> 29)) * UINT64_C(0x94D049BB133111EB);
    return h ^ (h >> 32);
}

/* The place that points at `node`. */
static struct order_node **link_to(struct order_node *node)
{
    if (!node->up)
        return &node->in->root;
    return node->up->left == node ? &node->up->left : &node->up->right;
}

/* Let `node` and its parent change places; order is kept. */
static void rotate_up(struct order_node *node)
{
    struct order_node *parent = node->up, *moved;
    *link_to(parent) = node;
    node->up = parent->up;
    if (parent->left == node) {
        moved = node->right;
        node->right = parent;
        parent->left = moved;
    } else {
        moved = node->left;
        node->left = parent;
        parent->right = moved;
    }
    parent->up = node;
    if (moved)
        moved->up = parent;
}

void order_add(struct order *o, struct order_node *node, int64_t key, uint64_t tie)
{
    assert_that(!node->in);
    struct order_node **at = &o->root, *parent = NULL;
    if (o->last && before(o->last, key, tie)) {
        parent = o->last;
        at = &parent->right;
    }
    while (*at) {
        parent = *at;
        at = before(parent, key, tie) ? &parent->right : &parent->left;
    }
    *node = (struct order_node){.key = key, .tie = tie, .in = o, .up = parent};
    *at = node;
    o->count++;
    if (!o->first || !before(o->first, key, tie))
        o->first = node;
    if (!o->last || before(o->last, key, tie))
        o->last = node;
    while (node->up && priority(node->up) < priority(node))
        rotate_up(node);
}

void order_remove(struct order_node *node)
{
    struct order *o = node->in;
    if (!o)
        return;
    if (o->first == node)
        o->first = order_next(node);
    if (o->last == node)
        o->last = order_prev(node);
    while (node->left || node->right) {
        struct order_node *l = node->left, *r = node->right;
        rotate_up(!l ? r : !r ? l : priority(l) > priority(r) ? l : r);
    }
    *link_to(node) = NULL;
    o->count--;
    node->in = NULL;
}

struct order_node *order_from(const struct order *o, int64_t key, uint64_t tie)
{
    struct order_node *found = NULL;
    for (struct order_node *n = o->root; n;) {
        if (before(n, key, tie)) {
            n = n->right;
        } else {
            found = n;
            n = n->left;
        }
    }
    return found;
}

struct order_node *order_find(const struct order *o, int64_t key, uint64_t tie)
{
    struct order_node *n = order_from(o, key, tie);
    return n && n->key == key && n->tie == tie ? n : NULL;
}

struct order_node *order_first(const struct order *o)
{
    return o->first;
}
struct order_node *order_last(const struct order *o)
{
    return o->last;
}

struct order_node *order_next(const struct order_node *node)
{
    if (node->right) {
        struct order_node *n = node->right;
        while (n->left)
            n = n->left;
        return n;
    }
    while (node->up && node->up->right == node)
        node = node->up;
    return node->up;
}

struct order_node *order_prev(const struct order_node *node)
{
    if (node->left) {
        struct order_node *n = node->left;
        while (n->right)
            n = n->right;
        return n;
    }
    while (node->up && node->up->left == node)
        node = node->up;
    return node->up;
}

void order_check(const struct order *o)
{
    size_t count = 0;
    const struct order_node *last = NULL;
    assert_that(!o->first || !order_prev(o->first));
    for (const struct order_node *n = order_first(o); n; last = n, n = order_next(n)) {
        assert_that(n->in == o);
        assert_that(!last || before(last, n->key, n->tie));
        assert_that(!n->up || priority(n->up) >= priority(n));
        count++;
    }
    assert_that(count == o->count && last == o->last);
}
