/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/purge.c -- purge and prune, each a commit of its own.
 *
 * store/sql/tombs.c says which rows go.
 */
#include "base/limits.h"
#include "store/sql/tombs.h"
#include "store/sqlite/sqlite.h"

static struct sql_cursor writing(struct sqlite_store *s)
{
    return (struct sql_cursor){.driver = &sqlite_driver, .store = &s->sql.base, .conn = &s->writer};
}

pawl_status sqlite_purge(pawl_store *base, pawl_fence *fence, uint32_t limit, bool *retleft,
                         pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    struct sql_cursor c = writing(s);
    bool left;

    pawl_status status = group_begin(s, fence, reterr);
    if (status != PAWL_OK)
        return status;
    if (!tombs_purge(&c, limit, &left))
        return group_fail(s, c.code, "purge", reterr);
    status = group_end(s, fence, reterr);
    if (status == PAWL_OK)
        *retleft = left;
    return status;
}

pawl_status sqlite_prune_executions(pawl_store *base, pawl_fence *fence, uint64_t uid,
                                    uint64_t before_execution, uint64_t *retcount,
                                    pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    struct sql_cursor c = writing(s);
    uint64_t count;
    bool found;

    pawl_status status = group_begin(s, fence, reterr);
    if (status != PAWL_OK)
        return status;
    if (!tombs_of_executions(&c, uid, before_execution, &found, &count))
        return group_fail(s, c.code, "prune executions", reterr);
    if (!found) {
        conn_rollback(&s->writer);
        error_set(reterr, PAWL_NOT_FOUND, "there is no instance with uid %llu",
                  (unsigned long long)uid);
        return PAWL_NOT_FOUND;
    }
    status = group_end(s, fence, reterr);
    if (status == PAWL_OK)
        *retcount = count;
    return status;
}
