/* SPDX-License-Identifier: MIT */
/* tests/unit/test_vec.c -- the growable array, on the heap and in an arena. */
#include "../harness.h"
#include "base/arena.h"
#include "base/vec.h"
#include "faults.h"

#include <stdint.h>

TEST(pushed_elements_are_zero_and_stay_where_they_are_in_order)
{
    VEC(struct pair {
        int64_t a;
        char *b;
    })
    v = {0};

    for (int i = 0; i < 1000; i++) {
        struct pair *p = vec_push(&v);
        ck_assert_int_eq(p->a, 0);
        ck_assert_ptr_null(p->b);
        p->a = i;
    }
    ck_assert_uint_eq(v.count, 1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(v.items[i].a, i);
    vec_deinit(&v);
    ck_assert_ptr_null(v.items);
}

TEST(a_reset_forgets_elements_and_hands_out_zeroed_ones_again)
{
    VEC(char) v = {0};

    *vec_push(&v) = 'x';
    const char *items = v.items;
    vec_reset(&v);
    ck_assert_uint_eq(v.count, 0);
    ck_assert_int_eq(*vec_push(&v), 0);
    ck_assert_ptr_eq(v.items, items);
    vec_deinit(&v);
}

TEST(a_failed_push_leaves_the_array_as_it_was)
{
    for (int n = 0; fault_at(n); n++) {
        VEC(int) v = {0};
        bool failed = false;
        for (int i = 0; i < 100 && !failed; i++) {
            int *p = vec_push(&v);
            if (p)
                *p = i;
            else
                failed = true;
        }
        ck_assert(failed == fault_hit());
        for (size_t i = 0; i < v.count; i++)
            ck_assert_int_eq(v.items[i], (int)i);
        vec_deinit(&v);
    }
}

TEST(a_size_that_wraps_is_refused)
{
    void *items = NULL;
    size_t cap = SIZE_MAX / 16;

    ck_assert(!vec_grow(&items, &cap, cap, 64));
    ck_assert_ptr_null(items);
    ck_assert_uint_eq(cap, SIZE_MAX / 16);
}

TEST(a_list_in_an_arena_keeps_its_elements_and_adds_zeroed_ones)
{
    pawl_mem mem;
    LIST(struct entry {
        int64_t a;
        char *b;
    })
    l = {0};

    arena_init(&mem);
    memset(arena_alloc(&mem, 100000), 0xff, 100000);
    arena_reset(&mem); /* what it hands out next is not zero */
    for (int i = 0; i < 1000; i++) {
        struct entry *e = list_add(&mem, &l);
        ck_assert_int_eq(e->a, 0);
        ck_assert_ptr_null(e->b);
        e->a = i;
    }
    ck_assert_uint_eq(l.count, 1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(l.items[i].a, i);
    arena_check(&mem);
    arena_deinit(&mem);
}
