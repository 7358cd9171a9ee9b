/* SPDX-License-Identifier: MIT */
/*
 * store/sql/list.c -- instances page by page, and how much there is.
 *
 * A page walks uids downwards along the index that fits best (children of a parent; the rare
 * states; else the table) and compares the rest of the search row by row, at most LIST_EXAMINE_MAX
 * rows, so that a dashboard never holds a snapshot for long however few rows match.
 *
 * A prefix is looked up among the ids first.  If at most LIST_EXAMINE_MAX ids begin with it, these are
 * the rows to compare; if there are more, the walk finds some of them soon.
 *
 * A condition on an attribute goes along its entries, segment by segment (uid >> 18), newest first.
 * Those of one value are in the order of uids; those of a range are read and sorted, segment by
 * segment.  A segment with more than LIST_EXAMINE_MAX entries of a range is dense: there the table
 * itself is walked, which finds some soon.  A segment counts as a row examined, so that thousands of
 * them without an entry end a page, too.
 */
#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"
#include "store/search.h"
#include "store/sql/cursor.h"
#include "store/sql/reads.h"
#include "store/sql/sql_statements.h"

#include <stdlib.h>

/* A page on its way. */
struct sql_page {
    const pawl_search *search;
    struct sql_cursor c;
    pawl_mem *mem;
    LIST(pawl_row) items;
    uint64_t examined, last_uid, next_uid;
};

static const uint32_t rare[] = {PAWL_SUSPENDED, PAWL_BLOCKED, PAWL_FAILED, PAWL_CANCELLED};

static int statement_of(const pawl_search *s)
{
    return s->query.parent_uid                         ? ST_LIST_PARENT
           : !(search_states(s) & ~SEARCH_RARE_STATES) ? ST_LIST_STATES
                                                       : ST_LIST_ALL;
}

static bool times_match(struct sql_cursor *c, const pawl_search *s, bool ended)
{
    const pawl_row_query *q = &s->query;
    int64_t created_ms = cursor_i64(c, ROW_created_ms), updated_ms = cursor_i64(c, ROW_updated_ms);

    if (q->created_after_ms && created_ms <= q->created_after_ms)
        return false;
    if (s->created_before_ms && created_ms >= s->created_before_ms)
        return false;
    if (q->ended_before_ms && !(ended && updated_ms < q->ended_before_ms))
        return false;
    return !s->ended_after_ms || (ended && updated_ms > s->ended_after_ms);
}

static bool has_text(struct sql_cursor *c, pawl_str text)
{
    return search_text_in(cursor_view(c, ROW_id), text) ||
           search_text_in(cursor_view(c, ROW_orchestration), text) ||
           search_text_in(cursor_view(c, ROW_custom_status), text) ||
           search_text_in(cursor_view(c, ROW_finding), text) ||
           (search_reads_output((pawl_state)cursor_i64(c, ROW_state)) &&
            search_text_in(cursor_view(c, ROW_output), text));
}

/* As search_matches(), column by column: most rows are decided by the first. */
static bool matches(struct sql_cursor *c, const pawl_search *s)
{
    const pawl_row_query *q = &s->query;
    int state = (int)cursor_i64(c, ROW_state);

    if (!(search_states(s) & 1u << state) || (s->roots && cursor_id(c, ROW_parent_uid)))
        return false;
    if (q->orchestration.len && !pawl_str_eq(cursor_view(c, ROW_orchestration), q->orchestration))
        return false;
    if (q->parent_uid && cursor_id(c, ROW_parent_uid) != q->parent_uid)
        return false;
    if (!times_match(c, s, pawl_state_is_terminal((pawl_state)state)))
        return false;
    if (s->where_count && !attributes_fit(cursor_view(c, ROW_attributes), s->where, s->where_count))
        return false;
    if (s->error.len && !search_error_in((pawl_state)state, cursor_view(c, ROW_output),
                                         cursor_view(c, ROW_finding), s->error))
        return false;
    return (!q->prefix.len || str_begins(cursor_view(c, ROW_id), q->prefix)) &&
           (!s->text.len || has_text(c, s->text));
}

/* One that is not what was written shows as blocked, with nothing of it but its id. */
static void take_row(struct sql_cursor *c, pawl_mem *mem, pawl_row *ret)
{
    if (c->driver->row(c, mem, ret) == SQL_SOUND)
        return;
    damage_note(c->store, "the row of instance", ret->uid);
    *ret = (pawl_row){.uid = ret->uid,
                      .id = ret->id,
                      .state = PAWL_BLOCKED,
                      .execution = ret->execution,
                      .finding = pawl_s("its stored row is damaged: it does not fit its check "
                                        "sum; restore a backup")};
}

/* The row that the cursor is at; false: it belongs to the next page. */
static bool examine(struct sql_page *l)
{
    if (l->items.count == l->search->query.limit || l->examined == LIST_EXAMINE_MAX) {
        l->next_uid = l->last_uid; /* there is more */
        return false;
    }
    l->examined++;
    l->last_uid = cursor_id(&l->c, ROW_uid);
    if (matches(&l->c, l->search)) {
        take_row(&l->c, l->mem, list_room(l->mem, &l->items));
        l->items.count++;
    }
    return true;
}

static void walk(struct sql_page *l, int which)
{
    const pawl_row_query *q = &l->search->query;
    uint32_t states = search_states(l->search);
    if (!cursor_use(&l->c, which))
        return;
    cursor_bind_i64(&l->c, 1, q->before_uid ? (int64_t)q->before_uid : INT64_MAX);
    if (which == ST_LIST_PARENT)
        cursor_bind_id(&l->c, 2, q->parent_uid);
    for (int i = 0; which == ST_LIST_STATES && i < (int)COUNT_OF(rare); i++)
        cursor_bind_i64(&l->c, 2 + i, states & 1u << rare[i] ? (int64_t)rare[i] : -1);
    while (cursor_next(&l->c) && examine(l))
        ;
}

/* ---- By prefix -------------------------------------------------------------- */

struct uids {
    uint64_t *items;
    size_t count, cap;
};

static int newer_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The uids of the ids that begin with the prefix; false: there are too many. */
static bool few_begin_so(struct sql_page *l, struct uids *ret)
{
    pawl_str prefix = l->search->query.prefix;
    if (!cursor_use(&l->c, ST_IDS_FROM))
        return true; /* the status at the end says why */
    cursor_bind_text(&l->c, 1, prefix);
    while (cursor_next(&l->c) && str_begins(cursor_view(&l->c, 0), prefix)) {
        if (ret->count == LIST_EXAMINE_MAX)
            return false;
        *list_add(l->mem, ret) = cursor_id(&l->c, 1);
    }
    cursor_rest(&l->c);
    return true;
}

static void walk_ids(struct sql_page *l, struct uids *uids)
{
    uint64_t before = l->search->query.before_uid;
    if (!uids->count || !cursor_use(&l->c, ST_ROW_BY_UID))
        return;
    qsort(uids->items, uids->count, sizeof(*uids->items), newer_first);
    for (size_t i = 0; i < uids->count; i++)
        if ((!before || uids->items[i] < before) && cursor_seek(&l->c, uids->items[i]) &&
            !examine(l))
            return;
}

/* ---- By attribute ------------------------------------------------------------ */

#define SEGMENT_BITS 18 /* stored: never change it */

/* The newest segment up to this one that has entries; false: there is none. */
static bool find_segment(struct sql_page *l, uint64_t *segment)
{
    if (!cursor_use(&l->c, ST_ATTRIBUTE_SEGMENT))
        return false;
    cursor_bind_id(&l->c, 1, *segment);
    bool found = cursor_next(&l->c);
    if (found)
        *segment = cursor_id(&l->c, 0);
    cursor_rest(&l->c);
    return found;
}

static bool use_range(struct sql_page *l, int which, uint64_t segment,
                      const struct attribute_range *r)
{
    uint64_t before = l->search->query.before_uid;
    if (!cursor_use(&l->c, which))
        return false;
    cursor_bind_i64(&l->c, 1, before ? (int64_t)before : INT64_MAX);
    cursor_bind_id(&l->c, 2, segment);
    cursor_bind_text(&l->c, 3, r->name);
    cursor_bind_text(&l->c, 4, r->from);
    if (which == ST_ATTRIBUTE_RANGE)
        cursor_bind_text(&l->c, 5, r->to);
    return true;
}

/* The page goes on with this segment; false: it ends here. */
static bool walk_value(struct sql_page *l, uint64_t segment, const struct attribute_range *r)
{
    if (!use_range(l, ST_LIST_ATTRIBUTE, segment, r))
        return false;
    while (cursor_next(&l->c))
        if (!examine(l))
            return false;
    cursor_rest(&l->c);
    return true;
}

/* The uids of a segment's entries; false: there are too many. */
static bool few_entries(struct sql_page *l, uint64_t segment, const struct attribute_range *r,
                        struct uids *ret)
{
    ret->count = 0;
    if (!use_range(l, ST_ATTRIBUTE_RANGE, segment, r))
        return true; /* the status at the end says why */
    while (cursor_next(&l->c)) {
        if (ret->count == LIST_EXAMINE_MAX)
            return false;
        *list_add(l->mem, ret) = cursor_id(&l->c, 0);
    }
    cursor_rest(&l->c);
    return true;
}

static bool walk_range(struct sql_page *l, uint64_t segment, const struct attribute_range *r,
                       struct uids *uids)
{
    if (!few_entries(l, segment, r, uids)) {
        cursor_rest(&l->c);
        if (l->examined > 1)
            l->next_uid = (segment + 1) << SEGMENT_BITS; /* the next page begins with it */
        else
            walk(l, statement_of(l->search));
        return false;
    }
    if (!uids->count)
        return true;
    if (!cursor_use(&l->c, ST_ROW_BY_UID))
        return false;
    qsort(uids->items, uids->count, sizeof(*uids->items), newer_first);
    for (size_t i = 0; i < uids->count; i++)
        if (cursor_seek(&l->c, uids->items[i]) && !examine(l))
            return false;
    cursor_rest(&l->c);
    return true;
}

static void walk_attribute(struct sql_page *l, const pawl_where *w)
{
    const struct attribute_range r = attribute_range(l->mem, w);
    uint64_t before = l->search->query.before_uid;
    uint64_t segment = (before ? before - 1 : INT64_MAX) >> SEGMENT_BITS;
    struct uids uids = {0};
    bool more = cursor_snapshot(&l->c);

    while (more && find_segment(l, &segment)) {
        if (l->examined) /* all above it is done; it is where a page may end */
            l->last_uid = (segment + 1) << SEGMENT_BITS;
        if (l->examined == LIST_EXAMINE_MAX) {
            l->next_uid = l->last_uid;
            return;
        }
        l->examined++;
        more = r.exact ? walk_value(l, segment, &r) : walk_range(l, segment, &r, &uids);
        if (segment-- == 0)
            return;
    }
}

/* ---- A page ----------------------------------------------------------------- */

static void read_page(struct sql_page *l)
{
    const pawl_row_query *q = &l->search->query;
    const pawl_where *along = search_along(l->search);
    struct uids uids = {0};
    if (along) {
        walk_attribute(l, along);
        return;
    }
    if (q->prefix.len && !q->parent_uid && cursor_snapshot(&l->c) && few_begin_so(l, &uids))
        walk_ids(l, &uids);
    else
        walk(l, statement_of(l->search));
}

pawl_status sql_search(pawl_store *s, const pawl_search *search, pawl_mem *mem, pawl_found *ret,
                       pawl_error *reterr)
{
    struct sql_page l = {.search = search, .mem = mem};
    pawl_status status;

    pawl_fill(ret, &(pawl_found){0}, sizeof(pawl_found));
    if (search->query.limit == 0)
        return PAWL_OK;
    if (!cursor_begin(&l.c, s, statement_of(search), "list instances", mem, &status, reterr))
        return status;
    read_page(&l);
    pawl_found found = {
        .rows = {.items = l.items.items, .count = l.items.count, .next_uid = l.next_uid},
        .examined = l.examined
    };
    pawl_fill(ret, &found, sizeof(found));
    return cursor_end(&l.c, reterr);
}

pawl_status sql_list(pawl_store *s, const pawl_row_query *query, pawl_mem *mem, pawl_row_list *ret,
                     pawl_error *reterr)
{
    pawl_found found = {.size = sizeof(found)};
    pawl_search search = {.size = sizeof(search), .query = *query};
    pawl_status status = sql_search(s, &search, mem, &found, reterr);
    *ret = found.rows;
    return status;
}

/* ---- How much there is ------------------------------------------------------ */

/* The number that a statement says; false: it failed. */
static bool count_rows(struct sql_cursor *c, int which, uint64_t *ret)
{
    if (!cursor_use(c, which) || !cursor_next(c))
        return false;
    *ret = cursor_id(c, 0);
    return true;
}

static bool count_timers(struct sql_cursor *c, int64_t now_ms, uint64_t *ret)
{
    if (!cursor_use(c, ST_COUNT_TIMERS))
        return false;
    cursor_bind_i64(c, 1, now_ms);
    if (!cursor_next(c))
        return false;
    *ret = cursor_id(c, 0);
    return true;
}

/* The rare states, from their index; to count the others takes a look at every instance. */
static void count_states(struct sql_cursor *c, pawl_depths *ret)
{
    if (!cursor_use(c, ST_COUNT_STATES))
        return;
    while (cursor_next(c)) {
        int state = (int)cursor_i64(c, 0);
        uint64_t *count = state == PAWL_SUSPENDED ? &ret->suspended
                          : state == PAWL_BLOCKED ? &ret->blocked
                          : state == PAWL_FAILED  ? &ret->failed
                                                  : &ret->cancelled;
        *count += cursor_id(c, 1);
    }
}

pawl_status sql_depths(pawl_store *s, int64_t now_ms, pawl_depths *ret, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_depths d = {0};
    pawl_status status;

    if (!cursor_begin(&c, s, ST_COUNT_MESSAGES, "count rows", NULL, &status, reterr))
        return status;
    if (cursor_snapshot(&c) && count_rows(&c, ST_COUNT_MESSAGES, &d.messages) &&
        count_timers(&c, now_ms, &d.timers) && count_rows(&c, ST_COUNT_WORK, &d.work) &&
        count_rows(&c, ST_COUNT_QUARANTINE, &d.quarantine) &&
        count_rows(&c, ST_COUNT_INSTANCES, &d.instances))
        count_states(&c, &d);
    pawl_fill(ret, &d, sizeof d);
    return cursor_end(&c, reterr);
}
