/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/reading.h -- one statement on a reader connection, hence one snapshot.
 *
 * Taken from the pool with its statement ready to be bound, stepped, and given back; what went
 * wrong on the way is the status at the end.  For read.c, queue_read.c and queue_entries.c, on
 * any thread.
 */
#ifndef PAWL_STORE_SQLITE_READING_H
#define PAWL_STORE_SQLITE_READING_H

#include "store/sqlite/sqlite.h"

struct reading {
    struct sqlite_store *s;
    struct conn *c;
    sqlite3_stmt *stmt;
    const char *what; /* for errors: "cannot WHAT" */
    int rc;           /* of the last step */
};

/* False: nothing is held, and *retstatus says why. */
bool reading_begin(struct reading *r, pawl_store *base, enum statement which, const char *what,
                   pawl_mem *mem, pawl_status *retstatus, pawl_error *reterr);
/* Is there another row? */
bool reading_next(struct reading *r);
pawl_status reading_end(struct reading *r, pawl_error *reterr);

#endif
