/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_load_histories.c -- load_histories: histories and mail of many instances, in one
 * round trip.
 *
 * Two statements go into one pipeline on the writer.  Each answers in the order of the questions,
 * with the place of the question and the bytes so far behind the columns of a row.  The server stops
 * behind the row with which the answer is too large; the question of that row and all behind it are
 * left out (B5).
 *
 * Called through the table of operations, on the engine thread.
 */
#include "base/attr.h"
#include "store/postgres/pg_rows.h"
#include "store/postgres/postgres.h"
#include "store/sql/columns.h"

/* Behind PG_HISTORY_PARTS and where the walk began; behind the columns of a message. */
enum { HISTORY_ORDINAL = 18, HISTORY_BYTES = 19, MAIL_ORDINAL = PG_MESSAGE_SHARD + 1, MAIL_BYTES };

struct history_loading {
    struct pg_store *s;
    pawl_wanted_history *wanted;
    size_t count;
    pawl_mem *mem;
    int64_t most;    /* bytes of each answer */
    size_t whole[2]; /* questions that were answered: all below it */
    pawl_error *reterr;
};

static void ask_all(struct history_loading *l)
{
    struct pg_array *uids = &l->s->scratch[0], *executions = &l->s->scratch[1];
    struct pg_params *p = &l->s->params;

    array_reset(uids);
    array_reset(executions);
    uids->type = executions->type = PG_INT8;
    for (size_t i = 0; i < l->count; i++) {
        array_id(uids, l->wanted[i].uid);
        array_id(executions, l->wanted[i].execution);
    }
    params_reset(p);
    params_array(p, uids);
    params_array(p, executions);
    params_i64(p, l->most);
    (void)link_send(&l->s->writer, ST_PG_HISTORIES, p); /* link_reap tells */
    params_reset(p);
    params_array(p, uids);
    params_i64(p, l->most);
    (void)link_send(&l->s->writer, ST_PG_MAIL_OF, p);
}

/* The first question that the answer does not have to its end; one behind all when it is whole. */
static size_t first_cut(const struct history_loading *l, const PGresult *r, int ordinal, int bytes)
{
    int last = pq.ntuples(r) - 1;

    return last >= 0 && value_i64(r, last, bytes) > l->most ? value_id(r, last, ordinal) - 1
                                                            : l->count;
}

/* The rows of the question at `row` end before this one. */
static int end_of(const PGresult *r, int row, int ordinal)
{
    uint64_t place = value_id(r, row, ordinal);

    do
        row++;
    while (row < pq.ntuples(r) && value_id(r, row, ordinal) == place);
    return row;
}

static pawl_wanted_history *question(const struct history_loading *l, const PGresult *r, int row,
                                     int ordinal)
{
    uint64_t place = value_id(r, row, ordinal);

    assert_that(place > 0 && place <= l->count);
    return &l->wanted[place - 1];
}

/* An instance that is not there, or continued since, has no row: it stays UNAVAILABLE. */
static void see_histories(struct history_loading *l, const PGresult *r)
{
    l->whole[0] = first_cut(l, r, HISTORY_ORDINAL, HISTORY_BYTES);
    for (int row = 0, end; row < pq.ntuples(r); row = end) {
        pawl_wanted_history *w = question(l, r, row, HISTORY_ORDINAL);
        end = end_of(r, row, HISTORY_ORDINAL);
        if ((size_t)(w - l->wanted) < l->whole[0])
            w->status = pg_history_of(r, row, end, w, l->mem, &w->events, l->reterr);
    }
}

/* As sql_read_messages: a fetch quarantines messages that cannot be read. */
static void see_mail(struct history_loading *l, const PGresult *r)
{
    l->whole[1] = first_cut(l, r, MAIL_ORDINAL, MAIL_BYTES);
    for (int row = 0, end; row < pq.ntuples(r); row = end) {
        pawl_wanted_history *w = question(l, r, row, MAIL_ORDINAL);
        end = end_of(r, row, MAIL_ORDINAL);
        if ((size_t)(w - l->wanted) >= l->whole[1])
            continue;
        pawl_message *items = arena_array(l->mem, pawl_message, (size_t)(end - row));
        size_t found = 0;
        for (int at = row; at < end; at++)
            found += pg_decode_message(r, at, l->mem, &items[found]) == SQL_SOUND;
        w->messages = (pawl_message_list){.items = items, .count = found};
    }
}

static void on_answer(void *user, size_t index, const PGresult *r)
{
    if (index == 0)
        see_histories(user, r);
    else
        see_mail(user, r);
}

pawl_status pg_load_histories(pawl_store *base, pawl_wanted_history *wanted, size_t count,
                              size_t max_bytes, pawl_mem *mem, pawl_error *reterr)
{
    struct history_loading l = {.s = pg_of(base),
                                .wanted = wanted,
                                .count = count,
                                .mem = mem,
                                .most = (int64_t)(max_bytes / 2),
                                .reterr = reterr};
    struct link_report report;
    pawl_status status = pg_attach(l.s, reterr);

    if (status != PAWL_OK || !count)
        return status;
    if (link_pipe(&l.s->writer))
        ask_all(&l);
    link_reap(&l.s->writer, on_answer, &l, &report);
    if (report.end != LINK_DONE)
        return link_error(&report, "read", reterr);
    for (size_t i = l.whole[1]; i < count; i++)
        wanted[i].status = PAWL_UNAVAILABLE;
    return PAWL_OK;
}
