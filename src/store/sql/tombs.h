/* SPDX-License-Identifier: MIT */
/*
 * store/sql/tombs.h -- deleting what was removed, for purge and prune_executions of an SQL store.
 *
 * The store opens a transaction and gives a cursor on the connection that has it; it commits, or
 * rolls back when one of these says false and c->code why.
 */
#ifndef PAWL_STORE_SQL_TOMBS_H
#define PAWL_STORE_SQL_TOMBS_H

#include "store/sql/cursor.h"

/* Delete at most `limit` rows.  *retleft: there are more. */
bool tombs_purge(struct sql_cursor *c, uint32_t limit, bool *retleft);

/* Closed executions of an instance below `before` become tombs: *retcount of them.  *retfound:
 * there is such an instance. */
bool tombs_of_executions(struct sql_cursor *c, uint64_t uid, uint64_t before, bool *retfound,
                         uint64_t *retcount);

#endif
