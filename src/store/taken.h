/* SPDX-License-Identifier: MIT */
/*
 * store/taken.h -- the set of rows an engine has taken (peek-locked).
 *
 * Locks inside the process live in memory only: whoever takes the store next
 * starts with an empty set, so a dead engine blocks nobody.  A set of row ids
 * with room reserved in advance, because rows become taken right after a commit
 * that can no longer be undone.
 *
 * Open addressing, at most 3/4 full, no tombstones (removal shifts back).  Id 0
 * is never a row.  Not locked: one thread at a time, as the [engine] operations.
 *
 * Invariants (taken_check): `count` slots are filled; every id is found by
 * probing from its home slot.
 */
#ifndef PAWL_STORE_TAKEN_H
#define PAWL_STORE_TAKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct taken {
    uint64_t *slots; /* owned; 0: empty */
    size_t cap;      /* power of two, or 0 */
    size_t count;
};

void taken_init(struct taken *t);
void taken_deinit(struct taken *t);
void taken_reset(struct taken *t); /* nothing is taken; memory is kept */

/* Make room for `more` ids, so that as many adds cannot fail.  False: out of memory. */
bool taken_reserve(struct taken *t, size_t more);
/* Add an id; one that is there already is fine.  False: out of memory. */
bool taken_add(struct taken *t, uint64_t id);
void taken_remove(struct taken *t, uint64_t id); /* not there: nothing */
bool taken_has(const struct taken *t, uint64_t id);
void taken_check(const struct taken *t);

#endif
