/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_list.c -- instances page by page, and how much there is.
 *
 * The server compares a page's conditions itself, so that rows which do not fit never travel; it
 * examines at most LIST_EXAMINE_MAX of them (L1), newest first, along the index that fits best
 * (entries of an attribute; children of a parent; the rare states; a prefix that few ids have; else
 * all).
 */
#include "base/limits.h"
#include "store/postgres/postgres.h"
#include "store/search.h"

/* Do at most LIST_EXAMINE_MAX ids begin with the prefix?  One round trip. */
static bool few_begin_so(struct pg_store *s, pawl_str prefix, pawl_status *retstatus,
                         pawl_error *reterr)
{
    struct pg_params p = {0};
    params_str(&p, prefix);
    params_i64(&p, LIST_EXAMINE_MAX + 1);
    PGresult *r = pg_read(s, ST_PG_COUNT_PREFIX, &p, "list instances", retstatus, reterr);
    bool few = r && value_i64(r, 0, 0) <= LIST_EXAMINE_MAX;
    pq.clear(r);
    params_deinit(&p);
    return few;
}

/* Has a range at most LIST_EXAMINE_MAX entries?  One round trip. */
static bool few_entries(struct pg_store *s, const struct attribute_range *range,
                        pawl_status *retstatus, pawl_error *reterr)
{
    struct pg_params p = {0};
    params_str(&p, range->name);
    params_str(&p, range->from);
    params_str(&p, range->to);
    params_i64(&p, LIST_EXAMINE_MAX + 1);
    PGresult *r = pg_read(s, ST_PG_COUNT_ENTRIES, &p, "list instances", retstatus, reterr);
    bool few = r && value_i64(r, 0, 0) <= LIST_EXAMINE_MAX;
    pq.clear(r);
    params_deinit(&p);
    return few;
}

static int statement_of(struct pg_store *s, const pawl_search *search,
                        const struct attribute_range *along, pawl_status *retstatus,
                        pawl_error *reterr)
{
    const pawl_row_query *q = &search->query;
    if (along->exact)
        return ST_PG_LIST_VALUE;
    if (along->name.len && few_entries(s, along, retstatus, reterr))
        return ST_PG_LIST_RANGE;
    if (q->parent_uid)
        return ST_PG_LIST_PARENT;
    if (q->prefix.len && utf8_valid(q->prefix) && few_begin_so(s, q->prefix, retstatus, reterr))
        return ST_PG_LIST_PREFIX;
    return search_states(search) & ~SEARCH_RARE_STATES ? ST_PG_LIST : ST_PG_LIST_STATES;
}

static pawl_str in_lower_case(pawl_mem *mem, pawl_str text)
{
    char *out = pawl_mem_alloc(mem, text.len + 1);
    for (size_t i = 0; i < text.len; i++)
        out[i] = (char)(text.ptr[i] >= 'A' && text.ptr[i] <= 'Z' ? text.ptr[i] + 32 : text.ptr[i]);
    return (pawl_str){out, text.len};
}

/* The conditions, an array for each part of them. */
static void put_where(struct pg_params *p, const pawl_search *s, pawl_mem *mem)
{
    pawl_str parts[4][PAWL_WHERE_MAX];
    assert_that(s->where_count <= PAWL_WHERE_MAX);
    for (size_t i = 0; i < s->where_count; i++) {
        struct attribute_range r = attribute_range(mem, &s->where[i]);
        parts[0][i] = r.name;
        parts[1][i] = r.from;
        parts[2][i] = r.to;
        parts[3][i] = r.except;
    }
    for (size_t k = 0; k < COUNT_OF(parts); k++)
        params_texts(p, parts[k], s->where_count);
}

/* In the order of PG_LIST. */
static void put_query(struct pg_params *p, const pawl_search *s,
                      const struct attribute_range *along, pawl_mem *mem)
{
    const pawl_row_query *q = &s->query;
    params_i64(p, q->before_uid ? (int64_t)q->before_uid : INT64_MAX);
    params_id(p, q->parent_uid);
    params_i64(p, search_states(s));
    params_str(p, q->orchestration);
    params_str(p, q->prefix);
    params_i64(p, q->created_after_ms);
    params_i64(p, q->ended_before_ms);
    params_i64(p, (int64_t)q->limit + 2); /* one more that fits, or the two at the end */
    params_i64(p, LIST_EXAMINE_MAX);
    params_str(p, in_lower_case(mem, s->text));
    params_i64(p, s->roots);
    params_str(p, utf8_valid(q->prefix) ? q->prefix : (pawl_str){0});
    params_str(p, along->name);
    params_str(p, along->from);
    params_str(p, along->to);
    put_where(p, s, mem);
    params_i64(p, s->created_before_ms);
    params_i64(p, s->ended_after_ms);
    params_str(p, in_lower_case(mem, s->error));
}

/* A page out of what came: rows that fit, then the last one examined and the one behind it. */
static void take_page(const PGresult *r, const pawl_search *s, pawl_mem *mem, pawl_found *ret)
{
    const int fits = PG_ROW_SHARD + 1, number = fits + 1;
    LIST(pawl_row) items = {0};
    uint64_t taken = 0, last_examined = 0, last_taken = 0;

    for (int i = 0; i < pq.ntuples(r); i++) {
        uint64_t n = (uint64_t)value_i64(r, i, number);
        if (taken == s->query.limit && value_i64(r, i, fits)) {
            ret->rows.next_uid = last_taken;
            break;
        }
        if (n > LIST_EXAMINE_MAX) {
            ret->rows.next_uid = last_examined;
            break;
        }
        ret->examined = n;
        last_examined = value_id(r, i, ROW_uid);
        if (!value_i64(r, i, fits))
            continue;
        taken++;
        last_taken = last_examined;
        (void)pg_decode_row(r, i, mem, list_room(mem, &items));
        items.count += search_matches(s, &items.items[items.count]);
    }
    ret->rows.items = items.items;
    ret->rows.count = items.count;
}

pawl_status pg_search(pawl_store *base, const pawl_search *search, pawl_mem *mem, pawl_found *ret,
                      pawl_error *reterr)
{
    struct pg_params p = {0};
    pawl_found found = {0};
    pawl_status status = PAWL_OK;

    pawl_fill(ret, &found, sizeof(found));
    if (search->query.limit == 0)
        return PAWL_OK;
    const pawl_where *w = search_along(search);
    struct attribute_range along = w ? attribute_range(mem, w) : (struct attribute_range){0};
    int which = statement_of(pg_of(base), search, &along, &status, reterr);
    if (status != PAWL_OK)
        return status;
    put_query(&p, search, &along, mem);
    PGresult *r = pg_read(pg_of(base), which, &p, "list instances", &status, reterr);
    if (r)
        take_page(r, search, mem, &found);
    pawl_fill(ret, &found, sizeof(found));
    pq.clear(r);
    params_deinit(&p);
    return status;
}

pawl_status pg_list(pawl_store *base, const pawl_row_query *query, pawl_mem *mem,
                    pawl_row_list *ret, pawl_error *reterr)
{
    pawl_found found = {.size = sizeof(found)};
    pawl_search search = {.size = sizeof(search), .query = *query};
    pawl_status status = pg_search(base, &search, mem, &found, reterr);
    *ret = found.rows;
    return status;
}

pawl_status pg_count_values(pawl_store *base, pawl_str name, uint32_t max_values,
                            uint64_t max_entries, pawl_mem *mem, pawl_value_counts *ret,
                            pawl_error *reterr)
{
    struct pg_params p = {0};
    pawl_value_counts found = {0};
    pawl_status status = PAWL_OK;

    params_str(&p, name);
    params_i64(&p, (int64_t)max_entries + 1);
    params_i64(&p, (int64_t)max_values + 1);
    PGresult *r = pg_read(pg_of(base), ST_PG_COUNT_VALUES, &p, "count values", &status, reterr);
    size_t n = r ? (size_t)pq.ntuples(r) : 0;
    if (n) {
        uint64_t entries = (uint64_t)value_i64(r, 0, 2);
        found.more = n > max_values || entries >= max_entries;
        found.examined = entries > max_entries ? max_entries : entries;
        found.count = n > max_values ? max_values : n;
    }
    pawl_value_count *items = pawl_mem_alloc(mem, (found.count + 1) * sizeof(*items));
    for (size_t i = 0; i < found.count; i++)
        items[i] = (pawl_value_count){.key = pawl_mem_dup(mem, value_view(r, (int)i, 0)),
                                      .count = (uint64_t)value_i64(r, (int)i, 1)};
    found.items = items;
    pawl_fill(ret, &found, sizeof(found));
    pq.clear(r);
    params_deinit(&p);
    return status;
}

pawl_status pg_depths(pawl_store *base, int64_t now_ms, pawl_depths *ret, pawl_error *reterr)
{
    struct pg_params p = {0};
    pawl_status status;

    params_i64(&p, now_ms);
    PGresult *r = pg_read(pg_of(base), ST_PG_DEPTHS, &p, "count rows", &status, reterr);
    if (r) {
        pawl_depths d = {.messages = value_id(r, 0, 0),
                         .timers = value_id(r, 0, 1),
                         .work = value_id(r, 0, 2),
                         .quarantine = value_id(r, 0, 3),
                         .instances = value_id(r, 0, 4),
                         .suspended = value_id(r, 0, 5),
                         .blocked = value_id(r, 0, 6),
                         .failed = value_id(r, 0, 7),
                         .cancelled = value_id(r, 0, 8)};
        pawl_fill(ret, &d, sizeof d);
    }
    pq.clear(r);
    params_deinit(&p);
    return status;
}
