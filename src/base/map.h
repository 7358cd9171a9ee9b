/* SPDX-License-Identifier: MIT */
/*
 * base/map.h -- hash maps from a number or a string to a pointer.
 *
 * Open addressing, power-of-two capacity, at most 3/4 full, keyed SipHash for
 * strings (ids come from outside).  String keys are borrowed: they must live as
 * long as the entry (usually inside the value).  Iterate with a cursor starting
 * at 0; do not insert while iterating, removing the current entry is fine.
 */
#ifndef PAWL_BASE_MAP_H
#define PAWL_BASE_MAP_H

#include "pawl/types.h"

struct map_slot;

struct map {
    struct map_slot *slots; /* owned */
    size_t cap;
    size_t count;
    size_t dead;
};

void map_init(struct map *m);
void map_deinit(struct map *m);
void map_reset(struct map *m);

/* By number; 0 is a valid key. */
void *map_get(const struct map *m, uint64_t key);
bool map_put(struct map *m, uint64_t key, void *value); /* replaces; false: out of memory */
void *map_remove(struct map *m, uint64_t key);          /* the value, or NULL */
/* Make room for `more` keys, so that as many puts cannot fail, whatever is removed in between.
 * False: out of memory. */
bool map_reserve(struct map *m, size_t more);

/* By string. */
void *map_gets(const struct map *m, pawl_str key);
bool map_puts(struct map *m, pawl_str key, void *value);
void *map_removes(struct map *m, pawl_str key);

/* String keys are hashed with a random key of the process, so the order of iteration differs
 * from run to run.  A simulator fixes the key, while no map holds strings. */
void map_fix_order(uint64_t seed);

/* Next value, or NULL at the end. */
void *map_next(const struct map *m, size_t *cursor);

#endif
