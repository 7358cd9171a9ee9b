/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_driver.c -- PostgreSQL under the readers of store/sql (cursor.h).
 *
 * A cursor has a session: a connection from the pool (pg_pool.c) and the statements it runs on it.
 * A statement is sent when its first row is asked for, and the server answers with all of its
 * rows; so the shared texts that SQLite reads row by row have a limit here (cursor_further).
 * Entries that are to be sought by their ids are asked for with one statement (foresee).
 *
 * A connection may have been idle while the server was restarted: the first statement of a session
 * is tried once more on a new one.  It only reads, so it may run twice.
 */
#include "store/postgres/pg_rows.h"

#define FURTHER_MAX 2

/* One statement of a cursor. */
struct pg_run {
    int statement;
    struct pg_params params;
    int64_t further[FURTHER_MAX]; /* behind the parameters */
    int further_count;
    PGresult *result; /* NULL: not sent yet */
    int row;          /* the one it is at; -1: before the first */
    uint64_t *ids;    /* foreseen: the result has a row for each that is there, in their order */
    size_t count, at;
    struct pg_run *next;
};

struct pg_session {
    struct pg_link *link;
    struct pg_run *runs; /* owned */
    bool snapshot;
    bool used; /* something was answered */
    pawl_error error;
};

/* ---- Sessions ------------------------------------------------------------------------------ */

static bool failed(struct sql_cursor *c, pawl_status status)
{
    c->step = SQL_STEP_FAILED;
    c->code = status;
    return false;
}

static bool out_of_memory(struct sql_cursor *c)
{
    struct pg_session *session = c->conn;

    error_set(&session->error, PAWL_NO_MEMORY, "out of memory");
    return failed(c, PAWL_NO_MEMORY);
}

/* Forget the results; the parameters are bound again. */
static void run_reset(struct pg_run *run)
{
    pq.clear(run->result);
    free(run->ids);
    run->result = NULL;
    run->ids = NULL;
    run->count = run->at = 0;
    run->further_count = 0;
    run->row = -1;
    params_reset(&run->params);
}

static bool begin(struct sql_cursor *c, int statement, pawl_mem *mem, pawl_status *retstatus,
                  pawl_error *reterr)
{
    (void)mem;
    struct pg_session *session = calloc(1, sizeof *session);
    struct pg_run *run = calloc(1, sizeof *run);

    *retstatus =
        session && run ? pg_pool_take(pg_of(c->store), &session->link, reterr) : PAWL_NO_MEMORY;
    if (*retstatus != PAWL_OK) {
        if (!session || !run)
            error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        free(session);
        free(run);
        return false;
    }
    run->statement = statement;
    run->row = -1;
    session->runs = run;
    c->conn = session;
    c->stmt = run;
    return true;
}

static pawl_status end(struct sql_cursor *c, pawl_error *reterr)
{
    struct pg_session *session = c->conn;
    pawl_status status = PAWL_OK;

    if (c->step == SQL_STEP_FAILED) {
        status = (pawl_status)c->code;
        error_set(reterr, status, "%s", session->error.text);
    }
    while (session->runs) {
        struct pg_run *run = session->runs;
        session->runs = run->next;
        run_reset(run);
        params_deinit(&run->params);
        free(run);
    }
    if (session->snapshot && link_is_up(session->link) &&
        link_do(session->link, "ROLLBACK", "end a snapshot", NULL) != PAWL_OK)
        link_close(session->link);
    pg_pool_give(pg_of(c->store), session->link);
    free(session);
    return status;
}

/* Another connection in place of one that turned out to be dead; false: there is none. */
static bool revive(struct sql_cursor *c)
{
    struct pg_session *session = c->conn;
    struct pg_store *s = pg_of(c->store);

    return !session->used && session->link != &s->writer && !link_is_up(session->link) &&
           link_open(session->link, &s->place, s->texts, &session->error) == PAWL_OK;
}

static bool snapshot(struct sql_cursor *c)
{
    static const char sql[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    struct pg_session *session = c->conn;
    pawl_status status = link_do(session->link, sql, c->what, &session->error);

    if (status != PAWL_OK && revive(c))
        status = link_do(session->link, sql, c->what, &session->error);
    session->snapshot = session->used = status == PAWL_OK;
    return status == PAWL_OK || failed(c, status);
}

/* ---- Statements ------------------------------------------------------------------------------- */

static void rest(struct sql_cursor *c)
{
    run_reset(c->stmt);
}

static bool use(struct sql_cursor *c, int statement)
{
    struct pg_session *session = c->conn;

    if (!c->stmt) { /* beside another */
        struct pg_run *run = calloc(1, sizeof *run);
        if (!run)
            return out_of_memory(c);
        run->next = session->runs;
        session->runs = run;
        c->stmt = run;
    }
    run_reset(c->stmt);
    ((struct pg_run *)c->stmt)->statement = statement;
    return true;
}

static void put_further(struct pg_run *run)
{
    for (int i = 0; i < run->further_count; i++)
        params_i64(&run->params, run->further[i]);
}

static bool run_it(struct sql_cursor *c)
{
    struct pg_session *session = c->conn;
    struct pg_run *run = c->stmt;
    pawl_status status;

    put_further(run);
    run->result =
        link_run(session->link, run->statement, &run->params, c->what, &status, &session->error);
    if (!run->result && revive(c))
        run->result = link_run(session->link, run->statement, &run->params, c->what, &status,
                               &session->error);
    session->used = session->used || run->result;
    run->row = -1;
    return run->result || failed(c, status);
}

static bool next(struct sql_cursor *c)
{
    struct pg_run *run = c->stmt;

    if (!run->result && !run_it(c))
        return false;
    c->step = ++run->row < pq.ntuples(run->result) ? SQL_STEP_ROW : SQL_STEP_DONE;
    return c->step == SQL_STEP_ROW;
}

/* Where its id was asked for: behind the columns of an entry, from 1 on. */
static size_t place_of(const struct pg_run *run, int row)
{
    return (size_t)value_i64(run->result, row, ENTRY_is_taken + 1);
}

/* Ids are sought in the order in which they were foreseen; some may be left out. */
static bool seek_foreseen(struct sql_cursor *c, uint64_t id)
{
    struct pg_run *run = c->stmt;
    int rows = pq.ntuples(run->result);

    while (run->at < run->count && run->ids[run->at] != id)
        run->at++;
    run->at++;
    while (run->row + 1 < rows && place_of(run, run->row + 1) < run->at)
        run->row++;
    bool found = run->row + 1 < rows && place_of(run, run->row + 1) == run->at;
    run->row += found;
    c->step = found ? SQL_STEP_ROW : SQL_STEP_DONE;
    return found;
}

static bool seek(struct sql_cursor *c, uint64_t id)
{
    struct pg_run *run = c->stmt;

    if (run->ids)
        return seek_foreseen(c, id);
    pq.clear(run->result);
    run->result = NULL;
    params_reset(&run->params);
    params_id(&run->params, id);
    return next(c);
}

static void further(struct sql_cursor *c, int64_t n)
{
    struct pg_run *run = c->stmt;

    assert_that(run->further_count < FURTHER_MAX && !run->result);
    run->further[run->further_count++] = n;
}

/* Ask for all of them in one round trip.  What goes wrong shows when they are sought. */
static void foresee(struct sql_cursor *c, const uint64_t *ids, size_t count)
{
    struct pg_run *run = c->stmt;
    uint64_t *copy = count > 1 ? calloc(count, sizeof *copy) : NULL;

    assert_that(run->statement == ST_ENTRY_READ);
    if (!copy)
        return;
    memcpy(copy, ids, count * sizeof *copy);
    params_reset(&run->params);
    params_ids(&run->params, ids, count);
    run->statement = ST_PG_ENTRIES_BY_IDS;
    if (run_it(c)) {
        run->ids = copy;
        run->count = count;
        run->at = 0;
        return;
    }
    run->statement = ST_ENTRY_READ;
    run->further_count = 0;
    free(copy);
}

/* ---- Values ------------------------------------------------------------------------------------- */

static void put_i64(struct sql_cursor *c, int at, int64_t n)
{
    struct pg_run *run = c->stmt;

    assert_that(at == run->params.count + 1);
    params_i64(&run->params, n);
}

static void put_text(struct sql_cursor *c, int at, pawl_str text)
{
    struct pg_run *run = c->stmt;

    assert_that(at == run->params.count + 1);
    params_str(&run->params, text);
}

static int64_t get_i64(struct sql_cursor *c, int at)
{
    const struct pg_run *run = c->stmt;
    return value_i64(run->result, run->row, at);
}

static pawl_str get_view(struct sql_cursor *c, int at)
{
    const struct pg_run *run = c->stmt;
    return value_view(run->result, run->row, at);
}

/* ---- Rows --------------------------------------------------------------------------------------- */

static enum sql_sight row(struct sql_cursor *c, pawl_mem *mem, pawl_row *ret)
{
    const struct pg_run *run = c->stmt;
    return pg_decode_row(run->result, run->row, mem, ret);
}

static enum sql_sight message(struct sql_cursor *c, pawl_mem *mem, pawl_message *ret)
{
    const struct pg_run *run = c->stmt;
    return pg_decode_message(run->result, run->row, mem, ret);
}

static enum sql_sight work(struct sql_cursor *c, pawl_mem *mem, pawl_work *ret)
{
    const struct pg_run *run = c->stmt;
    return pg_decode_work(run->result, run->row, mem, ret);
}

static void queue(struct sql_cursor *c, pawl_mem *mem, pawl_queue_row *ret)
{
    const struct pg_run *run = c->stmt;
    pg_decode_queue(run->result, run->row, mem, ret);
}

static int64_t entry(struct sql_cursor *c, pawl_queue_entry *ret)
{
    const struct pg_run *run = c->stmt;
    pg_decode_entry(run->result, run->row, ret);
    return 0;
}

static enum sql_sight entry_rest(struct sql_cursor *c, bool head, int64_t sum, pawl_mem *mem,
                                 pawl_queue_entry *e)
{
    const struct pg_run *run = c->stmt;

    (void)sum;
    e->note = value_dup(run->result, run->row, ENTRY_note, mem);
    if (!head) {
        e->data = value_dup(run->result, run->row, ENTRY_data, mem);
        e->attrs = value_dup(run->result, run->row, ENTRY_attrs, mem);
    }
    return SQL_SOUND;
}

static void lock(struct sql_cursor *c, pawl_mem *mem, pawl_queue_lock *ret)
{
    const struct pg_run *run = c->stmt;
    pg_decode_lock(run->result, run->row, mem, ret);
}

static enum sql_sight object(struct sql_cursor *c, pawl_mem *mem, pawl_object *ret)
{
    const struct pg_run *run = c->stmt;
    pg_decode_object(run->result, run->row, mem, ret);
    return SQL_SOUND;
}

const struct sql_driver pg_driver = {
    .begin = begin,
    .snapshot = snapshot,
    .use = use,
    .rest = rest,
    .next = next,
    .seek = seek,
    .further = further,
    .foresee = foresee,
    .end = end,
    .bind_i64 = put_i64,
    .bind_text = put_text,
    .i64 = get_i64,
    .view = get_view,
    .row = row,
    .message = message,
    .work = work,
    .queue = queue,
    .entry = entry,
    .entry_rest = entry_rest,
    .lock = lock,
    .object = object,
};
