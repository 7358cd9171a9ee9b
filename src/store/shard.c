/* SPDX-License-Identifier: MIT */
/*
 * store/shard.c -- the shard that a name prefers (pawl/provider.h).
 *
 * A label is stored and read by other versions and other machines: these functions never change
 * (tests/unit/test_shard.c has values).
 */
#include "base/rand.h"
#include "pawl/provider.h"

#include <string.h>

static const uint64_t key[2] = {UINT64_C(0x7061776c20736861), UINT64_C(0x726473206f66206e)};

uint32_t pawl_shard_of(pawl_str id)
{
    return (uint32_t)(siphash24(key, id.ptr, id.ptr ? id.len : 0) % PAWL_SHARDS);
}

uint32_t pawl_shard_of_queue(pawl_str name)
{
    static const char end[] = "-deadletter";
    const size_t n = sizeof(end) - 1;

    if (name.ptr && name.len > n && memcmp(name.ptr + name.len - n, end, n) == 0)
        name.len -= n;
    return pawl_shard_of(name);
}
