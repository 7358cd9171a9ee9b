/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/link.c -- one connection: open, run, pipeline, errors.
 *
 * What the URL does not say has defaults that notice a dead server within seconds.  A connection
 * that broke is closed at once, so that link_is_up() alone says whether there is one.
 *
 * No text of libpq that may repeat the URL is passed on: it can hold a password.  What the server
 * sends besides errors is not printed.  One notice matters: the wait for a synchronous standby was
 * cancelled.  The commit is then durable on one machine only.
 *
 * Called by the other files of the room.
 */
#include "store/postgres/link.h"
#include "base/attr.h"
#include "base/limits.h"
#include "store/postgres/link_errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* X(name, value): the plans of the engine's statements must not depend on what the tables held
 * when they were planned; a transaction whose client is gone must not stay, nor must a session
 * whose client's machine is gone, because it looks like the owner of the store. */
#define LINK_SETTINGS(X)                                                                           \
    X("enable_seqscan", "off")                                                                     \
    X("enable_hashjoin", "off")                                                                    \
    X("enable_mergejoin", "off")                                                                   \
    X("plan_cache_mode", "force_generic_plan")                                                     \
    X("jit", "off")                                                                                \
    X("client_min_messages", "warning")                                                            \
    X("statement_timeout", "0")                                                                    \
    X("idle_in_transaction_session_timeout", "10s")                                                \
    X("lock_timeout", "4s")                                                                        \
    X("default_transaction_isolation", "read committed")                                           \
    X("tcp_keepalives_idle", "10")                                                                 \
    X("tcp_keepalives_interval", "5")                                                              \
    X("tcp_keepalives_count", "3")                                                                 \
    X("tcp_user_timeout", "20000")                                                                 \
    X("search_path", "pg_catalog")
#define LINK_SETTING_NOW(name, value)   ",set_config('" name "','" value "',false)"
#define LINK_SETTING_LOCAL(name, value) ",set_config('" name "','" value "',true)"
static const char settings_now[] = "SELECT 1" LINK_SETTINGS(LINK_SETTING_NOW);
static const char settings_local[] = "SELECT 1" LINK_SETTINGS(LINK_SETTING_LOCAL);

/* A statement's name says whose text it is: behind a pooler that mixes the prepared statements of
 * its clients, one of another schema or version must not be found by accident. */
#define NAME_SIZE 24
static const char *name_of(const struct pg_link *l, int statement, char *room)
{
    (void)snprintf(room, NAME_SIZE, "s%d_%08x", statement, (unsigned)l->mark);
    return room;
}

static uint32_t mark_of(char *const *texts)
{
    uint32_t mark = 2166136261U; /* FNV-1a */

    for (int i = 0; i < ST_PG_COUNT; i++)
        for (const char *at = texts[i]; at && *at; at++)
            mark = (mark ^ (unsigned char)*at) * 16777619U;
    return mark;
}

/* ---- Errors -------------------------------------------------------------------------------- */

static void report_lost(struct link_report *report, struct pg_link *l)
{
    report->end = LINK_LOST;
    if (!report->text[0])
        line_copy(report->text, sizeof report->text,
                  l->pg ? pq.errorMessage(l->pg) : "there is no connection");
    if (!report->text[0])
        line_copy(report->text, sizeof report->text, "the connection was lost");
    if (!report->sqlstate[0])
        line_copy(report->sqlstate, sizeof report->sqlstate, "08006");
    link_close(l);
}

static bool is_error(enum pq_result status)
{
    return status != PQ_COMMAND_OK && status != PQ_TUPLES_OK;
}

/* ---- Open, close --------------------------------------------------------------------------- */

static void on_notice(void *user, const PGresult *r)
{
    struct pg_link *l = user;
    const char *state = pq.resultErrorField(r, PQ_DIAG_SQLSTATE);
    const char *function = pq.resultErrorField(r, PQ_DIAG_FUNCTION);
    const char *text = pq.resultErrorField(r, PQ_DIAG_MESSAGE);

    if (!state || strcmp(state, "01000") != 0)
        return;
    if ((function && strcmp(function, "SyncRepWaitForLSN") == 0) ||
        (text && strstr(text, "synchronous replication")))
        l->wait_cancelled = true;
}

bool link_is_up(const struct pg_link *l)
{
    return l->pg && pq.status(l->pg) == PQ_CONNECTION_OK;
}

void link_close(struct pg_link *l)
{
    if (l->pg)
        pq.finish(l->pg);
    l->pg = NULL;
    l->piped = l->unsent = false;
    l->sent = l->own_count = l->own_seen = 0;
    memset(l->known, 0, sizeof l->known);
}

void link_check(const struct pg_link *l)
{
    assert_that(l->pg || !l->piped);
    assert_that(l->piped || l->sent == 0);
    assert_that(l->own_seen <= l->own_count && l->own_count <= COUNT_OF(l->own));
}

/* Can libpq read the URL?  Its error text is not used: it may repeat a password. */
static bool url_is_good(const char *url)
{
    char *why = NULL;
    void *options = pq.conninfoParse(url, &why);

    if (options)
        pq.conninfoFree(options);
    if (why)
        pq.freemem(why);
    return options != NULL;
}

/* A refused connection has no SQLSTATE, so this goes by the server's words; in another language
 * there is no hint. */
static const char *how_to_connect(const char *text)
{
    static const char *const hints[][2] = {
        {"password authentication failed",
         "; give the password in PGPASSWORD or ~/.pgpass, and the user in the URL"                  },
        {"no password supplied",           "; give the password in PGPASSWORD or ~/.pgpass"         },
        {"\" does not exist",              "; make it (createdb, createuser), or name another"      },
        {"no pg_hba.conf entry",           "; allow it in the server's pg_hba.conf"                 },
        {"read-only",                      "; this server is a standby: name the primary in the URL"},
    };

    for (size_t i = 0; i < COUNT_OF(hints); i++) {
        if (strstr(text, hints[i][0]))
            return hints[i][1];
    }
    return "";
}

static pawl_status connect_to(struct pg_link *l, pawl_error *reterr)
{
    /* The URL overrides what is before it, and nothing overrides what is behind it. */
    const char *const keys[] = {
        "keepalives_idle",      "tcp_user_timeout", "connect_timeout", "application_name",
        "target_session_attrs", "dbname",           "client_encoding", NULL,
    };
    const char *const values[] = {
        "5",           "10000", "5",  "pawl", l->place->any_server ? "any" : "read-write",
        l->place->url, "UTF8",  NULL,
    };
    char text[240];

    if (!url_is_good(l->place->url)) {
        error_set(reterr, PAWL_INVALID,
                  "libpq cannot read the URL of the store; write it as "
                  "postgresql://USER:PASSWORD@HOST:PORT/DATABASE with %%XX for special characters");
        return PAWL_INVALID;
    }
    l->pg = pq.connectdbParams(keys, values, 1);
    if (link_is_up(l)) {
        (void)pq.setNoticeReceiver(l->pg, on_notice, l);
        return PAWL_OK;
    }
    line_copy(text, sizeof text, l->pg ? pq.errorMessage(l->pg) : "out of memory");
    pawl_status status = l->pg ? PAWL_UNAVAILABLE : PAWL_NO_MEMORY;
    error_set(reterr, status, "cannot connect to PostgreSQL: %s%s", text, how_to_connect(text));
    link_close(l);
    return status;
}

/* The result, or NULL for an error.  A connection that cannot be used any more is closed. */
static PGresult *judge(struct pg_link *l, PGresult *r, struct link_report *report)
{
    *report = (struct link_report){.end = LINK_FAILED};
    if (r && !is_error(pq.resultStatus(r)))
        return r;
    if (r)
        report_result(report, r);
    bool silent = r && !report->sqlstate[0]; /* libpq's own words: the server did not answer */
    pq.clear(r);
    if (!link_is_up(l) || silent || sqlstate_ends(report->sqlstate))
        report_lost(report, l);
    else if (!r)
        line_copy(report->text, sizeof report->text, "out of memory");
    return NULL;
}

static pawl_status set_up(struct pg_link *l, pawl_error *reterr)
{
    struct link_report report = {.end = LINK_FAILED};

    if (l->place->pooled) /* the settings go with each transaction */
        return PAWL_OK;
    PGresult *r = judge(l, pq.exec(l->pg, settings_now), &report);
    pq.clear(r);
    return r ? PAWL_OK : link_error(&report, "set up the connection", reterr);
}

pawl_status link_open(struct pg_link *l, const struct pg_place *place, char **texts,
                      pawl_error *reterr)
{
    *l = (struct pg_link){.place = place, .texts = texts};
    l->mark = texts ? mark_of(texts) : 0;
    pawl_status status = libpq_load(reterr);

    if (status == PAWL_OK)
        status = connect_to(l, reterr);
    if (status == PAWL_OK)
        status = set_up(l, reterr);
    if (status != PAWL_OK && l->pg)
        link_close(l);
    return status;
}

/* ---- One statement ----------------------------------------------------------------------------- */

/* Parameters as libpq wants them. */
struct link_values {
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX];
    int formats[PG_PARAMS_MAX];
    int count;
};

static void values_make(struct link_values *w, const struct pg_params *p)
{
    w->count = p ? p->count : 0;
    for (int i = 0; i < w->count; i++) {
        bool is_null = p->length[i] < 0;
        w->values[i] = is_null ? NULL : p->bytes.at ? p->bytes.at + p->offset[i] : "";
        w->lengths[i] = is_null ? 0 : p->length[i];
        w->formats[i] = 1;
    }
}

static bool make_ready(struct pg_link *l, int statement, struct link_report *report)
{
    char name[NAME_SIZE];

    if (l->known[statement] == LINK_KNOWN || l->place->no_prepare)
        return true;
    PGresult *r = judge(
        l, pq.prepare(l->pg, name_of(l, statement, name), l->texts[statement], 0, NULL), report);
    if (r)
        l->known[statement] = LINK_KNOWN;
    pq.clear(r);
    return r != NULL;
}

static PGresult *run(struct pg_link *l, int statement, const struct pg_params *p,
                     struct link_report *report)
{
    struct link_values w;
    char name[NAME_SIZE];

    assert_that(!l->piped);
    *report = (struct link_report){.end = LINK_FAILED};
    if (!link_is_up(l)) {
        report_lost(report, l);
        return NULL;
    }
    if (p && p->bytes.failed) {
        line_copy(report->text, sizeof report->text, "out of memory");
        return NULL;
    }
    if (!make_ready(l, statement, report))
        return NULL;
    values_make(&w, p);
    PGresult *r = l->place->no_prepare
                      ? pq.execParams(l->pg, l->texts[statement], w.count, NULL, w.values,
                                      w.lengths, w.formats, 1)
                      : pq.execPrepared(l->pg, name_of(l, statement, name), w.count, w.values,
                                        w.lengths, w.formats, 1);
    return judge(l, r, report);
}

PGresult *link_run(struct pg_link *l, int statement, const struct pg_params *p, const char *what,
                   pawl_status *retstatus, pawl_error *reterr)
{
    struct link_report report;
    PGresult *r = run(l, statement, p, &report);

    *retstatus = r ? PAWL_OK : link_error(&report, what, reterr);
    return r;
}

PGresult *link_ask(struct pg_link *l, const char *sql, const char *what, pawl_status *retstatus,
                   pawl_error *reterr)
{
    struct link_report report = {.end = LINK_FAILED};
    PGresult *r = NULL;

    assert_that(!l->piped);
    if (link_is_up(l))
        r = judge(l, pq.exec(l->pg, sql), &report);
    else
        report_lost(&report, l);
    *retstatus = r ? PAWL_OK : link_error(&report, what, reterr);
    return r;
}

pawl_status link_do(struct pg_link *l, const char *sql, const char *what, pawl_error *reterr)
{
    pawl_status status;
    PGresult *r = link_ask(l, sql, what, &status, reterr);

    pq.clear(r);
    return status;
}

/* ---- Pipelines ----------------------------------------------------------------------------------- */

bool link_pipe(struct pg_link *l)
{
    assert_that(!l->piped);
    if (!link_is_up(l) || !pq.enterPipelineMode(l->pg))
        return false;
    l->piped = true;
    l->unsent = l->wait_cancelled = false;
    l->sent = l->own_count = l->own_seen = 0;
    return true;
}

/* The statement with this index in the pipeline that was reaped last; -1: not remembered. */
int link_sent(const struct pg_link *l, size_t index)
{
    return index < LINK_REMEMBERED ? l->which[index] : -1;
}

static bool count_sent(struct pg_link *l, int done)
{
    l->sent += done != 0;
    l->unsent = l->unsent || !done;
    return done;
}

/* The next result belongs to a statement of this file. */
static bool count_own(struct pg_link *l, int statement, int done)
{
    if (done) {
        assert_that(l->own_count < COUNT_OF(l->own));
        l->own[l->own_count++] = (struct link_own){l->sent, statement};
    }
    return count_sent(l, done);
}

/* Prepare it before its first use. */
static bool send_prepare(struct pg_link *l, int statement)
{
    char name[NAME_SIZE];

    if (l->known[statement] != LINK_UNKNOWN)
        return true;
    l->known[statement] = LINK_TOLD;
    return count_own(
        l, statement,
        pq.sendPrepare(l->pg, name_of(l, statement, name), l->texts[statement], 0, NULL));
}

bool link_send(struct pg_link *l, int statement, const struct pg_params *p)
{
    struct link_values w;
    char name[NAME_SIZE];

    assert_that(l->piped || !l->pg);
    if (!link_is_up(l) || l->unsent || (p && p->bytes.failed))
        return count_sent(l, 0);
    values_make(&w, p);
    size_t index = l->sent - l->own_count;
    if (index < LINK_REMEMBERED)
        l->which[index] = statement;
    if (l->place->no_prepare)
        return count_sent(l, pq.sendQueryParams(l->pg, l->texts[statement], w.count, NULL, w.values,
                                                w.lengths, w.formats, 1));
    return send_prepare(l, statement) &&
           count_sent(l, pq.sendQueryPrepared(l->pg, name_of(l, statement, name), w.count, w.values,
                                              w.lengths, w.formats, 1));
}

bool link_send_begin(struct pg_link *l)
{
    assert_that(l->sent == 0);
    if (!link_is_up(l))
        return count_sent(l, 0);
    if (!count_sent(l, pq.sendQueryParams(l->pg, "BEGIN", 0, NULL, NULL, NULL, NULL, 1)) ||
        !l->place->pooled)
        return !l->unsent;
    return count_own(l, -1,
                     pq.sendQueryParams(l->pg, settings_local, 0, NULL, NULL, NULL, NULL, 1));
}

/* Does result `at` belong to a statement of this file?  Then note it. */
static bool reap_own(struct pg_link *l, size_t at, bool good)
{
    if (l->own_seen == l->own_count || l->own[l->own_seen].at != at)
        return false;
    int statement = l->own[l->own_seen++].statement;
    if (statement >= 0)
        l->known[statement] = good ? LINK_KNOWN : LINK_UNKNOWN;
    return true;
}

/* The statements for which no result came. */
static void forget_told(struct pg_link *l)
{
    for (; l->own_seen < l->own_count; l->own_seen++)
        if (l->own[l->own_seen].statement >= 0)
            l->known[l->own[l->own_seen].statement] = LINK_UNKNOWN;
}

/* Result `at`.  Of a statement that could not be prepared the error is its own. */
static void reap_one(struct pg_link *l, size_t at, PGresult *r, struct link_report *ret,
                     void (*on_result)(void *user, size_t index, const PGresult *r), void *user)
{
    enum pq_result status = pq.resultStatus(r);
    size_t index = at - l->own_seen;
    bool is_own = reap_own(l, at, !is_error(status));

    if (is_error(status)) {
        if (status != PQ_PIPELINE_ABORTED && ret->end == LINK_DONE) {
            ret->end = LINK_FAILED;
            ret->failed = index;
            report_result(ret, r);
        }
        return;
    }
    if (at + 1 == l->sent)
        ret->committed_tag = strcmp(pq.cmdStatus(r), "COMMIT") == 0;
    if (status == PQ_TUPLES_OK && !is_own && on_result)
        on_result(user, index, r);
}

void link_reap(struct pg_link *l, void (*on_result)(void *user, size_t index, const PGresult *r),
               void *user, struct link_report *ret)
{
    bool synced = false;

    *ret = (struct link_report){.end = LINK_DONE};
    bool good = link_is_up(l) && pq.pipelineSync(l->pg);
    /* NULL comes between two statements.  Of a connection that the server closed while it was idle
     * libpq may give NULL for ever, and call it good: two of them are the end. */
    for (size_t at = 0, ends = 0; good && !synced && ends < 2; good = link_is_up(l)) {
        PGresult *r = pq.getResult(l->pg);
        ends = r ? 0 : ends + 1;
        if (!r)
            continue;
        synced = pq.resultStatus(r) == PQ_PIPELINE_SYNC;
        if (!synced)
            reap_one(l, at++, r, ret, on_result, user);
        pq.clear(r);
    }
    forget_told(l);
    ret->wait_cancelled = l->wait_cancelled;
    if (!synced || sqlstate_ends(ret->sqlstate) || !pq.exitPipelineMode(l->pg)) {
        report_lost(ret, l);
        return;
    }
    if (l->unsent && ret->end == LINK_DONE) {
        *ret = (struct link_report){.end = LINK_FAILED, .failed = l->sent - l->own_count};
        line_copy(ret->text, sizeof ret->text, "out of memory");
    }
    l->piped = l->unsent = false;
    l->sent = 0;
}
