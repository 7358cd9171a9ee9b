/* SPDX-License-Identifier: MIT */
/*
 * base/rand.h -- keyed hashing, unpredictable bytes, uuids.
 *
 * siphash24 is the hash of all that is stored: the deterministic randomness of
 * orchestrations (a function of seed, message and draw; SEMANTICS 13), keys of activities.
 * siphash13 is for maps: half the rounds; its output never leaves the process.
 */
#ifndef PAWL_BASE_RAND_H
#define PAWL_BASE_RAND_H

#include "pawl/types.h"

uint64_t siphash24(const uint64_t key[2], const void *data, size_t n);
uint64_t siphash13(const uint64_t key[2], const void *data, size_t n); /* memory only */
void random_bytes(void *to, size_t n); /* getrandom; aborts when the system has none */
/* The same for ids by the thousand: drawn ahead, for each thread its own, none given twice (nor
 * by a child of fork()). */
void random_ids(void *to, size_t n);
/* 36 characters and a NUL: version 7 with this time, the rest from `bits`. */
void uuid7_format(char out[37], int64_t ms, const uint8_t bits[10]);

#endif
