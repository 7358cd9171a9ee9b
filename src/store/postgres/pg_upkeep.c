/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_upkeep.c -- what the store does for people: it looks at its server for
 * `pawl doctor`, and it keeps the tokens of the HTTP server.
 *
 * These statements are rare and look at tables of the server, so they are not among the numbered
 * ones (pg_statements.h): their text goes with each call, and their values come back as text.
 *
 * Called through pawl_upkeep_ops.
 */
#include "base/limits.h"
#include "store/postgres/postgres.h"

#include <stdarg.h>
#include <stdio.h>

#define OLD_SNAPSHOT_MIN  10
#define FREE_CONNECTIONS  10
#define CLOCK_OFF_MS      2000
#define EXAMINE_MAX       700
#define TABLES_SHOWN      5
#define UPKEEP_SQL_MAX    1500
#define UPKEEP_PARAMS_MAX 3

/* ---- One statement ---------------------------------------------------------------------- */

/* "@." in `sql` becomes the schema and its dot. */
static bool write_sql(char *room, size_t size, const char *sql, const char *schema)
{
    size_t n = 0;

    for (; *sql && n + 1 < size; sql++) {
        if (*sql == '@')
            n += (size_t)snprintf(room + n, size - n, "%s", schema);
        else
            room[n++] = *sql;
    }
    if (n >= size)
        return false;
    room[n] = '\0';
    return !*sql;
}

/* Rows as text, or NULL and the error; `p` are text or bytea in binary form. */
static PGresult *upkeep_ask(struct pg_link *l, const char *sql, const struct pg_params *p,
                            const char *what, pawl_status *retstatus, pawl_error *reterr)
{
    char text[UPKEEP_SQL_MAX];
    const char *values[UPKEEP_PARAMS_MAX];
    int formats[UPKEEP_PARAMS_MAX] = {1, 1, 1};
    int count = p ? p->count : 0;

    assert_that(count <= UPKEEP_PARAMS_MAX && write_sql(text, sizeof text, sql, l->place->schema));
    for (int i = 0; i < count; i++)
        values[i] = p->bytes.at + p->offset[i];
    PGresult *r = pq.execParams(l->pg, text, count, NULL, values, p ? p->length : NULL, formats, 0);
    enum pq_result status = r ? pq.resultStatus(r) : PQ_FATAL_ERROR;
    if (status == PQ_TUPLES_OK || status == PQ_COMMAND_OK)
        return r;
    const char *why = r ? pq.resultErrorField(r, PQ_DIAG_MESSAGE) : NULL;
    *retstatus = sqlstate_status(r ? pq.resultErrorField(r, PQ_DIAG_SQLSTATE) : NULL);
    error_set(reterr, *retstatus, "cannot %s: %s", what, why ? why : "the connection was lost");
    pq.clear(r);
    return NULL;
}

/* ---- Tokens --------------------------------------------------------------------------------- */

static pawl_status pg_read_tokens(pawl_store *store, pawl_mem *mem, pawl_text_list *ret,
                                  pawl_error *reterr)
{
    struct pg_store *s = pg_of(store);
    struct pg_link *l;
    pawl_status status = pg_pool_take(s, &l, reterr);

    *ret = (pawl_text_list){0};
    if (status != PAWL_OK)
        return status;
    PGresult *r = upkeep_ask(l, "SELECT line FROM @.token ORDER BY created_ms,hash", NULL,
                             "read the tokens", &status, reterr);
    if (r) {
        size_t count = (size_t)pq.ntuples(r);
        pawl_str *items = pawl_mem_alloc(mem, (count + 1) * sizeof(*items));
        for (size_t i = 0; i < count; i++)
            items[i] = value_dup(r, (int)i, 0, mem);
        *ret = (pawl_text_list){items, count};
    }
    pq.clear(r);
    pg_pool_give(s, l);
    return status;
}

static pawl_status change_tokens(pawl_store *store, const char *sql, const struct pg_params *p,
                                 pawl_error *reterr)
{
    struct pg_store *s = pg_of(store);
    struct pg_link *l;
    pawl_status status = pg_pool_take(s, &l, reterr);

    if (status != PAWL_OK)
        return status;
    pq.clear(upkeep_ask(l, sql, p, "change the tokens", &status, reterr));
    pg_pool_give(s, l);
    return status;
}

static pawl_status pg_put_token(pawl_store *s, pawl_str hash, pawl_str line, int64_t now_ms,
                                pawl_error *reterr)
{
    struct pg_params p = {0};

    params_str(&p, hash);
    params_str(&p, line);
    params_i64(&p, now_ms);
    pawl_status status = change_tokens(
        s,
        "INSERT INTO @.token(hash,line,created_ms) VALUES($1::bytea,$2::text,$3::bigint)"
        " ON CONFLICT(hash) DO UPDATE SET line=excluded.line",
        &p, reterr);
    params_deinit(&p);
    return status;
}

static pawl_status pg_drop_token(pawl_store *s, pawl_str hash, pawl_error *reterr)
{
    struct pg_params p = {0};

    params_str(&p, hash);
    pawl_status status = change_tokens(s, "DELETE FROM @.token WHERE hash=$1::bytea", &p, reterr);
    params_deinit(&p);
    return status;
}

/* ---- The server, for doctor --------------------------------------------------------------------- */

struct examination {
    struct pg_link *link;
    pawl_finding_fn *say;
    void *user;
    bool allow_lossy;
    pawl_status status;
    pawl_error *err;
};

static void say(struct examination *x, const char *name, pawl_verdict verdict, const char *format,
                ...) PAWL_PRINTF(4, 5);

static void say(struct examination *x, const char *name, pawl_verdict verdict, const char *format,
                ...)
{
    char text[EXAMINE_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    x->say(x->user, name, verdict, text);
}

static PGresult *look(struct examination *x, const char *sql)
{
    return x->status == PAWL_OK
               ? upkeep_ask(x->link, sql, NULL, "look at the server", &x->status, x->err)
               : NULL;
}

/* Of a statement with one row. */
static const char *cell(const PGresult *r, int column)
{
    return pq.getvalue(r, 0, column);
}

static void examine_server(struct examination *x)
{
    PGresult *r = look(x, "SELECT current_setting('server_version'),current_database(),"
                          "session_user,pg_is_in_recovery()");

    if (r)
        say(x, "server", PAWL_VERDICT_OK, "PostgreSQL %s, database %s, role %s", cell(r, 0),
            cell(r, 1), cell(r, 2));
    if (r && cell(r, 3)[0] == 't')
        say(x, "standby", PAWL_VERDICT_WARN,
            "this server is a standby: it can be looked at; name the primary to run anything");
    pq.clear(r);
}

/* Settings without which a confirmed commit may be lost. */
static void examine_durability(struct examination *x)
{
    static const char *const needed[] = {"fsync", "full_page_writes", "synchronous_commit"};
    PGresult *r =
        look(x, "SELECT current_setting('fsync'),current_setting('full_page_writes'),"
                "current_setting('synchronous_commit'),current_setting('data_checksums')");

    for (int i = 0; r && i < 3; i++) {
        bool off = strcmp(cell(r, i), "off") == 0;
        pawl_verdict bad = x->allow_lossy ? PAWL_VERDICT_WARN : PAWL_VERDICT_BAD;
        say(x, "durability", off ? bad : PAWL_VERDICT_OK, "%s is %s%s", needed[i], cell(r, i),
            off ? ": the server may lose what it confirmed; switch it on" : "");
    }
    if (r && strcmp(cell(r, 3), "on") == 0)
        say(x, "checksums", PAWL_VERDICT_OK, "data_checksums is on");
    else if (r)
        say(x, "checksums", PAWL_VERDICT_WARN,
            "data_checksums is off: damaged pages are not noticed; stop the server and run "
            "pg_checksums --enable");
    pq.clear(r);
}

static void examine_connections(struct examination *x)
{
    PGresult *r = look(x, "SELECT current_setting('max_connections')::int,count(*),"
                          "current_setting('max_connections')::int-count(*)"
                          "-current_setting('superuser_reserved_connections')::int"
                          " FROM pg_catalog.pg_stat_activity WHERE backend_type='client backend'");

    if (r) {
        bool few = strtol(cell(r, 2), NULL, 10) < FREE_CONNECTIONS;
        say(x, "connections", few ? PAWL_VERDICT_WARN : PAWL_VERDICT_OK,
            "max_connections is %s, %s in use%s", cell(r, 0), cell(r, 1),
            few ? "; a pawl process needs up to 6: raise max_connections" : "");
    }
    pq.clear(r);
}

static void examine_schema(struct examination *x)
{
    PGresult *r = look(x, "SELECT schema_no,timeline,cluster,CASE WHEN moved_ms>0 THEN"
                          " to_char(to_timestamp(moved_ms/1000.0) AT TIME ZONE 'UTC',"
                          "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') ELSE '' END FROM @.meta");

    if (r && pq.ntuples(r) == 1) {
        bool ours = strtol(cell(r, 0), NULL, 10) == PG_SCHEMA_NO;
        say(x, "schema", ours ? PAWL_VERDICT_OK : PAWL_VERDICT_WARN,
            "%s has the tables of number %s%s", x->link->place->schema, cell(r, 0),
            ours ? "" : "; this pawl has another: run pawl migrate, or a newer pawl");
        say(x, "timeline", PAWL_VERDICT_OK, "%s when the store was last opened; cluster %s",
            cell(r, 1), cell(r, 2));
        if (*cell(r, 3))
            say(x, "copy", PAWL_VERDICT_WARN,
                "since %s this is another copy of the database (a standby was promoted, a backup "
                "restored or a dump loaded): commits that it lacked are lost; no id of them is "
                "used "
                "again",
                cell(r, 3));
    }
    pq.clear(r);
}

/* They keep the server from cleaning up, and every step gets slower meanwhile. */
static void examine_snapshots(struct examination *x)
{
    PGresult *r =
        look(x, "SELECT 'session '||pid||' of '||coalesce(usename,'?')||"
                "coalesce(' ('||nullif(application_name,'')||')',''),"
                "(extract(epoch FROM now()-xact_start)/60)::int FROM pg_catalog.pg_stat_activity"
                " WHERE backend_xmin IS NOT NULL AND xact_start<now()-interval '10 min'"
                " UNION ALL SELECT 'prepared transaction '||gid,"
                "(extract(epoch FROM now()-prepared)/60)::int FROM pg_catalog.pg_prepared_xacts"
                " WHERE prepared<now()-interval '10 min' ORDER BY 2 DESC LIMIT 5");

    for (int i = 0; r && i < pq.ntuples(r); i++)
        say(x, "old snapshot", PAWL_VERDICT_WARN,
            "%s has had a transaction open for %s minutes: the server cannot clean up and steps "
            "get slower; end it",
            pq.getvalue(r, i, 0), pq.getvalue(r, i, 1));
    if (r && pq.ntuples(r) == 0)
        say(x, "old snapshot", PAWL_VERDICT_OK, "no transaction is older than %d minutes",
            OLD_SNAPSHOT_MIN);
    pq.clear(r);
}

static void examine_sizes(struct examination *x)
{
    PGresult *r = look(
        x, "SELECT relname||' '||pg_size_pretty(n),pg_size_pretty((sum(n) OVER())::bigint) FROM"
           " (SELECT relname,pg_total_relation_size(c.oid) AS n FROM pg_catalog.pg_class c"
           " JOIN pg_catalog.pg_namespace s ON s.oid=relnamespace WHERE nspname='@'"
           " AND relkind='r') t ORDER BY n DESC");
    char text[EXAMINE_MAX] = "";

    for (int i = 0; r && i < pq.ntuples(r) && i < TABLES_SHOWN; i++) {
        size_t at = strlen(text);
        (void)snprintf(text + at, sizeof text - at, "%s%s", i ? ", " : "", pq.getvalue(r, i, 0));
    }
    if (r && pq.ntuples(r))
        say(x, "tables", PAWL_VERDICT_OK, "%s in all: %s", cell(r, 1), text);
    pq.clear(r);
}

enum { OWNER_EPOCH, OWNER_LIFE, OWNER_NAME, OWNER_UP, OWNER_SINCE, OWNER_SHARDS };

/* A lane: alone it has all shards. */
static void say_owner(struct examination *x, const PGresult *r, int row)
{
    const char *shards = pq.getvalue(r, row, OWNER_SHARDS);
    bool up = pq.getvalue(r, row, OWNER_UP)[0] == 't', all = strtol(shards, NULL, 10) == 64;

    say(x, "owner", PAWL_VERDICT_OK, "epoch %s, life %s: %s since %s%s%s%s; %s",
        pq.getvalue(r, row, OWNER_EPOCH), pq.getvalue(r, row, OWNER_LIFE),
        pq.getvalue(r, row, OWNER_NAME), pq.getvalue(r, row, OWNER_SINCE), all ? "" : ", ",
        all ? "" : shards, all ? "" : " of 64 shards",
        up ? "it is connected" : "it is not connected");
}

static void examine_owner(struct examination *x)
{
    PGresult *r = look(
        x,
        "SELECT epoch,life,owner,a.pid IS NOT NULL,to_char(to_timestamp(taken_ms/1000.0)"
        " AT TIME ZONE 'UTC','YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'),"
        "(SELECT count(*) FROM @.shard s WHERE s.lane=l.lane) FROM @.lane l"
        " LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid=l.pid AND a.datname=current_database()"
        " WHERE epoch>0 AND life>0 ORDER BY epoch");

    for (int i = 0; r && i < pq.ntuples(r); i++)
        say_owner(x, r, i);
    if (r && !pq.ntuples(r))
        say(x, "owner", PAWL_VERDICT_OK, "no process has the store");
    pq.clear(r);
}

/* Due times follow the server's clock.  People and programs that name a time use their own. */
static void examine_clock(struct examination *x, int64_t now_ms)
{
    PGresult *r = look(x, "SELECT floor(extract(epoch FROM clock_timestamp())*1000)::bigint");
    int64_t ahead = r ? strtoll(cell(r, 0), NULL, 10) - now_ms : 0;
    bool off = ahead > CLOCK_OFF_MS || ahead < -CLOCK_OFF_MS;

    if (r && off)
        say(x, "clock", PAWL_VERDICT_WARN,
            "the server's clock is %.1f s %s that of this machine; timers and leases follow the "
            "server: set the clock that is wrong",
            (double)(ahead < 0 ? -ahead : ahead) / 1000, ahead < 0 ? "behind" : "ahead of");
    else if (r)
        say(x, "clock", PAWL_VERDICT_OK, "the server's and that of this machine agree");
    pq.clear(r);
}

static pawl_status pg_examine(pawl_store *store, int64_t now_ms, pawl_finding_fn *tell, void *user,
                              pawl_error *reterr)
{
    struct pg_store *s = pg_of(store);
    struct examination x = {
        .say = tell, .user = user, .allow_lossy = s->place.allow_lossy, .err = reterr};

    x.status = pg_pool_take(s, &x.link, reterr);
    if (x.status != PAWL_OK)
        return x.status;
    examine_server(&x);
    examine_clock(&x, now_ms);
    examine_durability(&x);
    examine_connections(&x);
    examine_schema(&x);
    examine_owner(&x);
    examine_snapshots(&x);
    examine_sizes(&x);
    pg_pool_give(s, x.link);
    return x.status;
}

const pawl_upkeep_ops pg_upkeep_ops = {
    .size = sizeof(pawl_upkeep_ops),
    .examine = pg_examine,
    .read_tokens = pg_read_tokens,
    .put_token = pg_put_token,
    .drop_token = pg_drop_token,
};
