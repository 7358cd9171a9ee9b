/* SPDX-License-Identifier: MIT */
/* tests/unit/test_heap.c -- the timer heap, against sorting. */
#include "base/heap.h"
#include "child.h"
#include "faults.h"
#include "random.h"

#include <stdlib.h>

#define NODES 1000

static struct heap_node nodes[NODES];

static void fill(struct heap *h, uint64_t seed, uint64_t keys)
{
    heap_init(h);
    for (size_t i = 0; i < NODES; i++) {
        nodes[i] =
            (struct heap_node){.key = (int64_t)random_below(&seed, keys) - 5, .tie = NODES - i};
        ck_assert(heap_push(h, &nodes[i]));
    }
    heap_check(h);
}

TEST(an_empty_heap_has_no_top)
{
    struct heap h;
    struct heap_node outside = {0};

    heap_init(&h);
    ck_assert_ptr_null(heap_top(&h));
    ck_assert_ptr_null(heap_pop(&h));
    heap_remove(&h, &outside);
    heap_check(&h);
    heap_deinit(&h);
}

TEST(nodes_come_out_by_time_and_then_by_tie)
{
    struct heap h;

    for (uint64_t keys = 1; keys < 100000; keys = keys * 10 + 3) {
        fill(&h, keys, keys);
        struct heap_node *before = NULL;
        for (struct heap_node *n; (n = heap_pop(&h)); before = n) {
            ck_assert_uint_eq(n->place, 0);
            if (before)
                ck_assert(before->key < n->key || (before->key == n->key && before->tie < n->tie));
        }
        heap_deinit(&h);
    }
}

TEST(any_node_can_be_removed_from_the_middle)
{
    struct heap h;
    uint64_t state = 11;
    size_t left = NODES;

    fill(&h, 9, 300);
    for (int i = 0; i < 2000; i++) {
        struct heap_node *n = &nodes[random_below(&state, NODES)];
        left -= n->place != 0;
        heap_remove(&h, n);
        ck_assert_uint_eq(n->place, 0);
        heap_check(&h);
    }
    ck_assert_uint_eq(h.count, left);
    heap_deinit(&h);
}

TEST(nodes_come_and_go_in_any_order)
{
    struct heap h;
    uint64_t state = 12;

    fill(&h, 10, 50);
    for (int i = 0; i < 50000; i++) {
        struct heap_node *n = &nodes[random_below(&state, NODES)];
        if (n->place) {
            heap_remove(&h, n);
        } else {
            n->key = (int64_t)random_below(&state, 50);
            ck_assert(heap_push(&h, n));
        }
        if (i % 100 == 0)
            heap_check(&h);
    }
    heap_deinit(&h);
}

TEST(extreme_times_are_ordered)
{
    struct heap_node first = {.key = INT64_MIN}, middle = {.key = 0}, last = {.key = INT64_MAX};
    struct heap h;

    heap_init(&h);
    heap_push(&h, &last);
    heap_push(&h, &first);
    heap_push(&h, &middle);
    ck_assert_ptr_eq(heap_pop(&h), &first);
    ck_assert_ptr_eq(heap_pop(&h), &middle);
    ck_assert_ptr_eq(heap_pop(&h), &last);
    heap_deinit(&h);
}

TEST(a_freed_heap_lets_go_of_its_nodes)
{
    struct heap h;

    fill(&h, 1, 10);
    heap_deinit(&h);
    for (size_t i = 0; i < NODES; i++)
        ck_assert_uint_eq(nodes[i].place, 0);
    heap_push(&h, &nodes[0]); /* usable again */
    ck_assert_ptr_eq(heap_top(&h), &nodes[0]);
    heap_deinit(&h);
}

TEST(a_push_without_memory_leaves_the_node_outside)
{
    for (int n = 0; fault_at(n); n++) {
        struct heap h;
        size_t inside = 0;
        heap_init(&h);
        for (size_t i = 0; i < 200; i++) {
            nodes[i] = (struct heap_node){.key = (int64_t)(i * 7 % 50)};
            inside += heap_push(&h, &nodes[i]);
        }
        ck_assert(fault_hit() == (inside < 200));
        heap_check(&h);
        ck_assert_uint_eq(h.count, inside);
        heap_deinit(&h);
    }
}

static void push_twice(void *arg)
{
    struct heap h;
    struct heap_node n = {0};

    (void)arg;
    heap_init(&h);
    heap_push(&h, &n);
    heap_push(&h, &n);
}

TEST(a_node_is_in_one_heap_only)
{
    must_abort(push_twice, NULL, "broken invariant");
}
