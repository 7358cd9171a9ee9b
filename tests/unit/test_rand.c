/* SPDX-License-Identifier: MIT */
/* tests/unit/test_rand.c -- the hashes are SipHash-2-4 and 1-3, uuids are version 7. */
#include "../harness.h"
#include "base/rand.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* From the reference implementation: key 00..0f, input 00, 00 01, 00 01 02, … */
static const uint64_t vectors[] = {
    UINT64_C(0x726fdb47dd0e0e31), UINT64_C(0x74f839c593dc67fd), UINT64_C(0x0d6c8009d9a94f5a),
    UINT64_C(0x85676696d7fb7e2d), UINT64_C(0xcf2794e0277187b7), UINT64_C(0x18765564cd99a68d),
    UINT64_C(0xcbc9466e58fee3ce), UINT64_C(0xab0200f58b01d137), UINT64_C(0x93f5f5799a932462),
    UINT64_C(0x9e0082df0ba9e4b0), UINT64_C(0x7a5dbbc594ddb9f3), UINT64_C(0xf4b32f46226bada7),
    UINT64_C(0x751e8fbc860ee5fb), UINT64_C(0x14ea5627c0843d90), UINT64_C(0xf723ca908e7af2ee),
    UINT64_C(0xa129ca6149be45e5), UINT64_C(0x3f2acc7f57c29bdb),
};

TEST(the_hash_gives_the_reference_vectors)
{
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    uint8_t input[32];

    for (uint8_t i = 0; i < sizeof input; i++)
        input[i] = i;
    for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++)
        ck_assert_uint_eq(siphash24(key, input, n), vectors[n]);
}

TEST(the_hash_does_not_care_for_alignment)
{
    const uint64_t key[2] = {1, 2};
    char bytes[64];

    for (size_t shift = 0; shift < 16; shift++) {
        memcpy(bytes + shift, "a string of some length, say 40 bytes...", 40);
        ck_assert_uint_eq(siphash24(key, bytes + shift, 40),
                          siphash24(key, "a string of some length, say 40 bytes...", 40));
    }
    ck_assert_uint_eq(siphash24(key, NULL, 0), siphash24(key, "", 0));
}

/* As hash() of CPython 3.11 and later gives them with PYTHONHASHSEED=0, which is key 0. */
TEST(the_hash_of_maps_has_one_round_a_word_and_three_at_the_end)
{
    static const struct {
        const char *text;
        uint64_t hash;
    } known[] = {
        {"a",                                        UINT64_C(0x407448d2b89b1813)},
        {"abcdefg",                                  UINT64_C(0x6db12aae9070f506)},
        {"abcdefgh",                                 UINT64_C(0x3f7b849c0b8e35ea)},
        {"a string of some length, say 40 bytes...", UINT64_C(0xa0c7231b16509223)},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_uint_eq(
            siphash13((const uint64_t[2]){0, 0}, known[i].text, strlen(known[i].text)),
            known[i].hash);
}

TEST(random_bytes_fill_all_of_the_memory_and_differ)
{
    static unsigned char a[100000], b[100000];
    size_t zeros = 0;

    random_bytes(a, sizeof a);
    random_bytes(b, sizeof b);
    random_bytes(NULL, 0);
    ck_assert_mem_ne(a, b, sizeof a);
    for (size_t i = 0; i < sizeof a; i++)
        zeros += a[i] == 0;
    ck_assert_uint_gt(zeros, 200); /* about 390 */
    ck_assert_uint_lt(zeros, 700);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

TEST(ids_drawn_ahead_are_given_once)
{
    static uint64_t ids[5000];
    unsigned char large[2000];

    for (size_t i = 0; i < 5000; i++) {
        random_ids(&ids[i], 1 + i % 8); /* of any length: they do not divide what is drawn */
        random_ids(&ids[i], 8);
    }
    random_ids(large, sizeof large);
    qsort(ids, 5000, sizeof ids[0], by_value);
    for (size_t i = 1; i < 5000; i++)
        ck_assert_uint_ne(ids[i], ids[i - 1]);
    for (size_t i = 8; i < sizeof large; i += 8)
        ck_assert_mem_ne(large, large + i, 8);
}

TEST(a_child_of_fork_draws_its_own)
{
    uint64_t mine[2], its = 0;
    int ends[2], status;

    random_ids(&mine[0], 8); /* more is drawn ahead now */
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        random_ids(&its, 8);
        _exit(write(ends[1], &its, 8) != 8);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(read(ends[0], &its, 8), 8);
    random_ids(&mine[1], 8);
    ck_assert_uint_ne(its, mine[1]);
    close(ends[0]);
    close(ends[1]);
}

TEST(a_uuid_shows_its_time_version_and_bits)
{
    static const struct {
        int64_t ms;
        uint8_t bits[10];
        const char *text;
    } rows[] = {
        {0,                       {0},                                 "00000000-0000-7000-8000-000000000000"},
        {INT64_C(0xffffffffffff),
         {255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
         "ffffffff-ffff-7fff-bfff-ffffffffffff"                                                              },
 /* the example of RFC 9562, appendix A.6 */
        {INT64_C(0x017f22e279b0),
         {0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f},
         "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"                                                              },
    };
    char text[37];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uuid7_format(text, rows[i].ms, rows[i].bits);
        ck_assert_str_eq(text, rows[i].text);
    }
}

TEST(uuids_of_later_milliseconds_sort_later)
{
    char before[37] = "", after[37];
    uint8_t bits[10];

    for (int64_t ms = INT64_C(1789000000000); ms < INT64_C(1789000001000); ms++) {
        random_bytes(bits, sizeof bits);
        uuid7_format(after, ms, bits);
        ck_assert_int_lt(strcmp(before, after), 0);
        memcpy(before, after, sizeof before);
    }
}
