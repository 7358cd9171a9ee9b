/* SPDX-License-Identifier: MIT */
/* tests/unit/test_map.c -- hash maps, against plain arrays. */
#include "base/map.h"
#include "child.h"
#include "faults.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>

#define KEYS 500

static int values[KEYS];

TEST(an_empty_map_has_nothing)
{
    struct map m;
    size_t cursor = 0;

    map_init(&m);
    ck_assert_ptr_null(map_get(&m, 0));
    ck_assert_ptr_null(map_gets(&m, pawl_s("")));
    ck_assert_ptr_null(map_remove(&m, 1));
    ck_assert_ptr_null(map_removes(&m, pawl_s("x")));
    ck_assert_ptr_null(map_next(&m, &cursor));
    map_reset(&m);
    map_deinit(&m);
}

TEST(all_numbers_are_keys)
{
    static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63, 16, 32, 48};
    struct map m;

    map_init(&m);
    for (size_t i = 0; i < 7; i++)
        ck_assert(map_put(&m, keys[i], &values[i]));
    for (size_t i = 0; i < 7; i++)
        ck_assert_ptr_eq(map_get(&m, keys[i]), &values[i]);
    ck_assert_uint_eq(m.count, 7);
    map_deinit(&m);
}

TEST(all_strings_are_keys_and_bytes_count)
{
    static const pawl_str keys[] = {
        {NULL,   0},
        {"a",    1},
        {"a\0",  2},
        {"a\0b", 3},
        {"A",    1},
        {"\xff", 1},
        {"ab",   2},
    };
    struct map m;

    map_init(&m);
    for (size_t i = 0; i < 7; i++)
        ck_assert(map_puts(&m, keys[i], &values[i]));
    for (size_t i = 0; i < 7; i++)
        ck_assert_ptr_eq(map_gets(&m, keys[i]), &values[i]);
    ck_assert_ptr_eq(map_gets(&m, (pawl_str){"", 0}), &values[0]);
    ck_assert_uint_eq(m.count, 7);
    map_deinit(&m);
}

TEST(putting_again_replaces_the_value_and_the_borrowed_key)
{
    char *first = strdup("order"), *second = strdup("order");
    struct map m;

    map_init(&m);
    map_puts(&m, pawl_s(first), &values[0]);
    map_puts(&m, pawl_s(second), &values[1]);
    free(first); /* the entry must not look at it any more */
    ck_assert_uint_eq(m.count, 1);
    ck_assert_ptr_eq(map_gets(&m, pawl_s("order")), &values[1]);
    ck_assert_ptr_eq(map_removes(&m, pawl_s("order")), &values[1]);
    ck_assert_uint_eq(m.count, 0);
    free(second);
    map_deinit(&m);
}

/* What a map of KEYS keys should hold. */
struct model {
    int *value[KEYS];
    size_t count;
};

static void check_against(const struct map *m, const struct model *model)
{
    size_t cursor = 0, seen = 0;

    for (int *v; (v = map_next(m, &cursor)); seen++)
        ck_assert_ptr_eq(model->value[v - values], v);
    ck_assert_uint_eq(seen, model->count);
    ck_assert_uint_eq(m->count, model->count);
    ck_assert_uint_le((m->count + m->dead) * 4, m->cap * 3);
}

TEST(random_numbers_come_and_go)
{
    struct model model = {0};
    uint64_t state = 5;
    struct map m;

    map_init(&m);
    for (int i = 0; i < 200000; i++) {
        size_t k = random_below(&state, KEYS);
        uint64_t key = k * 4096; /* equal low bits */
        int *had = model.value[k];
        ck_assert_ptr_eq(map_get(&m, key), had);
        if (random_below(&state, 2)) {
            ck_assert(map_put(&m, key, &values[k]));
            model.value[k] = &values[k];
            model.count += !had;
        } else {
            ck_assert_ptr_eq(map_remove(&m, key), had);
            model.value[k] = NULL;
            model.count -= had != NULL;
        }
        if (i % 1000 == 0)
            check_against(&m, &model);
    }
    map_deinit(&m);
}

TEST(random_strings_come_and_go)
{
    static char names[KEYS][24];
    struct model model = {0};
    uint64_t state = 6;
    struct map m;

    map_init(&m);
    for (int k = 0; k < KEYS; k++)
        snprintf(names[k], sizeof names[k], "instance-%d", k);
    for (int i = 0; i < 200000; i++) {
        size_t k = random_below(&state, KEYS);
        pawl_str key = pawl_s(names[k]);
        int *had = model.value[k];
        ck_assert_ptr_eq(map_gets(&m, key), had);
        if (random_below(&state, 2)) {
            ck_assert(map_puts(&m, key, &values[k]));
            model.value[k] = &values[k];
            model.count += !had;
        } else {
            ck_assert_ptr_eq(map_removes(&m, key), had);
            model.value[k] = NULL;
            model.count -= had != NULL;
        }
        if (i % 1000 == 0)
            check_against(&m, &model);
    }
    map_deinit(&m);
}

TEST(the_current_entry_may_be_removed_while_iterating)
{
    struct map m;
    size_t cursor = 0, seen = 0;

    map_init(&m);
    for (size_t k = 0; k < KEYS; k++)
        map_put(&m, k, &values[k]);
    for (int *v; (v = map_next(&m, &cursor)); seen++)
        if ((v - values) % 3)
            ck_assert_ptr_eq(map_remove(&m, (uint64_t)(v - values)), v);
    ck_assert_uint_eq(seen, KEYS);
    for (size_t k = 0; k < KEYS; k++)
        ck_assert_ptr_eq(map_get(&m, k), k % 3 ? NULL : &values[k]);
    map_deinit(&m);
}

TEST(a_map_that_is_emptied_and_filled_for_ever_stays_small)
{
    struct map m;

    map_init(&m);
    for (uint64_t k = 0; k < 300000; k++) {
        map_put(&m, k, &values[0]);
        if (k >= 10)
            map_remove(&m, k - 10);
    }
    ck_assert_uint_le(m.cap, 64);
    map_deinit(&m);
}

TEST(a_reset_map_is_empty_and_keeps_its_table)
{
    struct map m;

    map_init(&m);
    for (size_t k = 0; k < KEYS; k++)
        map_put(&m, k, &values[k]);
    size_t cap = m.cap;
    map_reset(&m);
    ck_assert_uint_eq(m.count + m.dead, 0);
    ck_assert_uint_eq(m.cap, cap);
    ck_assert_ptr_null(map_get(&m, 1));
    map_put(&m, 1, &values[1]);
    ck_assert_ptr_eq(map_get(&m, 1), &values[1]);
    map_deinit(&m);
}

/* Clustered keys must not make long probes: time would tell, capacity does here. */
TEST(counters_and_addresses_as_keys_keep_the_table_at_most_three_quarters_full)
{
    static const uint64_t steps[] = {1, 8, 4096, UINT64_C(1) << 32, UINT64_C(1) << 56};

    for (size_t i = 0; i < 5; i++) {
        struct map m;
        map_init(&m);
        for (uint64_t k = 0; k < 200; k++)
            map_put(&m, k * steps[i], &values[k]);
        for (uint64_t k = 0; k < 200; k++)
            ck_assert_ptr_eq(map_get(&m, k * steps[i]), &values[k]);
        ck_assert_uint_le(m.cap, 512);
        map_deinit(&m);
    }
}

static void list_names(char *to, size_t size)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct map m;
    size_t cursor = 0;

    map_init(&m);
    for (int i = 0; i < 8; i++)
        map_puts(&m, pawl_s(names[i]), (void *)(uintptr_t)names[i]);
    *to = '\0';
    for (const char *name; (name = map_next(&m, &cursor));)
        strncat(to, name, size - strlen(to) - 1);
    map_deinit(&m);
}

TEST(a_fixed_seed_fixes_the_order_of_strings)
{
    char first[16], again[16], other[16];

    map_fix_order(7);
    list_names(first, sizeof first);
    map_fix_order(8);
    list_names(other, sizeof other);
    map_fix_order(7);
    list_names(again, sizeof again);
    ck_assert_str_eq(first, again);
    ck_assert_str_ne(first, other);
    ck_assert_uint_eq(strlen(first), 8);
}

TEST(a_put_without_memory_is_refused_and_changes_nothing)
{
    for (int n = 0; fault_at(n); n++) {
        struct map m;
        size_t put = 0;
        map_init(&m);
        for (size_t k = 0; k < KEYS; k++)
            if (map_put(&m, k, &values[k]))
                put++;
        ck_assert(fault_hit() == (put < KEYS));
        ck_assert_uint_eq(m.count, put);
        for (size_t k = 0, seen = 0; k < KEYS; k++)
            if (map_get(&m, k))
                ck_assert_uint_le(++seen, put);
        map_deinit(&m);
    }
}

static void put_null(void *arg)
{
    struct map m;

    (void)arg;
    map_init(&m);
    map_put(&m, 1, NULL);
}

TEST(puts_into_reserved_room_need_no_memory)
{
    struct map m;

    map_init(&m);
    for (size_t i = 0; i < 10; i++)
        ck_assert(map_put(&m, i, &values[i]));
    ck_assert(map_reserve(&m, 200));
    const struct map_slot *table = m.slots;
    for (size_t i = 10; i < 210; i++) {
        ck_assert(map_put(&m, i, &values[i]));
        ck_assert_ptr_nonnull(map_remove(&m, i - 10)); /* what is removed takes no room */
    }
    ck_assert_ptr_eq(m.slots, table); /* nothing was allocated */
    ck_assert_uint_eq(m.count, 10);
    for (size_t i = 200; i < 210; i++)
        ck_assert_ptr_eq(map_get(&m, i), &values[i]);
    map_deinit(&m);
}

TEST(no_value_may_be_null)
{
    must_abort(put_null, NULL, "broken invariant: value");
}
