/* SPDX-License-Identifier: MIT */
/*
 * trial/dice.h -- random numbers by seed and purpose (splitmix64).
 *
 * Each purpose has a stream of its own, so that turning one fault off moves as little
 * else as possible.
 */
#ifndef PAWL_TRIAL_DICE_H
#define PAWL_TRIAL_DICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

static inline uint64_t dice_next(struct dice *d)
{
    uint64_t z = (d->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline struct dice dice_of(uint64_t seed, const char *purpose)
{
    struct dice d = {seed * UINT64_C(0x2545f4914f6cdd1d)};
    for (const char *p = purpose; *p; p++)
        d.state = (d.state ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    (void)dice_next(&d);
    return d;
}

static inline uint64_t dice_below(struct dice *d, uint64_t n) /* 0 .. n-1 */
{
    return dice_next(d) % n;
}

static inline bool dice_chance(struct dice *d, unsigned permille)
{
    return dice_below(d, 1000) < permille;
}

#endif
