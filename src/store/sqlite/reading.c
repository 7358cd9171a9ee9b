/* SPDX-License-Identifier: MIT */
/* store/sqlite/reading.c -- see the header. */
#include "store/sqlite/reading.h"

bool reading_begin(struct reading *r, pawl_store *base, enum statement which, const char *what,
                   pawl_mem *mem, pawl_status *retstatus, pawl_error *reterr)
{
    *r = (struct reading){.s = sqlite_of(base), .what = what};
    *retstatus = pool_take(r->s, mem, &r->c, reterr);
    if (*retstatus != PAWL_OK)
        return false;
    r->stmt = conn_statement(r->c, which);
    if (r->stmt)
        return true;
    *retstatus = conn_error(r->c, sqlite3_extended_errcode(r->c->db), what, reterr);
    pool_give(r->s, r->c);
    return false;
}

bool reading_next(struct reading *r)
{
    r->rc = sqlite3_step(r->stmt);
    return r->rc == SQLITE_ROW;
}

pawl_status reading_end(struct reading *r, pawl_error *reterr)
{
    pawl_status status = PAWL_OK;

    if (r->rc != SQLITE_ROW && r->rc != SQLITE_DONE)
        status = conn_error(r->c, r->rc, r->what, reterr);
    (void)sqlite3_reset(r->stmt);
    pool_give(r->s, r->c);
    return status;
}
