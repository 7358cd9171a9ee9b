/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/kept_tables.h -- the tables of long histories, kept between two looks.
 *
 * What an instance waits for follows from its history, and people look at the same long one again
 * and again while it grows.  So the tables of the last few are kept, and the next look reads the
 * events that came since.  A table is taken out while a thread uses it: two threads never share
 * one, and the second makes its own.
 *
 * Invariants: an entry has replayed exactly the events 1 to `seq` of that execution; uids are never
 * used again, so an entry never belongs to another instance.  Called by query.c; opened and closed
 * with the runtime.
 */
#ifndef PAWL_RUNTIME_KEPT_TABLES_H
#define PAWL_RUNTIME_KEPT_TABLES_H

#include "engine/engine.h"
#include "runtime/core/runtime.h"

struct kept_tables;

struct kept_table {
    uint64_t uid, execution, seq;
    int64_t cancel_ms; /* when cancellation was requested; 0: it was not */
    execution *x;
};

struct kept_tables *kept_tables_open(void); /* NULL: no memory; then none are kept */
void kept_tables_close(struct kept_tables *k);
/* The entry of that execution, or an empty one. */
struct kept_table kept_tables_take(struct kept_tables *k, uint64_t uid, uint64_t execution_no);
/* Keep it for the next look, or not: its tables are the callee's from now on. */
void kept_tables_put(struct kept_tables *k, struct kept_table table);

#endif
