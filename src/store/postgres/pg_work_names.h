/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_work_names.h -- what is known in memory about free work, by name.
 *
 * A name may report work where there is none, never the opposite: code that makes a row free calls
 * pg_work_appeared() or abandons it, and both move the memory back.  So a fetch for names that
 * have nothing needs no statement.  Engine thread only.
 *
 * Called by pg_work.c (a look moves it on), pg_commit.c and pg_take.c.
 */
#ifndef PAWL_STORE_POSTGRES_PG_WORK_NAMES_H
#define PAWL_STORE_POSTGRES_PG_WORK_NAMES_H

#include "store/postgres/postgres.h"

/* Work that is free and that no page finds: it is held in its table, or lies behind a place that
 * was read. */
struct loose_work {
    uint64_t id;
    int64_t free_ms;
};

struct pg_name {
    pawl_str name;
    bool ready;                  /* there may be work that is free now */
    uint64_t fresh_id, ready_id; /* up to here it is taken or gone */
    int64_t look_ms;             /* when delayed work may be free */
    int64_t due_ms;              /* delayed work up to (due_ms, due_id) is taken or gone */
    uint64_t due_id;
    VEC(struct loose_work) loose; /* those of them that are in pg_store.loose are */
    /* During a fetch: of delayed work, how far it has come. */
    int64_t page_ms;
    uint64_t page_id;
    bool page_full;
    size_t due_found;
    uint64_t turn;   /* the fetch that asked for it */
    bool stopped[2]; /* of fresh and ready work: not all that was found is taken */
    char text[];
};

struct pg_names {
    struct map by_name;         /* owns them */
    struct idset abandoned;     /* given back; where they are is not known yet */
    VEC(struct pg_name *) look; /* those of a fetch that may have something */
    uint64_t turn;              /* fetches so far */
};

/* Made when missing; NULL: no memory. */
struct pg_name *pg_name_of(struct pg_store *s, pawl_str name);
/* Unneeded ones, when there are many. */
void pg_names_trim(struct pg_store *s);
/* A row of this name may be free from `free_ms` on. */
void pg_name_look_again(struct pg_name *n, uint64_t id, int64_t free_ms);
/* It is free, and no page finds it. */
void pg_name_loosen(struct pg_store *s, struct pg_name *n, uint64_t id, int64_t free_ms);

#endif
