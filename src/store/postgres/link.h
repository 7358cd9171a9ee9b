/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/link.h -- one connection to the server: statements, pipelines, errors.
 *
 *     link_open ─▶ link_run … │ (link_pipe ─▶ link_send … ─▶ link_reap) … ─▶ link_close
 *
 * Statements go by number (pg_statements.h) and are prepared under the name s<number>.  The writer
 * prepares all of its statements in one pipeline when it connects, so that an aborted pipeline
 * never leaves one half known; readers prepare each at its first use.  Used by one thread at a
 * time.
 *
 * After any trouble with the connection link_is_up() is false until it is opened again; nothing
 * reconnects behind the caller's back, because a lost connection may hide a commit (outcome).
 *
 * Invariants (link_check): a pipeline is open exactly between link_pipe and link_reap; `sent`
 * counts the results that are still to come.
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

enum link_role {
    LINK_ENGINE, /* the writer: fixed plans, all its statements prepared at once */
    LINK_READER,
};

#define LINK_REMEMBERED 32

struct pg_link {
    PGconn *pg; /* NULL: not open */
    enum link_role role;
    bool piped;
    bool unsent;         /* a statement of the pipeline could not be sent: none follows it */
    bool wait_cancelled; /* a notice said so since link_pipe */
    size_t sent;         /* results that will come */
    size_t own;          /* index of the statement that is ours, not the caller's; SIZE_MAX: none */
    const struct pg_place *place;
    bool ready[ST_PG_COUNT];    /* prepared */
    char **texts;               /* of the statements with the schema's name; owned by the store */
    int which[LINK_REMEMBERED]; /* statements of the pipeline, the first of them */
    uint32_t mark;              /* of these texts, in the names of prepared statements */
    struct pg_link *next;       /* in the pool */
};

/* PAWL_OK, or UNAVAILABLE and friends with a line for people.  No checks of the server here
 * (pg_open.c). */
PAWL_MUST_USE pawl_status link_open(struct pg_link *l, const struct pg_place *place, char **texts,
                                    enum link_role role, pawl_error *reterr);
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
