/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_server.c -- is the server fit to keep a store, and what is its time?
 *
 * Asked before anything is made or written, by everyone who writes: a server that may lose what it
 * acknowledged is refused, and the line says what to do.  Who only reads may look at any server
 * of a kind that can be read, a standby too.
 *
 * Its clock is read when a statement runs, not when its transaction began: now() would be old
 * behind a lock.
 *
 * Called by pg_open.c and, for `pawl migrate`, by pg_schema.c; pg_clock as an operation.
 */
#include "store/postgres/postgres.h"
#include "store/store.h"

enum { VERSION, ENCODING, FSYNC, FULL_PAGES, SYNC_COMMIT, RECOVERY, DATABASE };
static const char sql_server[] =
    "SELECT current_setting('server_version_num'),current_setting('server_encoding'),"
    "current_setting('fsync'),current_setting('full_page_writes'),"
    "current_setting('synchronous_commit'),pg_is_in_recovery()::int,current_database()";

static const char *value(const PGresult *r, int column)
{
    return pq.getvalue(r, 0, column);
}

/* What any reader needs. */
static pawl_status check_kind(const PGresult *r, pawl_error *reterr)
{
    if (atoi(value(r, VERSION)) < 120000) {
        error_set(reterr, PAWL_UNSUPPORTED,
                  "the server is PostgreSQL %d; pawl needs 12 or later: use a newer server",
                  atoi(value(r, VERSION)) / 10000);
        return PAWL_UNSUPPORTED;
    }
    if (strcmp(value(r, ENCODING), "UTF8") != 0) {
        error_set(reterr, PAWL_UNSUPPORTED,
                  "database %s has the encoding %s; pawl needs UTF8: CREATE DATABASE … ENCODING "
                  "'UTF8' TEMPLATE template0",
                  value(r, DATABASE), value(r, ENCODING));
        return PAWL_UNSUPPORTED;
    }
    return PAWL_OK;
}

/* What a server needs that may be trusted with a commit (C4). */
static pawl_status check_durable(const PGresult *r, bool allow_lossy, pawl_error *reterr)
{
    static const struct {
        int column;
        const char *name;
    } settings[] = {
        {FSYNC,       "fsync"             },
        {FULL_PAGES,  "full_page_writes"  },
        {SYNC_COMMIT, "synchronous_commit"},
    };

    if (value(r, RECOVERY)[0] == '1') {
        error_set(
            reterr, PAWL_UNAVAILABLE,
            "the server is a standby, which cannot be written to; name the primary in the URL");
        return PAWL_UNAVAILABLE;
    }
    for (size_t i = 0; i < COUNT_OF(settings) && !allow_lossy; i++) {
        if (strcmp(value(r, settings[i].column), "off") != 0)
            continue;
        error_set(reterr, PAWL_UNSUPPORTED,
                  "%s is off on the server: a power cut can lose what was acknowledged; switch it "
                  "on, or accept the loss with pawl_allow_lossy=1 in the URL",
                  settings[i].name);
        return PAWL_UNSUPPORTED;
    }
    return PAWL_OK;
}

pawl_status pg_check_server(struct pg_link *l, const struct pg_place *place, pawl_error *reterr)
{
    pawl_status status;
    PGresult *r = link_ask(l, sql_server, "look at the server", &status, reterr);

    if (r)
        status = check_kind(r, reterr);
    if (r && status == PAWL_OK && !place->any_server)
        status = check_durable(r, place->allow_lossy, reterr);
    pq.clear(r);
    return status;
}

/* The engine asks where it writes.  Without that connection its next commit makes one: an attempt
 * here would be a second one, of seconds each where packets get lost. */
static bool must_connect_first(const struct pg_store *s)
{
    return store_engine_is(&s->sql.base) && s->life && (s->in_doubt || !link_is_up(&s->writer));
}

pawl_status pg_clock(pawl_store *base, int64_t *ret, pawl_error *reterr)
{
    struct pg_params none = {0};
    struct pg_store *s = pg_of(base);
    pawl_status status;

    if (must_connect_first(s)) {
        error_set(reterr, PAWL_UNAVAILABLE,
                  "cannot ask for the time: there is no connection until the next commit");
        return PAWL_UNAVAILABLE;
    }
    PGresult *r = pg_read(s, ST_PG_CLOCK, &none, "ask for the time", &status, reterr);

    if (r)
        *ret = value_i64(r, 0, 0);
    pq.clear(r);
    return status;
}
