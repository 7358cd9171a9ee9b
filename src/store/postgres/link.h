/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/link.h -- one connection to the server: statements, pipelines, errors.
 *
 *     link_open ─▶ link_run … │ (link_pipe ─▶ link_send … ─▶ link_reap) … ─▶ link_close
 *
 * Statements go by number (pg_statements.h) and are prepared under the name s<number>, each when it
 * is first used; in a pipeline right before that, in the same round trip.  An aborted pipeline may
 * leave any of them unknown to the server, so one counts as prepared only when the server said so.
 * Used by one thread at a time.
 *
 * After any trouble with the connection link_is_up() is false until it is opened again; nothing
 * reconnects behind the caller's back, because a lost connection may hide a commit (outcome).
 *
 * Invariants (link_check): a pipeline is open exactly between link_pipe and link_reap; `sent`
 * counts the results that are still to come; `own` are those of them that no caller sees, in order.
 */
#ifndef PAWL_STORE_POSTGRES_LINK_H
#define PAWL_STORE_POSTGRES_LINK_H

#include "store/postgres/libpq.h"
#include "store/postgres/params.h"
#include "store/postgres/pg_statements.h"

/* Where the data is: the URL without our own parameters, and those. */
struct pg_place {
    char *url;        /* owned; what libpq gets */
    char *schema;     /* owned; "pawl" by default: pawl_schema=NAME */
    bool allow_lossy; /* pawl_allow_lossy=1 */
    bool no_prepare;  /* pawl_prepare=off: a pooler that cannot keep statements */
    bool pooled;      /* pawl_pooler=transaction: settings go with each transaction */
    bool any_server;  /* a standby will do: the store is only read */
};

#define LINK_REMEMBERED 64

/* Does the server know a statement by its name? */
enum link_known { LINK_UNKNOWN, LINK_TOLD /* in the pipeline that is open */, LINK_KNOWN };

/* A result of a pipeline that is not the caller's. */
struct link_own {
    size_t at;
    int statement; /* that was prepared; -1: settings */
};

struct pg_link {
    PGconn *pg; /* NULL: not open */
    bool piped;
    bool unsent;         /* a statement of the pipeline could not be sent: none follows it */
    bool wait_cancelled; /* a notice said so since link_pipe */
    size_t sent;         /* results that will come */
    struct link_own own[ST_PG_COUNT + 1]; /* results that are ours, not the caller's */
    size_t own_count, own_seen;           /* sent; come */
    const struct pg_place *place;
    enum link_known known[ST_PG_COUNT];
    char **texts;               /* of the statements with the schema's name; owned by the store */
    int which[LINK_REMEMBERED]; /* statements of the pipeline, the first of them */
    uint32_t mark;              /* of these texts, in the names of prepared statements */
    struct pg_link *next;       /* in the pool */
};

/* PAWL_OK, or UNAVAILABLE and friends with a line for people.  No checks of the server here
 * (pg_open.c). */
PAWL_MUST_USE pawl_status link_open(struct pg_link *l, const struct pg_place *place, char **texts,
                                    pawl_error *reterr);
void link_close(struct pg_link *l); /* one that is not open is fine */
bool link_is_up(const struct pg_link *l);
void link_check(const struct pg_link *l);

/* One statement, one round trip.  The result is the caller's (pq.clear); NULL: it failed, and
 * *retstatus and reterr say how: "cannot WHAT: …". */
PAWL_MUST_USE PGresult *link_run(struct pg_link *l, int statement, const struct pg_params *p,
                                 const char *what, pawl_status *retstatus, pawl_error *reterr);
/* Plain text without parameters; the values of the result are texts too. */
PAWL_MUST_USE PGresult *link_ask(struct pg_link *l, const char *sql, const char *what,
                                 pawl_status *retstatus, pawl_error *reterr);
/* The same without a result: BEGIN, ROLLBACK, SET. */
PAWL_MUST_USE pawl_status link_do(struct pg_link *l, const char *sql, const char *what,
                                  pawl_error *reterr);

/* ---- Pipelines ------------------------------------------------------------------------ */

/* What became of a pipeline. */
enum link_end {
    LINK_DONE,   /* every statement was carried out */
    LINK_FAILED, /* statement `failed` refused, nothing after it was run */
    LINK_LOST,   /* the connection broke: some prefix was carried out, or all */
};

struct link_report {
    enum link_end end;
    size_t failed;    /* index of the statement, from 0 */
    char sqlstate[6]; /* of a failure; "": it was not sent, for lack of memory */
    char constraint[64];
    char text[240];      /* the server's words, or libpq's */
    bool committed_tag;  /* the last statement answered with the tag COMMIT */
    bool wait_cancelled; /* a notice said that the wait for a synchronous standby was cancelled */
};

PAWL_MUST_USE bool link_pipe(struct pg_link *l); /* false: it is not up */
/* BEGIN, as the first statement.  Behind a pooler the settings follow it; their result is not
 * counted.  False as link_send. */
bool link_send_begin(struct pg_link *l);
/* False: it was not sent (not up, or out of memory); link_reap tells.  Nothing is sent after it,
 * so no COMMIT goes out behind a hole. */
bool link_send(struct pg_link *l, int statement, const struct pg_params *p);
/* Sync, read every result, leave the pipeline.  `on_result` (may be NULL) sees each result of a
 * statement that returned rows; it must not keep it. */
void link_reap(struct pg_link *l, void (*on_result)(void *user, size_t index, const PGresult *r),
               void *user, struct link_report *ret);

int link_sent(const struct pg_link *l, size_t index);

/* ---- Errors ----------------------------------------------------------------------------- */

/* The status for a SQLSTATE (docs/internals/postgres.md has the table); NULL or "": UNAVAILABLE. */
pawl_status sqlstate_status(const char *sqlstate);
/* "cannot WHAT: …", with what to do where that is known. */
pawl_status link_error(const struct link_report *report, const char *what, pawl_error *reterr);

#endif
