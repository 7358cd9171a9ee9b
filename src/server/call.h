/* SPDX-License-Identifier: MIT */
/*
 * server/call.h -- one HTTP request and its answer.
 *
 * A call is what was asked (head, path, query, body) and what is answered; everything else in it
 * belongs to a part, which is touched by the files that tools/parts.txt names:
 *
 *   given    what handlers will want to know of the head, when that is gone
 *   caller   who asks, and what he may
 *   place    with which thread the call is, and where it waits in line
 *   wait     of a call that waits for news of an instance
 *   queueing of a request on queues
 *
 * Life: call_create() for a head; a handler answers (answer_json, answer_error …), or gives the
 * call away, and it comes back with an answer (server_loop.c); call_destroy() when that is sent.
 */
#ifndef PAWL_SERVER_CALL_H
#define PAWL_SERVER_CALL_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/heap.h"
#include "base/map.h"
#include "http/httpd.h"
#include "pawl.h"
#include "pawl/server.h"

struct call;
struct route;
struct stream;
struct reader_line;

#define CALL_PARAMS_MAX 32 /* query parameters of one request */
#define CALL_ARGS_MAX   3  /* variable segments of one path */

/* The client: still there; stopped sending and may be gone; gone for good. */
enum asker { ASKER_HERE, ASKER_QUIET, ASKER_LOST };

/* Each includes those before it, but read does not include work (scope_allows). */
enum token_scope { SCOPE_PUBLIC, SCOPE_WORK, SCOPE_READ, SCOPE_OPERATE, SCOPE_ADMIN };

static inline bool scope_allows(enum token_scope has, enum token_scope needed)
{
    return has >= needed && !(needed == SCOPE_WORK && has == SCOPE_READ);
}

struct param {
    pawl_str name, value; /* decoded, NUL-terminated */
    bool bare;            /* a word of the query without "=" */
};

/* The members of the object last asked for one, so that it is walked once. */
struct fields {
    pawl_str of; /* the object */
    size_t count;
    bool more;              /* than fit */
    struct param items[32]; /* more than any shape has members */
};

/* Of the head; texts in the call's mem, NULL: not given. */
struct call_given {
    const char *idempotency_key, *last_event_id;
    const char *has_etag; /* If-None-Match, where it means something */
    const char *if_match; /* If-Match of a schedule */
    bool wants_page;      /* it comes from a browser that wants to show the answer */
    bool takes_gzip;
};

/* Set by guard.c; the lists are of tokens.c. */
struct call_caller {
    char token[17];         /* id of the token given; empty: none */
    enum token_scope scope; /* of that token, or what callers without one may do */
    pawl_str queues;        /* prefixes the token may use; empty: all */
    bool queues_only;       /* the token is for nothing else */
    bool stranger;          /* a probe under a name that is not ours */
    bool trusted;           /* authorised, or no token is needed; no stranger */
    bool revoked;           /* and void meanwhile */
    bool on_token;          /* in the list of those with a token that wait or listen: */
    struct call *prev, *next;
    bool unjudged;                      /* its token is not judged: tokens are being read … */
    const char *authorization, *cookie; /* … by these, then; NULL: none */
    int64_t judge_by_ms;                /* mono: the end of that; 0: it did not wait yet */
    bool awaits_tokens;                 /* in the list of those that wait for them: */
    struct call *await_next;
};

struct call_place {
    struct call *next, *prev;        /* of those that come back, or wait for a reader */
    void (*on_back)(struct call *c); /* on the loop, before the answer; NULL: answer is there */
    struct heap_node until;          /* [loop] end of a long poll, mono clock */
    void (*read)(struct call *c);    /* what a reader does for it */
    struct reader_line *lane;        /* under read_lock: where it waits for one; NULL: nowhere */
    uint8_t asker;                   /* [loop] enum asker */
    bool is_away;                    /* [loop] */
    bool is_back;                    /* in the list of those that come back */
    size_t untaken;                  /* bytes of its answer that count there (reader.c) */
    bool parked;                     /* [loop] away, and no thread works on it */
    bool lingers;                    /* [loop] away, waiting in the runtime */
    bool waited;                     /* a long poll: its time says nothing about the server */
};

/* Under srv->lock. */
struct call_wait {
    struct call *next, *prev; /* of those that wait for its instance */
    struct map *list;         /* and the list they are in */
    bool is_in;               /* it is in there */
    bool looks;               /* and a reader has it: the feed must not answer */
};

/* What a call that looks and sleeps in turn does (long_poll.c). */
struct long_poll {
    struct map *list;             /* by instance, of those that sleep */
    void (*look)(struct call *c); /* [reader] answer, or leave on_back as it is */
    void (*now)(struct call *c);  /* [reader] time is up: answer with what there is */
};

struct call_queue {
    bool extended;       /* the request used more than the seed knows */
    bool wants_lock;     /* pop with require_ack */
    const char *lock_id; /* of the request */
};

struct call {
    pawl_server *srv;
    struct httpd_conn *conn;
    pawl_mem *mem;    /* everything below; dies with the call */
    int64_t began_us; /* mono */

    /* what is asked */
    const struct head *head; /* while it is looked at, then NULL */
    const struct route *route;
    const char *args[CALL_ARGS_MAX]; /* decoded segments of the path */
    size_t param_count;
    struct buf body;
    pawl_str json; /* the body, when it is valid JSON */
    struct call_given given;
    struct call_caller caller;

    /* what is answered */
    struct httpd_answer answer; /* status 0: none yet */
    char etag[24];              /* of the answer */
    struct stream *stream;      /* of an event stream */

    struct call_place place;
    struct call_wait wait;
    struct long_poll poll;
    struct call_queue queueing;
    void *data; /* of the handler; in mem */

    /* large, and not cleared for the next call */
    struct fields fields;
    struct param params[CALL_PARAMS_MAX]; /* the first param_count */
    pawl_reply reply;                     /* of a submitted request */
};

/* ---- call.c ------------------------------------------------------------------- */

struct call *call_create(pawl_server *s); /* NULL: out of memory */
void call_destroy(struct call *c);
/* ---- call_query.c */

/* Split and decode the query; false: the answer says what is wrong. */
bool call_parse_query(struct call *c);
/* The value of a query parameter; NULL: not given. */
const char *call_param(const struct call *c, const char *name);
/* A whole number from the query, within min..max; false: 400 was answered. */
bool call_number(struct call *c, const char *name, int64_t min, int64_t max, int64_t otherwise,
                 int64_t *ret);
bool call_flag(struct call *c, const char *name, bool *ret);
/* ---- call_body.c */

/* The body as JSON of the shape that the route wants (an empty one is {} where it may be
 * missing), or none where it takes none; false: 400 was answered. */
bool call_parse_body(struct call *c);
/* A member of the body that is a string without NUL; *ret NULL when absent or null.
 * False: 400 was answered. */
bool call_text(struct call *c, pawl_str object, const char *key, const char **ret);
/* The same, and it is not empty: "" would be read as if it were absent. */
bool call_some_text(struct call *c, pawl_str object, const char *key, const char **ret);
/* "reason" of the body, within its limit. */
bool call_reason(struct call *c, const char **ret);
/* The Idempotency-Key, if there is one, is within its limits. */
bool call_check_key(struct call *c);
bool call_integer(struct call *c, pawl_str object, const char *key, int64_t min, int64_t max,
                  int64_t otherwise, int64_t *ret);
bool call_truth(struct call *c, pawl_str object, const char *key, bool *ret);
/* The raw value of a member; {NULL, 0}: absent.  call_field() walks an object once for any
 * number of questions about it. */
pawl_str call_member(pawl_str object, const char *key);
pawl_str call_field(struct call *c, pawl_str object, const char *key);
/* Its members, the first of them. */
const struct fields *call_fields(struct call *c, pawl_str object);

/* ---- call.c */

void answer_json(struct call *c, unsigned status, pawl_json *w);
void answer_text(struct call *c, unsigned status, const char *type, pawl_str body);
/* In the shape of the route's family. */
void answer_error(struct call *c, unsigned status, const char *code, const char *format, ...)
    PAWL_PRINTF(4, 5);
/* As a failed library call wants it. */
void answer_failure(struct call *c, const pawl_error *err);
unsigned http_status_of(pawl_status status);
/* call_query.c: %XX undone into mem; false: malformed, or a NUL. */
bool percent_decode(pawl_mem *mem, pawl_str raw, bool plus, pawl_str *ret);

#endif
