/* SPDX-License-Identifier: MIT */
/* tests/unit/test_taken.c -- the set of taken rows, against a plain array of flags. */
#include "../harness.h"
#include "store/taken.h"

#include <string.h>

#define IDS 3000

TEST(an_empty_set_has_nothing)
{
    struct taken t;
    taken_init(&t);
    ck_assert(!taken_has(&t, 1));
    ck_assert(!taken_has(&t, 0));
    taken_remove(&t, 1);
    taken_reset(&t);
    taken_check(&t);
    taken_deinit(&t);
}

TEST(adding_twice_is_once_and_reset_forgets)
{
    struct taken t;
    taken_init(&t);
    ck_assert(taken_add(&t, 7) && taken_add(&t, 7));
    ck_assert_uint_eq(t.count, 1);
    taken_reset(&t);
    ck_assert(!taken_has(&t, 7));
    ck_assert(taken_reserve(&t, 10000));
    ck_assert_uint_ge(t.cap / 4 * 3, 10000);
    taken_deinit(&t);
}

TEST(random_adds_and_removes_agree_with_flags)
{
    static bool flag[IDS + 1];
    struct taken t;
    taken_init(&t);
    uint64_t seed = 42;
    for (int i = 0; i < 100000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t id = (seed >> 33) % IDS + 1;
        if (seed >> 62 == 0) {
            taken_remove(&t, id);
            flag[id] = false;
        } else {
            ck_assert(taken_add(&t, id));
            flag[id] = true;
        }
        if (i % 1000 == 0)
            taken_check(&t);
    }
    for (uint64_t id = 1; id <= IDS; id++)
        ck_assert(taken_has(&t, id) == flag[id]);
    taken_deinit(&t);
}
