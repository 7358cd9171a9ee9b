/* SPDX-License-Identifier: MIT */
/*
 * store/sql/damage.h -- damaged rows that a store has read: how many, and the last one.
 *
 * For the log and the metrics.  Any thread adds; a caller that tells may see the count of one row
 * and the name of the next, which only concerns the text.
 *
 * Called by the SQL stores.
 */
#ifndef PAWL_STORE_SQL_DAMAGE_H
#define PAWL_STORE_SQL_DAMAGE_H

#include "pawl/provider.h"

#include <stdatomic.h>

struct damage {
    atomic_uint_fast64_t count;
    _Atomic(const char *) what; /* static */
    atomic_uint_fast64_t id;
};

/* One more; `s` is an SQL store. */
void damage_note(pawl_store *s, const char *what, uint64_t id);
void damage_tell(struct damage *d, pawl_store_figures *figures);

#endif
