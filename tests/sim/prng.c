/* SPDX-License-Identifier: MIT */
/* tests/sim/prng.c -- splitmix64 by stream name, and a small hash. */
#include "sim.h"

#include <string.h>

struct prng prng_split(uint64_t seed, const char *stream)
{
    struct prng r = {hash_number(hash_bytes(0, stream, strlen(stream)), seed)};
    (void)prng_next(&r);
    return r;
}

uint64_t prng_next(struct prng *r)
{
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t prng_below(struct prng *r, uint64_t n)
{
    uint64_t bits = prng_next(r);
    return n ? bits % n : 0;
}

int64_t prng_between(struct prng *r, int64_t low, int64_t high)
{
    return low + (int64_t)prng_below(r, (uint64_t)(high - low + 1));
}

bool prng_chance(struct prng *r, unsigned permille)
{
    return prng_below(r, 1000) < permille;
}

uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    h ^= UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h ^ (h >> 29);
}

uint64_t hash_number(uint64_t h, uint64_t n)
{
    return hash_bytes(h, &n, sizeof(n));
}

uint64_t hash_str(uint64_t h, pawl_str s)
{
    return hash_bytes(hash_number(h, s.len), s.ptr, s.len);
}
