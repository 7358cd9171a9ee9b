/* SPDX-License-Identifier: MIT */
/* tests/unit/test_shard.c -- the shard of a name: the same for ever, for labels are stored. */
#include "../harness.h"
#include "pawl/provider.h"

#include <stdio.h>

TEST(a_name_has_the_shard_it_always_had)
{
    static const struct {
        const char *name;
        uint32_t shard;
    } names[] = {
        {"",                60},
        {"a",               19},
        {"order-1",         29},
        {"order-2",         26},
        {"Grüße",         18},
        {"mail",            41},
        {"mail-deadletter", 51}
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_uint_eq(pawl_shard_of(pawl_s(names[i].name)), names[i].shard);
}

TEST(a_queue_and_its_dead_letters_have_one_shard)
{
    ck_assert_uint_eq(pawl_shard_of_queue(pawl_s("mail")), 41);
    ck_assert_uint_eq(pawl_shard_of_queue(pawl_s("mail-deadletter")), 41);
    ck_assert_uint_eq(pawl_shard_of_queue(pawl_s("mail-deadletter-2")),
                      pawl_shard_of(pawl_s("mail-deadletter-2")));
    ck_assert_uint_eq(pawl_shard_of_queue(pawl_s("-deadletter")),
                      pawl_shard_of(pawl_s("-deadletter"))); /* of no queue */
}

TEST(names_that_differ_little_are_spread)
{
    unsigned counts[PAWL_SHARDS] = {0};
    char name[32];
    for (int i = 0; i < 64000; i++) {
        (void)snprintf(name, sizeof(name), "order-%d", i);
        counts[pawl_shard_of(pawl_s(name))]++;
    }
    for (int i = 0; i < PAWL_SHARDS; i++)
        ck_assert_msg(counts[i] > 850 && counts[i] < 1150, "shard %d has %u of 64000", i,
                      counts[i]);
}
