/* SPDX-License-Identifier: MIT */
/*
 * http/http_conn.h -- what the parts of the HTTP server share: its loop and a connection.
 *
 *   listen.c      accepting, and how many of one address
 *   httpd_loop.c  epoll, deadlines, the round
 *   conn_pool.c   connections come and go
 *   http_conn.c   from bytes to requests
 *   send.c        answers and streams
 *   slow.c        those that wait for their readers
 *   status.c      their words
 *   tls.c         the same bytes through GnuTLS
 */
#ifndef PAWL_HTTP_HTTP_CONN_H
#define PAWL_HTTP_HTTP_CONN_H

#include "base/heap.h"
#include "base/map.h"
#include "http/chunk.h"
#include "http/httpd.h"

#include <stdatomic.h>
#include <sys/types.h>

#define SCRATCH        65536 /* read at once */
#define HEAD_MS        10000 /* for a head, from its first byte or from the connection */
#define REST_MS        75000 /* between requests */
#define BODY_MS        30000 /* and a second for each KiB, but 30 without a byte is the end */
#define SEND_MS        60000 /* for the other side to take some of its answer; see slow.c */
#define LINGER_MS      2000  /* for the other side to see the last answer */
#define LINGER_BYTES   ((uint64_t)64 << 20)
#define SWALLOW        (64 * 1024) /* a refused body is read to its end up to this size */
#define VISIT_REQUESTS 16          /* of one connection, before others have their turn */

struct sockaddr;
struct http_tls;
struct http_trust;
struct address;

enum conn_state {
    CONN_HANDSHAKE, /* of TLS */
    CONN_HEAD,      /* waits for a request, or has part of its head */
    CONN_BODY,
    CONN_BUSY,    /* the call is with the handler */
    CONN_SENDING, /* the socket is full */
    CONN_STREAM,
    CONN_LINGER, /* the last answer is out: read what comes, until the other side ends */
    CONN_LOST,   /* the other side is gone, the call is with the handler */
    CONN_CLOSED  /* freed at the end of the round */
};

struct httpd_conn {
    struct httpd *h;
    int fd;
    uint8_t state;
    bool close;              /* hang up after the answer */
    bool no_body;            /* the answer to a HEAD */
    bool is_old;             /* HTTP/1.0 */
    bool chunked;            /* the request */
    bool frames;             /* the stream is sent in chunks */
    bool is_over;            /* the stream has nothing more */
    bool asleep;             /* the stream waits for httpd_rouse() */
    bool is_pending;         /* in the list of those that have more to read without an event */
    uint32_t watched;        /* epoll events asked for */
    uint32_t visit_requests; /* requests taken in this visit */
    void *call;              /* with a request under way */
    const struct httpd_answer *answer;
    char *in; /* owned; bytes not yet understood, mostly NULL */
    size_t in_at, in_len, in_cap;
    size_t scanned;   /* of the head, see head_scan() */
    uint64_t left;    /* bytes of the body still to come; while lingering: to be read over */
    uint64_t skipped; /* bytes of a refused body */
    struct chunk chunk;
    char *out; /* owned; of the answer, not yet sent */
    size_t out_at, out_len;
    pawl_str rest; /* behind it; the call's */
    size_t unsent; /* in memory while that is so; 0: not in the list of them */
    struct httpd_conn *slow_prev, *slow_next;
    struct heap_node look;           /* when to look at `deadline_ms`: at or before it */
    int64_t deadline_ms;             /* mono: cut off then; INT64_MAX: not now */
    struct httpd_conn *prev, *next;  /* of all */
    struct httpd_conn *next_pending; /* of the list that is_pending says, or of the closed */
    struct http_tls *tls;
    struct address *address;
};

struct httpd {
    struct httpd_opts opts;
    const struct httpd_handler *handler;
    void *user;
    int poll_fd, wake_fd, listen_fd;
    bool listening;          /* the socket is watched */
    bool winds_up;           /* every answer hangs up */
    bool looks_again;        /* before it sleeps: the last round had events */
    int64_t listen_again_ms; /* after running out of descriptors; INT64_MAX: not now */
    atomic_bool end;
    struct http_trust *trust;                /* NULL: no TLS */
    _Atomic(struct http_trust *) next_trust; /* read again: from the next round on */
    struct httpd_conn *conns, *closed, *pending, **pending_end;
    struct httpd_conn *spare;
    size_t count, spare_count;
    unsigned handshakes; /* in this round */
    struct heap looks;
    uint64_t tie;
    struct httpd_conn *slow_first, *slow_last; /* whose answer is not out, oldest first */
    size_t unsent;                             /* by them */
    int64_t slow_told_ms;
    struct map addresses; /* bytes of the address -> struct address */
    int64_t now_ms;       /* mono, of this round */
    int64_t date_s;       /* wall, that `date` says */
    char date[40];
    struct buf out;  /* of the answer that is being made */
    struct buf pull; /* of the piece of a stream that is being made */
    char *scratch;   /* SCRATCH bytes, and one */
};

/* ---- httpd_loop.c --------------------------------------------------------------------- */

/* Ask for these events; no system call when they are asked for already. */
void http_conn_watch(struct httpd_conn *c, uint32_t events);
void http_conn_deadline(struct httpd_conn *c, int64_t in_ms); /* < 0: none */
/* This time, or up to a second earlier: idle connections are looked at together, at most once a
 * second. */
int64_t http_whole_second(int64_t ms);
/* Bytes are left to read, and epoll will not report them: look at it in the next round. */
void http_conn_pend(struct httpd_conn *c);

/* ---- conn_pool.c ---------------------------------------------------------------------- */

/* Now; its memory goes at the end of the round. */
void http_conn_close(struct httpd_conn *c);
bool http_conn_add(struct httpd *h, int fd, struct address *address);
/* The end of a round: those that were closed in it. */
void http_free_closed(struct httpd *h);

/* ---- listen.c ---------------------------------------------------------------------- */

void listen_start(struct httpd *h);
void listen_stop(struct httpd *h);
void listen_accept(struct httpd *h);
void address_leave(struct httpd *h, struct address *a); /* NULL is fine */
/* What counts as one address: an IPv4 one, also in IPv6 clothes, or an IPv6 /64, which one
 * household has.  Bytes in `ret`. */
size_t address_key(const struct sockaddr *from, char ret[16]);

/* ---- http_conn.c ---------------------------------------------------------------------------- */

/* There is something to read, or the other side has ended. */
void http_conn_readable(struct httpd_conn *c);
/* Go on with bytes that were read before. */
void http_conn_resume(struct httpd_conn *c);
/* The answer is out: the next request, or the end. */
void http_conn_answered(struct httpd_conn *c);

/* ---- send.c ------------------------------------------------------------------------------ */

void http_conn_writable(struct httpd_conn *c);
/* Answer a request that did not become a call, and hang up. */
void http_conn_refuse(struct httpd_conn *c, unsigned status);
/* The answer of the call, given while its body was coming in. */
void http_conn_send_answer(struct httpd_conn *c);
void http_conn_send_continue(struct httpd_conn *c);

/* ---- slow.c ------------------------------------------------------------------------------ */

/* Its answer did not go out: this many bytes are kept for it. */
void slow_enter(struct httpd_conn *c, size_t bytes);
void slow_leave(struct httpd_conn *c); /* not in the list is fine */
/* It took some. */
void slow_progress(struct httpd_conn *c, size_t bytes);
/* The end of a round: if all of them hold too much, the oldest go. */
void slow_cut(struct httpd *h);

/* ---- status.c --------------------------------------------------------------------------- */

const char *http_reason(unsigned status);
/* The body of a refusal; empty: none is known. */
pawl_str http_refusal(unsigned status);

/* ---- tls.c --------------------------------------------------------------------------------- */

struct http_trust *http_trust_open(const char *cert, const char *key, const struct logger *log,
                                   pawl_error *reterr);
void http_trust_leave(struct http_trust *t); /* gone when no session has it; NULL is fine */
struct http_tls *http_tls_new(struct http_trust *t, int fd);
void http_tls_free(struct http_tls *s);
/* 1: done; 0: wants the events in *events; -1: failed. */
int http_tls_shake(struct http_tls *s, uint32_t *events);
/* As recv() and send(), with errno. */
ssize_t http_tls_recv(struct http_tls *s, void *to, size_t n);
ssize_t http_tls_send(struct http_tls *s, const void *bytes, size_t n);
bool http_tls_pending(struct http_tls *s);
void http_tls_bye(struct http_tls *s);

#endif
