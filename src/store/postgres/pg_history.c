/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_history.c -- reading chains of events, one statement each.
 *
 * The instance row (or that of a closed execution) knows the last event of an execution, and every
 * row of history the last event of the row before it.  The server walks backwards (PG_HISTORY);
 * each row is checked: the uid, the execution, and seqs without a gap.  A row that does not fit is
 * CORRUPT and named in the error; it affects this instance only.
 *
 *     last_rid -> row 97 (seq 4, 5) --prev 62--> row 61 (seq 2, 3) --prev 60--> row 60 (seq 1)
 *
 * Every MARK_EVERYth event has a row in `mark`, so that a page in the middle starts at most that
 * many events behind its end.
 */
#include "store/postgres/postgres.h"

/* Columns of PG_HISTORY_PARTS, then where the walk began. */
enum history_at {
    AT_RID,
    AT_UID,
    AT_EXECUTION,
    AT_SEQ,
    AT_PREV,
    AT_MS,
    AT_FIRST, /* from here: kind, ref, name, data, attrs of an event */
    AT_SECOND = AT_FIRST + 5,
    AT_FROM_SEQ = AT_SECOND + 5,
    AT_FROM_RID,
};
enum part_at { PART_KIND, PART_REF, PART_NAME, PART_DATA, PART_ATTRS };

struct pg_chain {
    const PGresult *r;
    int row, end; /* its rows of the result */
    uint64_t uid;
    uint64_t execution;
    uint64_t seq; /* of the event expected at the end of the next row */
    uint64_t rid; /* its rid */
    uint64_t after_seq;
    uint64_t last_seq; /* of the page */
    pawl_event *first; /* of those found so far; they are filled in from the end */
    pawl_mem *mem;
};

/* The first or the second event of a row. */
static pawl_event event_of(const PGresult *r, int row, int second, pawl_mem *mem)
{
    const int at = second ? AT_SECOND : AT_FIRST;

    return (pawl_event){
        .rid = value_id(r, row, AT_RID) + (uint64_t)second,
        .execution = value_id(r, row, AT_EXECUTION),
        .seq = value_id(r, row, AT_SEQ) + (uint64_t)second,
        .ref = value_id(r, row, at + PART_REF),
        .kind = (int)value_i64(r, row, at + PART_KIND),
        .name = value_dup(r, row, at + PART_NAME, mem),
        .data = value_dup(r, row, at + PART_DATA, mem),
        .attrs = value_dup(r, row, at + PART_ATTRS, mem),
        .at_ms = value_i64(r, row, AT_MS),
    };
}

static int is_pair(const PGresult *r, int row)
{
    return !value_is_null(r, row, AT_SECOND + PART_KIND);
}

static pawl_status missing(const struct pg_chain *c, pawl_error *reterr)
{
    error_set(
        reterr, PAWL_CORRUPT,
        "history row %llu is missing, expected event %llu of uid %llu execution %llu; restore "
        "a backup",
        (unsigned long long)c->rid, (unsigned long long)c->seq, (unsigned long long)c->uid,
        (unsigned long long)c->execution);
    return PAWL_CORRUPT;
}

static pawl_status misfit(const struct pg_chain *c, int row, pawl_error *reterr)
{
    error_set(reterr, PAWL_CORRUPT,
              "history row %llu is event %llu of uid %llu execution %llu with prev %llu, "
              "expected event %llu of uid %llu execution %llu; restore a backup",
              (unsigned long long)value_id(c->r, row, AT_RID),
              (unsigned long long)value_id(c->r, row, AT_SEQ),
              (unsigned long long)value_id(c->r, row, AT_UID),
              (unsigned long long)value_id(c->r, row, AT_EXECUTION),
              (unsigned long long)value_id(c->r, row, AT_PREV),
              (unsigned long long)(c->seq - (uint64_t)is_pair(c->r, row)),
              (unsigned long long)c->uid, (unsigned long long)c->execution);
    return PAWL_CORRUPT;
}

/* Does the row end with the event that is expected? */
static bool fits(const struct pg_chain *c, int row)
{
    const PGresult *r = c->r;
    uint64_t rid = value_id(r, row, AT_RID), seq = value_id(r, row, AT_SEQ);
    uint64_t prev = value_id(r, row, AT_PREV), more = (uint64_t)is_pair(r, row);

    return value_id(r, row, AT_UID) == c->uid && value_id(r, row, AT_EXECUTION) == c->execution &&
           seq + more == c->seq && rid + more == c->rid && seq > 0 && (seq == 1) == (prev == 0) &&
           prev < rid;
}

/* Keep the events of a row that are of the page. */
static void take_events(struct pg_chain *c, int row)
{
    for (int second = is_pair(c->r, row); second >= 0; second--) {
        uint64_t seq = value_id(c->r, row, AT_SEQ) + (uint64_t)second;
        if (seq > c->after_seq && seq <= c->last_seq)
            *--c->first = event_of(c->r, row, second, c->mem);
    }
    c->rid = value_id(c->r, row, AT_PREV);
    c->seq = value_id(c->r, row, AT_SEQ) - 1;
}

static pawl_status walk(struct pg_chain *c, pawl_error *reterr)
{
    for (int row = c->row; row < c->end; row++) {
        if (value_id(c->r, row, AT_RID) == 0) /* no row where the walk begins */
            return missing(c, reterr);
        if (!fits(c, row))
            return misfit(c, row, reterr);
        take_events(c, row);
    }
    return c->seq > c->after_seq ? missing(c, reterr) : PAWL_OK;
}

/* The events of an answer, oldest first. */
static pawl_status take_history(struct pg_chain *c, uint32_t limit, pawl_event_list *ret,
                                pawl_error *reterr)
{
    size_t most = (size_t)(c->end - c->row) * 2;
    pawl_event *end = arena_array(c->mem, pawl_event, most) + most;

    c->first = end;
    c->seq = c->last_seq = value_id(c->r, c->row, AT_FROM_SEQ);
    c->rid = value_id(c->r, c->row, AT_FROM_RID);
    if (limit && c->last_seq - c->after_seq > limit)
        c->last_seq = c->after_seq + limit;
    pawl_status status = walk(c, reterr);
    if (status == PAWL_OK)
        *ret = (pawl_event_list){.items = c->first, .count = (size_t)(end - c->first)};
    return status;
}

pawl_status pg_history_of(const PGresult *r, int row, int end, const pawl_wanted_history *w,
                          pawl_mem *mem, pawl_event_list *ret, pawl_error *reterr)
{
    struct pg_chain c = {
        .r = r, .row = row, .end = end, .uid = w->uid, .execution = w->execution, .mem = mem};

    *ret = (pawl_event_list){0};
    return value_id(r, row, AT_FROM_SEQ) ? take_history(&c, 0, ret, reterr) : PAWL_OK;
}

pawl_status pg_read_history(pawl_store *s, uint64_t uid, uint64_t execution, uint64_t after_seq,
                            uint32_t limit, pawl_mem *mem, pawl_event_list *ret, pawl_error *reterr)
{
    struct pg_params p = {0};
    pawl_status status;

    params_id(&p, uid);
    params_id(&p, execution);
    params_id(&p, after_seq);
    params_i64(&p, limit);
    PGresult *r = pg_read(pg_of(s), ST_PG_HISTORY, &p, "read a history", &status, reterr);
    *ret = (pawl_event_list){0};
    if (r && pq.ntuples(r)) {
        struct pg_chain c = {.r = r,
                             .end = pq.ntuples(r),
                             .uid = uid,
                             .execution = execution,
                             .after_seq = after_seq,
                             .mem = mem};
        status = take_history(&c, limit, ret, reterr);
    }
    pq.clear(r);
    params_deinit(&p);
    return status;
}

pawl_status pg_read_event(pawl_store *s, uint64_t rid, pawl_mem *mem, pawl_event *ret,
                          pawl_error *reterr)
{
    struct pg_params p = {0};
    pawl_status status;

    params_id(&p, rid);
    PGresult *r = pg_read(pg_of(s), ST_PG_EVENT, &p, "read an event", &status, reterr);
    if (r && pq.ntuples(r)) {
        *ret = event_of(r, 0, value_id(r, 0, AT_RID) != rid, mem);
    } else if (r) {
        status = PAWL_NOT_FOUND;
        error_set(reterr, status, "there is no event with rid %llu", (unsigned long long)rid);
    }
    pq.clear(r);
    params_deinit(&p);
    return status;
}
