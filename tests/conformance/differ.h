/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/differ.h -- the same operations through two stores must give the
 * same answers and the same contents.
 *
 * What the contract leaves open is not asked: removed instances are purged before
 * the next fetch, the clock does not step back, work has its event's rid as its
 * id and is dropped when its execution ends.
 */
#ifndef PAWL_TESTS_DIFFER_H
#define PAWL_TESTS_DIFFER_H

#include "pawl/conformance.h"

/* Where the operations come from: a seed, or bytes (a fuzzer's) until they end. */
struct differ_source {
    uint64_t seed;
    uint64_t steps; /* at most */
    const uint8_t *bytes;
    size_t count;
};

/* False, with a line that begins with FAIL, when the stores differ. */
bool differ_run(const pawl_conformance_factory *a, const pawl_conformance_factory *b,
                struct differ_source from);

#endif
