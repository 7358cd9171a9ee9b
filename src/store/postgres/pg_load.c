/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_load.c -- load: all questions of a pass in one round trip; read_work, find_keys.
 *
 * The questions are sorted into four statements: instances by id, instances by uid, keys, work.
 * Those that are asked go into one pipeline on the writer.  Each statement gets arrays, and answers
 * with the place in them, behind the columns of the row.  A question for a row and a key is in two
 * of them.
 *
 * Called through the table of operations: load and find_keys on the engine thread, read_work on any.
 */
#include "base/attr.h"
#include "store/postgres/postgres.h"
#include "store/sql/columns.h"

enum about { BY_ID, BY_UID, KEY, WORK, ABOUTS };

static const int statements[ABOUTS] = {ST_PG_ROWS_BY_IDS, ST_PG_ROWS_BY_UIDS, ST_PG_KEYS_THERE,
                                       ST_PG_WORK_BY_IDS};
static const int ordinals[ABOUTS] = {PG_ROW_SHARD + 1, PG_ROW_SHARD + 1, 0, PG_WORK_SHARD + 1};

/* One call in progress. */
struct loading {
    struct pg_store *s;
    pawl_wanted *wanted;
    size_t count;
    pawl_mem *mem;
    size_t most;           /* bytes in `mem` */
    size_t *asked[ABOUTS]; /* the question at each place of a statement */
    size_t asked_count[ABOUTS];
    enum about sent[ABOUTS];
    size_t sent_count;
    bool answered[ABOUTS]; /* to the end: a row that is missing was not found */
};

static enum about about_row(const pawl_wanted *w)
{
    return w->work ? WORK : w->key_only ? KEY : w->uid ? BY_UID : BY_ID;
}

static void ask(struct loading *l, enum about about, size_t which)
{
    if (!l->asked[about])
        l->asked[about] = arena_array(l->mem, size_t, l->count);
    l->asked[about][l->asked_count[about]++] = which;
}

static void sort_questions(struct loading *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const pawl_wanted *w = &l->wanted[i];
        ask(l, about_row(w), i);
        if (w->key.len && !w->key_only && !w->work)
            ask(l, KEY, i);
    }
}

static void send_keys(struct loading *l)
{
    struct pg_array *column = l->s->scratch;

    for (int i = 0; i < 3; i++) {
        array_reset(&column[i]);
        column[i].type = i == 2 ? PG_BYTEA : i ? PG_TEXT : PG_INT8;
    }
    for (size_t i = 0; i < l->asked_count[KEY]; i++) {
        const pawl_wanted *w = &l->wanted[l->asked[KEY][i]];
        array_id(&column[0], w->uid);
        array_str(&column[1], !w->uid ? w->id : (pawl_str){0});
        array_str(&column[2], w->key);
    }
    for (int i = 0; i < 3; i++)
        params_array(&l->s->params, &column[i]);
}

static void send_names(struct loading *l, enum about about)
{
    struct pg_array *column = l->s->scratch;

    array_reset(column);
    column->type = about == BY_ID ? PG_TEXT : PG_INT8;
    for (size_t i = 0; i < l->asked_count[about]; i++) {
        const pawl_wanted *w = &l->wanted[l->asked[about][i]];
        if (about == BY_ID)
            array_str(column, w->id);
        else
            array_id(column, about == WORK ? w->work : w->uid);
    }
    params_array(&l->s->params, column);
}

static void send(struct loading *l, enum about about)
{
    params_reset(&l->s->params);
    if (about == KEY)
        send_keys(l);
    else
        send_names(l, about);
    (void)link_send(&l->s->writer, statements[about], &l->s->params); /* link_reap tells */
    l->sent[l->sent_count++] = about;
}

/* The row of an instance; a damaged one affects no other answer (B2). */
static void answer_row(struct loading *l, pawl_wanted *w, const PGresult *r, int at)
{
    pawl_row *row = arena_new(l->mem, pawl_row);

    w->status = PAWL_OK;
    w->row = row;
    if (pg_decode_row(r, at, l->mem, row) == SQL_SOUND)
        return;
    damage_note(&l->s->sql.base, "the row of instance", value_id(r, at, ROW_uid));
    w->status = PAWL_CORRUPT;
}

static void answer_work(struct loading *l, pawl_wanted *w, const PGresult *r, int at)
{
    pawl_work *row = arena_new(l->mem, pawl_work);

    w->status = PAWL_OK;
    w->item = row;
    if (pg_decode_work(r, at, l->mem, row) == SQL_SOUND)
        return;
    damage_note(&l->s->sql.base, "work", w->work);
    w->status = PAWL_CORRUPT;
}

static void on_answer(void *user, size_t index, const PGresult *r)
{
    struct loading *l = user;
    enum about about = l->sent[index];
    int rows = pq.ntuples(r), at = 0;

    for (; at < rows && arena_bytes(l->mem) <= l->most; at++) {
        uint64_t place = value_id(r, at, ordinals[about]);
        assert_that(place > 0 && place <= l->asked_count[about]);
        pawl_wanted *w = &l->wanted[l->asked[about][place - 1]];
        if (about == KEY)
            w->key_status = PAWL_OK;
        else if (about == WORK)
            answer_work(l, w, r, at);
        else
            answer_row(l, w, r, at);
    }
    l->answered[about] = at == rows;
}

/* Questions without an answer, of a statement that was answered to the end (B3: else they stay
 * UNAVAILABLE). */
static void answer_rest(struct loading *l)
{
    for (size_t i = 0; i < l->count; i++) {
        pawl_wanted *w = &l->wanted[i];
        bool keyed = w->key.len && l->answered[KEY];
        if (keyed && w->key_status != PAWL_OK)
            w->key_status = PAWL_EMPTY;
        if (w->key_only)
            w->status = keyed ? PAWL_OK : w->status;
        else if (w->status == PAWL_UNAVAILABLE && l->answered[about_row(w)])
            w->status = PAWL_NOT_FOUND;
    }
}

pawl_status pg_load(pawl_store *base, pawl_wanted *wanted, size_t count, size_t max_bytes,
                    pawl_mem *mem, pawl_error *reterr)
{
    struct loading l = {.s = pg_of(base), .wanted = wanted, .count = count, .mem = mem};
    struct link_report report;
    pawl_status status = pg_attach(l.s, reterr);

    if (status != PAWL_OK || !count)
        return status;
    sort_questions(&l);
    l.most = arena_bytes(mem) + max_bytes;
    if (link_pipe(&l.s->writer))
        for (enum about about = 0; about < ABOUTS; about++)
            if (l.asked_count[about])
                send(&l, about);
    link_reap(&l.s->writer, on_answer, &l, &report);
    if (report.end != LINK_DONE)
        return link_error(&report, "read", reterr);
    answer_rest(&l);
    return PAWL_OK;
}

/* In one statement, hence one snapshot. */
pawl_status pg_read_work(pawl_store *base, const uint64_t *ids, size_t count, pawl_mem *mem,
                         pawl_work_list *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    struct pg_params p = {0};
    struct pg_link *l;
    pawl_status status = pg_pool_take(s, &l, reterr);

    if (status != PAWL_OK)
        return status;
    params_ids(&p, ids, count);
    PGresult *r = link_run(l, ST_PG_WORK_BY_IDS, &p, "read work", &status, reterr);
    params_deinit(&p);
    pg_pool_give(s, l);
    if (!r)
        return status;
    size_t rows = (size_t)pq.ntuples(r);
    pawl_work *items = arena_array(mem, pawl_work, rows + 1);
    for (size_t i = 0; i < rows && status == PAWL_OK; i++) {
        if (pg_decode_work(r, (int)i, mem, &items[i]) == SQL_SOUND)
            continue;
        status = PAWL_CORRUPT;
        damage_note(&s->sql.base, "work", value_id(r, (int)i, WORK_id));
        error_set(reterr, PAWL_CORRUPT, "work %llu is not what was written; restore a backup",
                  (unsigned long long)value_id(r, (int)i, WORK_id));
    }
    pq.clear(r);
    if (status == PAWL_OK)
        *ret = (pawl_work_list){.items = items, .count = rows};
    return status;
}

pawl_status pg_find_keys(pawl_store *base, uint64_t qid, const pawl_str *keys, size_t count,
                         pawl_queue_key *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    struct pg_array *column = &s->scratch[0];
    pawl_status status = pg_attach(s, reterr);

    if (status != PAWL_OK || !count)
        return status;
    array_reset(column);
    column->type = PG_BYTEA;
    for (size_t i = 0; i < count; i++)
        array_str(column, keys[i]);
    params_reset(&s->params);
    params_id(&s->params, qid);
    params_array(&s->params, column);
    PGresult *r =
        link_run(&s->writer, ST_PG_QUEUE_KEYS, &s->params, "read a queue", &status, reterr);
    if (!r)
        return status;
    for (int i = 0; i < pq.ntuples(r); i++) {
        uint64_t place = value_id(r, i, 0);
        assert_that(place > 0 && place <= count);
        ret[place - 1] =
            (pawl_queue_key){qid, keys[place - 1], value_id(r, i, 1), value_i64(r, i, 2)};
    }
    pq.clear(r);
    return PAWL_OK;
}
