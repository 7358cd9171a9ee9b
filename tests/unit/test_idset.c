/* SPDX-License-Identifier: MIT */
/* tests/unit/test_idset.c -- the set of ids, against a plain array of flags. */
#include "../harness.h"
#include "base/idset.h"

#include <string.h>

#define IDS 3000

TEST(an_empty_set_has_nothing)
{
    struct idset s;
    idset_init(&s);
    ck_assert(!idset_has(&s, 1));
    ck_assert(!idset_has(&s, 0));
    idset_remove(&s, 1);
    idset_reset(&s);
    idset_check(&s);
    idset_deinit(&s);
}

TEST(adding_twice_is_once_and_reset_forgets)
{
    struct idset s;
    idset_init(&s);
    ck_assert(idset_add(&s, 7) && idset_add(&s, 7));
    ck_assert_uint_eq(s.count, 1);
    idset_reset(&s);
    ck_assert(!idset_has(&s, 7));
    ck_assert(idset_reserve(&s, 10000));
    ck_assert_uint_ge(s.cap / 4 * 3, 10000);
    idset_deinit(&s);
}

TEST(random_adds_and_removes_agree_with_flags)
{
    static bool flag[IDS + 1];
    struct idset s;
    idset_init(&s);
    uint64_t seed = 42;
    for (int i = 0; i < 100000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t id = (seed >> 33) % IDS + 1;
        if (seed >> 62 == 0) {
            idset_remove(&s, id);
            flag[id] = false;
        } else {
            ck_assert(idset_add(&s, id));
            flag[id] = true;
        }
        if (i % 1000 == 0)
            idset_check(&s);
    }
    for (uint64_t id = 1; id <= IDS; id++)
        ck_assert(idset_has(&s, id) == flag[id]);
    idset_deinit(&s);
}

TEST(the_list_has_every_id_once)
{
    struct idset s;
    idset_init(&s);
    bool listed[101] = {false};
    uint64_t list[100];
    for (uint64_t id = 1; id <= 100; id++)
        ck_assert(idset_add(&s, id));
    idset_list(&s, list);
    for (size_t i = 0; i < 100; i++) {
        ck_assert(list[i] >= 1 && list[i] <= 100 && !listed[list[i]]);
        listed[list[i]] = true;
    }
    idset_deinit(&s);
}
