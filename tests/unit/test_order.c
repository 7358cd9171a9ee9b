/* SPDX-License-Identifier: MIT */
/* tests/unit/test_order.c -- the memory store's index, against a sorted walk. */
#include "../harness.h"
#include "base/attr.h"
#include "store/memory/order.h"

#include <string.h>

#define NODES 2000

static struct order_node nodes[NODES];

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed >> 33;
}

TEST(an_empty_order_has_no_ends)
{
    struct order o = {0};
    ck_assert_ptr_null(order_first(&o));
    ck_assert_ptr_null(order_last(&o));
    ck_assert_ptr_null(order_from(&o, 0, 0));
    order_check(&o);
}

TEST(walks_and_searches_follow_key_then_tie)
{
    struct order o = {0};
    struct order_node n[4];
    memset(n, 0, sizeof(n));
    order_add(&o, &n[0], 5, 2);
    order_add(&o, &n[1], -5, 9);
    order_add(&o, &n[2], 5, 1);
    order_add(&o, &n[3], INT64_MAX, 0);
    ck_assert_ptr_eq(order_first(&o), &n[1]);
    ck_assert_ptr_eq(order_next(&n[1]), &n[2]);
    ck_assert_ptr_eq(order_next(&n[2]), &n[0]);
    ck_assert_ptr_eq(order_prev(&n[3]), &n[0]);
    ck_assert_ptr_eq(order_from(&o, 5, 2), &n[0]);
    ck_assert_ptr_eq(order_from(&o, 5, 3), &n[3]);
    ck_assert_ptr_eq(order_find(&o, 5, 1), &n[2]);
    ck_assert_ptr_null(order_find(&o, 5, 3));
    ck_assert_ptr_eq(order_last(&o), &n[3]);
}

TEST(random_adds_and_removes_keep_the_invariants)
{
    struct order o = {0};
    uint64_t seed = 7;
    memset(nodes, 0, sizeof(nodes));
    for (int step = 0; step < 50000; step++) {
        struct order_node *n = &nodes[draw(&seed) % NODES];
        if (n->in)
            order_remove(n);
        else
            order_add(&o, n, (int64_t)(draw(&seed) % 50), (uint64_t)(n - nodes));
        if (step % 500 == 0)
            order_check(&o);
    }
    size_t count = 0;
    for (struct order_node *n = order_last(&o); n; n = order_prev(n))
        count++;
    ck_assert_uint_eq(count, o.count);
    while (order_first(&o))
        order_remove(order_first(&o));
    ck_assert_uint_eq(o.count, 0);
    order_check(&o);
}

TEST(growing_keys_stay_shallow)
{
    struct order o = {0};
    int depth = 0;
    memset(nodes, 0, sizeof(nodes));
    for (size_t i = 0; i < NODES; i++)
        order_add(&o, &nodes[i], 0, i);
    for (size_t i = 0; i < NODES; i++) {
        int d = 0;
        for (struct order_node *n = &nodes[i]; n->up; n = n->up)
            d++;
        depth = d > depth ? d : depth;
    }
    ck_assert_int_lt(depth, 60);
}
