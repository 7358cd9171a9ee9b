/* SPDX-License-Identifier: MIT */
/*
 * base/idset.h -- a set of ids.
 *
 * A map with nothing behind its keys would need a pointer for each, and a value that means
 * "it is there".  This is half the memory, and room can be reserved in advance, for ids that are
 * added where nothing may fail any more (right after a commit).
 *
 * Open addressing, at most 3/4 full, no tombstones (removal shifts back).  Id 0 is never in a
 * set: rows, instances and messages are numbered from 1.  Not locked.
 *
 * Invariants (idset_check): `count` slots are filled; every id is found by probing from its home
 * slot.
 */
#ifndef PAWL_BASE_IDSET_H
#define PAWL_BASE_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idset {
    uint64_t *slots; /* owned; 0: empty */
    size_t cap;      /* power of two, or 0 */
    size_t count;
};

void idset_init(struct idset *s);
void idset_deinit(struct idset *s);
void idset_reset(struct idset *s); /* empty; memory is kept */

/* Make room for `more` ids, so that as many adds cannot fail.  False: out of memory. */
bool idset_reserve(struct idset *s, size_t more);
/* Add an id; one that is there already is fine.  False: out of memory. */
bool idset_add(struct idset *s, uint64_t id);
void idset_remove(struct idset *s, uint64_t id); /* not there: nothing */
bool idset_has(const struct idset *s, uint64_t id);
/* All `count` ids, in no order. */
void idset_list(const struct idset *s, uint64_t *to);
void idset_check(const struct idset *s);

#endif
