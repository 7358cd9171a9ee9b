/* SPDX-License-Identifier: MIT */
/*
 * store/sql/cursor.h -- one statement on a connection for readers, whatever the database.
 *
 * The readers of this room are written once, over this interface; each SQL store brings a driver.
 * A cursor holds a connection from begin to end.  Its statement is bound and stepped through, or
 * sought by one id after the other, and another one may follow on the same connection.  What went
 * wrong on the way is the status at the end.
 *
 *     begin ─▶ (bind ─▶ next … │ seek …) ─▶ (use ─▶ bind ─▶ next … │ seek …) ─▶ end
 *
 * The driver decodes whole rows: its code comes from the lists of columns.h, so that a row costs
 * one call through a pointer and not one per column.  Called on any thread; a cursor belongs to
 * one.
 */
#ifndef PAWL_STORE_SQL_CURSOR_H
#define PAWL_STORE_SQL_CURSOR_H

#include "base/vec.h"
#include "pawl/provider.h"
#include "store/sql/damage.h"

struct sql_driver;

/* What an SQL store begins with. */
struct sql_store {
    pawl_store base;
    const struct sql_driver *driver;
    struct damage damage;
};

enum sql_step {
    SQL_STEP_DONE, /* no row, or no row any more */
    SQL_STEP_ROW,
    SQL_STEP_FAILED,
};

struct sql_cursor {
    const struct sql_driver *driver;
    pawl_store *store;
    void *conn; /* the driver's */
    void *stmt;
    const char *what; /* for errors: "cannot WHAT" */
    enum sql_step step;
    int code; /* why it failed; the driver's */
};

/* Where the row of an event says that it belongs, and its check sum. */
struct sql_event_place {
    uint64_t uid;
    uint64_t execution;
    uint64_t seq;
    uint64_t prev;
    int64_t sum;
};

/* Can the row that was read be believed? */
enum sql_sight {
    SQL_SOUND,
    SQL_DAMAGED,    /* not what was written */
    SQL_UNREADABLE, /* cannot be decoded */
};

typedef VEC(pawl_event) sql_events;

struct sql_started {
    int statement;
    int parameters;
};

struct sql_driver {
    bool (*begin)(struct sql_cursor *c, int statement, pawl_mem *mem, pawl_status *retstatus,
                  pawl_error *reterr);
    bool (*snapshot)(struct sql_cursor *c);
    bool (*use)(struct sql_cursor *c, int statement);
    void (*rest)(struct sql_cursor *c);
    bool (*next)(struct sql_cursor *c);
    bool (*seek)(struct sql_cursor *c, uint64_t id);
    /* Both are there, or none: of a database that is far away and answers with all rows at once. */
    void (*further)(struct sql_cursor *c, int64_t n);
    void (*foresee)(struct sql_cursor *c, const uint64_t *ids, size_t count);
    pawl_status (*end)(struct sql_cursor *c, pawl_error *reterr);

    void (*bind_i64)(struct sql_cursor *c, int at, int64_t n);
    void (*bind_text)(struct sql_cursor *c, int at, pawl_str text);
    int64_t (*i64)(struct sql_cursor *c, int at);
    pawl_str (*view)(struct sql_cursor *c, int at);

    enum sql_sight (*row)(struct sql_cursor *c, pawl_mem *mem, pawl_row *ret);
    enum sql_sight (*message)(struct sql_cursor *c, pawl_mem *mem, pawl_message *ret);
    enum sql_sight (*work)(struct sql_cursor *c, pawl_mem *mem, pawl_work *ret);
    void (*event_place)(struct sql_cursor *c, struct sql_event_place *ret);
    enum sql_sight (*event)(struct sql_cursor *c, uint64_t rid, const struct sql_event_place *place,
                            pawl_mem *mem, pawl_event *ret);
    void (*queue)(struct sql_cursor *c, pawl_mem *mem, pawl_queue_row *ret);
    /* Its numbers, with the check sum returned; then what it carries. */
    int64_t (*entry)(struct sql_cursor *c, pawl_queue_entry *ret);
    enum sql_sight (*entry_rest)(struct sql_cursor *c, bool head, int64_t sum, pawl_mem *mem,
                                 pawl_queue_entry *e);
    void (*lock)(struct sql_cursor *c, pawl_mem *mem, pawl_queue_lock *ret);
    enum sql_sight (*object)(struct sql_cursor *c, pawl_mem *mem, pawl_object *ret);

    sql_events *(*events)(struct sql_cursor *c); /* scratch of the connection */

    /* For deleting (tombs.h). */
    uint64_t (*changes)(struct sql_cursor *c); /* rows that the last statement changed */
    /* Deletes of the rows that an event started; parameters: its rid, then its uid. */
    const struct sql_started *started;
    size_t started_count;
};

/* False: nothing is held, and *retstatus says why. */
static inline bool cursor_begin(struct sql_cursor *c, pawl_store *s, int statement,
                                const char *what, pawl_mem *mem, pawl_status *retstatus,
                                pawl_error *reterr)
{
    const struct sql_driver *driver = ((const struct sql_store *)(const void *)s)->driver;
    *c = (struct sql_cursor){.driver = driver, .store = s, .what = what};
    return driver->begin(c, statement, mem, retstatus, reterr);
}

/* All statements from here to the end see one state.  False: it failed. */
static inline bool cursor_snapshot(struct sql_cursor *c)
{
    return c->driver->snapshot(c);
}

/* Another statement on the same connection, to be bound.  False: it failed. */
static inline bool cursor_use(struct sql_cursor *c, int statement)
{
    return c->driver->use(c, statement);
}

/* Release what the statement holds; it can be run again. */
static inline void cursor_rest(struct sql_cursor *c)
{
    c->driver->rest(c);
}

/* Is there another row? */
static inline bool cursor_next(struct sql_cursor *c)
{
    return c->driver->next(c);
}

/* Run the statement again, for the row with this id (its only parameter).  Is there one? */
static inline bool cursor_seek(struct sql_cursor *c, uint64_t id)
{
    return c->driver->seek(c, id);
}

/* Does a statement cost a round trip, and bring all of its rows? */
static inline bool cursor_is_far(const struct sql_cursor *c)
{
    return c->driver->further != NULL;
}

/* The next of the parameters that only texts of far databases have (#1, #2), after the others. */
static inline void cursor_further(struct sql_cursor *c, int64_t n)
{
    if (c->driver->further)
        c->driver->further(c, n);
}

/* All of these will be sought, in this order. */
static inline void cursor_foresee(struct sql_cursor *c, const uint64_t *ids, size_t count)
{
    if (c->driver->foresee)
        c->driver->foresee(c, ids, count);
}

static inline pawl_status cursor_end(struct sql_cursor *c, pawl_error *reterr)
{
    return c->driver->end(c, reterr);
}

/* A second statement beside the one `with` is at, on its connection.  It is not
 * ended: call cursor_rest() when it is done.  False: it failed. */
static inline bool cursor_beside(struct sql_cursor *c, const struct sql_cursor *with, int statement)
{
    *c = *with;
    c->stmt = NULL;
    c->step = SQL_STEP_DONE;
    return c->driver->use(c, statement);
}

static inline void cursor_bind_i64(struct sql_cursor *c, int at, int64_t n)
{
    c->driver->bind_i64(c, at, n);
}

static inline void cursor_bind_id(struct sql_cursor *c, int at, uint64_t id)
{
    c->driver->bind_i64(c, at, (int64_t)id);
}

static inline void cursor_bind_text(struct sql_cursor *c, int at, pawl_str text)
{
    c->driver->bind_text(c, at, text);
}

static inline int64_t cursor_i64(struct sql_cursor *c, int at)
{
    return c->driver->i64(c, at);
}

static inline uint64_t cursor_id(struct sql_cursor *c, int at)
{
    return (uint64_t)c->driver->i64(c, at);
}

/* Until the next step. */
static inline pawl_str cursor_view(struct sql_cursor *c, int at)
{
    return c->driver->view(c, at);
}

/* Note that a row is not what was written, and say so: PAWL_CORRUPT. */
pawl_status cursor_refuse(struct sql_cursor *c, const char *what, uint64_t id, pawl_error *reterr);

#endif
