/* SPDX-License-Identifier: MIT */
/*
 * http/send.c -- answers and streams.
 *
 * An answer is one send: head and body from one buffer that all connections share, or
 * both by one sendmsg when the body is large.  What the socket does not take is kept
 * (the head copied, the body stays the call's) and goes out when there is room; the
 * connection is not read meanwhile, so a client that never reads costs one answer.
 *
 * A stream is asked for its next piece only when the last one is out: a slow reader
 * costs no buffer.
 */
#include "http/http_conn.h"

#include "base/attr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define TOGETHER 16384 /* bodies up to this are copied behind their head */
#define KEPT     65536 /* of a buffer that all share */

/* ---- Bytes ---------------------------------------------------------------------------- */

static ssize_t transmit_tls(struct httpd_conn *c, pawl_str a, pawl_str b)
{
    pawl_str parts[2] = {a, b};
    ssize_t sum = 0;
    for (int i = 0; i < 2; i++)
        for (size_t at = 0; at < parts[i].len;) {
            ssize_t n = http_tls_send(c->tls, parts[i].ptr + at, parts[i].len - at);
            if (n <= 0)
                return sum && errno == EAGAIN ? sum : n;
            at += (size_t)n;
            sum += n;
        }
    return sum;
}

static ssize_t transmit(struct httpd_conn *c, pawl_str a, pawl_str b)
{
    if (c->tls)
        return transmit_tls(c, a, b);
    if (!b.len)
        return send(c->fd, a.ptr, a.len, MSG_NOSIGNAL);
    union {
        const char *from;
        void *to;
    } one = {.from = a.ptr}, two = {.from = b.ptr};
    struct iovec parts[2] = {
        {one.to, a.len},
        {two.to, b.len}
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(c->fd, &message, MSG_NOSIGNAL);
}

/* Bytes sent; -1: the connection is closed. */
static ssize_t try_send(struct httpd_conn *c, pawl_str a, pawl_str b)
{
    ssize_t n = transmit(c, a, b);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0)
        http_conn_close(c);
    return n;
}

/* What is left of the two goes out later. */
static void hold_back(struct httpd_conn *c, pawl_str a, pawl_str b, size_t sent)
{
    size_t of_a = sent < a.len ? sent : a.len;
    c->rest = (pawl_str){b.ptr + (sent - of_a), b.len - (sent - of_a)};
    c->out_at = 0;
    c->out_len = a.len - of_a;
    c->out = c->out_len ? malloc(c->out_len) : NULL;
    if (c->out_len && !c->out) {
        http_conn_close(c);
        return;
    }
    if (c->out_len)
        memcpy(c->out, a.ptr + of_a, c->out_len);
    size_t body = c->answer && c->state != CONN_STREAM ? c->answer->holds : 0;
    slow_enter(c, c->out_len + (body ? body : c->rest.len));
    http_conn_deadline(c, SEND_MS);
    http_conn_watch(c, EPOLLOUT);
}

/* True: all of it is out.  `b` must live until then. */
static bool put(struct httpd_conn *c, pawl_str a, pawl_str b)
{
    ssize_t n = try_send(c, a, b);
    if (n < 0)
        return false;
    if ((size_t)n == a.len + b.len)
        return true;
    hold_back(c, a, b, (size_t)n);
    return false;
}

/* ---- Heads ------------------------------------------------------------------------------- */

#define PUT(out, text) buf_put((out), (text), sizeof(text) - 1)

static void put_number(struct buf *out, uint64_t n)
{
    char digits[20];
    size_t at = sizeof(digits);
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    buf_put(out, digits + at, sizeof(digits) - at);
}

/* A header cannot end its line, whatever is in the value. */
static void put_header(struct buf *out, const char *name, const char *value)
{
    buf_puts(out, name);
    PUT(out, ": ");
    buf_put(out, value, strcspn(value, "\r\n"));
    PUT(out, "\r\n");
}

static void put_status(struct buf *out, unsigned status)
{
    if (status == 200) {
        PUT(out, "HTTP/1.1 200 OK\r\n");
        return;
    }
    PUT(out, "HTTP/1.1 ");
    put_number(out, status);
    PUT(out, " ");
    buf_puts(out, http_reason(status));
    PUT(out, "\r\n");
}

static void put_odd_headers(struct buf *out, const struct httpd_answer *a)
{
    if (a->allow)
        put_header(out, "Allow", a->allow);
    if (a->status == 401)
        PUT(out, "WWW-Authenticate: Bearer\r\n");
    if (a->retry_after) {
        PUT(out, "Retry-After: ");
        put_number(out, a->retry_after);
        PUT(out, "\r\n");
    }
    if (a->cookie)
        put_header(out, "Set-Cookie", a->cookie);
    if (a->encoding)
        put_header(out, "Content-Encoding", a->encoding);
    if (a->type && strncmp(a->type, "text/html", 9) == 0)
        PUT(out, "Content-Security-Policy: default-src 'none'; script-src 'self'; "
                 "style-src 'self'; connect-src 'self'; img-src 'self' data:; "
                 "form-action 'none'; frame-ancestors 'none'; base-uri 'none'; "
                 "require-trusted-types-for 'script'; trusted-types 'none'\r\n"
                 "Referrer-Policy: no-referrer\r\n");
}

/* Data is never kept; a file of the page is asked for again each time, by its ETag. */
static void put_type(struct buf *out, const struct httpd_answer *a)
{
    put_header(out, "Content-Type", a->type);
    if (a->etag) {
        put_header(out, "ETag", a->etag);
        PUT(out, "Cache-Control: no-cache\r\nVary: Accept, Accept-Encoding\r\n");
    } else {
        PUT(out, "Cache-Control: no-store\r\n");
    }
    PUT(out, "X-Content-Type-Options: nosniff\r\n");
}

static void put_head(struct httpd_conn *c, const struct httpd_answer *a)
{
    struct buf *out = &c->h->out;
    buf_reset(out);
    out->failed = false;
    c->close = c->close || a->close || c->h->winds_up;
    put_status(out, a->status);
    PUT(out, "Date: ");
    buf_puts(out, c->h->date);
    if (a->type) {
        PUT(out, "\r\n");
        put_type(out, a);
    } else if (a->etag) { /* for this caller alone, and to be asked for again */
        PUT(out, "\r\nContent-Type: application/json\r\nCache-Control: private, no-cache\r\n"
                 "Vary: Authorization, Cookie\r\nX-Content-Type-Options: nosniff\r\n");
        put_header(out, "ETag", a->etag);
    } else {
        PUT(out, "\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
                 "X-Content-Type-Options: nosniff\r\n");
    }
    put_odd_headers(out, a);
    if (c->close)
        PUT(out, "Connection: close\r\n");
    else if (c->is_old)
        PUT(out, "Connection: keep-alive\r\n");
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void send_whole(struct httpd_conn *c, const struct httpd_answer *a)
{
    struct buf *out = &c->h->out;
    pawl_str body = a->body;
    if (c->no_body || a->status == 304) /* the length is still sent */
        body.len = 0;
    put_head(c, a);
    if (a->status != 304 || a->body.len) { /* what was not made has no length to tell */
        PUT(out, "Content-Length: ");
        put_number(out, a->body.len);
        PUT(out, "\r\n");
    }
    PUT(out, "\r\n");
    if (body.len <= TOGETHER) {
        buf_str(out, body);
        body = (pawl_str){0};
    }
    c->state = CONN_SENDING;
    if (out->failed)
        http_conn_close(c);
    else if (put(c, buf_slice(out), body))
        http_conn_answered(c);
}

void http_conn_send_answer(struct httpd_conn *c)
{
    send_whole(c, c->answer);
}

void httpd_answer(struct httpd_conn *c, const struct httpd_answer *a)
{
    c->answer = a;
    if (c->state == CONN_LOST)
        http_conn_close(c);
    else if (c->state == CONN_BUSY)
        http_conn_send_answer(c);
    /* else when its body is there, or is too much */
}

void http_conn_refuse(struct httpd_conn *c, unsigned status)
{
    struct httpd *h = c->h;
    struct httpd_answer a = {.status = status, .close = true, .body = http_refusal(status)};
    if (c->call)
        h->handler->finish(c->call);
    c->call = NULL;
    c->answer = NULL;
    h->handler->refused(h->user, status);
    send_whole(c, &a); /* its body is short: nothing of it is needed later */
}

void http_conn_send_continue(struct httpd_conn *c)
{
    pawl_str text = pawl_s("HTTP/1.1 100 Continue\r\n\r\n");
    ssize_t n = try_send(c, text, (pawl_str){0});
    if (n >= 0 && (size_t)n < text.len)
        http_conn_close(c); /* a socket that has no room for 25 bytes, before any answer */
}

/* ---- Streams ----------------------------------------------------------------------------------- */

static bool is_pending(const struct httpd_conn *c)
{
    return c->out_at < c->out_len || c->rest.len;
}

/* The next piece into h->out; false: there is none now. */
static bool next_piece(struct httpd_conn *c)
{
    struct buf *out = &c->h->out, *piece = &c->h->pull;
    buf_reset(out);
    buf_reset(piece);
    out->failed = piece->failed = false;
    enum httpd_pull what = c->h->handler->pull(c->call, piece);
    if (what == HTTPD_SLEEP) {
        c->asleep = true;
        return false;
    }
    c->is_over = what == HTTPD_OVER;
    if (c->frames && piece->len)
        buf_printf(out, "%zx\r\n", piece->len);
    buf_str(out, buf_slice(piece));
    if (c->frames && piece->len)
        PUT(out, "\r\n");
    if (c->frames && c->is_over)
        PUT(out, "0\r\n\r\n");
    out->failed = out->failed || piece->failed;
    return true;
}

/* Pieces of a stream may be large, and they are rare. */
static void give_back(struct buf *b)
{
    size_t max = b->max;
    if (b->cap <= KEPT)
        return;
    buf_deinit(b);
    buf_init(b, max);
}

static void pump(struct httpd_conn *c)
{
    while (c->state == CONN_STREAM && !is_pending(c)) {
        if (c->is_over) {
            http_conn_answered(c);
            return;
        }
        if (!next_piece(c)) {
            http_conn_deadline(c, -1);
            http_conn_watch(c, EPOLLIN);
            return;
        }
        if (c->h->out.failed)
            http_conn_close(c);
        else if (c->h->out.len)
            (void)put(c, buf_slice(&c->h->out), (pawl_str){0});
        give_back(&c->h->out);
        give_back(&c->h->pull);
    }
}

void httpd_stream(struct httpd_conn *c, const struct httpd_answer *a)
{
    struct buf *out = &c->h->out;
    c->answer = a;
    if (c->state == CONN_LOST) {
        http_conn_close(c);
        return;
    }
    assert_that(c->state == CONN_BUSY);
    c->frames = !c->is_old;
    c->is_over = c->no_body;
    c->asleep = false;
    c->left = LINGER_BYTES;
    c->close = c->close || c->is_old; /* only the end of the connection ends it: say so */
    put_head(c, a);
    c->close = true; /* at its end, which is rare; further bytes of the client are ignored */
    if (c->frames)
        PUT(out, "Transfer-Encoding: chunked\r\n");
    PUT(out, "X-Accel-Buffering: no\r\n\r\n"); /* a proxy in front is not to collect it */
    c->state = CONN_STREAM;
    if (out->failed)
        http_conn_close(c);
    else if (put(c, buf_slice(out), (pawl_str){0}))
        pump(c);
}

void httpd_rouse(struct httpd_conn *c)
{
    if (c->state != CONN_STREAM || !c->asleep)
        return;
    c->asleep = false;
    pump(c);
}

/* ---- Going on ------------------------------------------------------------------------------------ */

void http_conn_writable(struct httpd_conn *c)
{
    pawl_str a = {c->out + c->out_at, c->out_len - c->out_at}, b = c->rest;
    ssize_t n = try_send(c, a.len ? a : b, a.len ? b : (pawl_str){0});
    if (n < 0)
        return;
    size_t of_a = (size_t)n < a.len ? (size_t)n : a.len;
    c->out_at += of_a;
    c->rest = (pawl_str){b.ptr + ((size_t)n - of_a), b.len - ((size_t)n - of_a)};
    if (n > 0)
        slow_progress(c, (size_t)n);
    if (is_pending(c))
        return;
    slow_leave(c);
    free(c->out);
    c->out = NULL;
    c->out_at = c->out_len = 0;
    if (c->state == CONN_STREAM)
        pump(c);
    else
        http_conn_answered(c);
}
