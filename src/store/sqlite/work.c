/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/work.c -- taking work for activities.
 *
 * Free work of a name is found in four places:
 *
 *   fresh     table work_fresh by (name, id): free now, never tried
 *   ready     index work_ready (name, id): free now
 *   delayed   index work_delayed (name, time it gets free, id)
 *   loose     rows inserted for the engine itself (held: in no index) and then
 *             abandoned; their ids are in memory
 *
 * For each name asked for, a struct work_name remembers how far its indexes were read and
 * whether a query can find anything (store/sql/work_names.h): a name without work costs no
 * query, and work that this process cannot do is never read.
 *
 * At most DUE_WINDOW due rows are looked at, in the order of their time.  When fewer are
 * due, the oldest id comes first (W1).
 */
#include "base/attr.h"
#include "store/sqlite/sqlite.h"

#define DUE_WINDOW 1024
#define RUN_GAP    4 /* one statement reads ids that are at most this far apart */

/* A fetch in progress. */
struct fetch {
    struct sqlite_store *s;
    struct conn *c;
    int64_t now_ms;
    uint32_t limit;
};

static int look_at(struct fetch *f, struct work_name *n);
static int look_at_all(struct fetch *f);
static void choose(struct fetch *f);
static int read_rows(struct fetch *f, pawl_mem *mem, pawl_work_list *ret);
static void note_taken(struct fetch *f, const pawl_work_list *list);

/* ---- Fetching -------------------------------------------------------------- */

pawl_status sqlite_fetch_work(pawl_store *base, int64_t now_ms, const pawl_str *names,
                              size_t name_count, uint32_t limit, pawl_mem *mem, pawl_work_list *ret,
                              pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    struct fetch f = {.s = s, .c = &s->writer, .now_ms = now_ms, .limit = limit};
    int rc = SQLITE_OK;

    pawl_status status = engine_check(s, reterr);
    if (status != PAWL_OK)
        return status;
    vec_reset(&s->candidates);
    *ret = (pawl_work_list){0};
    if (limit == 0)
        return PAWL_OK;
    work_names_trim(&s->names);
    rc = work_abandon_rest(s, mem);
    if (rc == SQLITE_OK && name_count == 0)
        rc = look_at_all(&f);
    for (size_t i = 0; i < name_count && rc == SQLITE_OK; i++) {
        struct work_name *n = work_name_of(&s->names, names[i]);
        rc = n ? look_at(&f, n) : SQLITE_NOMEM;
    }
    if (rc == SQLITE_OK && s->candidates.count) {
        choose(&f);
        if (!idset_reserve(&s->names.taken, s->candidates.count))
            rc = SQLITE_NOMEM;
    }
    if (rc == SQLITE_OK && s->candidates.count) {
        conn_enter(f.c, mem);
        rc = read_rows(&f, mem, ret);
        conn_leave(f.c);
    }
    if (rc != SQLITE_OK)
        return conn_error(f.c, rc, "fetch work", reterr);
    note_taken(&f, ret);
    return PAWL_OK;
}

static bool propose(struct fetch *f, uint64_t id, bool fresh)
{
    struct candidate *slot = vec_push(&f->s->candidates);

    if (slot)
        *slot = (struct candidate){.id = id, .fresh = fresh};
    return slot != NULL;
}

/* Up to `limit` free ids in the order of id; the cursor moves past taken ones. */
static int scan_ready(struct fetch *f, struct work_name *n, bool fresh, uint32_t *retfound)
{
    sqlite3_stmt *stmt = conn_statement(f->c, fresh ? ST_FRESH_READY : ST_WORK_READY);
    uint64_t *cursor = fresh ? &n->fresh_id : &n->ready_id;
    uint32_t found = 0;
    int rc = SQLITE_DONE;

    if (!stmt)
        return sqlite3_extended_errcode(f->c->db);
    bind_text(stmt, 1, n->name);
    bind_id(stmt, 2, *cursor);
    while (found < f->limit && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint64_t id = column_id(stmt, 0);
        if (idset_has(&f->s->names.taken, id)) {
            if (found == 0)
                *cursor = id;
        } else if (!propose(f, id, fresh)) {
            rc = SQLITE_NOMEM;
            break;
        } else {
            found++;
        }
    }
    (void)sqlite3_reset(stmt);
    *retfound = found;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int look_at_ready(struct fetch *f, struct work_name *n)
{
    uint32_t fresh = 0, ready = 0;
    int rc = scan_ready(f, n, true, &fresh);

    if (rc == SQLITE_OK)
        rc = scan_ready(f, n, false, &ready);
    if (rc == SQLITE_OK && fresh + ready == 0)
        n->ready = false;
    return rc;
}

/* Due ids from one of the two statements over work_delayed; *retnext is the time
 * of the first row that is not due. */
static int scan_delayed(struct fetch *f, struct work_name *n, sqlite3_stmt *stmt, uint32_t *found,
                        int64_t *retnext)
{
    int rc = SQLITE_DONE;

    while (*found < DUE_WINDOW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint64_t id = column_id(stmt, 0);
        int64_t free_ms = sqlite3_column_int64(stmt, 1);
        if (free_ms > f->now_ms) {
            *retnext = free_ms;
            break;
        }
        if (!idset_has(&f->s->names.taken, id)) {
            if (!propose(f, id, false)) {
                rc = SQLITE_NOMEM;
                break;
            }
            ++*found;
        } else if (*found == 0) {
            n->due_ms = free_ms;
            n->due_id = id;
        }
    }
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int look_at_delayed(struct fetch *f, struct work_name *n)
{
    sqlite3_stmt *here = conn_statement(f->c, ST_WORK_DELAYED_AT);
    sqlite3_stmt *later = here ? conn_statement(f->c, ST_WORK_DELAYED_AFTER) : NULL;
    int64_t next_ms = INT64_MAX;
    uint32_t found = 0;

    if (!here || !later)
        return sqlite3_extended_errcode(f->c->db);
    bind_text(here, 1, n->name);
    (void)sqlite3_bind_int64(here, 2, n->due_ms);
    bind_id(here, 3, n->due_id);
    int rc = scan_delayed(f, n, here, &found, &next_ms);
    if (rc == SQLITE_OK && found < DUE_WINDOW && next_ms == INT64_MAX) {
        bind_text(later, 1, n->name);
        (void)sqlite3_bind_int64(later, 2, n->due_ms);
        rc = scan_delayed(f, n, later, &found, &next_ms);
    }
    if (rc == SQLITE_OK && found == 0)
        n->look_ms = next_ms;
    return rc;
}

/* Abandoned rows that are in no index. */
static int look_at_loose(struct fetch *f, struct work_name *n)
{
    sqlite3_stmt *stmt = conn_statement(f->c, ST_WORK_PLACE);
    size_t kept = 0;

    if (!stmt)
        return sqlite3_extended_errcode(f->c->db);
    for (size_t i = 0; i < n->loose.count; i++) {
        uint64_t id = n->loose.items[i].id;
        if (!idset_has(&f->s->names.loose, id))
            continue;
        n->loose.items[kept++] = n->loose.items[i];
        bind_id(stmt, 1, id);
        int rc = sqlite3_step(stmt);
        bool due = rc == SQLITE_ROW && sqlite3_column_int64(stmt, 2) <= f->now_ms;
        (void)sqlite3_reset(stmt);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            return rc;
        if (due && !propose(f, id, false))
            return SQLITE_NOMEM;
    }
    n->loose.count = kept;
    return SQLITE_OK;
}

static int look_at(struct fetch *f, struct work_name *n)
{
    int rc = n->ready ? look_at_ready(f, n) : SQLITE_OK;

    if (rc == SQLITE_OK && f->now_ms >= n->look_ms)
        rc = look_at_delayed(f, n);
    if (rc == SQLITE_OK && n->loose.count)
        rc = look_at_loose(f, n);
    return rc;
}

/* Make a work_name for every name in an index, one seek each. */
static int find_names(struct fetch *f, int which)
{
    sqlite3_stmt *stmt = conn_statement(f->c, which);
    struct work_name *n = work_name_of(&f->s->names, (pawl_str){0});
    int rc = SQLITE_OK;

    if (!stmt)
        return sqlite3_extended_errcode(f->c->db);
    while (n && rc == SQLITE_OK) {
        bind_text(stmt, 1, n->name);
        rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW)
            n = work_name_of(&f->s->names, column_view(stmt, 0));
        (void)sqlite3_reset(stmt);
        rc = rc == SQLITE_ROW ? SQLITE_OK : rc;
    }
    return rc == SQLITE_DONE ? SQLITE_OK : n ? rc : SQLITE_NOMEM;
}

static int look_at_all(struct fetch *f)
{
    size_t cursor = 0;
    struct work_name *n;
    int rc = find_names(f, ST_FRESH_NAME);

    if (rc == SQLITE_OK)
        rc = find_names(f, ST_WORK_READY_NAME);
    if (rc == SQLITE_OK)
        rc = find_names(f, ST_WORK_DELAYED_NAME);
    while (rc == SQLITE_OK && (n = map_next(&f->s->names.by_name, &cursor)))
        rc = look_at(f, n);
    return rc;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* The oldest candidates, each once.  One name's usually come sorted. */
static void choose(struct fetch *f)
{
    struct candidate *all = f->s->candidates.items;
    size_t count = f->s->candidates.count, sorted = 1, kept = 0;

    while (sorted < count && all[sorted - 1].id < all[sorted].id)
        sorted++;
    if (sorted < count)
        qsort(all, count, sizeof *all, compare_candidates);
    for (size_t i = 0; i < count && kept < f->limit; i++) {
        if (kept == 0 || all[i].id != all[kept - 1].id)
            all[kept++] = all[i];
    }
    f->s->candidates.count = kept;
}

/* A damaged row is marked as taken and not run. */
static void take_row(struct fetch *f, sqlite3_stmt *stmt, pawl_mem *mem, pawl_work *items,
                     size_t *count)
{
    pawl_work *w = &items[*count];

    column_work(stmt, mem, w);
    if (work_fits(f->c, stmt, w)) {
        ++*count;
        return;
    }
    damage_note(&f->s->sql.base, "work", w->id);
    idset_remove(&f->s->names.loose, w->id);
    assert_that(idset_add(&f->s->names.taken, w->id)); /* room was made */
}

/* Fresh rows from candidate *at on whose ids lie together, by one statement: a
 * fan-out is one run.  *at moves behind them. */
static int read_run(struct fetch *f, size_t *at, pawl_mem *mem, pawl_work *items, size_t *count)
{
    const struct candidate *all = f->s->candidates.items;
    sqlite3_stmt *stmt = conn_statement(f->c, ST_FRESH_READ);
    size_t i = *at, end = i + 1;
    int rc;

    if (!stmt)
        return sqlite3_extended_errcode(f->c->db);
    while (end < f->s->candidates.count && all[end].fresh &&
           all[end].id - all[end - 1].id <= RUN_GAP)
        end++;
    bind_id(stmt, 1, all[i].id);
    bind_id(stmt, 2, all[end - 1].id);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint64_t id = column_id(stmt, 0);
        while (i < end && all[i].id < id)
            i++;
        if (i < end && all[i].id == id)
            take_row(f, stmt, mem, items, count);
    }
    (void)sqlite3_reset(stmt);
    *at = end;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int read_rows(struct fetch *f, pawl_mem *mem, pawl_work_list *ret)
{
    pawl_work *items = arena_array(mem, pawl_work, f->s->candidates.count);
    size_t count = 0;
    int rc = SQLITE_OK;

    for (size_t i = 0; i < f->s->candidates.count && rc == SQLITE_OK;) {
        if (f->s->candidates.items[i].fresh) {
            rc = read_run(f, &i, mem, items, &count);
            continue;
        }
        sqlite3_stmt *stmt = conn_statement(f->c, ST_WORK_READ);
        if (!stmt)
            return sqlite3_extended_errcode(f->c->db);
        bind_id(stmt, 1, f->s->candidates.items[i++].id);
        rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW)
            take_row(f, stmt, mem, items, &count);
        (void)sqlite3_reset(stmt);
        rc = rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    *ret = (pawl_work_list){.items = items, .count = count};
    return rc;
}

/* A held row is taken when it is no longer loose, any other by the `taken` set. */
static void note_taken(struct fetch *f, const pawl_work_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        uint64_t id = list->items[i].id;
        if (idset_has(&f->s->names.loose, id))
            idset_remove(&f->s->names.loose, id);
        else
            assert_that(idset_add(&f->s->names.taken, id)); /* room was made */
    }
}
