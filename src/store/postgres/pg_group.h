/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_group.h -- the rows of a group, collected by table.
 *
 *     group_reset ─▶ group_add (a round) … ─▶ group_send (into an open pipeline)
 *
 * Each list is the parameters of one statement: an array per column, a row per row of the table.
 * They are sent in the order below, which is that of a round: what frees a head or an id first,
 * then the compare-and-set of heads, new instances, needed work, events, messages, work, keys, objects,
 * attributes.
 * Within one list the rounds are mixed, so a group may be collected only when its rounds are
 * independent of each other (pg_independent.c); a single round always may.
 *
 * Called by pg_commit.c alone.
 */
#ifndef PAWL_STORE_POSTGRES_PG_GROUP_H
#define PAWL_STORE_POSTGRES_PG_GROUP_H

#include "store/postgres/postgres.h"

#define PG_COLUMNS_MAX 19
#define PG_MARK_EVERY  128 /* events; as in SQLite */

/* X(list, statement, columns, counted).  Columns: 8, 4, 2 bytes of a number, o a bool, t text,
 * b bytes.  Counted: the number of rows follows the columns; OURS: so do that and our shards. */
enum pg_counted { PG_UNCOUNTED = false, PG_COUNT = true, PG_COUNT_OURS };
/* clang-format off */
#define PG_LISTS(X)                                                                                \
    X(OPEN_MOVE, OPEN_MOVE, "88888888otb", false)                                                  \
    X(OPEN_NEED, OPEN_NEED, "88", true)                                                            \
    X(OPEN_DROP, OPEN_DROP, "88", false)                                                           \
    X(REMOVE, REMOVE, "844", PG_COUNT_OURS)     /* before anything is inserted … */                \
    X(EXECUTION_END, EXECUTION_END, "844t4888", true)                                              \
    X(HEAD_LAST, HEAD_LAST, "844448888", true)                                                     \
    X(HEAD_ALL, HEAD_ALL, "84444888822", true)                                                     \
    X(HEAD_CHECK, HEAD_CHECK, "844", PG_COUNT_OURS)                                                \
    X(INSTANCE, INSTANCE_INSERT, "8888tt88ttbbbb", false)                                          \
    X(HEAD, HEAD_INSERT, "844888222", false)                                                       \
    X(EXECUTION_MAKE, EXECUTION_MAKE, "88tt88888b", false)                                         \
    X(INSTANCE_UPDATE, INSTANCE_UPDATE, "888ttbbbb", false)                                        \
    X(ODD, ODD_INSERT, "28", false)                                                                \
    X(REMOVE_LATE, REMOVE, "844", PG_COUNT_OURS) /* … or after it */                               \
    X(WORK_NEED, WORK_NEED, "8", true)                                                             \
    X(EVENT_CHECK, EVENT_CHECK, "8", false)                                                        \
    X(EVENT, EVENT_INSERT, "8888884422tbbtbb", false)                                              \
    X(MARK, MARK_INSERT, "8448", false)                                                            \
    X(MESSAGE, MESSAGE_INSERT, "888884ttbb8822", false)                                            \
    X(MESSAGE_LOOK, MESSAGE_LOOK, "888884ttbb8822", false)                                         \
    X(MESSAGE_UPDATE, MESSAGE_UPDATE, "8882", false)                                               \
    X(MESSAGE_MOVE, MESSAGE_MOVE, "88822", false)                                                  \
    X(QUARANTINE, QUARANTINE_MOVE, "8b", false)                                                    \
    X(MESSAGE_DROP, MESSAGE_DELETE, "8", false)                                                    \
    X(UNTRIED, UNTRIED_CHECK, "8", false)                                                          \
    X(FRESH, FRESH_INSERT, "88t82", false)                                                         \
    X(WORK, WORK_INSERT, "88888ttbb888888otb2", false)                                             \
    X(WORK_UPDATE, WORK_UPDATE, "8888888otb", false)                                               \
    X(WORK_DROP, WORK_DELETE, "8", false)                                                          \
    X(KEY, KEY_INSERT, "8b", false)                                                                \
    X(OBJECT_NEW, OBJECT_INSERT, "4t8b", false)                                                    \
    X(OBJECT_SET, OBJECT_UPDATE, "4t88b", true)                                                    \
    X(OBJECT_PUT, OBJECT_PUT, "4t8b", false)                                                       \
    X(OBJECT_REMOVE, OBJECT_DELETE, "4t8", true)                                                   \
    X(OBJECT_DROP, OBJECT_DROP, "4t", false)                                                       \
    X(ATTRIBUTE_DROP, ATTRIBUTE_DROP, "tt8", false)                                                \
    X(ATTRIBUTE_PUT, ATTRIBUTE_PUT, "tt8", false)
/* clang-format on */

enum pg_list {
#define PG_LIST_ENUM(list, statement, columns, counted) LIST_##list,
    PG_LISTS(PG_LIST_ENUM)
#undef PG_LIST_ENUM
        PG_LIST_COUNT
};

/* One list: a row is written column by column, in their order. */
struct pg_rows {
    struct pg_array column[PG_COLUMNS_MAX];
    int width;
    int next; /* column of the row that is being written; 0: none is */
    size_t count;
};

struct pg_group {
    struct pg_rows lists[PG_LIST_COUNT];
    VEC(struct open_plan) plans; /* of the rounds of the last commit, until it is decided */
    VEC(struct pg_label) labels; /* that the server gave messages of that commit */
    size_t label_at;             /* the one that was asked for last */
    uint64_t work_shards;        /* of the work that this commit updated */
    VEC(size_t) order;           /* scratch: in which starts are inserted */
    struct idset ids;            /* scratch: hashes of ids that are made */
    struct idset named;          /* scratch of pg_independent.c */
    struct idset changed;
    struct idset rids;    /* scratch: of events */
    struct idset objects; /* scratch: hashes of their names */
    uint64_t new_from;    /* events with rids from here on need not be looked for */
    bool removes_late;    /* every removal of the group comes after every start */
};

/* Nothing is collected; memory is kept. */
void group_reset(struct pg_group *g);
/* Add the rows of a round; what becomes of its head's open work. */
struct open_plan group_add(struct pg_group *g, const struct pg_store *s, const pawl_round *r);
/* Send every list that has rows.  False: not sent. */
bool group_send(struct pg_group *g, struct pg_store *s);

/* May the rounds be mixed?  False also when one of them is refused in any case. */
bool rounds_are_independent(struct pg_group *g, const struct pg_store *s, const pawl_round *rounds,
                            size_t count);
/* Refused, whatever the tables have (C3). */
bool round_is_hopeless(const struct pg_store *s, const pawl_round *r);
/* Its instance is in the shard of another lane, as far as the round itself says it (E6). */
bool round_is_elsewhere(const struct pg_store *s, const pawl_round *r);

#endif
