/* SPDX-License-Identifier: MIT */
/*
 * store/sql/work_names.h -- what is known in memory about free work, by the name it is filed under.
 *
 * A name may report work where there is none, never the opposite: a commit that makes a row
 * free, and an abandoned row, move the memory back.  So a fetch for names that have
 * nothing needs no statement, and work that this process cannot do is never read.  Engine thread
 * only.
 *
 * Called by the fetches, the commits and the openings of the SQL stores.
 */
#ifndef PAWL_STORE_SQL_WORK_NAMES_H
#define PAWL_STORE_SQL_WORK_NAMES_H

#include "base/idset.h"
#include "base/map.h"
#include "base/vec.h"
#include "pawl/provider.h"

#define WORK_NAMES_MAX 16384 /* more are trimmed */

/* Work that is free and that no index finds from the places below on. */
struct loose_work {
    uint64_t id;
    int64_t free_ms; /* when it was let go; the row may say another time now */
};

struct work_name {
    pawl_str name;
    bool ready;        /* there may be work that is free now */
    uint64_t fresh_id; /* untried work up to here is taken or gone */
    uint64_t ready_id; /* other work that was never delayed: likewise */
    int64_t look_ms;   /* no delayed work gets free before this */
    int64_t due_ms;    /* delayed work up to (due_ms, due_id) is taken or gone */
    uint64_t due_id;
    VEC(struct loose_work) loose; /* those that are not in the set `loose` are stale */
};

struct work_names {
    struct map by_name; /* -> struct work_name, owned */
    struct idset taken; /* by a fetch */
    struct idset loose;
    struct idset abandoned; /* given back, and where they are is not known yet */
    size_t each; /* bytes of one name: a store puts fields of its own behind struct work_name */
};

void work_names_init(struct work_names *w, size_t each);
void work_names_reset(struct work_names *w); /* after a take: nothing is known */
void work_names_deinit(struct work_names *w);

/* Made when missing; NULL: no memory. */
void *work_name_of(struct work_names *w, pawl_str name);
/* Names come from outside and are only a cache: when there are many, start again, but keep those
 * with loose work, which is known nowhere else. */
void work_names_trim(struct work_names *w);

/* A row of this name may be free from `free_ms` on. */
void work_name_look_again(struct work_name *n, uint64_t id, int64_t free_ms);
/* It is free, and no index finds it. */
void work_name_loosen(struct work_names *w, struct work_name *n, uint64_t id, int64_t free_ms);
/* The round is committed: what it freed may be fetched by `epoch`, what it dropped is forgotten. */
void work_names_remember(struct work_names *w, const pawl_round *r, uint64_t epoch);

/* From when on a row that the engine does not have can be fetched; FREE_MS in SQL. */
static inline int64_t work_free_ms(int64_t visible_ms, pawl_str token, int64_t until_ms)
{
    return token.len && until_ms > visible_ms ? until_ms : visible_ms;
}

#endif
