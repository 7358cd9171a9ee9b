/* SPDX-License-Identifier: MIT */
/*
 * store/sql/history.c -- reading chains of events.
 *
 * History is in commit order; the instance row (or that of a closed execution)
 * knows the last event of an execution and every event the one before it.  So
 * reading walks backwards, and checks at each hop that the row belongs here:
 * the uid, the execution, and a seq one smaller.  What does not fit is CORRUPT
 * and named; it concerns this instance only.
 *
 *     last_rid -> row 97, seq 3 --prev--> row 61, seq 2 --prev--> row 60, seq 1, prev 0
 *
 * Every MARK_EVERYth event has a row in `mark`, so that a page in the middle
 * starts at most that many hops behind its end.
 */
#include "base/arena.h"
#include "base/limits.h"
#include "store/sql/cursor.h"
#include "store/sql/reads.h"
#include "store/sql/sql_statements.h"

struct chain {
    uint64_t uid;
    uint64_t execution;
    uint64_t seq; /* of the row expected next */
    uint64_t rid; /* its row */
};

/* Two numbers by uid and execution (and a third parameter when not 0).  False:
 * there are none. */
static bool find_two(struct sql_cursor *c, int which, struct chain *at, uint64_t third)
{
    if (!cursor_use(c, which))
        return false;
    cursor_bind_id(c, 1, at->uid);
    cursor_bind_id(c, 2, at->execution);
    if (third)
        cursor_bind_id(c, 3, third);
    if (!cursor_next(c))
        return false;
    at->seq = cursor_id(c, 0);
    at->rid = cursor_id(c, 1);
    return true;
}

/* The last event; seq 0 when this execution has none. */
static void find_head(struct sql_cursor *c, struct chain *at)
{
    if (!find_two(c, ST_CHAIN_HEAD, at, 0) && c->step == SQL_STEP_DONE)
        (void)find_two(c, ST_CHAIN_HEAD_CLOSED, at, 0);
}

static pawl_status missing(const struct chain *at, pawl_error *reterr)
{
    error_set(reterr, PAWL_CORRUPT,
              "history row %llu is missing, expected event %llu of uid %llu execution %llu",
              (unsigned long long)at->rid, (unsigned long long)at->seq, (unsigned long long)at->uid,
              (unsigned long long)at->execution);
    return PAWL_CORRUPT;
}

static pawl_status misfit(const struct sql_event_place *row, const struct chain *at,
                          pawl_error *reterr)
{
    error_set(reterr, PAWL_CORRUPT,
              "history row %llu is event %llu of uid %llu execution %llu with prev %llu, "
              "expected event %llu of uid %llu execution %llu",
              (unsigned long long)at->rid, (unsigned long long)row->seq,
              (unsigned long long)row->uid, (unsigned long long)row->execution,
              (unsigned long long)row->prev, (unsigned long long)at->seq,
              (unsigned long long)at->uid, (unsigned long long)at->execution);
    return PAWL_CORRUPT;
}

static bool fits(const struct sql_event_place *row, const struct chain *at)
{
    return row->uid == at->uid && row->execution == at->execution && row->seq == at->seq &&
           (at->seq == 1) == (row->prev == 0) && row->prev < at->rid;
}

static pawl_status take_event(struct sql_cursor *c, uint64_t rid, const struct sql_event_place *row,
                              pawl_mem *mem, pawl_event *ret, pawl_error *reterr)
{
    return c->driver->event(c, rid, row, mem, ret) == SQL_SOUND
               ? PAWL_OK
               : cursor_refuse(c, "history row", rid, reterr);
}

/* The row `c` is at, event at->seq: checked, and kept when it is of the page. */
static pawl_status take_hop(struct sql_cursor *c, struct chain *at, uint64_t last_seq,
                            sql_events *events, pawl_mem *mem, pawl_error *reterr)
{
    struct sql_event_place row;
    pawl_status status = PAWL_OK;

    c->driver->event_place(c, &row);
    if (!fits(&row, at))
        return misfit(&row, at, reterr);
    if (at->seq <= last_seq) { /* else it is behind the page */
        pawl_event *slot = vec_push(events);
        if (!slot) {
            error_set(reterr, PAWL_NO_MEMORY, "out of memory");
            return PAWL_NO_MEMORY;
        }
        status = take_event(c, at->rid, &row, mem, slot, reterr);
    }
    at->rid = row.prev;
    at->seq--;
    return status;
}

/* Events last_seq down to after_seq + 1; `at` may start later. */
static pawl_status walk(struct sql_cursor *c, struct chain *at, uint64_t after_seq,
                        uint64_t last_seq, sql_events *events, pawl_mem *mem, pawl_error *reterr)
{
    pawl_status status = PAWL_OK;

    if (at->seq <= after_seq || !cursor_use(c, ST_EVENT_READ))
        return PAWL_OK;
    while (status == PAWL_OK && at->seq > after_seq) {
        if (cursor_seek(c, at->rid))
            status = take_hop(c, at, last_seq, events, mem, reterr);
        else if (c->step == SQL_STEP_DONE)
            return missing(at, reterr);
        else
            return PAWL_OK; /* the end says why */
    }
    return status;
}

/* Oldest first. */
static pawl_event_list turned(const sql_events *events, pawl_mem *mem)
{
    size_t count = events->count;
    pawl_event *items = arena_alloc(mem, count * sizeof *items);

    for (size_t i = 0; i < count; i++)
        items[i] = events->items[count - 1 - i];
    return (pawl_event_list){.items = items, .count = count};
}

pawl_status sql_read_history(pawl_store *s, uint64_t uid, uint64_t execution, uint64_t after_seq,
                             uint32_t limit, pawl_mem *mem, pawl_event_list *ret,
                             pawl_error *reterr)
{
    struct chain at = {.uid = uid, .execution = execution};
    struct sql_cursor c;
    pawl_status status, found = PAWL_OK;

    if (!cursor_begin(&c, s, ST_CHAIN_HEAD, "read a history", mem, &status, reterr))
        return status;
    sql_events *events = c.driver->events(&c);
    vec_reset(events);
    if (cursor_snapshot(&c))
        find_head(&c, &at);
    uint64_t last_seq = at.seq;
    if (limit && at.seq > after_seq && at.seq - after_seq > limit) {
        last_seq = after_seq + limit;
        if (c.step != SQL_STEP_FAILED) /* without a mark it starts at the head */
            (void)find_two(&c, ST_MARK_AFTER, &at, last_seq);
    }
    if (c.step != SQL_STEP_FAILED)
        found = walk(&c, &at, after_seq, last_seq, events, mem, reterr);
    if (c.step != SQL_STEP_FAILED && found == PAWL_OK)
        *ret = turned(events, mem);
    status = cursor_end(&c, reterr);
    return status == PAWL_OK ? found : status;
}

pawl_status sql_read_event(pawl_store *s, uint64_t rid, pawl_mem *mem, pawl_event *ret,
                           pawl_error *reterr)
{
    struct sql_cursor c;
    struct sql_event_place row;
    pawl_status status, fit = PAWL_OK;

    if (!cursor_begin(&c, s, ST_EVENT_READ, "read an event", mem, &status, reterr))
        return status;
    bool found = cursor_seek(&c, rid);
    if (found) {
        c.driver->event_place(&c, &row);
        fit = take_event(&c, rid, &row, mem, ret, reterr);
    }
    status = cursor_end(&c, reterr);
    if (found || status != PAWL_OK)
        return status == PAWL_OK ? fit : status;
    error_set(reterr, PAWL_NOT_FOUND, "there is no event with rid %llu", (unsigned long long)rid);
    return PAWL_NOT_FOUND;
}
