/* SPDX-License-Identifier: MIT */
/* tests/unit/test_sha256.c -- SHA-256 by the examples of FIPS 180-4; token files depend on it. */
#include "../harness.h"
#include "base/hex.h"
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

static void check_hash(const void *data, size_t n, const char *want)
{
    uint8_t hash[32];
    char got[65];

    sha256(data, n, hash);
    hex_write(got, hash, sizeof(hash));
    ck_assert_str_eq(got, want);
}

TEST(the_examples_of_the_standard)
{
    check_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_hash("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
               "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
               112, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

TEST(a_million_bytes)
{
    char *bytes = malloc(1000000);

    memset(bytes, 'a', 1000000);
    check_hash(bytes, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(bytes);
}
