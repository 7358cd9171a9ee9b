/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/outcome.c -- the outcome of a commit whose reply was lost.
 *
 * The fence's row has the number of the last commit.  It can be trusted only while every commit
 * of this process succeeded or changed nothing.  After a COMMIT whose sync failed (s->broken) the
 * page cache may show what the disk does not have, so the answer is UNKNOWN: the process stops,
 * and the next open checks the file and writes it again (dirty.c).
 *
 * So only a decorator that loses replies gets a yes or a no here.  Called by the runtime after
 * UNKNOWN, and by the conformance suite.
 */
#include "base/attr.h"
#include "base/limits.h"
#include "store/sqlite/sqlite.h"

static int read_last(struct conn *c, uint64_t *retepoch, uint64_t *retgroup)
{
    sqlite3_stmt *stmt = conn_statement(c, ST_FENCE_READ);

    if (!stmt)
        return sqlite3_extended_errcode(c->db);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        *retepoch = column_id(stmt, 0);
        *retgroup = column_id(stmt, 1);
    }
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

pawl_status sqlite_outcome(pawl_store *base, pawl_fence *fence, pawl_round *rounds UNUSED,
                           size_t count UNUSED, int64_t now_ms UNUSED, bool *retcommitted,
                           pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    uint64_t epoch = 0, group = 0;

    pawl_status status = engine_check(s, reterr);
    if (status != PAWL_OK)
        return status;
    int rc = read_last(&s->writer, &epoch, &group);
    if (rc != SQLITE_OK)
        return conn_error(&s->writer, rc, "read the fence", reterr);
    if (epoch != fence->epoch) {
        error_set(reterr, PAWL_FENCED,
                  "another process took this store (our epoch is %llu); this one stops",
                  (unsigned long long)fence->epoch);
        return PAWL_FENCED;
    }
    *retcommitted = group > fence->group_no;
    if (*retcommitted)
        *fence = s->fence;
    return PAWL_OK;
}
