/* SPDX-License-Identifier: MIT */
/*
 * http/httpd.h -- a small HTTP/1.1 server: one thread, one epoll, every connection.
 *
 * It knows about connections, heads, bodies, answers and streams, and nothing of what
 * they mean: that is the handler's.  One thread runs httpd_run(); everything here but
 * httpd_wake() and httpd_end() is for that thread, for the thread that stands in for it
 * (httpd_round), or for after it has ended.
 *
 * A request, step by step; a *call* is the handler's record of it:
 *
 *   begin  the head is there; the handler makes a call, and may answer at once (then the
 *          body is read over, or the connection ends after the answer)
 *   body   bytes of the body, as they come
 *   ready  all of it is there: answer now, or any time later on this thread
 *   finish the answer is out, or the connection is gone: the call and its connection
 *          know nothing of each other any more
 *
 * While a call has no answer its connection is not read, so one connection has one call.
 */
#ifndef PAWL_HTTP_HTTPD_H
#define PAWL_HTTP_HTTPD_H

#include "base/buf.h"
#include "base/log.h"
#include "http/head.h"

struct httpd;
struct httpd_conn;

/* Lives in the call, until `finish`. */
struct httpd_answer {
    unsigned status;
    pawl_str body;
    const char *type;     /* NULL: application/json */
    const char *allow;    /* of a 405; NULL: none */
    const char *etag;     /* quoted; a browser may keep the body and ask whether it is still so */
    const char *cookie;   /* to be set; NULL: none */
    const char *encoding; /* of the body: "gzip"; NULL: as it is */
    unsigned retry_after; /* seconds; 0: none */
    size_t holds;         /* memory, while it is not out; 0: as much as its body */
    bool close;           /* hang up afterwards */
};

enum httpd_pull { HTTPD_MORE, HTTPD_SLEEP, HTTPD_OVER };

struct httpd_handler {
    /* The slices of the head die on return.  NULL: out of memory. */
    void *(*begin)(void *user, struct httpd_conn *conn, const struct head *head);
    void (*body)(void *call, pawl_str bytes);
    void (*ready)(void *call);
    /* The other side stopped sending before the answer: it may not read it.  `lost`: it
     * certainly will not.  The call continues; httpd_answer() as usual, now or later. */
    void (*gone)(void *call, bool lost);
    /* The next bytes of a stream into `out`, which is empty. */
    enum httpd_pull (*pull)(void *call, struct buf *out);
    void (*finish)(void *call);
    /* A request that never became a call was answered with this status. */
    void (*refused)(void *user, unsigned status);
    /* After each wait, before what arrived is looked at. */
    void (*awake)(void *user, int64_t now_ms);
    /* Before each wait: how long may it take?  Monotonic; INT64_MAX: any time. */
    int64_t (*asleep)(void *user, int64_t now_ms);
};

struct httpd_opts {
    int listen_fd; /* non-blocking; httpd closes it */
    const struct httpd_handler *handler;
    void *user;
    uint32_t connections;           /* at most, together */
    uint32_t per_address;           /* of one address (IPv6: one /64); 0: no limit */
    size_t answer_bytes;            /* held for slow readers, together; 0: no limit */
    const char *tls_cert, *tls_key; /* files; both NULL: no TLS.  They stay where they are */
    struct logger log;
};

struct httpd *httpd_open(const struct httpd_opts *opts, pawl_error *reterr);
/* Until httpd_end(); may be run again. */
void httpd_run(struct httpd *h);
/* One round, as httpd_run() runs them all the time.  For a thread that stands in for its thread
 * while that is in `asleep`; the caller makes sure that only one of them uses the server. */
void httpd_round(struct httpd *h);
/* Any thread: let the loop go round once. */
void httpd_wake(struct httpd *h);
/* Any thread: httpd_run() returns soon. */
void httpd_end(struct httpd *h);
/* Any thread: read certificate and key again, for connections to come.  False: they stay as they
 * were.  Without TLS there is nothing to do. */
bool httpd_reload_tls(struct httpd *h, pawl_error *reterr);
/* Every answer from now on closes its connection.  New connections are accepted as usual, so that
 * health checks are answered. */
void httpd_wind_up(struct httpd *h);
void httpd_free(struct httpd *h); /* NULL is fine; no call may be without answer */

/* Answer the call of this connection.  `a` lives until `finish`, which may come before
 * this returns. */
void httpd_answer(struct httpd_conn *conn, const struct httpd_answer *a);
/* Answer with a stream: `pull` is asked for its bytes whenever there is room for them, and
 * after HTTPD_SLEEP when httpd_rouse() is called. */
void httpd_stream(struct httpd_conn *conn, const struct httpd_answer *a);
void httpd_rouse(struct httpd_conn *conn);

#endif
