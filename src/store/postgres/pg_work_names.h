/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_work_names.h -- names of free work (store/sql/work_names.h), and what a fetch
 * that is under way notes with them.
 *
 * For pg_work.c.  The functions of pg_work_names.c are declared in postgres.h.
 */
#ifndef PAWL_STORE_POSTGRES_PG_WORK_NAMES_H
#define PAWL_STORE_POSTGRES_PG_WORK_NAMES_H

#include "store/postgres/postgres.h"
#include "store/sql/work_names.h"

struct pg_name {
    struct work_name known;
    /* During a fetch: of delayed work, how far it has come. */
    int64_t page_ms;
    uint64_t page_id;
    bool page_full;
    size_t due_found;
    uint64_t turn;   /* the fetch that asked for it */
    bool stopped[2]; /* of fresh and ready work: not all that was found is taken */
};

struct pg_names {
    struct work_names known;    /* of struct pg_name */
    VEC(struct pg_name *) look; /* those of a fetch that may have something */
    uint64_t turn;              /* fetches so far */
};

/* Find out where abandoned rows are; those that are gone are forgotten (pg_work.c). */
pawl_status pg_work_settle(struct pg_store *s, int64_t now_ms, pawl_mem *mem, pawl_error *reterr);

#endif
