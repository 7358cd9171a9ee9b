/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/round.h -- what the parts of applying a round share: round.c (instance, events,
 * messages, keys), round_work.c (work) and round_objects.c (named objects, entries of attributes).
 */
#ifndef PAWL_STORE_SQLITE_ROUND_H
#define PAWL_STORE_SQLITE_ROUND_H

#include "store/sqlite/sqlite.h"

/* Not an SQLite code: the round breaks clause C3. */
#define ROUND_REFUSED (-1)

struct apply {
    struct sqlite_store *s;
    struct conn *c;
    const pawl_round *r;
    bool wrote; /* decides how a refusal is undone */
};

int apply_run(struct apply *a, sqlite3_stmt *stmt);
/* Run a statement whose only parameter is an id, once per id. */
int apply_ids(struct apply *a, int which, const uint64_t *ids, size_t count);
/* Write the pending rows if one of them could have this id.  A refused row may belong to another
 * round: then the group is run again, one round at a time. */
int apply_before(struct apply *a, uint64_t id);
/* The code for a statement that could not be prepared. */
int apply_broken(struct apply *a);

int delete_needed(struct apply *a); /* work the round must find: REFUSED when it is gone */
int change_work(struct apply *a);
int change_attributes(struct apply *a); /* entries of their index (G2) */
int change_objects(struct apply *a);    /* REFUSED when one has another version */

#endif
