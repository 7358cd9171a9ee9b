/* SPDX-License-Identifier: MIT */
/*
 * base/heap.c -- a binary min-heap with removal from the middle.
 *
 * Timers, leases and delayed queue items wait here.  The array holds pointers;
 * each node knows its place, so a cancelled timer leaves in O(log n).
 *
 * Invariants: no child before its parent by (key, tie); nodes[i]->place == i + 1.
 */
#include "base/heap.h"

#include "base/attr.h"

#include <stdlib.h>

static void sift_up(struct heap *h, size_t i);
static void sift_down(struct heap *h, size_t i);
static void put_at(struct heap *h, size_t i, struct heap_node *node);
static bool before(const struct heap_node *a, const struct heap_node *b);

void heap_init(struct heap *h)
{
    *h = (struct heap){0};
}

void heap_deinit(struct heap *h)
{
    for (size_t i = 0; i < h->count; i++)
        h->nodes[i]->place = 0;
    free(h->nodes);
    heap_init(h);
}

bool heap_push(struct heap *h, struct heap_node *node)
{
    assert_that(node->place == 0);
    if (h->count == h->cap) {
        size_t cap = h->cap ? h->cap * 2 : 64;
        struct heap_node **nodes = realloc(h->nodes, cap * sizeof *nodes);
        if (!nodes)
            return false;
        h->nodes = nodes;
        h->cap = cap;
    }
    put_at(h, h->count++, node);
    sift_up(h, h->count - 1);
    return true;
}

struct heap_node *heap_top(const struct heap *h)
{
    return h->count ? h->nodes[0] : NULL;
}

struct heap_node *heap_pop(struct heap *h)
{
    struct heap_node *top = heap_top(h);

    if (top)
        heap_remove(h, top);
    return top;
}

void heap_remove(struct heap *h, struct heap_node *node)
{
    if (node->place == 0)
        return;
    size_t i = node->place - 1;
    assert_that(i < h->count && h->nodes[i] == node);
    struct heap_node *last = h->nodes[--h->count];
    node->place = 0;
    if (last == node)
        return;
    put_at(h, i, last);
    /* The last node may come from another branch: it can be too small here. */
    sift_up(h, i);
    sift_down(h, last->place - 1);
}

void heap_check(const struct heap *h)
{
    assert_that(h->count <= h->cap);
    for (size_t i = 0; i < h->count; i++) {
        assert_that(h->nodes[i]->place == i + 1);
        assert_that(i == 0 || !before(h->nodes[i], h->nodes[(i - 1) / 2]));
    }
}

static void sift_up(struct heap *h, size_t i)
{
    struct heap_node *node = h->nodes[i];

    while (i > 0 && before(node, h->nodes[(i - 1) / 2])) {
        put_at(h, i, h->nodes[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put_at(h, i, node);
}

static void sift_down(struct heap *h, size_t i)
{
    struct heap_node *node = h->nodes[i];

    for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && before(h->nodes[child + 1], h->nodes[child]))
            child++;
        if (!before(h->nodes[child], node))
            break;
        put_at(h, i, h->nodes[child]);
    }
    put_at(h, i, node);
}

static void put_at(struct heap *h, size_t i, struct heap_node *node)
{
    h->nodes[i] = node;
    node->place = i + 1;
}

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}
