/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_burial.h -- lanes that end without a word of their own: one transaction in two
 * round trips.
 *
 *     burial_begin ─▶ (the caller's statements) ─▶ burial_look ─▶ burial_end │ burial_cancel
 *                                                                    ─▶ burial_deinit
 *
 * The first round trip locks the row of the cluster, so that no lane comes, goes or gives meanwhile,
 * and the rows of the lanes that end, which waits for their commits under way.  The second deletes
 * those rows, so that no later commit of them finds its fence, and gives their shards to the lanes
 * that have the fewest.
 *
 * For pg_bury.c and pg_node.c; on any thread, over a connection of the pool.
 */
#ifndef PAWL_STORE_POSTGRES_PG_BURIAL_H
#define PAWL_STORE_POSTGRES_PG_BURIAL_H

#include "store/postgres/postgres.h"

struct living {
    uint64_t lane, shards;
};

struct burial {
    struct pg_store *s;
    struct pg_link *link; /* NULL: there is none */
    struct pg_params params;
    size_t own;               /* statements of the caller */
    struct pg_ids dead;       /* numbers of lanes that end */
    uint64_t shards;          /* that they have */
    VEC(struct living) heirs; /* by epoch */
    bool memory_gone;
    struct pg_array shard, heir; /* who gets what */
    /* Of the statement `index` of the caller's, from 0. */
    void (*on_own)(struct burial *b, size_t index, const PGresult *r);
    uint64_t found; /* for on_own */
};

/* A connection, and a pipeline with BEGIN and the lock of the cluster. */
PAWL_MUST_USE pawl_status burial_begin(struct burial *b, pawl_store *s, pawl_error *reterr);
/* A statement of the caller's, with b->params; they are empty then. */
void burial_send(struct burial *b, int statement);
/* Lock the lanes that `lock` returns, with b->params as its parameters.  Anything but PAWL_OK: it is
 * rolled back. */
PAWL_MUST_USE pawl_status burial_look(struct burial *b, int lock, pawl_error *reterr);
PAWL_MUST_USE pawl_status burial_end(struct burial *b, pawl_error *reterr);
void burial_cancel(struct burial *b);
void burial_deinit(struct burial *b);

#endif
